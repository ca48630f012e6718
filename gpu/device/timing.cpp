// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/timing.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace plaquette::gpu {

namespace {

constexpr double most_launches = 100'000;

int launches_for(double seconds, double of_one) {
  return of_one > 0.0 ? static_cast<int>(std::clamp(seconds / of_one, 1.0, most_launches)) : 1;
}

void keep_running(const queue& q, double seconds, int launches, const std::function<void()>& launch) {
  double spent = 0.0;
  const auto start = std::chrono::steady_clock::now();
  while (spent < seconds) {
    for (int i = 0; i < launches; ++i) launch();
    q.synchronize();
    spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

}  // namespace

std::string_view name_of(timing_protocol protocol) { return protocol == timing_protocol::cool ? "cool" : "sustained"; }

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

std::vector<double> timed_launches(const queue& q, timing_protocol protocol, const std::function<void()>& launch,
                                   const timing_rule& rule) {
  // Few launches tell too little of a short one, whose first pays for the way to the device.
  const double rough = seconds_a_launch(q, launches_for(1e-3, seconds_a_launch(q, 2, launch)), launch);
  const int launches = launches_for(rule.sample_seconds, rough);
  q.synchronize();
  if (protocol == timing_protocol::cool)
    std::this_thread::sleep_for(std::chrono::duration<double>(rule.idle_seconds));
  else
    keep_running(q, rule.running_seconds, launches, launch);
  std::vector<double> seconds;
  for (int i = 0; i < rule.samples; ++i) seconds.push_back(seconds_a_launch(q, launches, launch));
  return seconds;
}

}  // namespace plaquette::gpu
