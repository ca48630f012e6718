// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gaussian_smearing.hpp"

namespace plaquette::cpu {
namespace {

constexpr double epsilon = 0x1p-52;
const communicator alone;

double largest_difference(const spinor_configuration& a, const spinor_configuration& b) {
  double worst = 0.0;
  for (std::int64_t site = 0; site < a.geometry().local_volume(); ++site)
    for (int spin = 0; spin < spins; ++spin)
      for (int c = 0; c < colours; ++c) {
        const complex<double> d = a.at_site(site)(spin, c) - b.at_site(site)(spin, c);
        const double size = std::sqrt(norm2(d));
        keep_largest(worst, size);
      }
  return worst;
}

TEST(GaussianSmearing, MultipliesAPlaneWaveByItsEigenvalueOnTheUnitField) {
  const extents size{4, 6, 2, 8};
  const lattice_geometry geometry(size);
  const auto unit = unit_configuration(geometry);
  const double radius = 1.3;
  const int steps = 7;
  for (const coordinate& momentum : {coordinate{0, 0, 0, 0}, coordinate{1, 2, 0, 3}, coordinate{2, 5, 1, 7}}) {
    spinor_configuration wave(geometry), expected(geometry);
    double laplacian = 0.0;  // of the three spatial directions
    for (int i = 0; i < 3; ++i) laplacian += 2.0 * std::cos(2.0 * std::numbers::pi * momentum[i] / size[i]) - 2.0;
    const double eigenvalue = std::pow(1.0 + radius * radius / (4.0 * steps) * laplacian, steps);
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
      const coordinate x = geometry.local_coordinate(site);
      double angle = 0.0;
      for (int mu = 0; mu < dimensions; ++mu) angle += 2.0 * std::numbers::pi * momentum[mu] * x[mu] / size[mu];
      wave(x)(2, 1) = {std::cos(angle), std::sin(angle)};
      expected(x)(2, 1) = eigenvalue * wave(x)(2, 1);
    }
    // Seven steps of a dozen roundings each; angles up to 50 are rounded to 50 epsilon.
    EXPECT_LE(largest_difference(gaussian_smeared(wave, unit, radius, steps, alone), expected), 300 * epsilon);
  }
}

TEST(GaussianSmearing, KeepsToItsTimeSliceAndSpin) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const auto links = random_configuration(geometry, 1, alone);
  spinor_configuration point(geometry);
  point({1, 2, 1, 5})(3, 0) = {1.0, 0.0};
  const auto smeared = gaussian_smeared(point, links, 1.5, 6, alone);
  int filled = 0;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    for (int spin = 0; spin < spins; ++spin)
      for (int c = 0; c < colours; ++c) {
        const bool zero = smeared(x)(spin, c) == complex<double>{};
        if (x[3] != 5 || spin != 3) {
          EXPECT_TRUE(zero);
        }
        filled += !zero;
      }
  }
  EXPECT_EQ(filled, 4 * 6 * 2 * 3);  // six steps reach every site of the slice: at most 2 + 3 + 1 hops away
}

TEST(GaussianSmearing, IsGaugeCovariant) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const auto links = random_configuration(geometry, 2, alone);
  const auto g = random_gauge_transformation(geometry, 3, alone);
  const auto psi = random_spinor(geometry, 4, 0, alone);
  const auto one_way = transformed(gaussian_smeared(psi, links, 2.0, 5, alone), g, alone);
  const auto other_way = gaussian_smeared(transformed(psi, g, alone), transformed(links, g, alone), 2.0, 5, alone);
  // A step multiplies rounding errors by |1 - 6 h| + 6 h = 1.4 at most (h = 0.2) and adds a few tens of epsilon, on
  // numbers below 10.
  EXPECT_LE(largest_difference(one_way, other_way), 5 * std::pow(1.4, 5) * 10 * 30 * epsilon);
}

TEST(GaussianSmearing, RefusesWhatItCannotDo) {
  const lattice_geometry geometry({4, 4, 2, 2});
  const auto unit = unit_configuration(geometry);
  const spinor_configuration psi(geometry);
  EXPECT_THROW(gaussian_smeared(psi, unit, 1.0, 0, alone), input_error);
  EXPECT_THROW(gaussian_smeared(psi, unit, std::nan(""), 3, alone), input_error);
}

}  // namespace
}  // namespace plaquette::cpu
