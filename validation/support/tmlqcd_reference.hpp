// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links, momenta and pseudofermions of tmLQCD on one configuration of 4^4, from the reference data (hmc/).
#pragma once

#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/lattice/fermion_action.hpp"
#include "validation/support/reference_data.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {

/// Returns the little-endian doubles of a file.
inline std::vector<double> read_numbers(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<double> numbers;
  for (double number; in.read(reinterpret_cast<char*>(&number), sizeof number);) numbers.push_back(number);
  return numbers;
}

/// A test with tmLQCD's numbers. Its complement is on the odd sites: its site x + e_x is ours at x.
class tmlqcd_reference : public reference_data {
 protected:
  static constexpr extents lattice{4, 4, 4, 4};

  static coordinate site_of_file(const coordinate& x) { return {(x[0] + 1) % lattice[0], x[1], x[2], x[3]}; }

  void SetUp() override {
    if (!std::ifstream(path("hmc/reference.json"))) GTEST_SKIP() << "no reference data: " << path("hmc/reference.json");
    document = nlohmann::json::parse(std::ifstream(path("hmc/reference.json")));
    const gauge_configuration file = read_links("hmc/conf.00200", lattice);
    visit_sites(geometry, [&](const coordinate& x) { links(x) = file(site_of_file(x)); });
    exchange_ghosts(links, alone);
  }

  spinor_configuration spinors(const std::string& name) const {
    const std::vector<double> numbers = read_numbers(path("hmc/" + name));
    EXPECT_EQ(numbers.size(), 256U * spinor_reals);
    spinor_configuration psi(geometry);
    visit_sites(geometry, [&](const coordinate& x) {
      const double* next = numbers.data() + lexicographic(site_of_file(x), lattice) * spinor_reals;
      for (int k = 0; k < spins * colours; ++k, next += 2) psi(x)(k / colours, k % colours) = {next[0], next[1]};
    });
    return psi;
  }

  /// Returns i f_k lambda_k / 2 of eight numbers a link.
  gauge_configuration momenta(const std::string& name) const {
    const std::vector<double> numbers = read_numbers(path("hmc/" + name));
    EXPECT_EQ(numbers.size(), 256U * 4 * 8);
    gauge_configuration all(geometry);
    visit_sites(geometry, [&](const coordinate& x) {
      for (int mu = 0; mu < dimensions; ++mu) {
        const double* f = numbers.data() + (lexicographic(site_of_file(x), lattice) * 4 + mu) * 8;
        su3<double>& a = all(x)[mu];
        const auto set_pair = [&a](int i, int j, double real, double imaginary) {
          a(i, j) = {0.5 * imaginary, 0.5 * real};
          a(j, i) = {-0.5 * imaginary, 0.5 * real};
        };
        set_pair(0, 1, f[0], f[1]);
        set_pair(0, 2, f[3], f[4]);
        set_pair(1, 2, f[5], f[6]);
        const double eighth = f[7] / std::sqrt(3.0);
        a(0, 0) = {0.0, 0.5 * (eighth + f[2])};
        a(1, 1) = {0.0, 0.5 * (eighth - f[2])};
        a(2, 2) = {0.0, -eighth};
      }
    });
    return all;
  }

  gauge_configuration links_after(const std::string& name) const {
    const std::vector<double> numbers = read_numbers(path("hmc/" + name));
    EXPECT_EQ(numbers.size(), 256U * 4 * 18);
    gauge_configuration all(geometry);
    visit_sites(geometry, [&](const coordinate& x) {
      const double* next = numbers.data() + lexicographic(site_of_file(x), lattice) * 4 * 18;
      for (int mu = 0; mu < dimensions; ++mu)
        for (int k = 0; k < colours * colours; ++k, next += 2)
          all(x)[mu](k / colours, k % colours) = {next[0], next[1]};
    });
    return all;
  }

  /// Expects every component of a force to be minus the component in a file, dS / domega_a.
  void expect_force(const gauge_configuration& force, const std::string& name) const {
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

  const communicator alone{};
  const lattice_geometry geometry{lattice};
  gauge_configuration links{geometry};
};

}  // namespace plaquette::validation
