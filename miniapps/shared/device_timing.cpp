// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/device_timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <utility>

#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

namespace {

/// Tests that start many programs (PLAQUETTE_COPY_MIB) take a fifth: most of what those do is to be timed.
double cpu_sample_seconds() { return std::getenv("PLAQUETTE_COPY_MIB") != nullptr ? 0.006 : 0.03; }
constexpr double gpu_sample_seconds = 0.005;  // cool means that few: a second of work is another clock
constexpr int most_applications = 10'000;

int applications_for(double seconds, double of_one) {
  return of_one > 0.0 ? stretch_length(seconds / of_one, most_applications) : 1;
}

/// Waits in short steps, so that a signal is heard; as many on every rank.
void stay_idle(double seconds, const std::function<bool()>& should_stop) {
  constexpr double longest_step = 0.05;
  const int steps = static_cast<int>(std::ceil(seconds / longest_step));
  for (int i = 0; i < steps && !(should_stop && should_stop()); ++i)
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds / steps));
}

void keep_running(double seconds, const timed_work& work, int applications, gpu_access& gpu,
                  const std::function<bool()>& should_stop) {
  const stopwatch watch;
  while (!gpu.device().on_any_rank(watch.seconds() >= seconds) && !(should_stop && should_stop())) {
    work(20 * applications);
    gpu.monitor().sample();
  }
}

/// Seconds of one application in each sample; empty where it was stopped.
std::vector<double> take(int samples, const timed_work& work, int applications,
                         const std::function<bool()>& should_stop, const std::function<void()>& refresh = {}) {
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) {
    if (should_stop && should_stop()) return {};
    if (refresh) refresh();
    seconds.push_back(work(applications) / applications);
  }
  return seconds;
}

}  // namespace

namespace {

/// Clocks are those of this rank's GPU; energy and power are those of all, where all tell them.
json_document window_of_ranks(const gpu_window& window, const library& device) {
  json_document seen = to_json(window);
  const bool told = seen.contains("energy_joule");
  const double energy = device.sum_over_ranks(told ? seen["energy_joule"].get<double>() : 0.0);
  const double power = device.sum_over_ranks(told ? seen["power_watt"].get<double>() : 0.0);
  const bool all_report = !device.on_any_rank(!told);  // asked on every rank
  if (all_report) seen.update({{"energy_joule", energy}, {"power_watt", power}});
  return seen;
}

}  // namespace

std::vector<timed_samples> time_applications(gpu_access* gpu, int samples, const timed_work& work,
                                             const std::function<bool()>& should_stop,
                                             const std::vector<timed_work>& alongside, const stretch_guard& guard) {
  work(2);  // the first time tunes, and touches memory
  for (const timed_work& other : alongside) other(2);
  const double rough = work(2) / 2;
  if (gpu == nullptr) {
    const auto seconds = take(samples, work, applications_for(cpu_sample_seconds(), rough), should_stop, guard.refresh);
    if (!seconds.empty() && guard.judge) guard.judge();
    return seconds.empty() ? std::vector<timed_samples>{} : std::vector<timed_samples>{{statistics(seconds)}};
  }
  gpu_monitor& monitor = gpu->monitor();
  const int applications = applications_for(gpu_sample_seconds, rough);
  std::vector<timed_samples> both;
  for (const char* protocol : {"cool", "sustained"}) {
    const bool cool = std::string(protocol) == "cool";
    if (cool) stay_idle(gpu->idle_seconds(), should_stop);
    monitor.begin();
    if (!cool) keep_running(gpu->running_seconds(), work, applications, *gpu, should_stop);
    const auto seconds = take(samples, work, applications, should_stop, guard.refresh);
    const gpu_window window = monitor.end();
    if (seconds.empty()) return {};
    if (guard.judge) guard.judge();
    both.push_back({statistics(seconds), {{"protocol", protocol}, {"gpu", window_of_ranks(window, gpu->device())}}});
    for (const timed_work& other : alongside) {
      const auto of_other = take(samples, other, applications, should_stop);
      if (of_other.empty()) return {};
      both.back().alongside.push_back(statistics(of_other));
    }
  }
  return both;
}

}  // namespace plaquette
