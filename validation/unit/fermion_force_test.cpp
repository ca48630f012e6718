// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Forces of quarks against differences of the action, with the textbook's operator if there is one.
#include "cpu_ref/dirac/fermion_force.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/error.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/momenta.hpp"
#include "validation/support/even_odd_quarks.hpp"

namespace plaquette::cpu {
namespace {

constexpr double epsilon = 0x1p-52;
const communicator alone;

fermion_action anisotropic_action() {
  fermion_action action{0.2, 1.3, 0.9, 2.5, 1.1};
  action.boundary_phase = {complex<double>{0.6, 0.8}, complex<double>{1, 0}, complex<double>{-0.8, 0.6},
                           complex<double>{-1, 0}};
  return action;
}

/// Returns dS/dt = 2 sum tr(A dA/dt) = -dK/dt along A, given a force.
double slope(const gauge_momenta& direction, const gauge_momenta& force) {
  double sum = 0.0;
  for (std::int64_t site = 0; site < force.geometry().local_volume(); ++site)
    for (int mu = 0; mu < dimensions; ++mu)
      sum += 2.0 * trace(direction.at_site(site)[mu] * force.at_site(site)[mu]).re;
  return sum;
}

/// Returns the difference quotient of fourth order of an action of links along A.
template <class Action>
double difference_quotient(const gauge_configuration& links, const gauge_momenta& direction, double t,
                           Action&& action) {
  const auto at = [&](double time) {
    gauge_configuration moved = links;
    move_links(moved, direction, time, alone);
    return action(moved);
  };
  return (8.0 * (at(t) - at(-t)) - (at(2.0 * t) - at(-2.0 * t))) / (12.0 * t);
}

/// Expects a slope to be a difference quotient, with some relative error.
template <class Action>
void expect_derivative(const gauge_configuration& links, const gauge_momenta& force, double tolerance,
                       Action&& action) {
  for (const std::uint64_t index : {1, 2}) {
    const gauge_momenta direction = random_momenta(links.geometry(), 77, index, alone);
    const double expected = slope(direction, force), found = difference_quotient(links, direction, 1e-3, action);
    const double size = std::sqrt(2.0 * kinetic_energy(force, alone));  // the standard deviation of slopes
    EXPECT_NEAR(found, expected, tolerance * size) << index;
    EXPECT_GT(size, 0.1);
  }
}

/// Random spinors on both sides of an operator: columns of the host, and fields.
struct random_pairs {
  std::vector<spinor_configuration> x, y;
  field<double> on_x, on_y;

  random_pairs(const context& ctx, int columns)
      : on_x(ctx, field_shape{4, 3, site_subset::full, columns}), on_y(like(on_x)) {
    for (int c = 0; c < columns; ++c) {
      x.push_back(random_spinor(ctx.geometry(), 3, static_cast<std::uint64_t>(2 * c), alone));
      y.push_back(random_spinor(ctx.geometry(), 3, static_cast<std::uint64_t>(2 * c + 1), alone));
      import_column(on_x, c, x.back());
      import_column(on_y, c, y.back());
    }
  }

