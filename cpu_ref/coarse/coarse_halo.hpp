// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sites of other ranks, as a coarse lattice needs them.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/coarse_geometry.hpp"

namespace plaquette::cpu {

/// Fetches the ghosts of these parities, for one direction of hops or all. Collective.
/// \param site   const std::byte* (std::int64_t site): where `bytes` bytes of a site of this rank lie
/// \param ghosts  bytes of ghost g begin at g * bytes; made large enough
template <class Site>
void exchange_coarse_faces(const coarse_geometry& geometry, const communicator& comm, std::size_t bytes,
                           const Site& site, std::vector<std::byte>& ghosts, const bool (&parities)[2],
                           int direction = -1) {
  if (geometry.faces().empty()) return;
  ghosts.resize(static_cast<std::size_t>(geometry.ghosts()) * bytes);
  const auto count = [&](const std::vector<std::int32_t>(&lists)[2]) {
    return (parities[0] ? lists[0].size() : 0) + (parities[1] ? lists[1].size() : 0);
  };
  std::vector<std::vector<std::byte>> out, in;
  std::vector<outgoing_message> send;
  std::vector<incoming_message> receive;
  for (const auto& face : geometry.faces()) {
    if (direction >= 0 && face.direction != direction) continue;
    auto& to = out.emplace_back(count(face.send) * bytes);
    std::byte* next = to.data();
    for (int p = 0; p < 2; ++p)
      if (parities[p])
        for (const std::int32_t s : face.send[p]) {
          std::memcpy(next, site(s), bytes);
          next += bytes;
        }
    in.emplace_back(count(face.receive_into) * bytes);
  }
  std::size_t k = 0;
  for (const auto& face : geometry.faces()) {
    if (direction >= 0 && face.direction != direction) continue;
    send.push_back({face.send_to, face.direction, out[k]});
    receive.push_back({face.receive_from, face.direction, in[k]});
    ++k;
  }
  comm.start_exchange(send, receive).wait();
  k = 0;
  for (const auto& face : geometry.faces()) {
    if (direction >= 0 && face.direction != direction) continue;
    const std::byte* next = in[k++].data();
    for (int p = 0; p < 2; ++p)
      if (parities[p])
        for (const std::int32_t g : face.receive_into[p]) {
          std::memcpy(ghosts.data() + static_cast<std::size_t>(g) * bytes, next, bytes);
          next += bytes;
        }
  }
}

}  // namespace plaquette::cpu
