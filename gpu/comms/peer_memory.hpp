// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory of a rank's device that the ranks of the same host can write to and read: CUDA's memory handles between
/// processes, over NVLink or PCIe. In the host build it is memory that the ranks' processes share, so that whatever
/// runs on it can be tested without a GPU.
#pragma once

#include <cstddef>
#include <memory>

#include "common/comms/communicator.hpp"

namespace plaquette::gpu {

/// One piece of memory a rank, of its own size. Making one is collective, and so is its end: no rank gives memory back
/// while another rank may still write to it. (While an exception is on its way, the end does not wait.)
class peer_memory {
 public:
  /// Zeroed, 2 MiB aligned on a GPU. Throws memory_error, on every rank, if one has no room.
  /// \param bytes  of this rank; others may have another number
  peer_memory(const communicator& comm, int device, std::size_t bytes);
  peer_memory(peer_memory&&) noexcept;
  peer_memory& operator=(peer_memory&&) noexcept;
  ~peer_memory();

  /// Returns this rank's own.
  std::byte* mine() const;
  /// Returns where this process finds the memory of `rank`; null if it cannot be reached: on another host, or without
  /// peer access. If a reaches b then b reaches a. of(own rank) == mine().
  std::byte* of(int rank) const;
  /// Returns how much `rank` has.
  std::size_t bytes_of(int rank) const;
  /// Whether every rank reaches every other; the same answer on all.
  bool reaches_all() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plaquette::gpu
