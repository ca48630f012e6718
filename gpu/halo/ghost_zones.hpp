// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The places of messages for a kernel: where it puts messages to neighbours, and where it finds messages from them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/lattice/dirac_operator.hpp"
#include "gpu/halo/face_order.hpp"

namespace plaquette::gpu {

/// One message for each hop that leaves the box, named by the direction of the hop: message d serves the hops of
/// direction d. It holds the projected spinors of the neighbour's sites, as [block of 32 face
/// sites][column][numbers][32]. Zones exist twice, for applications of even and of odd number: a neighbour may write
/// the next message while this one is still read. It cannot be two ahead, since it needs our next message for its own
/// next application.
struct ghost_zones {
  unsigned cut = 0;                                ///< bit d: hops of direction d that leave the box find a message
  const std::byte* ghost[2][hop_directions] = {};  ///< where message d arrives, by the last bit of the application
  std::byte* outgoing[2][hop_directions] = {};     ///< where message d to a neighbour is written
  std::uint32_t* arrived[hop_directions] = {};     ///< the last application whose message d is here; or null:
                                                   ///  the host sees to it
  std::uint32_t* announced[hop_directions] = {};   ///< the neighbour's `arrived`, or null
  std::uint32_t* completed = nullptr;              ///< applications before the one that starts next
  std::uint32_t* current = nullptr;                ///< the application under way, for kernels after the packing one
  std::uint32_t* tickets = nullptr;                ///< [directions + 1], zero between applications
  std::uint64_t* waiting = nullptr;                ///< [directions] of the watchdog, or null

  PLAQUETTE_HOST_DEVICE bool is_cut(int direction) const { return (cut >> direction & 1U) != 0; }
};

}  // namespace plaquette::gpu
