// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/fields/block_layout.hpp"

#include <gtest/gtest.h>

#include <set>

#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {
namespace {

const std::vector<extents> lattices = {{2, 2, 2, 2},  {4, 4, 4, 4}, {4, 6, 2, 8},  {6, 6, 6, 6},
                                       {2, 6, 10, 2}, {8, 8, 8, 8}, {2, 2, 2, 16}, {6, 10, 14, 4}};

TEST(BlockLayout, EightLanesFitEveryLatticeAndSixteenWhereAnExtentIsDivisibleByFour) {
  for (const extents& lattice : lattices) {
    bool by_four = false;
    for (const int length : lattice) by_four = by_four || length % 4 == 0;
    EXPECT_EQ(block_layout::possible_width(lattice_geometry(lattice), 16), by_four ? 16 : 8) << to_string(lattice);
  }
  EXPECT_THROW(block_layout(lattice_geometry({6, 6, 6, 6}), 16), std::invalid_argument);
  EXPECT_THROW(block_layout(lattice_geometry({8, 8, 8, 8}), 3), std::invalid_argument);
}

TEST(BlockLayout, EverySiteOfAParityHasOnePlace) {
  for (const extents& lattice : lattices)
    for (const int width : {1, 2, 4, 8, 16}) {
      const lattice_geometry geometry(lattice);
      if (block_layout::possible_width(geometry, width) != width) continue;
      const block_layout layout(geometry, width);
      std::set<std::int64_t> seen;
      for (int p = 0; p < 2; ++p)
        for (std::int64_t b = 0; b < layout.blocks(); ++b)
          for (int lane = 0; lane < width; ++lane) {
            const coordinate x = geometry.local_coordinate(layout.site(p, b, lane));
            EXPECT_EQ(parity(x), p);
            EXPECT_EQ(layout.place(x).block, b);
            EXPECT_EQ(layout.place(x).lane, lane);
            seen.insert(layout.site(p, b, lane));
          }
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), geometry.local_volume());
    }
}

TEST(BlockLayout, TheNeighbourOfABlockIsOneBlockWithItsLanesPermuted) {
  for (const extents& lattice : lattices)
    for (const int width : {2, 4, 8, 16}) {
      const lattice_geometry geometry(lattice);
      if (block_layout::possible_width(geometry, width) != width) continue;
      const block_layout layout(geometry, width);
      for (int p = 0; p < 2; ++p)
        for (std::int64_t b = 0; b < layout.blocks(); ++b)
          for (int d = 0; d < hop_directions; ++d) {
            const std::int32_t n = layout.neighbours(p)[b * hop_directions + d];
            const int code = layout.permutations(p)[b * hop_directions + d];
            for (int lane = 0; lane < width; ++lane) {
              const coordinate x = geometry.local_coordinate(layout.site(p, b, lane));
              const int from = layout.permutation_table()[static_cast<std::size_t>(code * width + lane)];
              ASSERT_EQ(layout.site(1 - p, n, from), geometry.global_index(shifted(x, d / 2, d % 2 == 0 ? 1 : -1)));
            }
          }
    }
}

TEST(BlockLayout, ANeighbourIsNewlyNeededByTheFirstBlockThatTouchesItAndOnlyByBlocksThatDo) {
  for (const extents& grid : {extents{1, 1, 1, 1}, extents{1, 1, 1, 2}, extents{2, 1, 2, 1}}) {
    const lattice_geometry geometry({8, 8, 8, 8}, grid, 0);
    const block_layout layout(geometry, 8);
    for (int p = 0; p < 2; ++p) {
      std::set<std::int32_t> touched;
      for (std::int64_t b = 0; b < layout.blocks(); ++b) {
        const std::int32_t* const neighbours = layout.neighbours(p) + b * hop_directions;
        const std::set<std::int32_t> here(neighbours, neighbours + hop_directions);
        const auto listed = layout.newly_needed(p).begin();
        const auto from = static_cast<std::size_t>(b);
        const std::multiset<std::int32_t> newly(listed + layout.newly_needed_from(p)[from],
                                                listed + layout.newly_needed_from(p)[from + 1]);
        for (const std::int32_t n : newly) {
          EXPECT_TRUE(here.contains(n));
          EXPECT_EQ(newly.count(n), 1U);
        }
        for (const std::int32_t n : here)
          if (n >= 0 && touched.insert(n).second) {
            EXPECT_TRUE(newly.contains(n));
          }
      }
    }
  }
}

TEST(BlockLayout, SlotsTakeEachIncomingHalfSpinorOnce) {
  for (const extents& grid : {extents{1, 1, 1, 2}, extents{2, 1, 2, 1}, extents{2, 3, 1, 4}, extents{2, 2, 2, 2}}) {
    extents global{4, 6, 2, 8};
    for (int mu = 0; mu < dimensions; ++mu) global[mu] *= grid[mu];
    const lattice_geometry geometry(global, grid, static_cast<int>(volume(grid)) - 1);
    const block_layout layout(geometry, 16);
    for (int p = 0; p < 2; ++p) {
      std::multiset<std::int64_t> taken;
      for (const slot_lane& lane : layout.slot_lanes(p))
        if (lane.message >= 0) taken.insert(lane.message);
      EXPECT_EQ(static_cast<std::int64_t>(taken.size()), layout.incoming(p));
      EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), taken.size());
      std::int64_t surface = 0;
      for (int mu = 0; mu < dimensions; ++mu)
        if (geometry.is_cut(mu)) surface += geometry.local_volume() / geometry.local()[mu];
      EXPECT_EQ(layout.incoming(p), surface);
      EXPECT_EQ(static_cast<std::int64_t>(layout.interior(p).size() + layout.boundary(p).size()), layout.blocks());
    }
  }
}

}  // namespace
}  // namespace plaquette::cpu
