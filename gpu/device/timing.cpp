// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/timing.hpp"

#include <algorithm>
#include <utility>

namespace plaquette::gpu {

namespace {

constexpr double most_launches = 100'000;

int launches_for(double seconds, double of_one) {
  return of_one > 0.0 ? static_cast<int>(std::clamp(seconds / of_one, 1.0, most_launches)) : 1;
}

}  // namespace

double seconds_a_launch(const queue& q, int times, const std::function<void()>& launch) {
  device_timer timer(q);
  timer.start();
  for (int i = 0; i < times; ++i) launch();
  timer.stop();
  return timer.seconds() / times;
}

double seconds_a_launch_over(const queue& q, double seconds, const std::function<void()>& launch) {
  launch();
  return seconds_a_launch(q, launches_for(seconds, seconds_a_launch(q, 2, launch)), launch);
}

std::function<double(int)> by_device_clock(const queue& q, std::function<void()> launch, int applications) {
  return [q, launch = std::move(launch), applications](int times) {
    const int launches = (times + applications - 1) / applications;
    return seconds_a_launch(q, launches, launch) * times / applications;
  };
}

}  // namespace plaquette::gpu
