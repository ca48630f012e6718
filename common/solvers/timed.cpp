// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/timed.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "common/solvers/stretch_length.hpp"
#include "common/stopwatch.hpp"

namespace plaquette {

namespace {

void call(const std::function<void()>& f) {
  if (f) f();
}
bool stops(const sampling& how) { return how.should_stop && how.should_stop(); }

/// Waits in short steps, so that a signal is heard; as many on every rank.
void stay_idle(double seconds, const sampling& how) {
  constexpr double longest_step = 0.05;
  const int steps = static_cast<int>(std::ceil(seconds / longest_step));
  for (int i = 0; i < steps && !stops(how); ++i)
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds / steps));
}

void keep_running(const timed_kernel& kernel, const sampling& how, int applications, const timing_state& state) {
  constexpr double longest_part = 0.1;  // seconds
  const double samples = std::min(longest_part, state.running_seconds) / how.seconds;
  const int part = static_cast<int>(std::max(samples, 1.0) * applications);
  const stopwatch watch;
  const auto is_over = [&] {
    const bool here = watch.seconds() >= state.running_seconds;
    return state.on_any_rank ? state.on_any_rank(here) : here;
  };
  while (!is_over() && !stops(how)) {
    kernel.apply(part);
    call(state.watch);
  }
}

}  // namespace

std::string_view name_of(timing_protocol protocol) { return protocol == timing_protocol::cool ? "cool" : "sustained"; }

int applications_of_sample(const timed_kernel& kernel, const sampling& how) {
  kernel.apply(2);
  double seconds = std::min(kernel.apply(2), kernel.apply(2)) / 2;  // one of them may meet other work on the host
  // Few applications tell too little of a short one, whose first pays for the way to the device.
  constexpr double least_seconds = 1e-3;
  if (seconds > 0.0 && 2 * seconds < least_seconds) {
    const int trial = static_cast<int>(std::clamp(least_seconds / seconds, 1.0, double(how.most_applications)));
    seconds = std::min(seconds, kernel.apply(trial) / trial);
  }
  return seconds > 0.0 ? stretch_length(how.seconds / seconds, how.most_applications) : 1;
}

std::vector<double> timed(const timed_kernel& kernel, const sampling& how, int applications) {
  std::vector<double> seconds;
  for (int i = 0; i < how.samples; ++i) {
    if (stops(how)) return seconds;
    call(kernel.refresh);
    seconds.push_back(kernel.apply(applications) / applications);
    if (kernel.after_sample) kernel.after_sample(seconds.back());
  }
  call(kernel.judge);
  return seconds;
}

std::vector<double> timed(const timed_kernel& kernel, const sampling& how, int applications,
                          const timing_state& state) {
  if (state.protocol == timing_protocol::cool) stay_idle(state.idle_seconds, how);
  call(state.begin_watch);
  if (state.protocol == timing_protocol::sustained) keep_running(kernel, how, applications, state);
  timed_kernel samples = kernel;
  samples.judge = {};
  const std::vector<double> seconds = timed(samples, how, applications);
  call(state.end_watch);
  if (static_cast<int>(seconds.size()) == how.samples) call(kernel.judge);
  return seconds;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

kernel_rates rates_of(const counted_work& work, double seconds, const machine_limits& limits) {
  kernel_rates rates{1e-9 * work.flops / seconds, 1e-9 * work.bytes / seconds};
  if (limits.copy_gbytes_per_s > 0.0) rates.fraction_of_copy = rates.gbytes_per_s / limits.copy_gbytes_per_s;
  if (limits.fma_gflops > 0.0) rates.fraction_of_fma_peak = rates.gflops / limits.fma_gflops;
  return rates;
}

}  // namespace plaquette
