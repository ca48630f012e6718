// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A mesh divided among ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/mesh/simplex_mesh.hpp"

namespace plaquette {

/// Returns which part each element belongs to, 0 .. parts - 1; deterministic.
/// \param method  "metis" (where it was built in), "curve" (equal stretches of a space-filling curve), "auto"
std::vector<std::int32_t> partition_mesh(const simplex_mesh& mesh, int parts, const std::string& method = "auto");
bool has_metis();

/// Returns elements in the order of a Hilbert curve through their centres: neighbours are near each other in memory.
std::vector<std::int32_t> curve_order(const simplex_mesh& mesh, const stop_check& stop = {});

/// Faces that one rank sends to another and gets from it.
struct mesh_peer {
  int rank;
  /// Of what is sent, in this order: the element here, and its face. The other expects them in this order.
  struct outgoing_face {
    std::int32_t element;
    std::int8_t face;
  };
  std::vector<outgoing_face> send;
  std::int32_t first_halo_face;  ///< what comes from there is halo faces first .. first + send.size() - 1
};

/// The elements of one rank. The first `interior` of them need nothing from others.
struct mesh_part {
  int dimension = 3;
  std::vector<std::int32_t> global;  ///< number in the whole mesh of each element here
  std::int32_t interior = 0;
  /// Neighbours by their number here; faces behind which another rank's element lies have is_halo().
  std::vector<std::array<face_link, most_faces>> links;
  std::vector<mesh_peer> peers;  ///< by rank, ascending
  std::int32_t halo_faces = 0;
  std::vector<std::int32_t> halo_elements;  ///< number in the whole mesh of the element behind each

  std::int32_t size() const { return static_cast<std::int32_t>(global.size()); }
};

/// Returns part `rank` of a partition. Elements of a part keep their order in the mesh, but for those with neighbours
/// in other parts, which come last.
mesh_part part_of_mesh(const simplex_mesh& mesh, const std::vector<std::int32_t>& partition, int rank,
                       const stop_check& stop = {});

}  // namespace plaquette
