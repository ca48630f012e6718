// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meson contractions against the formula with all its indices written out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/error.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
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
