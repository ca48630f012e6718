// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whole trajectories of tmLQCD on one configuration of 4^4, from the reference data (hmc/).
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/hmc/trajectory.hpp"
#include "validation/support/hmc_backend.hpp"
#include "validation/support/tmlqcd_reference.hpp"

namespace plaquette::validation {
namespace {

class trajectories_of_tmlqcd : public tmlqcd_reference {
 protected:
  hybrid_action action(const std::string& name, double c1) const {
    hybrid_action all{.gauge = {document["cases"][name]["beta"].get<double>(), c1}};
    all.quarks = quark_pairs{quarks(name)};
    all.cg_force_tolerance = all.action_tolerance = 1e-13;
    return all;
  }

  /// Returns the state of tmLQCD at its start. Its pseudofermion is of Mhat in units of 1 / (2 kappa).
  std::unique_ptr<molecular_dynamics> start(const std::string& name, const hybrid_action& of) const {
    auto state = make_molecular_dynamics(ctx, links, of);
    spinor_configuration phi = spinors(name + ".phi");
    visit_sites(geometry, [&](const coordinate& x) { phi(x) = of.quarks->action.diagonal() * phi(x); });
    state->set_momenta(momenta("d1.momenta"));
    state->set_pseudofermion(0, 0, phi);
    return state;
  }

  /// Expects dH, term by term, and the plaquette at the end. The numbers of GAUGE are minus the gauge action.
  void expect_end(molecular_dynamics& state, const std::string& name) const {
    const auto& of = document["cases"][name];
    const auto change = [&of](const char* term) {
      return of[term]["after"].get<double>() - of[term]["before"].get<double>();
    };
    std::vector<double> terms{-change("GAUGE")};
    if (state.action().has_determinant()) terms.push_back(change("CLOVERTRLOG"));
    terms.push_back(change("det"));
    const energy_change ours = state.change_of_energy();
    EXPECT_NEAR(ours.kinetic, change("kinetic"), 1e-8);
    ASSERT_EQ(ours.terms.size(), terms.size());
    for (std::size_t k = 0; k < terms.size(); ++k)
      EXPECT_NEAR(ours.terms[k], terms[k], 1e-8) << term_names(state.action())[k];
    EXPECT_NEAR(ours.total(), of["dH"].get<double>(), 1e-8);
    EXPECT_NEAR(state.measure_plaquettes().average, of["plaquette_after"].get<double>(), 1e-11);
  }

  md_plan plan(const hybrid_action& of, const std::string& integrator) const {
    return plan_of(of, parse_integrator(integrator, term_names(of), "integrator"), 1.0);
  }

  const backend::context ctx{geometry, alone};
};

TEST_F(trajectories_of_tmlqcd, with_clover_quarks_end_at_our_links) {
  const hybrid_action of = action("d1", 0.0);
  const auto state = start("d1", of);
  gauge_configuration force = state->force(1, 0.0);
  const gauge_configuration light = state->force(2, 1e-13);
  visit_sites(geometry, [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu) force(x)[mu] += light(x)[mu];
  });
  expect_force(force, "d1.det.force");

  ASSERT_TRUE(integrate(*state, plan(of, "omelyan:4(light,det) omelyan:2(gauge)")));
  expect_end(*state, "d1");
  const gauge_configuration ours = state->links(), expected = links_after("d1.links_after");
  double worst = 0.0;
  visit_sites(geometry, [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu)
      for (int k = 0; k < colours * colours; ++k) {
        const complex<double> off = ours(x)[mu](k / colours, k % colours) - expected(x)[mu](k / colours, k % colours);
        keep_largest(worst, std::hypot(off.re, off.im));
      }
  });
  EXPECT_TRUE(worst <= 1e-8) << worst;
}

TEST_F(trajectories_of_tmlqcd, with_rectangles_and_wilson_quarks_end_at_our_energy) {
  const hybrid_action of = action("d2", -0.083333333);
  const auto state = start("d2", of);
  expect_force(state->force(0, 0.0), "d2.gauge.force");
  expect_force(state->force(1, 1e-13), "d2.det.force");
  ASSERT_TRUE(integrate(*state, plan(of, "omelyan:4(light) omelyan:2(gauge)")));
  expect_end(*state, "d2");
}

}  // namespace
}  // namespace plaquette::validation
