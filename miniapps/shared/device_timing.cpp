// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/device_timing.hpp"

#include <array>
#include <cstdlib>
#include <span>
#include <utility>

#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

namespace {

/// Tests that start many programs (PLAQUETTE_COPY_MIB) take a fifth: they would spend most of their time in samples.
double cpu_sample_seconds() { return std::getenv("PLAQUETTE_COPY_MIB") != nullptr ? 0.006 : 0.03; }
constexpr double gpu_sample_seconds = 0.005;  // cool means that few: a second of work is another clock

/// Clocks are read from this rank's GPU; energy and power are sums over all GPUs, if all report them.
json_document window_of_ranks(const gpu_window& window, const library& device) {
  json_document seen = to_json(window);
  const bool told = seen.contains("energy_joule");
  const double energy = device.sum_over_ranks(told ? seen["energy_joule"].get<double>() : 0.0);
  const double power = device.sum_over_ranks(told ? seen["power_watt"].get<double>() : 0.0);
  const bool all_report = !device.on_any_rank(!told);  // asked on every rank
  if (all_report) seen.update({{"energy_joule", energy}, {"power_watt", power}});
  return seen;
}

bool is_whole(const std::vector<double>& seconds, const sampling& how) {
  return static_cast<int>(seconds.size()) == how.samples;
}

}  // namespace

gpu_protocols protocols_of(gpu_access& gpu) {
  gpu_protocols of;
  of.state.idle_seconds = gpu.idle_seconds();
  of.state.running_seconds = gpu.running_seconds();
  of.state.on_any_rank = [&gpu](bool here) { return gpu.device().on_any_rank(here); };
  of.state.begin_watch = [&gpu] { gpu.monitor().begin(); };
  of.state.watch = [&gpu] { gpu.monitor().sample(); };
  of.end_watch = [&gpu] { return window_of_ranks(gpu.monitor().end(), gpu.device()); };
  return of;
}

std::vector<timed_samples> time_on_gpu(const timed_kernel& kernel, const sampling& how, const gpu_protocols& protocols,
                                       const std::vector<timed_work>& alongside) {
  if (!alongside.empty()) kernel.apply(2);  // the first time tunes
  for (const timed_work& other : alongside) other(2);
  const int applications = applications_of_sample(kernel, how);
  std::vector<timed_samples> all;
  for (const timing_protocol protocol : protocols.protocols) {
    timed_samples samples;
    samples.details["protocol"] = name_of(protocol);
    timing_state state = protocols.state;
    state.protocol = protocol;
    if (protocols.end_watch) state.end_watch = [&] { samples.details["gpu"] = protocols.end_watch(); };
    const auto seconds = timed(kernel, how, applications, state);
    if (!is_whole(seconds, how)) return {};
    samples.seconds = statistics(seconds);
    for (const timed_work& other : alongside) {
      const auto of_other = timed({other}, how, applications);
      if (!is_whole(of_other, how)) return {};
      samples.alongside.push_back(statistics(of_other));
    }
    all.push_back(std::move(samples));
  }
  return all;
}

std::vector<timed_samples> time_applications(gpu_access* gpu, int samples, const timed_kernel& kernel,
                                             const std::function<bool()>& should_stop,
                                             const std::vector<timed_work>& alongside) {
  sampling how{.samples = samples, .seconds = gpu_sample_seconds, .should_stop = should_stop};
  if (gpu != nullptr) return time_on_gpu(kernel, how, protocols_of(*gpu), alongside);
  how.seconds = cpu_sample_seconds();
  const auto seconds = timed(kernel, how, applications_of_sample(kernel, how));
  if (!is_whole(seconds, how)) return {};
  return {{statistics(seconds)}};
}

json_document halo_costs(const halo_seconds& seconds, bool overlap, double bytes_of_rank, const std::string& policy,
                         bool recorded, const communicator& comm) {
  std::array<double, 1> bytes{bytes_of_rank};
  comm.sum(std::span(bytes));
  const double whole = overlap ? seconds.with_overlap : seconds.without_overlap, alone = seconds.without_communication;
  return {{"overlap", overlap ? "on" : "off"},
          {"policy", policy},
          {"bytes_sent", bytes[0] / comm.size()},
          {"exposed_seconds", whole - alone},
          {"exchange_seconds", seconds.without_overlap - alone},
          {"hidden_seconds", seconds.without_overlap - seconds.with_overlap},
          {"seconds_without_overlap", seconds.without_overlap},
          {"seconds_without_communication", alone},
          {"recorded", recorded}};
}

}  // namespace plaquette
