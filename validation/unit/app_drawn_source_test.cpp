// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Places of the sources of repeated solves.
#include <gtest/gtest.h>

#include <set>

#include "miniapps/shared/drawn_source.hpp"

namespace plaquette {
namespace {

/// How many places the first `count` sources have, the given one among them.
std::size_t places(const source_description& source, const extents& lattice, std::uint64_t seed, int count) {
  std::set<coordinate> found{source.position};
  for (int number = 0; number < count; ++number) {
    const source_description drawn = scaling::drawn_source(source, lattice, seed, number);
    EXPECT_NO_THROW(require_source_on(drawn, lattice));
    EXPECT_EQ(drawn.kind, source.kind);
    found.insert(drawn.position);
  }
  return found.size();
}

TEST(DrawnSource, HasAPlaceOfItsOwnUntilAllAreTaken) {
  for (const std::uint64_t seed : {0, 1, 2, 3, 20, 12345}) {
    EXPECT_EQ(places({.position = {1, 0, 3, 2}}, {2, 4, 6, 4}, seed, 191), 192U);
    EXPECT_EQ(places({.position = {0, 0, 0, 0}}, {256, 256, 256, 512}, seed, 1000), 1001U);
    EXPECT_EQ(places({.kind = source_kind::wall, .position = {0, 0, 0, 5}}, {4, 4, 4, 8}, seed, 7), 8U);
    EXPECT_EQ(places({.kind = source_kind::gaussian, .position = {3, 3, 3, 3}}, {4, 4, 4, 4}, seed, 255), 256U);
  }
}

TEST(DrawnSource, DependsOnTheSeed) {
  const source_description source;
  std::set<coordinate> found;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    found.insert(scaling::drawn_source(source, {8, 8, 8, 16}, seed, 0).position);
  EXPECT_GE(found.size(), 15U);
}

}  // namespace
}  // namespace plaquette
