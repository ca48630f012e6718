// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Forces, actions and determinants of tmLQCD on one configuration of 4^4, from the reference data (hmc/).
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cpu_ref/gauge/momenta.hpp"
#include "validation/support/even_odd_quarks.hpp"
#include "validation/support/tmlqcd_reference.hpp"

namespace plaquette::validation {
namespace {

class forces_of_tmlqcd : public tmlqcd_reference {
 protected:
  cpu::field<double> pseudofermion(const std::string& name) const {
    cpu::field<double> phi(ctx, field_shape{4, 3, site_subset::even, 1});
    import_column(phi, 0, spinors(name));
    return phi;
  }

  const cpu::context ctx{geometry, alone};
};

// Actions and pseudofermions are of Mhat in units of 1 / (2 kappa), as tmLQCD has it.

TEST_F(forces_of_tmlqcd, of_clover_quarks_with_their_determinant_are_ours) {
  const fermion_action action = quarks("d1");
  const double in_kappa = std::pow(action.diagonal(), 2);  // 1 / (2 kappa)^2
  const even_odd_quarks quark(ctx, links, action, 0.0);
  const auto phi = pseudofermion("d1.phi");
  EXPECT_NEAR(in_kappa * quark.action(phi), document["cases"]["d1"]["det"]["before"].get<double>(), 1e-8);

  auto a = cpu::make_clover_term(links, action);
  cpu::add_to_diagonal(a, action.diagonal());
  const double log_det = cpu::log_determinant(a, 1, alone) - 128 * 12 * std::log(action.diagonal());
  EXPECT_NEAR(-2.0 * log_det, document["cases"]["d1"]["CLOVERTRLOG"]["before"].get<double>(), 1e-10);

  cpu::gauge_momenta force(geometry);
  cpu::leaf_field z(geometry);
  quark.add_force(force, z, links, phi, in_kappa);
  add_determinant_leaves(z, action, cpu::inverse(a, alone), 1, 1.0);
  add_clover_force(force, links, z, 1.0, alone);
  expect_force(force, "d1.det.force");
}

TEST_F(forces_of_tmlqcd, of_wilson_quarks_are_ours) {
  const fermion_action action = quarks("d2");
  const double in_kappa = std::pow(action.diagonal(), 2);
  cpu::gauge_momenta force(geometry);
  cpu::leaf_field none(geometry);
  even_odd_quarks(ctx, links, action, 0.0).add_force(force, none, links, pseudofermion("d2.phi"), in_kappa);
  expect_force(force, "d2.det.force");
}

TEST_F(forces_of_tmlqcd, of_a_gauge_action_with_rectangles_are_ours) {
  cpu::gauge_momenta force(geometry);
  cpu::add_gauge_force(force, links, {3.5, -0.083333333}, 1.0, alone);
  expect_force(force, "d2.gauge.force");
}

}  // namespace
}  // namespace plaquette::validation
