// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sources on every legal box: sites with 1, sites with 0, and how a smeared source transforms.
#include <gtest/gtest.h>

#include <cmath>

#include "common/error.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/sources/sources.hpp"

namespace plaquette::cpu {
namespace {

const extents odd_shape{4, 6, 2, 8};

/// The source as described, of one process: all sites.
spinor_configuration made(const source_description& source, int spin, int colour, const gauge_configuration& links) {
  return make_source(source, spin, colour, links, communicator{});
}

gauge_configuration weak_field(double noise = 0.3) {
  return weak_field_configuration(lattice_geometry(odd_shape), noise, 11, communicator{});
}

/// Calls expect(global coordinate, spinor, true if the component is the source's) for each component of each site.
template <class Expect>
void for_each_component(const spinor_configuration& psi, Expect&& expect) {
  const lattice_geometry& geometry = psi.geometry();
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int spin = 0; spin < spins; ++spin)
      for (int colour = 0; colour < colours; ++colour)
        expect(geometry.to_global(geometry.local_coordinate(site)), spin, colour, psi.at_site(site)(spin, colour));
}

TEST(PointSource, IsOneComponentOfOneSite) {
  const coordinate position{3, 0, 1, 6};
  const gauge_configuration links = weak_field();
  for (int column = 0; column < spin_colours; ++column) {
    const auto [s, c] = component_of_column(column);
    EXPECT_EQ(3 * s + c, column);
    const auto source = made({.kind = source_kind::point, .position = position}, s, c, links);
    for_each_component(source, [&, s = s, c = c](const coordinate& x, int spin, int colour, complex<double> value) {
      const bool here = x == position && spin == s && colour == c;
      EXPECT_EQ(value, (complex<double>{here ? 1.0 : 0.0, 0.0}));
    });
  }
}

TEST(PointSource, BelongsToOneRankOfAGrid) {
  const coordinate position{3, 5, 1, 6};
  const extents grid{2, 1, 1, 4};
  int holders = 0;
  for (int rank = 0; rank < 8; ++rank) {
    const lattice_geometry geometry(odd_shape, grid, rank);
    const auto source = point_source(geometry, position, 2, 1);
    for_each_component(source, [&](const coordinate& x, int spin, int colour, complex<double> value) {
      if (value == complex<double>{}) return;
      ++holders;
      EXPECT_EQ(x, position);
      EXPECT_EQ(spin, 2);
      EXPECT_EQ(colour, 1);
    });
  }
  EXPECT_EQ(holders, 1);
}

TEST(WallSource, IsOneEverywhereOnItsTimeSlice) {
  for (int rank = 0; rank < 4; ++rank) {
    const lattice_geometry geometry(odd_shape, {1, 1, 1, 4}, rank);
    const auto source = wall_source(geometry, 5, 1, 2);
    for_each_component(source, [&](const coordinate& x, int spin, int colour, complex<double> value) {
      const bool here = x[3] == 5 && spin == 1 && colour == 2;
      EXPECT_EQ(value, (complex<double>{here ? 1.0 : 0.0, 0.0}));
    });
  }
}

TEST(GaussianSource, StaysInItsTimeSliceAndItsSpin) {
  const auto source = made({.kind = source_kind::gaussian, .position = {1, 2, 0, 3}}, 2, 0, weak_field());
  double norm = 0.0;
  for_each_component(source, [&](const coordinate& x, int spin, int, complex<double> value) {
    norm += norm2(value);
    if (x[3] != 3 || spin != 2) {
      EXPECT_EQ(value, complex<double>{});
    }
  });
  EXPECT_GT(norm, 0.0);
}

TEST(GaussianSource, SumsToOneOnTheUnitField) {
  // The hops of a constant give back the constant, so the sum over space is kept: 1, to the rounding of 5 steps of sums
  // over 48 sites of numbers of order 1.
  const auto links = unit_configuration(lattice_geometry(odd_shape));
  const auto source = made({.kind = source_kind::gaussian, .position = {1, 2, 0, 3}}, 0, 0, links);
  double sum = 0.0;
  for_each_component(source, [&](const coordinate&, int, int, complex<double> value) { sum += value.re; });
  EXPECT_NEAR(sum, 1.0, 5 * 48 * 0x1p-53);
}

TEST(GaussianSource, IsCovariantUnderGaugeTransformations) {
  // The source on the transformed links is g(x) s(x) g(x0)^+: column by column, a combination of the three colours.
  const communicator alone;
  const gauge_configuration links = weak_field();
  const gauge_transformation g = random_gauge_transformation(links.geometry(), 12, alone);
  const gauge_configuration turned = transformed(links, g, alone);
  const source_description source{.kind = source_kind::gaussian, .position = {1, 2, 0, 3}};
  for (int colour = 0; colour < colours; ++colour) {
    const auto found = made(source, 1, colour, turned);
    spinor_configuration expected(links.geometry());
    for (int c = 0; c < colours; ++c) {
      const auto part = transformed(made(source, 1, c, links), g, alone);
      for (std::int64_t site = 0; site < links.geometry().local_volume(); ++site)
        expected.at_site(site) += conj(g(source.position)(colour, c)) * part.at_site(site);
    }
    double difference = 0.0, norm = 0.0;
    for (std::int64_t site = 0; site < links.geometry().local_volume(); ++site) {
      difference += norm2(found.at_site(site) - expected.at_site(site));
      norm += norm2(expected.at_site(site));
    }
    // Five steps of seven products of 3 x 3 matrices each, errors adding at random: well below 100 u.
    EXPECT_LE(std::sqrt(difference / norm), 100 * 0x1p-53);
  }
}

TEST(Source, IsRefusedWhereItDoesNotFit) {
  for (const coordinate& outside : {coordinate{4, 0, 0, 0}, coordinate{0, 0, 0, 8}, coordinate{-1, 0, 0, 0}})
    EXPECT_THROW(require_source_on({.position = outside}, odd_shape), input_error);
  EXPECT_NO_THROW(require_source_on({.position = {3, 5, 1, 7}}, odd_shape));
  EXPECT_THROW(require_source_on({.kind = source_kind::gaussian, .smearing_steps = 0}, odd_shape), input_error);
  EXPECT_THROW(require_source_on({.kind = source_kind::gaussian, .smearing_radius = std::nan("")}, odd_shape),
               input_error);
  EXPECT_THROW(parse_source_kind("plane"), input_error);
  for (const source_kind kind : {source_kind::point, source_kind::wall, source_kind::gaussian})
    EXPECT_EQ(parse_source_kind(name(kind)), kind);
}

}  // namespace
}  // namespace plaquette::cpu
