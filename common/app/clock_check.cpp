// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/clock_check.hpp"

#include <time.h>

#include <array>
#include <cmath>
#include <span>

#include "common/stopwatch.hpp"

namespace plaquette {

namespace {

double raw_seconds() {
  timespec now{};
#ifdef CLOCK_MONOTONIC_RAW
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
#else
  timespec_get(&now, TIME_UTC);
#endif
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

clock_comparison::clock_comparison() : start_(read()) {}

clock_comparison::reading clock_comparison::read() {
  reading best{0.0, 0.0, 1e300};
  for (int i = 0; i < 5; ++i) {  // another process may run in between
    const double before = raw_seconds(), now = seconds_now(), after = raw_seconds();
    if (after - before < best.apart) best = {now, 0.5 * (before + after), after - before};
  }
  return best;
}

void clock_comparison::add_check(verification& checks, const communicator& world) const {
  constexpr double drift = 0.01;
  const reading end = read();
  const double passed = end.raw - start_.raw, resolution = 1e-7 + start_.apart + end.apart;
  std::array<double, 2> worst{std::abs(end.now - start_.now - passed) / passed, resolution / passed};
  world.maximum(std::span(worst));
  checks.add("seconds by two clocks", worst[0], drift + worst[1]);
}

}  // namespace plaquette
