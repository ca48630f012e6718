// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meson and nucleon contractions against the formula with all its indices written out.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/error.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/observables/baryons.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "cpu_ref/sources/sources.hpp"

namespace plaquette::cpu {
namespace {

const lattice_geometry odd_shape({4, 6, 2, 8});

/// Twelve columns of noise: a contraction is one whatever it is given.
propagator random_propagator(const lattice_geometry& geometry, std::uint64_t seed) {
  propagator columns;
  for (int n = 0; n < spin_colours; ++n)
    columns.push_back(random_spinor(geometry, seed, static_cast<std::uint64_t>(n), communicator{}));
  return columns;
}

/// Re tr [ Gamma S Gamma gamma_5 S^+ gamma_5 ] as 12 x 12 matrices, summed over space.
std::vector<double> meson_by_matrices(const propagator& columns, const spin_matrix& gamma) {
  const lattice_geometry& geometry = columns.front().geometry();
  const spin_matrix gamma5 = gamma_matrix(4), sink = gamma, source = gamma * gamma5;
  std::vector<double> correlator(static_cast<std::size_t>(geometry.global()[3]));
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    const auto s = [&](int a, int c, int d, int e) { return columns[static_cast<std::size_t>(3 * d + e)](x)(a, c); };
    complex<double> sum;
    for (int a = 0; a < spins; ++a)
      for (int b = 0; b < spins; ++b)
        for (int d = 0; d < spins; ++d)
          for (int f = 0; f < spins; ++f)
            for (int g = 0; g < spins; ++g)
              for (int c = 0; c < colours; ++c)
                for (int e = 0; e < colours; ++e)
                  // sink(a,b) S(b,d) source(d,f) S^+(f,g) gamma5(g,a), with S^+(f e, g c) = conj S(g c, f e)
                  sum += sink(a, b) * s(b, c, d, e) * source(d, f) * conj(s(g, c, f, e)) * gamma5(g, a);
    correlator[static_cast<std::size_t>(x[3])] += sum.re;
  }
  return correlator;
}

/// The terms of a time slice add up to at most sum |S|^2 in absolute value (Cauchy-Schwarz, gammas being unitary). The
/// rounding of a sum of n = 48 sites x 144 products is about sqrt(n) u = 83 u of that when the order changes; twice
/// that is allowed.
double rounding(const propagator& columns) {
  double largest = 0.0;
  for (const double sum : pion_correlator(columns, {})) largest = std::max(largest, sum);
  return 2.0 * std::sqrt(48.0 * 144.0) * 0x1p-53 * largest;
}

void expect_equal(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < found.size(); ++t) EXPECT_NEAR(found[t], expected[t], tolerance) << "t = " << t;
}

TEST(MesonCorrelator, IsTheTraceWithAllItsIndices) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const propagator columns = random_propagator(odd_shape, seed);
    for (int mu = 0; mu < 5; ++mu)
      expect_equal(meson_correlator(columns, gamma_matrix(mu), {}), meson_by_matrices(columns, gamma_matrix(mu)),
                   rounding(columns));
    const spin_matrix axial = gamma_matrix(3) * gamma_matrix(4);
    expect_equal(meson_correlator(columns, axial, {}), meson_by_matrices(columns, axial), rounding(columns));
  }
}

TEST(PionCorrelator, IsTheMesonOfGamma5) {
  const propagator columns = random_propagator(odd_shape, 4);
  expect_equal(pion_correlator(columns, {}), meson_correlator(columns, gamma_matrix(4), {}), rounding(columns));
}

TEST(RhoCorrelator, IsTheAverageOverTheSpatialGammas) {
  const propagator columns = random_propagator(odd_shape, 5);
  const std::vector<double> rho = rho_correlator(columns, {});
  for (std::size_t t = 0; t < rho.size(); ++t) {
    double average = 0.0;
    for (int i = 0; i < 3; ++i) average += meson_by_matrices(columns, gamma_matrix(i))[t] / 3.0;
    EXPECT_NEAR(rho[t], average, rounding(columns));
  }
}

TEST(RhoCorrelator, IsPositiveForAQuarkAtRest) {
  // S = (1 + gamma_t)/2: both quarks move forwards in time, and tr [gamma_i S gamma_i gamma_5 S^+ gamma_5] = 6 a site.
  const spin_matrix projector = complex<double>{0.5, 0.0} * (spin_matrix::identity() + gamma_matrix(3));
  propagator columns;
  for (int n = 0; n < spin_colours; ++n) {
    const auto [spin, colour] = component_of_column(n);
    spinor_configuration column(odd_shape);
    for (std::int64_t site = 0; site < odd_shape.local_volume(); ++site)
      for (int a = 0; a < spins; ++a) column.at_site(site)(a, colour) = projector(a, spin);
    columns.push_back(column);
  }
  for (const double value : rho_correlator(columns, {})) EXPECT_NEAR(value, 6.0 * 48, 1e-11);
  for (const double value : pion_correlator(columns, {})) EXPECT_NEAR(value, 6.0 * 48, 1e-11);
}

