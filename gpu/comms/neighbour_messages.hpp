// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Large messages to the two neighbours of a direction, straight into the memory of their devices. No kernel waits for
/// them: the host does. For links and fields of matrices, whose faces are read after all of them have come.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "common/comms/communicator.hpp"
#include "common/lattice/extents.hpp"
#include "gpu/comms/peer_memory.hpp"
#include "gpu/comms/watchdog.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

/// The ranks on both sides along a direction; both may be the same rank.
struct neighbour_ranks {
  int direction, below, above;
};

class neighbour_messages {
 public:
  /// The end of its life is collective.
  neighbour_messages(const communicator& comm, int device) : comm_(comm), device_(device) {}

  /// Sends the first `side` bytes of `sent` upwards and the next `side` bytes downwards, and waits for the neighbours'
  /// messages. Returns where it lies: from below, then from above. Work that is queued before the next exchange of this
  /// direction may read it. Returns null, on all ranks, if some device does not reach another: nothing was sent.
  /// Collective, with one size; throws memory_error.
  const std::byte* exchange(const queue& q, const neighbour_ranks& ranks, const std::byte* sent, std::size_t side,
                            watchdog* watch);

 private:
  /// Room for two exchanges, one half each. A neighbour may write to one half while this rank still reads the other. It
  /// writes to the first again only when this rank has begun the exchange in between, and so has read it.
  struct room {
    std::optional<peer_memory> memory = {};
    std::size_t half = 0;  ///< bytes
    std::size_t next = 0;  ///< 0 or 1
  };

  bool make_room(const queue& q, room& r, std::size_t half);

  communicator comm_;
  int device_;
  bool reachable_ = true;
  std::array<room, dimensions> rooms_;
};

}  // namespace plaquette::gpu