  /// Returns -2 Re Y^+ M X, by the textbook.
  double action(const gauge_configuration& links, const fermion_action& what) {
    double sum = 0.0;
    for (std::size_t c = 0; c < x.size(); ++c) {
      spinor_configuration mx(links.geometry());
      textbook::apply(mx, x[c], links, what, alone);
      for (std::int64_t site = 0; site < links.geometry().local_volume(); ++site)
        sum -= 2.0 * dot(y[c].at_site(site), mx.at_site(site)).re;
    }
    return sum;
  }
};

class forces_of_spinors : public testing::TestWithParam<extents> {};
INSTANTIATE_TEST_SUITE_P(all, forces_of_spinors,
                         testing::Values(extents{2, 2, 2, 2}, extents{4, 2, 4, 2}, extents{2, 4, 6, 2}),
                         [](const auto& info) { return to_string(info.param); });

// Differences of polynomials of the links, to the fourth power of t = 1e-3 and of |A| = 3, and what rounding leaves of
// sums of some 10^4, divided by t: 1e-9.

TEST_P(forces_of_spinors, of_hops_are_the_derivative_of_the_textbooks_operator) {
  const lattice_geometry geometry(GetParam());
  const context ctx(geometry, alone);
  const auto links = random_configuration(geometry, 1, alone);
  for (fermion_action action : {fermion_action::isotropic(0.1, 0.0), anisotropic_action()}) {
    action.clover_spatial = action.clover_temporal = 0.0;
    random_pairs pairs(ctx, 2);
    gauge_momenta force(geometry);
    add_hopping_force(force, links, action, pairs.on_x, pairs.on_y, 1.0);
    expect_derivative(links, force, 1e-9, [&](const auto& u) { return pairs.action(u, action); });
  }
}

TEST_P(forces_of_spinors, of_the_clover_term_are_the_derivative_of_the_textbooks_operator) {
  const lattice_geometry geometry(GetParam());
  const context ctx(geometry, alone);
  const auto links = random_configuration(geometry, 1, alone);
  for (fermion_action action : {fermion_action::isotropic(0.1, 1.9), anisotropic_action()}) {
    action.boundary_phase = fermion_action{}.boundary_phase;
    random_pairs pairs(ctx, 2);
    gauge_momenta force(geometry);
    leaf_field z(geometry);
    add_leaves(z, action, pairs.on_x, pairs.on_y, 0.75);
    add_leaves(z, action, pairs.on_x, pairs.on_y, 0.25);
    add_clover_force(force, links, z, 1.0, alone);
    fermion_action without = action;
    without.clover_spatial = without.clover_temporal = 0.0;
    expect_derivative(links, force, 1e-9,
                      [&](const auto& u) { return pairs.action(u, action) - pairs.action(u, without); });
  }
}

TEST_P(forces_of_spinors, of_determinants_are_their_derivative) {
  const lattice_geometry geometry(GetParam());
  const auto links = weak_field_configuration(geometry, 0.4, 1, alone);
  for (const fermion_action& action : {fermion_action::isotropic(-0.3, 1.9), anisotropic_action()})
    for (const int parity : {0, 1}) {
      const auto blocks = [&](const gauge_configuration& u) {
        auto a = make_clover_term(u, action);
        add_to_diagonal(a, action.diagonal());
        return a;
      };
      leaf_field z(geometry);
      add_determinant_leaves(z, action, inverse(blocks(links), alone), parity, 1.0);
      gauge_momenta force(geometry);
      add_clover_force(force, links, z, 1.0, alone);
      expect_derivative(links, force, 1e-9, [&](const gauge_configuration& u) {
        return -2.0 * log_determinant_difference(blocks(u), blocks(links), parity, alone);
      });
    }
}

TEST(FermionForce, AddsUpAndLeavesClear) {
  const lattice_geometry geometry({4, 2, 2, 6});
  const context ctx(geometry, alone);
  const auto links = random_configuration(geometry, 1, alone);
  const fermion_action action = anisotropic_action();
  random_pairs pairs(ctx, 1);
  const gauge_momenta start = random_momenta(geometry, 5, 1, alone);
  gauge_momenta momenta = start, force(geometry);
  leaf_field z(geometry);
  add_leaves(z, action, pairs.on_x, pairs.on_y, 1.0);
  add_clover_force(force, links, z, 1.0, alone);
  add_hopping_force(force, links, action, pairs.on_x, pairs.on_y, 1.0);
  add_clover_force(momenta, links, z, -0.25, alone);
  add_hopping_force(momenta, links, action, pairs.on_x, pairs.on_y, -0.25);
  const double largest = size_of_force(force, alone).largest;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int mu = 0; mu < dimensions; ++mu) {
      const su3<double>& f = force.at_site(site)[mu];
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) {
          const auto d = momenta.at_site(site)[mu](i, j) - start.at_site(site)[mu](i, j) + 0.25 * f(i, j);
          EXPECT_LE(std::sqrt(norm2(d)), 20 * epsilon * (1.0 + largest));
          EXPECT_LE(std::sqrt(norm2(f(i, j) + conj(f(j, i)))), 20 * epsilon * largest);
        }
      EXPECT_LE(std::sqrt(norm2(trace(f))), 20 * epsilon * largest);
    }
  clear(z);
  momenta = start;
  add_clover_force(momenta, links, z, 1.0, alone);
  EXPECT_EQ(kinetic_energy_difference(momenta, start, alone), 0.0);
}

TEST(FermionForce, RefusesWhatCannotBe) {
  const lattice_geometry geometry({2, 2, 2, 4}), other({2, 2, 2, 2});
  const context ctx(geometry, alone);
  const auto links = unit_configuration(geometry);
  gauge_momenta momenta(geometry), others(other);
  leaf_field z(geometry), of_other(other);
  const fermion_action action = fermion_action::isotropic(0.1, 1.0);
  const field<double> x(ctx, field_shape{}), two(ctx, field_shape{4, 3, site_subset::full, 2}),
      even(ctx, field_shape{4, 3, site_subset::even, 1});
  EXPECT_THROW(add_hopping_force(others, links, action, x, x, 1.0), input_error);
  EXPECT_THROW(add_hopping_force(momenta, links, action, x, two, 1.0), input_error);
  EXPECT_THROW(add_hopping_force(momenta, links, action, even, even, 1.0), input_error);
  EXPECT_THROW(add_leaves(of_other, action, x, x, 1.0), input_error);
  EXPECT_THROW(add_leaves(z, action, x, two, 1.0), input_error);
  EXPECT_THROW(add_clover_force(momenta, links, of_other, 1.0, alone), input_error);
  EXPECT_THROW(add_clover_force(others, links, z, 1.0, alone), input_error);
  EXPECT_THROW(add_determinant_leaves(of_other, action, clover_configuration(geometry), 0, 1.0), input_error);
  EXPECT_THROW(add_determinant_leaves(z, action, clover_configuration(geometry), 2, 1.0), input_error);
  EXPECT_THROW(log_determinant(clover_configuration(geometry), 2, alone), input_error);
}