/// Returns the value of a wave of these momenta at x, conjugated: the momenta are of x, y, z, t.
complex<double> wave(const coordinate& x, const extents& lattice, const std::array<int, 4>& momentum) {
  double angle = 0.0;
  for (int mu = 0; mu < dimensions; ++mu) angle -= 2.0 * std::numbers::pi * momentum[mu] * x[mu] / lattice[mu];
  return {std::cos(angle), std::sin(angle)};
}

TEST(MomentumCorrelator, AlongAnyDirectionHasTheFourierModesOfTheLattice) {
  // Summed with the wave of its own direction, a correlator becomes a sum over all sites: the same along each.
  const propagator columns = random_propagator(odd_shape, 8);
  const std::array<int, 4> p{1, -2, 1, 3};
  std::array<complex<double>, 4> modes;
  for (int mu = 0; mu < dimensions; ++mu) {
    std::array<int, 3> others{};
    for (int nu = 0, i = 0; nu < dimensions; ++nu)
      if (nu != mu) others[i++] = p[nu];
    const auto correlator = momentum_correlator(columns, gamma_matrix(3), others, {}, mu);
    ASSERT_EQ(std::ssize(correlator), odd_shape.global()[mu]);
    for (int at = 0; at < odd_shape.global()[mu]; ++at) {
      coordinate x{};
      x[mu] = at;
      std::array<int, 4> own{};
      own[mu] = p[mu];
      modes[mu] += wave(x, odd_shape.global(), own) * correlator[at];
    }
  }
  // Eight times as many terms as a time slice of `rounding` has.
  for (const complex<double>& mode : modes)
    EXPECT_LE(std::sqrt(norm2(mode - modes[3])), std::sqrt(8.0) * 8.0 * rounding(columns));
  EXPECT_GT(std::sqrt(norm2(modes[3])), 100.0 * rounding(columns));
  EXPECT_THROW(momentum_correlator(columns, gamma_matrix(3), {}, {}, 4), input_error);
}

/// +1, -1 for even and odd permutations of 0, 1, 2; else 0.
int epsilon(int a, int b, int c) { return (a - b) * (b - c) * (c - a) / 2; }

/// (-1)^(crossings of the lines that join contracted fields): the sign that anticommuting fields give.
double wick_sign(const std::array<std::pair<int, int>, 3>& lines) {
  int crossings = 0;
  for (const auto& [a, b] : lines)
    for (const auto& [c, d] : lines) crossings += a < c && c < b && b < d;
  return crossings % 2 == 0 ? 1.0 : -1.0;
}

/// tr [P N Nbar] at x by all contractions of N_g = eps u_a^i G_ij d_b^j u_c^g with Nbar = N^+ gamma_t: in this order
/// u_a d_b u_c ubar_c' dbar_b' ubar_a', where psi^+ = psibar gamma_t.
complex<double> proton_by_contractions(const propagator& u, const propagator& d, int parity, const coordinate& x) {
  const spin_matrix one = spin_matrix::identity(), gt = gamma_matrix(3);
  const spin_matrix g = gamma_matrix(1) * gt * gamma_matrix(4);
  const spin_matrix p = complex<double>{0.5, 0.0} * (parity > 0 ? one + gt : one - gt);
  const auto line = [&](const propagator& quark, int spin, int colour, int from_spin, int from_colour) {
    return quark[static_cast<std::size_t>(3 * from_spin + from_colour)](x)(spin, colour);
  };
  const double nested = wick_sign({{{0, 5}, {1, 4}, {2, 3}}}), crossed = wick_sign({{{0, 3}, {1, 4}, {2, 5}}});
  spin_matrix bar;  // of Nbar, in dbar_b'^j' ubar_a'^i': sum of conj G_ij gamma_t(j', j) gamma_t(i', i)
  for (int i = 0; i < spins; ++i)
    for (int j = 0; j < spins; ++j)
      for (int i2 = 0; i2 < spins; ++i2)
        for (int j2 = 0; j2 < spins; ++j2) bar(j2, i2) += conj(g(i, j)) * gt(j2, j) * gt(i2, i);
  complex<double> sum;
  for (int colour = 0; colour < 729; ++colour) {
    const int a = colour % 3, b = colour / 3 % 3, c = colour / 9 % 3, a2 = colour / 27 % 3, b2 = colour / 81 % 3,
              c2 = colour / 243;
    const double sign = epsilon(a, b, c) * epsilon(a2, b2, c2);
    if (sign == 0.0) continue;
    for (int i = 0; i < spins; ++i)
      for (int j = 0; j < spins; ++j)
        for (int i2 = 0; i2 < spins; ++i2)
          for (int j2 = 0; j2 < spins; ++j2) {
            const complex<double> vertex = sign * (g(i, j) * bar(j2, i2));
            if (norm2(vertex) == 0.0) continue;
            for (int k = 0; k < spins; ++k)
              for (int k2 = 0; k2 < spins; ++k2)
                sum += vertex * p(k2, k) * line(d, j, b, j2, b2) *
                       (nested * (line(u, i, a, i2, a2) * line(u, k, c, k2, c2)) +
                        crossed * (line(u, i, a, k2, c2) * line(u, k, c, i2, a2)));
          }
  }
  return sum;
}

