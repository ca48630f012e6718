// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/dslash-scaling/latency_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "common/app/memory.hpp"
#include "common/app/run_app.hpp"
#include "common/app/timing.hpp"
#include "miniapps/dslash-scaling/summary.hpp"

namespace plaquette::scaling {

namespace {

constexpr std::size_t largest_message = std::size_t{256} << 20;
constexpr int fewest = 3, most = 1000;

std::byte byte_of(std::size_t i) { return static_cast<std::byte>(i * 167 + (i >> 8) * 11 + 5); }

void fill(std::vector<std::byte>& data) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = byte_of(i);
}

timed_transfer time_memcpy(std::size_t bytes, double spent) {
  std::vector<std::byte> from(bytes), to(bytes);
  fill(from);
  std::vector<double> seconds;
  const stopwatch whole;
  while (static_cast<int>(seconds.size()) < fewest ||
         (whole.seconds() < spent && static_cast<int>(seconds.size()) < most)) {
    const stopwatch watch;
    std::memcpy(to.data(), from.data(), bytes);
    seconds.push_back(watch.seconds());
    from[seconds.size() % bytes] = byte_of(seconds.size() % bytes);  // so that no copy can be left out
  }
  const int times = static_cast<int>(seconds.size());
  return {"host_copy", bytes, statistics(std::move(seconds)).median, times, to == from};
}

/// Half of a round trip between ranks 0 and 1; the other ranks wait. Collective. The result is rank 0's.
timed_transfer time_round_trips(std::size_t bytes, double spent, const communicator& world) {
  std::vector<std::byte> out(bytes), in(bytes);
  fill(out);
  const int me = world.rank(), peer = 1 - me;
  const auto send = [&] {
    const std::array<outgoing_message, 1> message{{{peer, 0, out}}};
    world.start_exchange(message, {}).wait();
  };
  const auto receive = [&] {
    const std::array<incoming_message, 1> message{{{peer, 0, in}}};
    world.start_exchange({}, message).wait();
  };
  const auto round_trip = [&] {
    if (me == 0) send();
    receive();
    if (me == 1) send();
  };
  const auto trips = [&](int count) {
    const stopwatch watch;
    for (int i = 0; i < count && me < 2; ++i) round_trip();
    return watch.seconds() / count;
  };
  trips(1);
  std::array<double, 1> rough{me < 2 ? trips(2) : 0.0};
  world.maximum(std::span(rough));
  const int count =
      rough[0] > 0.0 ? static_cast<int>(std::clamp(spent / rough[0], double{fewest}, double{most})) : most;
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(0.5 * trips(1));
  std::array<double, 1> wrong{me < 2 && in != out ? 1.0 : 0.0};
  world.maximum(std::span(wrong));
  return {"mpi", bytes, statistics(std::move(seconds)).median, count, wrong[0] == 0.0};
}

json_document to_json(const timed_transfer& t) {
  return {{"kind", t.kind}, {"bytes", t.bytes}, {"seconds", t.seconds}, {"times", t.times}};
}

/// A row a kind, a column a size: microseconds of the small ones, the bandwidth of the largest.
void print_table(const std::vector<timed_transfer>& transfers, const json_document& launches) {
  std::vector<std::string> kinds;
  for (const timed_transfer& t : transfers)
    if (std::ranges::find(kinds, t.kind) == kinds.end()) kinds.push_back(t.kind);
  fmt::print("\n{:<34} {:>11} {:>11} {:>11} {:>11} {:>11}\n", "transfer", "8 B [us]", "2 KiB [us]", "128 KiB [us]",
             "2 MiB [us]", "most GB/s");
  for (const std::string& kind : kinds) {
    fmt::print("{:<34}", kind);
    for (const std::size_t bytes :
         {std::size_t{8}, std::size_t{2} << 10, std::size_t{128} << 10, std::size_t{2} << 20}) {
      const auto found =
          std::ranges::find_if(transfers, [&](const timed_transfer& t) { return t.kind == kind && t.bytes == bytes; });
      fmt::print(" {:>11}", found == transfers.end() ? "-" : fmt::format("{:.2f}", 1e6 * found->seconds));
    }
    double best = 0.0;
    for (const timed_transfer& t : transfers)
      if (t.kind == kind && t.seconds > 0.0) best = std::max(best, 1e-9 * static_cast<double>(t.bytes) / t.seconds);
    fmt::print(" {:>11.2f}\n", best);
  }
  for (const json_document& launch : launches)
    fmt::print("{:<34} {:>11.2f}\n", "launch " + launch["kind"].get<std::string>(),
               1e6 * launch["seconds"].get<double>());
}

/// Of the largest copy of a kind; by which runs are compared.
figure_of_merit merit_of(const std::vector<timed_transfer>& transfers, const std::string& kind) {
  const timed_transfer* largest = nullptr;
  for (const timed_transfer& t : transfers)
    if (t.kind == kind && (largest == nullptr || t.bytes > largest->bytes)) largest = &t;
  if (largest == nullptr) return {0.0, "GB/s", kind};
  return {1e-9 * static_cast<double>(largest->bytes) / largest->seconds, "GB/s",
          fmt::format("{}, {}", kind, format_bytes(static_cast<double>(largest->bytes)))};
}

}  // namespace

