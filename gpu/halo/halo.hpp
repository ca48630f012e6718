// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The halo of a rank: room for what neighbours send, and how it gets there, direction by direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/geometry.hpp"
#include "gpu/comms/device_messages.hpp"
#include "gpu/comms/peer_memory.hpp"
#include "gpu/comms/rank_map.hpp"
#include "gpu/comms/rank_options.hpp"
#include "gpu/comms/watchdog.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/halo/ghost_zones.hpp"

namespace plaquette::gpu {

/// "auto", "staged", "peer", "mpi", "nccl".
std::string_view name_of(halo_policy policy);

/// Shared by all operators of a context, which use it one after the other on one queue: an application packs, then
/// exchanges, then reads. All ranks make the same calls in the same order.
class halo {
 public:
  /// Collective, and so is the end of its life. Throws input_error, on every rank, where the policy cannot be met.
  /// \param map  of these ranks and the devices of their queues
  halo(const lattice_geometry& geometry, const communicator& comm, const queue& q, std::shared_ptr<const rank_map> map,
       const rank_options& options, std::shared_ptr<watchdog> watch);

  const face_order& faces() const { return faces_; }

  /// Room for messages of `columns` columns of `block_bytes` bytes for 32 face sites. Collective where there is not
  /// enough yet: it waits for the device then, so that nothing can be recorded. Memory that was handed out stays, for
  /// work that is recorded already.
  const ghost_zones& zones(int columns, int block_bytes);

  /// True where some neighbour's messages are the host's business; the others' are that of kernels alone.
  bool has_host_messages() const { return messages_ != nullptr; }
  /// Starts, and ends, the exchange of what has been packed into the zones handed out last.
  void start_messages(const queue& q);
  void finish_messages(const queue& q);
  /// Queues a wait for the messages that kernels of neighbours write.
  void queue_wait(const queue& q) const;
  /// Queues an exchange of whatever lies in the zones handed out last: what messages cost without what they serve.
  void exchange_anything(const queue& q);
  /// Whether an application may be recorded in a work_graph, after one like it has run.
  bool recordable() const { return messages_ == nullptr || messages_->capturable(); }

  /// Bytes that this rank sends in an exchange.
  std::int64_t bytes_sent(int columns, int block_bytes) const;
  /// "peer", "staged", ...: how messages travel; where directions differ, each of them: "+z peer, -z peer, +t staged,
  /// ...".
  std::string description() const;

 private:
  /// Ghost zones of so many bytes for 32 face sites, twice; and what is to be sent by the host.
  struct zone_memory {
    std::int64_t block_bytes;
    peer_memory ghosts;
    std::shared_ptr<std::byte> outgoing;
    ghost_zones zones;
  };

  int source_of(int direction) const;
  int target_of(int direction) const;
  bool is_peer_message(int from, int to) const;
  std::int64_t zone_bytes(int direction, std::int64_t block_bytes) const;
  void add_zones(std::int64_t block_bytes);
  void prepare_flags();

  lattice_geometry geometry_;
  communicator comm_;
  queue queue_;
  halo_policy policy_;
  std::shared_ptr<watchdog> watch_;
  std::shared_ptr<const rank_map> map_;
  face_order faces_;
  bool peers_ = false;  ///< whether any message may go by peer memory
  ghost_zones common_;  ///< what all zones have in common
  peer_memory flags_;
  std::shared_ptr<std::byte> counters_;
  std::shared_ptr<std::uint64_t> waiting_;
  std::unique_ptr<device_messages> messages_;
  std::vector<std::unique_ptr<zone_memory>> memory_;  ///< growing
  std::vector<device_message> to_send_, to_receive_;
};

}  // namespace plaquette::gpu
