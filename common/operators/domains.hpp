// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A lattice cut into domains of one shape, which divides what a rank holds: Schwarz's procedure solves each by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/algebra/hermitian_6x6.hpp"
#include "common/lattice/site_field.hpp"
#include "common/operators/coarse_matrices.hpp"

namespace plaquette {

/// Whether a hop from x along direction d (2 mu forwards, 2 mu + 1 backwards) leaves the domain, be it around the
/// lattice and back into the same one.
constexpr bool leaves_domain(const coordinate& x, int d, const extents& shape) {
  const int mu = d / 2;
  return (d % 2 == 0 ? x[mu] + 1 : x[mu]) % shape[mu] == 0;
}

/// Returns 0 or 1: domains as a checkerboard.
/// \param x  of the whole lattice
constexpr int colour_of_domain(const coordinate& x, const extents& shape) {
  int sum = 0;
  for (int mu = 0; mu < dimensions; ++mu) sum += x[mu] / shape[mu];
  return sum % 2;
}

/// Returns the sites of this rank whose domains have a colour: 1 there, 0 elsewhere.
/// \tparam Geometry  lattice_geometry or coarse_geometry
template <class Geometry>
std::vector<std::uint8_t> sites_of_colour(const Geometry& geometry, const extents& shape, int colour) {
  std::vector<std::uint8_t> chosen;
  for (std::int64_t site = 0; site < volume(geometry.local()); ++site) {
    coordinate x = geometry.local_coordinate(site);
    for (int mu = 0; mu < dimensions; ++mu) x[mu] += geometry.origin()[mu];
    chosen.push_back(colour_of_domain(x, shape) == colour);
  }
  return chosen;
}

/// Returns the same as site-diagonal blocks.
inline site_field<clover_block> domains_of_colour(const lattice_geometry& geometry, const extents& shape, int colour) {
  const std::vector<std::uint8_t> chosen = sites_of_colour(geometry, shape, colour);
  site_field<clover_block> blocks(geometry);
  for (std::size_t site = 0; site < chosen.size(); ++site)
    for (hermitian_6x6& block : blocks.at_site(static_cast<std::int64_t>(site)).chirality)
      std::ranges::fill(block.diagonal, chosen[site]);
  return blocks;
}

/// Returns the links inside domains; those between them are zero, ghosts too.
inline gauge_configuration links_inside_domains(const gauge_configuration& links, const extents& shape) {
  gauge_configuration inside = links;
  const extents& local = links.geometry().local();
  coordinate x;
  for (x[3] = -1; x[3] <= local[3]; ++x[3])
    for (x[2] = -1; x[2] <= local[2]; ++x[2])
      for (x[1] = -1; x[1] <= local[1]; ++x[1])
        for (x[0] = -1; x[0] <= local[0]; ++x[0])
          for (int mu = 0; mu < dimensions; ++mu)
            if (leaves_domain(x, 2 * mu, shape)) inside(x)[mu] = {};
  return inside;
}

/// Returns the same for a coarse operator. X is unchanged.
inline coarse_matrices links_inside_domains(const coarse_matrices& m, const extents& shape) {
  coarse_matrices inside = m;
  for (std::int64_t site = 0; site < m.geometry.sites(); ++site)
    for (int d = 0; d < hop_directions; ++d)
      if (leaves_domain(m.geometry.local_coordinate(site), d, shape))
        std::fill_n(inside.matrix(site, 1 + d), m.matrix_size(), complex<float>{});
  return inside;
}

}  // namespace plaquette