std::vector<std::size_t> message_sizes(std::size_t largest) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 8; bytes < largest; bytes *= 4) sizes.push_back(bytes);
  sizes.push_back(largest);
  return sizes;
}

exit_status run_latency(const scaling_options& options, report& result, const library& device) {
  const communicator& world = device.comm();
  enter_stage("the measurement of latencies");
  // Hosts with less free memory than 16 of the largest messages time smaller ones: ranks that send and receive share
  // the memory.
  std::array<double, 1> small_host{available_memory() / 16.0 < static_cast<double>(largest_message) ? 1.0 : 0.0};
  world.maximum(std::span(small_host));
  const auto sizes = message_sizes(small_host[0] > 0.0 ? std::size_t{2} << 20 : options.largest_message);
  const double each = options.seconds_each_message;
  std::vector<timed_transfer> transfers;
  json_document launches = json_document::array();
  if (device.is_gpu()) result.latencies["copy_gbytes_per_s"] = device.copy_gbytes_per_s() / world.size();
  if (world.rank() == 0) {
    for (const std::size_t bytes : sizes) transfers.push_back(time_memcpy(bytes, each));
    for (const timed_transfer& t : device.time_transfers(sizes, each)) transfers.push_back(t);
    if (device.is_gpu()) {
      const launch_seconds cost = device.time_launches();
      launches = {{{"kind", "stream"}, {"seconds", cost.in_queue}},
                  {{"kind", "graph"}, {"seconds", cost.in_graph}},
                  {{"kind", "waited"}, {"seconds", cost.waited_for}}};
    }
  }
  world.barrier();
  if (world.size() > 1) {
    for (const std::size_t bytes : sizes) transfers.push_back(time_round_trips(bytes, each, world));
    for (const timed_transfer& t : device.time_exchanges(sizes, each)) transfers.push_back(t);
  }
  const bool right = std::ranges::all_of(transfers, &timed_transfer::right);
  std::array<double, 1> wrong{right ? 0.0 : 1.0};
  world.maximum(std::span(wrong));
  result.checks.add("what arrives is what was sent, in all transfers", wrong[0] == 0.0);
  if (world.rank() != 0) return exit_status::success;

  result.fom = merit_of(transfers, device.is_gpu() ? "host_to_device pinned sync" : "host_copy");
  json_document list = json_document::array();
  for (const timed_transfer& t : transfers) list.push_back(to_json(t));
  result.gauge = {{"source", "none"}, {"plaquette", std::numeric_limits<double>::quiet_NaN()}};
  result.latencies["transfers"] = list;
  result.latencies["launches"] = launches;
  print_table(transfers, launches);
  return exit_status::success;
}

}  // namespace plaquette::scaling
