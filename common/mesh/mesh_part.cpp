// SPDX-License-Identifier: BSD-3-Clause
#include "common/mesh/mesh_part.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "common/error.hpp"

#ifdef PLAQUETTE_WITH_METIS
#include <metis.h>
#endif

namespace plaquette {

namespace {

/// Number along Hilbert's curve of a point with `bits` bits a coordinate (J. Skilling, AIP Conf. Proc. 707, 381, 2004).
std::uint64_t hilbert_number(std::array<std::uint32_t, 3> x, int dimension, int bits) {
  const auto n = static_cast<std::size_t>(dimension);
  for (std::uint32_t q = 1U << (bits - 1); q > 1; q >>= 1) {
    const std::uint32_t below = q - 1;
    for (std::size_t i = 0; i < n; ++i) {
      if ((x[i] & q) != 0) {
        x[0] ^= below;
      } else {
        const std::uint32_t swap = (x[0] ^ x[i]) & below;
        x[0] ^= swap;
        x[i] ^= swap;
      }
    }
  }
  for (std::size_t i = 1; i < n; ++i) x[i] ^= x[i - 1];
  std::uint32_t t = 0;
  for (std::uint32_t q = 1U << (bits - 1); q > 1; q >>= 1)
    if ((x[n - 1] & q) != 0) t ^= q - 1;
  for (std::size_t i = 0; i < n; ++i) x[i] ^= t;
  std::uint64_t number = 0;
  for (int bit = bits - 1; bit >= 0; --bit)
    for (std::size_t i = 0; i < n; ++i) number = (number << 1) | ((x[i] >> bit) & 1U);
  return number;
}

std::array<double, 3> centre_of(const simplex_mesh& mesh, std::size_t element) {
  std::array<double, 3> centre{};
  for (std::size_t c = 0; c <= static_cast<std::size_t>(mesh.dimension); ++c)
    for (std::size_t i = 0; i < 3; ++i)
      centre[i] += mesh.vertices[static_cast<std::size_t>(mesh.elements[element][c])][i] / (mesh.dimension + 1);
  return centre;
}

std::vector<std::int32_t> along_curve(const simplex_mesh& mesh, int parts) {
  const auto order = curve_order(mesh);
  std::vector<std::int32_t> part(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    part[static_cast<std::size_t>(order[i])] =
        static_cast<std::int32_t>(i * static_cast<std::size_t>(parts) / order.size());
  return part;
}

#ifdef PLAQUETTE_WITH_METIS
std::vector<std::int32_t> by_metis(const simplex_mesh& mesh, int parts) {
  std::vector<idx_t> first{0}, neighbours;
  for (const auto& links : mesh.links) {
    for (std::size_t f = 0; f < static_cast<std::size_t>(mesh.faces()); ++f)
      if (!links[f].is_boundary()) neighbours.push_back(links[f].element);
    first.push_back(static_cast<idx_t>(neighbours.size()));
  }
  idx_t elements = static_cast<idx_t>(mesh.size()), constraints = 1, wanted = parts, cut = 0;
  std::array<idx_t, METIS_NOPTIONS> options{};
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = 1;
  std::vector<idx_t> part(mesh.elements.size());
  const int status = METIS_PartGraphKway(&elements, &constraints, first.data(), neighbours.data(), nullptr, nullptr,
                                         nullptr, &wanted, nullptr, nullptr, options.data(), &cut, part.data());
  if (status != METIS_OK) throw memory_error("METIS could not divide the mesh: status " + std::to_string(status));
  return {part.begin(), part.end()};
}
#endif

}  // namespace

bool has_metis() {
#ifdef PLAQUETTE_WITH_METIS
  return true;
#else
  return false;
#endif
}

std::vector<std::int32_t> curve_order(const simplex_mesh& mesh, const stop_check& stop) {
  paced_stop pace(stop);
  std::array<double, 3> low{}, high{};
  std::vector<std::array<double, 3>> centres(mesh.elements.size());
  for (std::size_t e = 0; e < centres.size(); ++e, pace()) {
    centres[e] = centre_of(mesh, e);
    for (std::size_t i = 0; i < 3; ++i) {
      low[i] = e == 0 ? centres[e][i] : std::min(low[i], centres[e][i]);
      high[i] = e == 0 ? centres[e][i] : std::max(high[i], centres[e][i]);
    }
  }
  const int bits = mesh.dimension == 3 ? 20 : 30;
  const double extent = std::max({high[0] - low[0], high[1] - low[1], high[2] - low[2], 1e-300});
  const double scale = (std::ldexp(1.0, bits) - 1.0) / extent;
  std::vector<std::uint64_t> key(centres.size());
  for (std::size_t e = 0; e < centres.size(); ++e, pace()) {
    std::array<std::uint32_t, 3> cell{};
    for (std::size_t i = 0; i < 3; ++i) cell[i] = static_cast<std::uint32_t>((centres[e][i] - low[i]) * scale);
    key[e] = hilbert_number(cell, mesh.dimension, bits);
  }
  std::vector<std::int32_t> order(centres.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t e) {
    pace();
    return key[static_cast<std::size_t>(e)];
  });
  return order;
}

std::vector<std::int32_t> partition_mesh(const simplex_mesh& mesh, int parts, const std::string& method) {
  if (parts < 1 || parts > mesh.size())
    throw input_error("partition: expected 1 to " + std::to_string(mesh.size()) +
                      " parts (elements of the mesh), found " + std::to_string(parts));
  if (method != "auto" && method != "metis" && method != "curve")
    throw input_error("partition: expected auto, metis or curve, found " + method);
  if (method == "metis" && !has_metis())
    throw input_error("partition: this program was built without METIS (libmetis-dev); expected auto or curve");
  if (parts == 1) return std::vector<std::int32_t>(mesh.elements.size(), 0);
#ifdef PLAQUETTE_WITH_METIS
  if (method != "curve") {
    auto part = by_metis(mesh, parts);
    std::vector<int> count(static_cast<std::size_t>(parts));
    for (const std::int32_t p : part) ++count[static_cast<std::size_t>(p)];
    if (std::ranges::min(count) > 0) return part;  // METIS leaves parts of very small meshes empty
  }
#endif
  return along_curve(mesh, parts);
}

mesh_part part_of_mesh(const simplex_mesh& mesh, const std::vector<std::int32_t>& partition, int rank,
                       const stop_check& stop) {
  paced_stop pace(stop);
  const auto part_of = [&](std::int32_t element) { return partition[static_cast<std::size_t>(element)]; };
  mesh_part part;
  part.dimension = mesh.dimension;
  std::vector<std::int32_t> at_edge;
  for (std::int32_t e = 0; e < static_cast<std::int32_t>(mesh.size()); ++e, pace()) {
    if (part_of(e) != rank) continue;
    const bool alone = std::ranges::all_of(mesh.links[static_cast<std::size_t>(e)], [&](const face_link& link) {
      return link.is_boundary() || part_of(link.element) == rank;
    });
    (alone ? part.global : at_edge).push_back(e);
  }
  part.interior = part.size();
  part.global.insert(part.global.end(), at_edge.begin(), at_edge.end());

  std::vector<std::int32_t> here(mesh.elements.size(), -1);
  for (std::int32_t e = 0; e < part.size(); ++e)
    here[static_cast<std::size_t>(part.global[static_cast<std::size_t>(e)])] = e;

  // A face between two parts is known to both by the lower of its two numbers 4 * element + face: the order of a list.
  struct shared_face {
    std::int64_t order;
    std::int32_t element;
    std::int8_t face;
  };
  std::map<int, std::vector<shared_face>> shared;
  part.links.resize(part.global.size());
  for (std::int32_t e = 0; e < part.size(); ++e, pace()) {
    const std::int32_t global = part.global[static_cast<std::size_t>(e)];
    for (int f = 0; f < mesh.faces(); ++f) {
      face_link link = mesh.links[static_cast<std::size_t>(global)][static_cast<std::size_t>(f)];
      if (!link.is_boundary()) {
        const int other = part_of(link.element);
        if (other == rank)
          link.element = here[static_cast<std::size_t>(link.element)];
        else
          shared[other].push_back({std::min(std::int64_t{4} * global + f, std::int64_t{4} * link.element + link.face),
                                   e, static_cast<std::int8_t>(f)});
      }
      part.links[static_cast<std::size_t>(e)][static_cast<std::size_t>(f)] = link;
    }
  }
  for (auto& [other, faces] : shared) {
    std::ranges::sort(faces, {}, &shared_face::order);
    mesh_peer peer{other, {}, part.halo_faces};
    for (const shared_face& s : faces) {
      peer.send.push_back({s.element, s.face});
      face_link& link = part.links[static_cast<std::size_t>(s.element)][static_cast<std::size_t>(s.face)];
      part.halo_elements.push_back(link.element);
      link.element = -2 - part.halo_faces++;
    }
    part.peers.push_back(std::move(peer));
  }
  return part;
}

}  // namespace plaquette
