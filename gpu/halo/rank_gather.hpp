// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rows of all ranks' devices, brought together on every device: for lattices so small that every rank holds all of
/// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/comms/device_messages.hpp"
#include "gpu/comms/peer_memory.hpp"
#include "gpu/execution.hpp"

namespace plaquette::gpu {

/// Rows of the device, `stride` bytes behind each other.
struct device_rows {
  std::byte* begin;
  std::int64_t stride;
};

/// For one caller at a time; all ranks make the same calls in the same order.
class rank_gather {
 public:
  /// Rows travel as the messages of the first halo do: written by kernels where all ranks reach each other's memory,
  /// else as messages between devices. Collective, and so is the end of its life.
  explicit rank_gather(const execution& on);

  /// Queues: row i of `to` becomes row origin[i] of all ranks' rows, which are counted rank after rank. Collective. It
  /// waits for the device where rows are larger than any before, so that nothing can be recorded then.
  /// \param from rows of this rank, as many as on any other
  /// \param bytes  of a row, a multiple of 16
  /// \param origin  of the device, a number a row of all ranks
  void gather(const device_rows& to, const device_rows& from, std::int64_t rows, std::int64_t bytes,
              const std::int32_t* origin);

  /// Returns whether it may be recorded in a work_graph, after one like it has run.
  bool recordable() const { return messages_ == nullptr || messages_->capturable(); }

  /// The arguments of kernels; see rank_gather.cu.
  struct body;

 private:
  /// Room for pieces of all ranks, twice where kernels write them.
  struct room {
    std::int64_t piece;  ///< bytes for a rank
    std::unique_ptr<peer_memory> of_peers;
    std::shared_ptr<std::byte> arrived, outgoing;  ///< where messages bring them
  };
  const room& room_for(std::int64_t piece);

  execution execution_;
  bool peers_ = false;
  peer_memory flags_;
  std::shared_ptr<std::byte> counters_;
  std::shared_ptr<std::uint64_t> waiting_;
  std::shared_ptr<device_messages> messages_;  ///< null if kernels write
  std::vector<room> rooms_;                    ///< growing; recorded gathers use older ones
};

}  // namespace plaquette::gpu
