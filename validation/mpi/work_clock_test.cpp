// SPDX-License-Identifier: BSD-3-Clause
#include "common/krylov/work_clock.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace plaquette {
namespace {

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Tunes for as long as it is told to.
struct tuned_library {
  double spent = 0.0;
  double tuning_seconds() const { return spent; }
  void tune(double seconds) {
    sleep(seconds);
    spent += seconds;
  }
};

TEST(WorkClock, WhatOneRankTunesIsNotTheWorkOfThoseWhoWaitForIt) {
  const auto world = communicator::world();
  constexpr double tuning = 0.6, work = 0.05;
  tuned_library library;
  world.barrier();
  const work_clock watch(library);
  if (world.rank() == world.size() - 1) library.tune(tuning);
  world.barrier();  // the others wait for its kernel
  sleep(work);
  const stretch_seconds spent = end_together(watch, world);
  EXPECT_GE(spent.work, 0.9 * work);
  EXPECT_LT(spent.work, 0.5 * tuning);
  EXPECT_EQ(spent.tuning, tuning);
}

TEST(WorkClock, AStretchLastsAsLongAsOnItsSlowestRank) {
  const auto world = communicator::world();
  constexpr double longest = 0.2;
  const tuned_library library;
  world.barrier();
  const work_clock watch(library);
  sleep(world.rank() == 0 ? longest : 0.01);
  EXPECT_GE(end_together(watch, world).work, 0.9 * longest);
}

}  // namespace
}  // namespace plaquette
