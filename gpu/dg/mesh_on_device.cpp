// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dg/mesh_on_device.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "common/error.hpp"

namespace plaquette::gpu::dg {

namespace {

std::uint32_t link_number(std::int64_t block, std::uint32_t code) {
  return static_cast<std::uint32_t>(block) << link_code_bits | code;
}

/// Geometry, [element][face 0..3][4].
template <class T>
std::vector<T> geometry_numbers(const dg_domain& domain) {
  std::vector<T> numbers(static_cast<std::size_t>(domain.elements()) * 16);
  const int faces = domain.reference.faces();
  for (std::size_t e = 0; e < domain.geometry.size(); ++e) {
    const element_geometry& g = domain.geometry[e];
    T* const m = numbers.data() + e * 16;
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = 0.0;
      for (std::size_t r = 0; r < 3; ++r) {
        m[4 * (r + 1) + i] = static_cast<T>(g.metric[r][i]);
        sum += g.metric[r][i];
      }
      m[i] = static_cast<T>(-sum);
    }
    for (std::size_t f = 0; f < static_cast<std::size_t>(faces); ++f) m[4 * f + 3] = static_cast<T>(g.face_scale[f]);
    if (faces == 3) m[15] = T(1);
  }
  return numbers;
}

template <class T>
std::vector<T> media_numbers_of(const dg_domain& domain) {
  std::vector<T> numbers(static_cast<std::size_t>(domain.elements()) * media_numbers);
  for (std::size_t e = 0; e < domain.media.size(); ++e) {
    T* const m = numbers.data() + e * media_numbers;
    m[0] = static_cast<T>(1.0 / domain.media[e].first);
    m[1] = static_cast<T>(1.0 / domain.media[e].second);
    m[2] = static_cast<T>(domain.media[e].impedance());
    for (std::size_t f = 0; f < static_cast<std::size_t>(domain.reference.faces()); ++f)
      m[4 + f] = static_cast<T>(domain.impedance_behind[e][f]);
    if (domain.reference.faces() == 3) m[7] = T(1);
  }
  return numbers;
}

}  // namespace

std::vector<std::uint32_t> encode_links(const dg_domain& domain, ghost_faces& ghosts) {
  const std::int64_t elements = domain.elements();
  const int faces = domain.reference.faces(), face_nodes = domain.reference.face_nodes;
  ghosts = {};
  ghosts.halo = domain.part.halo_faces;
  for (const auto& links : domain.part.links)
    for (int f = 0; f < faces; ++f) {
      const face_link& link = links[static_cast<std::size_t>(f)];
      if (link.is_boundary() && domain.boundary_of(link) == boundary_kind::absorbing) ghosts.absorbing = 1;
    }
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(elements) * 4);
  for (std::int32_t e = 0; e < elements; ++e)
    for (int f = 0; f < 4; ++f) {
      std::uint32_t& number = numbers[static_cast<std::size_t>(e) * 4 + static_cast<std::size_t>(f)];
      number = link_number(e, mirror_code);  // of a triangle's fourth
      if (f >= faces) continue;
      const face_link& link = domain.part.links[static_cast<std::size_t>(e)][static_cast<std::size_t>(f)];
      if (link.is_halo()) {
        number =
            link_number(elements + link.halo_face(), first_ghost_code + static_cast<std::uint32_t>(link.orientation));
      } else if (!link.is_boundary()) {
        number =
            link_number(link.element, static_cast<std::uint32_t>(link.face * face_orientations + link.orientation));
      } else if (domain.boundary_of(link) == boundary_kind::reflecting) {
        number = link_number(e, mirror_code + static_cast<std::uint32_t>(f));
      } else if (domain.boundary_of(link) == boundary_kind::absorbing) {
        number = link_number(elements + ghosts.halo, open_code);
      } else {
        number = link_number(elements + ghosts.first_incident() + ghosts.incident++, open_code);
        for (int m = 0; m < face_nodes; ++m)
          ghosts.incident_nodes.push_back(domain.node_position(e, domain.reference.node_of_face(f, m)));
      }
    }
  const std::int64_t blocks = elements + ghosts.count(), most_blocks = std::int64_t{1} << (32 - link_code_bits);
  const std::int64_t places = elements * domain.nodes() + std::int64_t{ghosts.count()} * face_nodes;
  if (blocks >= most_blocks || places > std::numeric_limits<std::int32_t>::max())
    throw input_error("mesh: " + std::to_string(elements) + " elements of " + std::to_string(domain.nodes()) +
                      " nodes on one rank; kernels of the GPU take up to " + std::to_string(most_blocks - 1) +
                      " elements and 2^31 - 1 nodes, ghost faces included: use more ranks");
  return numbers;
}

