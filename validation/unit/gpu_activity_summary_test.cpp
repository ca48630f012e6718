// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "gpu/lab/activity_summary.hpp"

namespace plaquette::gpu::lab {
namespace {

TEST(ActivitySummary, CountsTimeInWhichNothingRan) {
  // 100-200, 150-180 inside it, 250-300; a long pause; 5000-5100. Not in order.
  const auto found = stretches_of({{250, 300, 1}, {5000, 5100, 0}, {100, 200, 0}, {150, 180, 1}}, 1000);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].begin, 100u);
  EXPECT_EQ(found[0].end, 300u);
  EXPECT_EQ(found[0].idle, 50u);
  EXPECT_EQ(found[0].longest_idle, 50u);
  EXPECT_DOUBLE_EQ(found[0].idle_share(), 0.25);
  EXPECT_EQ(found[0].count, 3);
  ASSERT_EQ(found[0].shares.size(), 2u);
  EXPECT_EQ(found[0].shares[0].name, 0u);
  EXPECT_DOUBLE_EQ(found[0].shares[0].seconds, 100e-9);
  EXPECT_EQ(found[0].shares[1].count, 2);
  EXPECT_DOUBLE_EQ(found[0].shares[1].seconds, 80e-9);
  EXPECT_EQ(found[1].idle, 0u);
  EXPECT_EQ(found[1].count, 1);
}

TEST(ActivitySummary, AnActivityThatOutlastsOthersLeavesNoPause) {
  const auto found = stretches_of({{0, 1000, 0}, {10, 20, 1}, {900, 1100, 1}}, 10);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].idle, 0u);
  EXPECT_EQ(found[0].end, 1100u);
}

TEST(ActivitySummary, NothingIsNoStretch) { EXPECT_TRUE(stretches_of({}, 10).empty()); }

}  // namespace
}  // namespace plaquette::gpu::lab
