// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fills the ghosts of a box from the neighbouring ranks, corners included: direction by direction, each face with the
/// ghosts of the directions done before. Faces go straight into the memory of the neighbours' devices if every device
/// reaches every other, else through the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/comms/neighbour_messages.hpp"
#include "gpu/context.hpp"
#include "gpu/gauge/box_with_ghosts.hpp"

namespace plaquette::gpu {

/// Chunks (of 16 bytes) that each site of a box has: [parity][block of 32 sites][chunk][32 sites].
struct chunks_of_box {
  std::byte* begin;
  int chunks;  ///< a site
};

/// Which of them are exchanged, and along which directions: this number of x, y, ...
struct chunk_selection {
  int first, count;      ///< chunks of a site
  int first_parity = 0;  ///< of the box
  int parities = 2;
  int directions = dimensions;
};

/// Sends the first `side` bytes of a buffer of the device to the rank above along mu and the next `side` bytes to the
/// rank below. Returns the place of the bytes from below, then from above: in the buffer, or in memory of the device.
/// Work queued before the next exchange along mu may read them there. Collective; waits for neighbours.
const std::byte* exchange_with_neighbours(const context& ctx, int mu, std::byte* buffer, std::size_t side);

/// Every rank of a context makes the same calls in the same order.
class ghost_exchange {
 public:
  /// Page-locked memory of the host, and memory of peers, is dear: the bytes that go through it at once.
  static constexpr std::int64_t usual_bytes = std::int64_t{1} << 26;

  ghost_exchange(const context& ctx, const box_with_ghosts& box, std::int64_t bytes_at_once = usual_bytes)
      : context_(ctx), box_(box), bytes_at_once_(bytes_at_once) {}

  /// Collective; waits for neighbours. Does nothing if no direction is cut.
  void operator()(const chunks_of_box& sites, const chunk_selection& what) const;

 private:
  void along(int mu, const chunks_of_box& sites, const chunk_selection& what) const;

  context context_;
  box_with_ghosts box_;
  std::int64_t bytes_at_once_;
};

}  // namespace plaquette::gpu
