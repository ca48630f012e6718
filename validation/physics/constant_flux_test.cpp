// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A constant abelian field strength F_12, F_34: the clover term is known in closed form. The lowest real
/// eigenvalue of M tells the sign and size of the clover term against the hopping term.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/backend.hpp"
#include "validation/support/operator_under_test.hpp"
#include "validation/support/test_fields.hpp"
#include "validation/support/test_solver.hpp"

namespace plaquette::validation {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

struct flux_case {
  extents lattice;
  std::array<int, 2> fluxes;
  double angle(int plane) const {
    return 2.0 * std::numbers::pi * fluxes[plane] / (lattice[2 * plane] * lattice[2 * plane + 1]);
  }
};

const std::vector<flux_case> flux_cases = {{{4, 4, 4, 4}, {1, 1}},
                                           {{4, 4, 4, 4}, {1, -1}},
                                           {{4, 4, 4, 4}, {2, 1}},
                                           {{4, 6, 2, 8}, {3, -2}},
                                           {{2, 4, 6, 4}, {1, 5}}};

backend::gauge_configuration flux_links(const flux_case& flux, abelian_embedding embedding) {
  return backend::constant_flux_configuration(backend::context(lattice_geometry(flux.lattice), communicator()),
                                              flux.fluxes, embedding);
}

site_field<clover_block> clover_term(const flux_case& flux, const fermion_action& action) {
  return backend::export_clover(backend::make_clover_term(flux_links(flux, abelian_embedding::all_colours), action));
}

/// The largest deviation of the block from having the eigenvalues +size and -size, three times each: its square is
/// size^2 and its trace zero.
double deviation_from_eigenvalues(const hermitian_6x6& block, double size) {
  double worst = 0.0, trace = 0.0;
  for (int i = 0; i < chiral_rows; ++i) {
    trace += block.diagonal[i];
    for (int j = 0; j < chiral_rows; ++j) {
      complex<double> squared{i == j ? -size * size : 0.0, 0.0};
      for (int k = 0; k < chiral_rows; ++k) squared += block(i, k) * block(k, j);
      worst = std::max({worst, std::abs(squared.re), std::abs(squared.im)});
    }
  }
  return std::max(worst, std::abs(trace));
}

TEST(constant_flux, gives_every_plaquette_its_phase) {
  for (const flux_case& flux : flux_cases) {
    const auto p = backend::measure_plaquettes(flux_links(flux, abelian_embedding::all_colours));
    // The planes xy and zt, two of six; the others are 1.
    const double expected = (4.0 + std::cos(flux.angle(0)) + std::cos(flux.angle(1))) / 6.0;
    EXPECT_TRUE(std::abs(p.average - expected) <= 100 * epsilon);
  }
}

TEST(constant_flux, gives_the_clover_term_its_closed_form_in_both_chiralities) {
  const fermion_action actions[] = {
      fermion_action::isotropic(0.0, 1.0), fermion_action::isotropic(0.0, -1.3), {0.0, 0.9, 1.4, 2.0, 1.1}};
  for (const flux_case& flux : flux_cases)
    for (const fermion_action& action : actions) {
      const double b = 0.5 * action.clover_coefficient(0, 1) * std::sin(flux.angle(0));
      const double e = 0.5 * action.clover_coefficient(2, 3) * std::sin(flux.angle(1));
      const site_field<clover_block> term = clover_term(flux, action);
      visit_sites(term.geometry(), [&](const coordinate& x) {
        for (int chirality = 0; chirality < 2; ++chirality) {
          // sigma_12 = sigma_3 and sigma_34 = -+sigma_3 in the two chiralities.
          const double size = std::abs(chirality == 0 ? b - e : b + e);
          ASSERT_TRUE(deviation_from_eigenvalues(term(x).chirality[chirality], size) <= 100 * epsilon);
        }
      });
    }
}

TEST(constant_flux, gives_the_printed_eigenvalues_of_the_clover_term_on_the_lattice_of_four) {
  const site_field<clover_block> term = clover_term({{4, 4, 4, 4}, {1, 1}}, fermion_action::isotropic(0.0, 1.0));
  EXPECT_TRUE(deviation_from_eigenvalues(term({1, 2, 3, 0}).chirality[0], 0.0) <= 1e-15);
  EXPECT_TRUE(deviation_from_eigenvalues(term({1, 2, 3, 0}).chirality[1], 0.382683) <= 2 * 0.382683 * 5e-7);
}

class flux_operator : public testing::TestWithParam<operator_under_test> {};

TEST_P(flux_operator, contains_the_clover_term_of_the_closed_form) {
  for (const flux_case& flux : flux_cases) {
    const gauge_configuration links = backend::export_links(flux_links(flux, abelian_embedding::su3));
    const fermion_action clover{0.1, 0.9, 1.4, 2.0, 1.1}, wilson{0.1, 0.0, 0.0, 2.0, 1.1};
    const spinor_configuration psi = random_spinor(flux.lattice, 31);
    const spinor_configuration found =
        sum(image(GetParam().make(links, clover), psi), {-1.0, 0.0}, image(GetParam().make(links, wilson), psi));
    spinor_configuration expected(psi.geometry());
    const complex<double> i{0.0, 1.0};
    visit_sites(psi.geometry(), [&](const coordinate& x) {
      for (int plane = 0; plane < 2; ++plane) {
        const int mu = 2 * plane, nu = mu + 1;
        const spin_matrix sigma = i * (gamma_matrix(mu) * gamma_matrix(nu));
        spinor<double> charged = psi(x);  // charges +1, -1, 0 of the three colours
        for (int s = 0; s < spins; ++s) {
          charged(s, 1) = -charged(s, 1);
          charged(s, 2) = {};
        }
        expected(x) -= 0.5 * clover.clover_coefficient(mu, nu) * std::sin(flux.angle(plane)) * (sigma * charged);
      }
    });
    EXPECT_TRUE(norm(sum(found, {-1.0, 0.0}, expected)) <= 2.0 * GetParam().rounding * norm(psi));
  }
}

INSTANTIATE_TEST_SUITE_P(all, flux_operator, testing::ValuesIn(operators_under_test()),
                         [](const auto& info) { return info.param.name; });

class flux_eigenvalue : public testing::TestWithParam<operator_under_test> {};

/// The eigenvalue of M(m = 0) next to `guess`, by inverse iteration on a vector of one colour: M(m = -guess) is solved
/// again and again. gamma_5 psi is the left eigenvector of a real eigenvalue, so that <gamma_5 psi, M psi> /
/// <gamma_5 psi, psi> converges twice as fast as psi. Ends where a step changes it by 1e-13.
complex<double> eigenvalue_near(double guess, const operator_under_test& op, const gauge_configuration& links,
                                double csw) {
  const dirac_operator m = op.make(links, periodic(fermion_action::isotropic(0.0, csw)));
  const dirac_operator shifted_m = op.make(links, periodic(fermion_action::isotropic(-guess, csw)));
  spinor_configuration psi = random_spinor(links.geometry().global(), 32);
  visit_sites(psi.geometry(), [&](const coordinate& x) {
    for (int s = 0; s < spins; ++s) psi(x)(s, 1) = psi(x)(s, 2) = {};
  });
  complex<double> eigenvalue;
  for (int k = 0; k < 8; ++k) {
    psi = solve(shifted_m, psi, 1e-10).x;
    const double scale = 1.0 / norm(psi);
    visit_sites(psi.geometry(), [&](const coordinate& x) { psi(x) = scale * psi(x); });
    const spinor_configuration left = times(gamma_matrix(4), psi);
    const complex<double> before = eigenvalue;
    eigenvalue = dot(left, image(m, psi)) / dot(left, psi);
    if (k > 0 && std::sqrt(norm2(eigenvalue - before)) <= 1e-13) break;
  }
  return eigenvalue;
}

/// The eigenvalues were found with a dense U(1) matrix of 1024 rows, made and diagonalised outside this suite.
TEST_P(flux_eigenvalue, is_the_printed_one_for_both_signs_of_the_clover_term) {
  const gauge_configuration links = backend::export_links(flux_links({{4, 4, 4, 4}, {1, 1}}, abelian_embedding::su3));
  struct {
    double csw, expected, printed_digit;
  } const cases[] = {{0.0, 0.37627798158, 1e-11}, {1.0, -0.0068220323, 1e-10}, {-1.0, 0.75958123390, 1e-11}};
  for (const auto& [csw, expected, digit] : cases) {
    const complex<double> found = eigenvalue_near(expected + 0.01, GetParam(), links, csw);
    // Half a printed digit, and rounding: a few hundred epsilon of |M| = 8.
    EXPECT_TRUE(std::abs(found.re - expected) <= 0.5 * digit + 1e-13) << csw << ": " << found.re;
    EXPECT_TRUE(std::abs(found.im) <= 1e-10) << found.im;
  }
}

INSTANTIATE_TEST_SUITE_P(all, flux_eigenvalue, testing::ValuesIn(double_precision_operators()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace plaquette::validation
