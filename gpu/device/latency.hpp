// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long single copies take, from a few bytes to many: between host and device, and between the devices of a host.
/// Each figure is the median over many transfers. In the host build every one is a copy in the memory of the host.
#pragma once

#include <cstddef>

#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

/// One way to copy between host and device.
struct host_copy {
  bool to_device = true;
  bool pinned = true;   ///< memory of the host: page-locked, or as it comes
  bool waiting = true;  ///< a call that returns when the copy is done, or one that queues it, and a wait behind it
};

/// How a device's memory gets to another one.
enum class peer_way {
  copy,  ///< by a copy that is queued, with a wait behind it
  store  ///< by a kernel of the sender that writes into the receiver's memory, with a wait behind it
};

struct transfer_time {
  double seconds = 0.0;  ///< of one; the median
  int times = 0;         ///< that were measured
  bool right = false;    ///< the messages arrived as they were sent
};

/// \param bytes  at least 1
/// \param spent  about how many seconds the measurement may take; three transfers at least
transfer_time time_host_copy(const queue& q, const host_copy& way, std::size_t bytes, double spent);

/// Whether `from` can write into the memory of another device of this process.
bool reaches_directly(int from, int to);
/// Times copies from one device of this process to another that it reaches directly. `bytes` is a multiple of 8.
transfer_time time_peer_transfer(int from, int to, peer_way way, std::size_t bytes, double spent);

}  // namespace plaquette::gpu
