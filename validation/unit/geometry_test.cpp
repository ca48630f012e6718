// SPDX-License-Identifier: BSD-3-Clause
#include "common/lattice/geometry.hpp"

#include <gtest/gtest.h>

#include "common/error.hpp"

namespace plaquette {
namespace {

TEST(Extents, AreParsedFromFourNumbersJoinedByX) {
  EXPECT_EQ(parse_extents("4x6x2x8", "--lattice"), (extents{4, 6, 2, 8}));
  EXPECT_EQ(to_string(extents{4, 6, 2, 8}), "4x6x2x8");
}

TEST(Extents, RefuseAnythingElse) {
  for (const char* text : {"", "4", "4x4x4", "4x4x4x4x4", "4x4x4x", "x4x4x4", "4x4x4x-8", "4x4x0x4", "4x4x4x8 ",
                           "4,4,4,8", "4x4x4x99999999999", "nanxnanxnanxnan"})
    EXPECT_THROW(parse_extents(text, "--lattice"), input_error) << text;
}

TEST(Coordinate, LexicographicIndexRunsXFastestAndInverts) {
  const extents box{4, 6, 2, 8};
  EXPECT_EQ(lexicographic({1, 0, 0, 0}, box), 1);
  EXPECT_EQ(lexicographic({0, 1, 0, 0}, box), 4);
  EXPECT_EQ(lexicographic({0, 0, 0, 1}, box), 48);
  for (std::int64_t i = 0; i < volume(box); ++i) EXPECT_EQ(lexicographic(coordinate_of(i, box), box), i);
}

TEST(Geometry, BoxesOfAllRanksCoverTheLatticeOnce) {
  const extents global{4, 6, 4, 8}, grid{2, 1, 2, 4};
  std::vector<int> seen(static_cast<std::size_t>(volume(global)));
  for (int rank = 0; rank < volume(grid); ++rank) {
    const lattice_geometry g(global, grid, rank);
    for (std::int64_t s = 0; s < g.local_volume(); ++s) {
      const coordinate x = g.local_coordinate(s);
      ++seen[static_cast<std::size_t>(g.global_index(x))];
      EXPECT_EQ(parity(x), parity(g.to_global(x)));
      coordinate back;
      EXPECT_TRUE(g.holds(g.to_global(x), back));
      EXPECT_EQ(back, x);
    }
  }
  for (int count : seen) EXPECT_EQ(count, 1);
}

TEST(Geometry, NeighbourRanksArePeriodicAndOpposite) {
  const extents global{8, 8, 8, 8}, grid{1, 2, 4, 2};
  for (int rank = 0; rank < volume(grid); ++rank)
    for (int mu = 0; mu < dimensions; ++mu) {
      const lattice_geometry here(global, grid, rank);
      const lattice_geometry there(global, grid, here.neighbour_rank(mu, +1));
      EXPECT_EQ(there.neighbour_rank(mu, -1), rank);
      EXPECT_EQ(here.to_global(coordinate{}) == there.to_global(coordinate{}), grid[mu] == 1);
    }
}

TEST(Geometry, RefusesOddAndTooSmallBoxes) {
  EXPECT_THROW(lattice_geometry({4, 4, 4, 5}), input_error);
  EXPECT_THROW(lattice_geometry({4, 4, 4, 1}), input_error);
  EXPECT_THROW(lattice_geometry({4, 4, 4, 4}, {1, 1, 1, 3}), input_error);
  EXPECT_THROW(lattice_geometry({4, 4, 4, 4}, {1, 1, 1, 4}), input_error);
  EXPECT_THROW(lattice_geometry({4, 4, 4, 12}, {1, 1, 1, 4}), input_error);
  EXPECT_THROW(lattice_geometry({2000000000, 2000000000, 2000000000, 2000000000}), input_error);
}

TEST(Geometry, AutomaticGridHasTheSmallestSurface) {
  EXPECT_EQ(smallest_surface_grid({8, 8, 8, 8}, 1), (extents{1, 1, 1, 1}));
  EXPECT_EQ(smallest_surface_grid({8, 8, 8, 16}, 2), (extents{1, 1, 1, 2}));
  EXPECT_EQ(smallest_surface_grid({8, 8, 8, 8}, 2), (extents{1, 1, 1, 2}));
  EXPECT_EQ(smallest_surface_grid({8, 8, 8, 8}, 16), (extents{2, 2, 2, 2}));
  EXPECT_THROW(smallest_surface_grid({8, 8, 8, 8}, 3), input_error);
  EXPECT_THROW(smallest_surface_grid({2, 2, 2, 2}, 2), input_error);
}

}  // namespace
}  // namespace plaquette
