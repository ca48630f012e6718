// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Draws that cannot be known before they are made: a piece of work cannot prepare for a draw by the clock after it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "common/comms/communicator.hpp"

namespace plaquette {

/// Returns a number below `count`, by the last bits of the first rank's clock. The same on every rank. Collective.
inline std::uint64_t draw_by_clock(std::uint64_t count, const communicator& comm) {
  auto bits = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  // The finalizer of SplitMix64: each bit of the clock bears on each bit of the draw.
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  bits ^= bits >> 31;
  comm.broadcast(std::as_writable_bytes(std::span(&bits, 1)), 0);
  return bits % count;
}

}  // namespace plaquette
