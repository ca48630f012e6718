// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How kernels wait for messages that kernels of neighbours write. For .cu files only.
#pragma once

#include "gpu/device/device_flags.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/halo/ghost_zones.hpp"

namespace plaquette::gpu {

/// Returns the word by which a kernel tells the watchdog what to name; never 0.
PLAQUETTE_HOST_DEVICE constexpr std::uint64_t waiting_word(int direction, std::uint32_t application) {
  return static_cast<std::uint64_t>(direction + 1) << 32 | application;
}

/// Waits until message d of this application is here; at once where the host sees to it.
PLAQUETTE_HOST_DEVICE inline void wait_for_message(const ghost_zones& zones, int direction, std::uint32_t application) {
  if (zones.arrived[direction] == nullptr) return;
  wait_for_flag(zones.arrived[direction], application, zones.waiting != nullptr ? zones.waiting + direction : nullptr,
                waiting_word(direction, application));
}

/// Waits for all messages of the application under way; an index is a direction.
struct wait_for_messages_of_kernels {
  ghost_zones zones;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto direction = static_cast<int>(index);
    if (zones.is_cut(direction)) wait_for_message(zones, direction, *zones.current);
  }
};

#ifdef __CUDACC__

__device__ __forceinline__ std::uint32_t load_counter(const std::uint32_t* counter) {
  return *static_cast<const volatile std::uint32_t*>(counter);
}
__device__ __forceinline__ void store_counter(std::uint32_t* counter, std::uint32_t value) {
  *static_cast<volatile std::uint32_t*>(counter) = value;
}

/// Counts one block more that knows the number of this application: the last of them counts it as completed, for the
/// next kernel. By one thread of a block, when all have read the counter.
__device__ __forceinline__ void count_reader(const ghost_zones& zones, unsigned readers, std::uint32_t application) {
  if (count_block(zones.tickets + hop_directions, readers - 1) == readers - 1) {
    store_counter(zones.current, application);
    store_counter(zones.completed, application);
  }
}

/// Ends a block's share of one direction's message: the last of `blocks` blocks gives word to the neighbour. By all
/// threads of a block, of which `thread` is this one's number.
__device__ __forceinline__ void announce_message(const ghost_zones& zones, int direction, unsigned blocks,
                                                 std::uint32_t application, unsigned thread) {
  __threadfence_system();
  __syncthreads();
  if (thread == 0 && count_block(zones.tickets + direction, blocks - 1) == blocks - 1 &&
      zones.announced[direction] != nullptr) {
    __threadfence_system();
    set_flag(zones.announced[direction], application);
  }
}

#endif

}  // namespace plaquette::gpu