// --- Determinants ----------------------------------------------------------------------------------------------------

/// L D L^+ with a lower triangle L of random numbers, ones on its diagonal, and D given.
hermitian_6x6 with_pivots(const std::array<double, chiral_rows>& pivots, std::uint64_t seed) {
  random_stream random(seed, random_stream_id(random_purpose::test), 0);
  complex<double> l[chiral_rows][chiral_rows]{};
  for (int i = 0; i < chiral_rows; ++i) {
    l[i][i] = {1.0, 0.0};
    for (int j = 0; j < i; ++j) {
      const auto [re, im] = random.gaussians();
      l[i][j] = {0.5 * re, 0.5 * im};
    }
  }
  hermitian_6x6 block;
  for (int i = 0; i < chiral_rows; ++i)
    for (int j = 0; j <= i; ++j) {
      complex<double> sum;
      for (int k = 0; k <= j; ++k) sum += pivots[static_cast<std::size_t>(k)] * (l[i][k] * conj(l[j][k]));
      if (i == j)
        block.diagonal[i] = sum.re;
      else
        block.lower[hermitian_6x6::lower_index(i, j)] = sum;
    }
  return block;
}

TEST(LogDeterminant, IsTheSumOfThePivots) {
  const lattice_geometry geometry({2, 2, 2, 2});
  clover_configuration a(geometry);
  double expected[2]{};
  for (std::int64_t site = 0; site < 16; ++site)
    for (int chirality = 0; chirality < 2; ++chirality) {
      const auto seed = static_cast<std::uint64_t>(2 * site + chirality);
      std::array<double, chiral_rows> pivots{4.0, 3.0, 5.0, 2.0, 6.0, 1.0 + 0.1 * static_cast<double>(site)};
      if (site % 3 == 0) pivots[1] = -3.0, pivots[4] = -6.0;  // the determinant stays positive
      a.at_site(site).chirality[chirality] = with_pivots(pivots, seed);
      expected[parity(geometry.local_coordinate(site))] += std::log(720.0 * pivots[5]);
    }
  for (const int parity : {0, 1}) {
    EXPECT_NEAR(log_determinant(a, parity, alone), expected[parity], 1e-11) << parity;
    EXPECT_EQ(log_determinant_difference(a, a, parity, alone), 0.0);
  }
  auto after = a;
  add_to_diagonal(after, 1e-7);
  EXPECT_NEAR(log_determinant_difference(after, a, 1, alone),
              log_determinant(after, 1, alone) - log_determinant(a, 1, alone), 1e-12);
}

TEST(LogDeterminant, SaysWhereThereIsNone) {
  const lattice_geometry geometry({2, 4, 2, 2});
  clover_configuration good(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    good.at_site(site).chirality[0] = good.at_site(site).chirality[1] = with_pivots({1, 2, 3, 4, 5, 6}, 1);
  EXPECT_NEAR(log_determinant(good, 0, alone), 32 * std::log(720.0), 1e-11);
  const coordinate x{1, 3, 0, 1};  // odd
  for (const double pivot : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    auto a = good;
    a(x).chirality[1] = with_pivots({1, 2, pivot, 4, 5, 6}, 1);
    const auto message_of = [](auto&& call) {
      try {
        call();
      } catch (const input_error& e) {
        return std::string(e.what());
      }
      return std::string();
    };
    EXPECT_NE(message_of([&] { log_determinant(a, 1, alone); }).find("(1, 3, 0, 1)"), std::string::npos) << pivot;
    EXPECT_NE(message_of([&] { log_determinant_difference(good, a, 1, alone); }).find("(1, 3, 0, 1)"),
              std::string::npos);
    EXPECT_NO_THROW(log_determinant(a, 0, alone));
  }
}

// --- Even-odd pseudofermions -----------------------------------------------------------------------------------------

TEST(EvenOddForce, IsTheDerivativeOfTheAction) {
  const lattice_geometry geometry({4, 2, 4, 4});
  const context ctx(geometry, alone);
  const auto links = weak_field_configuration(geometry, 0.3, 1, alone);
  field<double> phi(ctx, field_shape{4, 3, site_subset::even, 1});
  import_column(phi, 0, random_spinor(geometry, 3, 9, alone));
  for (const double csw : {0.0, 1.9})
    for (const double mu : {0.0, 0.3}) {
      const fermion_action action = fermion_action::isotropic(0.1, csw);
      gauge_momenta force(geometry);
      leaf_field z(geometry);
      validation::even_odd_quarks(ctx, links, action, mu).add_force(force, z, links, phi, 0.7);
      add_clover_force(force, links, z, 1.0, alone);
      // Solves to 1e-14 of actions of some 10^3, divided by t = 1e-3.
      expect_derivative(links, force, 1e-8, [&](const gauge_configuration& u) {
        return 0.7 * validation::even_odd_quarks(ctx, u, action, mu).action(phi);
      });
    }
}

}  // namespace
}  // namespace plaquette::cpu
