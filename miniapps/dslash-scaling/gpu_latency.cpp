// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include "gpu/context.hpp"
#include "gpu/device/latency.hpp"
#include "gpu/device/machine_speed.hpp"
#include "miniapps/dslash-scaling/latency_run.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette::scaling {

namespace {

timed_transfer named(const std::string& kind, std::size_t bytes, const gpu::transfer_time& t) {
  return {kind, bytes, t.seconds, t.times, t.right};
}

}  // namespace

std::vector<timed_transfer> time_gpu_transfers(gpu_access& gpu, const std::vector<std::size_t>& sizes,
                                               double seconds_each, json_document& launches) {
  const gpu::queue& queue = gpu.context().queue();
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

}  // namespace plaquette::scaling