TEST(NucleonCorrelator, IsTheSumOfAllContractions) {
  const lattice_geometry geometry({2, 4, 2, 2});
  const propagator up = random_propagator(geometry, 9), down = random_propagator(geometry, 10);
  for (const int parity : {1, -1}) {
    const auto found = nucleon_correlator(up, down, parity, {1, -1, 0}, {});
    std::array<complex<double>, 2> expected;
    std::array<double, 2> squares{};
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
      const coordinate x = geometry.local_coordinate(site);
      const complex<double> value = proton_by_contractions(up, down, parity, x);
      expected[x[3]] += wave(x, geometry.global(), {1, -1, 0, 0}) * value;
      squares[x[3]] += norm2(value);
    }
    // Products of three numbers of size 1, some 36 x 16 x 16 a site, in random signs: sums and their roundings grow
    // alike. Seen: about 7 u of the size.
    for (std::size_t t = 0; t < 2; ++t)
      EXPECT_LE(std::sqrt(norm2(found.at(t) - expected[t])), 60 * 0x1p-53 * std::sqrt(squares[t])) << t;
  }
}

TEST(NucleonCorrelator, IsThatOfStaticQuarks) {
  // S = s (1 + gamma_t)/2: 36 s^3 a site runs forwards, 24 of it by the direct term; nothing of the other parity.
  const spin_matrix projector = complex<double>{0.5, 0.0} * (spin_matrix::identity() + gamma_matrix(3));
  propagator columns;
  for (int n = 0; n < spin_colours; ++n) {
    const auto [spin, colour] = component_of_column(n);
    spinor_configuration column(odd_shape);
    for (std::int64_t site = 0; site < odd_shape.local_volume(); ++site)
      for (int a = 0; a < spins; ++a) column.at_site(site)(a, colour) = 0.5 * projector(a, spin);
    columns.push_back(column);
  }
  for (const auto& value : nucleon_correlator(columns, columns, 1, {}, {}))
    EXPECT_LE(std::sqrt(norm2(value - complex<double>{36.0 / 8.0 * 48, 0.0})), 1e-12);
  for (const auto& value : nucleon_correlator(columns, columns, -1, {}, {})) EXPECT_LE(norm2(value), 1e-24);
}

TEST(NucleonCorrelator, IsGaugeInvariant) {
  // S -> g(x) S g(0)^+. Seen: about 15 u.
  const lattice_geometry geometry({2, 2, 2, 4});
  const propagator columns = random_propagator(geometry, 11);
  const auto g = random_gauge_transformation(geometry, 12, {});
  propagator moved;
  for (int n = 0; n < spin_colours; ++n) {
    const auto [spin, colour] = component_of_column(n);
    spinor_configuration column(geometry);
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (int e = 0; e < colours; ++e)
        column.at_site(site) +=
            conj(g(coordinate{})(colour, e)) * columns[static_cast<std::size_t>(3 * spin + e)].at_site(site);
    moved.push_back(transformed(column, g, {}));
  }
  const auto before = nucleon_correlator(columns, columns, 1, {0, 1, 0}, {}),
             after = nucleon_correlator(moved, moved, 1, {0, 1, 0}, {});
  for (std::size_t t = 0; t < before.size(); ++t)
    EXPECT_LE(std::sqrt(norm2(after[t] - before[t])), 200 * 0x1p-53 * std::sqrt(norm2(before[t]))) << t;
  EXPECT_THROW(nucleon_correlator(columns, columns, 0, {}, {}), input_error);
}

TEST(Correlators, NoticeASingleNaN) {
  propagator columns = random_propagator(odd_shape, 6);
  columns[7](coordinate{1, 2, 1, 5})(2, 1).im = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(pion_correlator(columns, {})[5]));
  EXPECT_TRUE(std::isnan(rho_correlator(columns, {})[5]));
  EXPECT_FALSE(std::isnan(pion_correlator(columns, {})[4]));
}

TEST(Correlators, NeedAllTwelveColumns) {
  propagator columns = random_propagator(odd_shape, 7);
  columns.pop_back();
  EXPECT_THROW(pion_correlator(columns, {}), input_error);
  EXPECT_THROW(rho_correlator(columns, {}), input_error);
}

TEST(Correlators, AreShiftedToTheSource) {
  const std::vector<double> correlator{0, 1, 2, 3};
  EXPECT_EQ(relative_to_source(correlator, 0), correlator);
  EXPECT_EQ(relative_to_source(correlator, 3), (std::vector<double>{3, 0, 1, 2}));
}

}  // namespace
}  // namespace plaquette::cpu
