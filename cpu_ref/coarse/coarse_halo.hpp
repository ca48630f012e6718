// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sites of other ranks, as a coarse lattice needs them.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/coarse_geometry.hpp"
#include "cpu_ref/halo/halo.hpp"

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
  std::vector<const coarse_geometry::face*> faces;
  std::vector<halo_traffic> traffic;
  for (const auto& face : geometry.faces()) {
    if (direction >= 0 && face.direction != direction) continue;
    faces.push_back(&face);
    traffic.push_back({face.direction, face.send_to, face.receive_from, static_cast<std::int64_t>(count(face.send)),
                       static_cast<std::int64_t>(count(face.receive_into))});
  }
  halo messages;
  messages.prepare(std::move(traffic), bytes);
  for (std::size_t k = 0; k < faces.size(); ++k) {
    std::byte* next = messages.outgoing(k);
    for (int p = 0; p < 2; ++p)
      if (parities[p])
        for (const std::int32_t s : faces[k]->send[p]) {
          std::memcpy(next, site(s), bytes);
          next += bytes;
        }
  }
  messages.start(comm).wait();
  for (std::size_t k = 0; k < faces.size(); ++k) {
    const std::byte* next = messages.incoming(k);
    for (int p = 0; p < 2; ++p)
      if (parities[p])
        for (const std::int32_t g : faces[k]->receive_into[p]) {
          std::memcpy(ghosts.data() + static_cast<std::size_t>(g) * bytes, next, bytes);
          next += bytes;
        }
  }
}

}  // namespace plaquette::cpu
