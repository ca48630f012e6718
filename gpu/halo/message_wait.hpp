// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How kernels wait for messages that kernels of neighbours write. For .cu files only.
#pragma once

#include "gpu/device/device_flags.hpp"
#include "gpu/halo/ghost_zones.hpp"

namespace plaquette::gpu {

/// What a kernel tells the watchdog that it waits for; never 0.
PLAQUETTE_HOST_DEVICE constexpr std::uint64_t waiting_word(int direction, std::uint32_t application) {
  return static_cast<std::uint64_t>(direction + 1) << 32 | application;
}

/// Until message d of this application is here; at once where the host sees to it.
PLAQUETTE_HOST_DEVICE inline void wait_for_message(const ghost_zones& zones, int direction, std::uint32_t application) {
  if (zones.arrived[direction] == nullptr) return;
  wait_for_flag(zones.arrived[direction], application, zones.waiting != nullptr ? zones.waiting + direction : nullptr,
                waiting_word(direction, application));
}

}  // namespace plaquette::gpu
