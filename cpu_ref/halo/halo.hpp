// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The halo of a rank: room for messages of neighbours, and their transport, face by face. It carries any field: the
/// caller packs some bytes for each site that is sent, and reads as many for each that has arrived. The twin of
/// gpu/halo/halo.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/comms/communicator.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"

namespace plaquette::cpu {

/// Who gets sites of this rank, and whose sites come, for the hops of one direction.
struct halo_traffic {
  int direction;                ///< of the hops at the receiving sites; names the message
  int send_to, receive_from;    ///< ranks
  std::int64_t sent, received;  ///< sites
};

/// For one caller at a time: prepare, pack, start, wait, read.
class halo {
 public:
  /// Takes room for messages of `bytes` bytes a site; earlier room stays, and is used again. Throws memory_error.
  void prepare(std::vector<halo_traffic> faces, std::size_t bytes);

  const std::vector<halo_traffic>& faces() const { return faces_; }
  /// Returns where the sites of a face are packed, [site][bytes].
  std::byte* outgoing(std::size_t face) { return send_.data() + out_[face]; }
  /// Returns where they arrive. Faces follow each other without a gap.
  const std::byte* incoming(std::size_t face) const { return receive_.data() + in_[face]; }

  /// Starts the exchange of all faces. Leave the halo alone until it has ended.
  pending_exchange start(const communicator& comm);
  /// Returns the bytes that this rank sends in an exchange.
  std::int64_t bytes_sent() const { return bytes_sent_; }

 private:
  std::vector<halo_traffic> faces_;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> out_, in_;  ///< where the messages of a face begin
  std::int64_t bytes_sent_ = 0;
  aligned_buffer<std::byte> send_, receive_;
};

}  // namespace plaquette::cpu
