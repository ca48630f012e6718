// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/app/timing.hpp"
#include "gpu/comms/device_messages.hpp"
#include "gpu/device/latency.hpp"
#include "gpu/device/machine_speed.hpp"
#include "gpu/library.hpp"
#include "miniapps/dslash-scaling/latency_run.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette::scaling {

namespace {

/// One exchange between ranks 0 and 1, the device's memory to the device's; the others have no message.
class exchange {
 public:
  exchange(const gpu::context& ctx, gpu::device_messages& messages, std::size_t bytes)
      : queue_(ctx.queue()),
        messages_(messages),
        bytes_(bytes),
        out_(gpu::allocate_on_device(queue_.device(), bytes)),
        in_(gpu::allocate_on_device(queue_.device(), bytes)) {
    const int me = ctx.comm().rank();
    if (me > 1) return;
    send_.push_back({1 - me, 0, out_.get(), bytes});
    receive_.push_back({1 - me, 0, in_.get(), bytes});
    gpu::fill_bytes(queue_, out_.get(), mark_of(me), bytes);
    gpu::fill_bytes(queue_, in_.get(), 0, bytes);
    expected_ = mark_of(1 - me);
    queue_.synchronize();
  }

  void run() {
    messages_.start(queue_, send_, receive_);
    messages_.finish(queue_);
    queue_.synchronize();
  }
  bool has_arrived() const {
    if (receive_.empty()) return true;
    std::vector<unsigned char> found(bytes_);
    gpu::copy_to_host(queue_, found.data(), in_.get(), bytes_);
    return std::ranges::all_of(found, [this](unsigned char byte) { return byte == expected_; });
  }

 private:
  static int mark_of(int rank) { return 0x5a + rank; }

  gpu::queue queue_;
  gpu::device_messages& messages_;
  std::size_t bytes_;
  std::shared_ptr<std::byte> out_, in_;
  std::vector<gpu::device_message> send_, receive_;
  int expected_ = 0;
};

timed_transfer time_exchange(const std::string& kind, const gpu::context& ctx, gpu::device_messages& messages,
                             std::size_t bytes, double spent) {
  constexpr int fewest = 3, most = 1000;
  const communicator& comm = ctx.comm();
  exchange both(ctx, messages, bytes);
  const auto seconds_of_one = [&] {
    const stopwatch watch;
    both.run();
    return watch.seconds();
  };
  both.run();
  std::array<double, 1> rough{seconds_of_one()};
  comm.maximum(std::span(rough));
  const int count = static_cast<int>(std::clamp(spent / std::max(rough[0], 1e-9), double{fewest}, double{most}));
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(seconds_of_one());
  std::array<double, 1> wrong{both.has_arrived() ? 0.0 : 1.0};
  comm.maximum(std::span(wrong));
  return {kind, bytes, statistics(std::move(seconds)).median, count, wrong[0] == 0.0};
}

timed_transfer named(const std::string& kind, std::size_t bytes, const gpu::transfer_time& t) {
  return {kind, bytes, t.seconds, t.times, t.right};
}

}  // namespace

std::vector<timed_transfer> time_gpu_transfers(gpu_access& gpu, const std::vector<std::size_t>& sizes,
                                               double seconds_each, json_document& launches) {
  const gpu::queue& queue = gpu::context_of(gpu.device()).queue();
  std::vector<timed_transfer> transfers;
  for (const bool to_device : {true, false})
    for (const bool pinned : {true, false})
      for (const bool waiting : {true, false})
        for (const std::size_t bytes : sizes)
          transfers.push_back(named(fmt::format("{} {} {}", to_device ? "host_to_device" : "device_to_host",
                                                pinned ? "pinned" : "pageable", waiting ? "sync" : "async"),
                                    bytes,
                                    gpu::time_host_copy(queue, {to_device, pinned, waiting}, bytes, seconds_each)));
  for (int other = 0; other < gpu::device_count(); ++other) {
    if (!gpu::reaches_directly(queue.device(), other)) continue;
    for (const auto way : {gpu::peer_way::copy, gpu::peer_way::store})
      for (const std::size_t bytes : sizes)
        transfers.push_back(named(
            fmt::format("{} {} to {}", way == gpu::peer_way::copy ? "peer_copy" : "peer_store", queue.device(), other),
            bytes, gpu::time_peer_transfer(queue.device(), other, way, bytes, seconds_each)));
  }
  const gpu::launch_cost cost = gpu::measured_launch_cost(queue);
  launches = {{{"kind", "stream"}, {"seconds", cost.in_queue}},
              {{"kind", "graph"}, {"seconds", cost.in_graph}},
              {{"kind", "waited"}, {"seconds", cost.waited_for}}};
  return transfers;
}

std::vector<timed_transfer> time_gpu_exchanges(gpu_access& gpu, const std::vector<std::size_t>& sizes,
                                               double seconds_each, const communicator& world) {
  const gpu::context& ctx = gpu::context_of(gpu.device());
  std::vector<timed_transfer> transfers;
  for (const auto& [policy, name] : {std::pair{gpu::halo_policy::staged, "exchange staged"},
                                     {gpu::halo_policy::mpi, "exchange mpi"},
                                     {gpu::halo_policy::nccl, "exchange nccl"}}) {
    try {
      gpu::device_messages messages(world, ctx.queue().device(), policy, ctx.ranks().wait);
      for (const std::size_t bytes : sizes)
        transfers.push_back(time_exchange(name, ctx, messages, bytes, seconds_each));
    } catch (const input_error&) {  // on every rank: this way is not there
    }
  }
  return transfers;
}

}  // namespace plaquette::scaling
