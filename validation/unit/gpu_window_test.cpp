// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The power of a GPU from readings of a counter that moves every tenth of a second.
#include <gtest/gtest.h>

#include "miniapps/shared/gpu_monitor.hpp"

namespace plaquette {
namespace {

TEST(GpuWindow, ThePowerIsThatBetweenTwoMovesOfTheCounter) {
  gpu_window window;
  window.seconds = 1.3;
  window.energy_joule = 940.0;  // since the counter's last move, which was before the window
  window.energy_ticks = {{0.03, 100.0}, {0.52, 443.0}, {1.03, 800.0}};
  ASSERT_TRUE(window.power_watt());
  EXPECT_NEAR(*window.power_watt(), 700.0, 1e-9);
}

TEST(GpuWindow, AShortWindowTellsNoPower) {
  gpu_window window;
  EXPECT_FALSE(window.power_watt());
  window.energy_ticks = {{0.03, 100.0}};
  EXPECT_FALSE(window.power_watt());
  window.energy_ticks = {{0.03, 100.0}, {0.09, 320.0}};
  EXPECT_FALSE(window.power_watt());
}

}  // namespace
}  // namespace plaquette
