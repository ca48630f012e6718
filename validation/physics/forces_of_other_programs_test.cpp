// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Forces, actions and determinants of tmLQCD on one configuration of 4^4, from the reference data (hmc/).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "cpu_ref/gauge/momenta.hpp"
#include "validation/support/even_odd_quarks.hpp"
#include "validation/support/reference_data.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

const extents lattice{4, 4, 4, 4};
const communicator alone;

/// Little-endian doubles.
std::vector<double> read_numbers(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<double> numbers;
  for (double number; in.read(reinterpret_cast<char*>(&number), sizeof number);) numbers.push_back(number);
  return numbers;
}

/// tmLQCD's complement is on the odd sites: its site x + e_x is ours at x.
coordinate site_of_file(const coordinate& x) { return {(x[0] + 1) % lattice[0], x[1], x[2], x[3]}; }

class forces_of_tmlqcd : public reference_data {
 protected:
  void SetUp() override {
    if (!std::ifstream(path("hmc/reference.json"))) GTEST_SKIP() << "no reference data: " << path("hmc/reference.json");
    document = nlohmann::json::parse(std::ifstream(path("hmc/reference.json")));
    const gauge_configuration file = read_links("hmc/conf.00200", lattice);
    visit_sites(geometry, [&](const coordinate& x) { links(x) = file(site_of_file(x)); });
    exchange_ghosts(links, alone);
  }

  cpu::field<double> pseudofermion(const std::string& name) const {
    const std::vector<double> numbers = read_numbers(path("hmc/" + name));
    EXPECT_EQ(numbers.size(), 256U * spinor_reals);
    spinor_configuration psi(geometry);
    visit_sites(geometry, [&](const coordinate& x) {
      const double* next = numbers.data() + lexicographic(site_of_file(x), lattice) * spinor_reals;
      for (int k = 0; k < spins * colours; ++k, next += 2) psi(x)(k / colours, k % colours) = {next[0], next[1]};
    });
    cpu::field<double> phi(ctx, field_shape{4, 3, site_subset::even, 1});
    import_column(phi, 0, psi);
    return phi;
  }

  /// Expects every component of a force to be minus that of a file, dS / domega_a.
  void expect_force(const cpu::gauge_momenta& force, const std::string& name) const {
    const std::vector<double> numbers = read_numbers(path("hmc/" + name));
    ASSERT_EQ(numbers.size(), 256U * 4 * 8);
    const double s = 1.0 / std::sqrt(3.0);
    double worst = 0.0, largest = 0.0;
    visit_sites(geometry, [&](const coordinate& x) {
      for (int mu = 0; mu < dimensions; ++mu) {
        const su3<double>& a = force(x)[mu];  // i f_k lambda_k / 2
        const std::array<double, 8> f{2 * a(0, 1).im, 2 * a(0, 1).re, a(0, 0).im - a(1, 1).im, 2 * a(0, 2).im,
                                      2 * a(0, 2).re, 2 * a(1, 2).im, 2 * a(1, 2).re,          -3 * s * a(2, 2).im};
        const double* expected = numbers.data() + (lexicographic(site_of_file(x), lattice) * 4 + mu) * 8;
        for (std::size_t k = 0; k < 8; ++k) {
          keep_largest(worst, std::abs(f[k] + expected[k]));
          keep_largest(largest, std::abs(expected[k]));
        }
      }
    });
    EXPECT_TRUE(worst <= 1e-10) << name << ": " << worst << " of " << largest;
    EXPECT_GT(largest, 0.1);
  }

  fermion_action quarks(const std::string& name) const {
    const auto& of = document["cases"][name];
    return fermion_action::isotropic(fermion_action::mass_of_kappa(of["kappa"].get<double>()), of["csw"].get<double>());
  }

  const lattice_geometry geometry{lattice};
  const cpu::context ctx{geometry, alone};
  gauge_configuration links{geometry};
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
  add_determinant_leaves(z, action, cpu::inverse(a), 1, 1.0);
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
