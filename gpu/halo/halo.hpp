// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The halo of a rank: room for messages of neighbours, and their transport, direction by direction.
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

/// Returns "auto", "staged", "peer", "mpi", "nccl".
std::string_view name_of(halo_policy policy);

/// Which ranks exchange messages. Message d serves hops of direction d (2 mu forwards, 2 mu + 1 backwards).
struct halo_shape {
  unsigned cut = 0;                         ///< bit d: there is a message d
  int source[hop_directions] = {};          ///< the rank that sends message d to this one
  int target[hop_directions] = {};          ///< the rank that this one sends message d to
  std::int64_t units[hop_directions] = {};  ///< of message d: blocks of 32 face sites, or sites of a coarse lattice

  bool is_cut(int direction) const { return (cut >> direction & 1U) != 0; }
};
/// Returns the shape of a lattice of quarks: a unit is a block of 32 face sites of one parity.
halo_shape shape_of_halo(const lattice_geometry& geometry);

/// A part of each message: `count` units from `first` on. (If boxes have odd extents, messages to neighbours have other
/// sizes than messages from them.)
struct halo_part {
  struct range {
    std::int64_t first = 0, count = 0;
  };
  range sent[hop_directions], received[hop_directions];
};

/// Shared by all operators of a lattice, which use it one after the other on one queue: an application packs, then
/// exchanges, then reads. All ranks make the same calls in the same order.
class halo {
 public:
  /// Collective, and so is the end of its life. Throws input_error, on every rank, if the policy cannot be met.
  /// \param map  of these ranks and the devices of their queues
  halo(const halo_shape& shape, const communicator& comm, const queue& q, std::shared_ptr<const rank_map> map,
       const rank_options& options, std::shared_ptr<watchdog> watch);
  /// Messages of another shape, which travel like the messages of `other`. Collective.
  halo(const halo_shape& shape, const halo& other);

  const halo_shape& shape() const { return shape_; }
  halo_policy policy() const { return options_.policy; }
  const std::shared_ptr<const rank_map>& map() const { return map_; }
  /// Returns messages that the host sees to; null if kernels see to all.
  const std::shared_ptr<device_messages>& messages() const { return messages_; }

  /// Makes room for messages of `columns` columns of `unit_bytes` bytes a unit. Collective if there is not enough yet:
  /// it waits for the device then, so that nothing can be recorded. Memory that was handed out stays, for work that is
  /// recorded already.
  /// \param part  the part of each message that is exchanged; all of it without
  const ghost_zones& zones(int columns, std::int64_t unit_bytes, const halo_part* part = nullptr);

  /// True if some neighbour's messages are the host's business; the others' are that of kernels alone.
  bool has_host_messages() const { return messages_ != nullptr; }
  /// Starts, and ends, the exchange of the messages that were packed into the zones handed out last.
  void start_messages(const queue& q);
  void finish_messages(const queue& q);
  /// Queues a wait for the messages that kernels of neighbours write.
  void queue_wait(const queue& q) const;
  /// Queues an exchange of whatever lies in the zones handed out last, to time messages alone.
  void exchange_anything(const queue& q);
  /// Whether an application may be recorded in a work_graph, after one like it has run.
  bool recordable() const { return messages_ == nullptr || messages_->capturable(); }

  /// Returns the bytes that this rank sends in an exchange.
  std::int64_t bytes_sent(int columns, std::int64_t unit_bytes) const;
  /// Returns "peer", "staged", ...: how messages travel; where directions differ, each of them: "+z peer, -z peer, +t
  /// staged, ...".
  std::string description() const;

 private:
  /// Ghost zones of `unit_bytes` bytes a unit, twice; and messages that the host sends.
  struct zone_memory {
    std::int64_t unit_bytes;
    peer_memory ghosts;
    std::shared_ptr<std::byte> outgoing;
    ghost_zones zones;
  };

  void prepare();
  bool is_peer_message(int from, int to) const;
  std::int64_t zone_bytes(int direction, std::int64_t unit_bytes) const;
  void add_zones(std::int64_t unit_bytes);
  void prepare_flags();

  halo_shape shape_;
  communicator comm_;
  queue queue_;
  rank_options options_;
  std::shared_ptr<watchdog> watch_;
  std::shared_ptr<const rank_map> map_;
  bool peers_ = false;  ///< whether any message may go by peer memory
  ghost_zones common_;  ///< the part that all zones have in common
  peer_memory flags_;
  std::shared_ptr<std::byte> counters_;
  std::shared_ptr<std::uint64_t> waiting_;
  std::shared_ptr<device_messages> messages_;
  std::vector<std::unique_ptr<zone_memory>> memory_;  ///< growing
  std::vector<device_message> to_send_, to_receive_;
};

}  // namespace plaquette::gpu