std::vector<std::uint8_t> partner_table(const reference_element& reference) {
  const int face_nodes = reference.face_nodes;
  std::vector<std::uint8_t> table(static_cast<std::size_t>(link_codes) * static_cast<std::size_t>(face_nodes));
  const auto entry = [&](std::uint32_t code, int m) -> std::uint8_t& {
    return table[code * static_cast<std::size_t>(face_nodes) + static_cast<std::size_t>(m)];
  };
  for (int m = 0; m < face_nodes; ++m) {
    for (int o = 0; o < face_orientations; ++o) {
      const bool is_known = reference.dimension == 3 || o == 0 || o == 2;
      const int matching = is_known ? reference.matching_node(o, m) : 0;
      entry(first_ghost_code + static_cast<std::uint32_t>(o), m) = static_cast<std::uint8_t>(matching);
      for (int f = 0; f < reference.faces(); ++f)
        entry(static_cast<std::uint32_t>(f * face_orientations + o), m) =
            static_cast<std::uint8_t>(reference.node_of_face(f, matching));
    }
    entry(open_code, m) = static_cast<std::uint8_t>(m);
    for (int f = 0; f < reference.faces(); ++f)
      entry(mirror_code + static_cast<std::uint32_t>(f), m) = static_cast<std::uint8_t>(reference.node_of_face(f, m));
  }
  return table;
}

template <class T>
mesh_on_device<T>::mesh_on_device(const queue& q, const dg_domain& domain) {
  const reference_element& reference = domain.reference;
  const auto nodes = static_cast<std::size_t>(reference.nodes);
  geometry_ = {q, geometry_numbers<T>(domain)};
  links_ = {q, encode_links(domain, ghosts_)};
  partner_ = {q, partner_table(reference)};
  if (!domain.uniform_media) media_ = {q, media_numbers_of<T>(domain)};
  std::vector<T> derivative(nodes * nodes * 4), lift(reference.lift.values.size());
  for (int k = 0; k < reference.nodes; ++k)
    for (int n = 0; n < reference.nodes; ++n)
      for (std::size_t r = 0; r < static_cast<std::size_t>(reference.dimension); ++r)
        derivative[(static_cast<std::size_t>(k) * nodes + static_cast<std::size_t>(n)) * 4 + r] =
            static_cast<T>(reference.derivative[r](n, k));
  for (int fm = 0; fm < reference.lift.columns; ++fm)
    for (int n = 0; n < reference.nodes; ++n)
      lift[static_cast<std::size_t>(fm) * nodes + static_cast<std::size_t>(n)] = static_cast<T>(reference.lift(n, fm));
  derivative_ = {q, derivative};
  lift_ = {q, lift};
  arrays_ = {domain.elements(),
             reference.nodes,
             reference.face_nodes,
             reference.faces(),
             geometry_.data(),
             links_.data(),
             partner_.data(),
             domain.uniform_media ? nullptr : media_.data(),
             derivative_.data(),
             lift_.data(),
             static_cast<T>(domain.problem.upwinding)};
}

template class mesh_on_device<float>;
template class mesh_on_device<double>;

}  // namespace plaquette::gpu::dg
