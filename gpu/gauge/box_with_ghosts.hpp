// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The box of a rank's sites and of those one step outside, which other ranks hold. It has one site more on both sides
/// of each direction that is cut; the other directions are periodic, as on one rank. Its extents are even, and its
/// sites are numbered like the sites of any box (site_order). If no direction is cut it is the rank's own box.
#pragma once

#include <cstdint>

#include "common/lattice/geometry.hpp"
#include "gpu/device/unroll.hpp"
#include "gpu/fields/lattice_sites.hpp"

namespace plaquette::gpu {

/// Coordinates and parities of the box are its own: they count from its corner.
struct box_with_ghosts {
  site_order order;                ///< of the box
  std::int32_t shift[dimensions];  ///< where this rank's site (0, 0, 0, 0) is: 1 in a cut direction, else 0
  int parity_shift;                ///< a site's parity in the box is its parity plus this, modulo 2

  explicit box_with_ghosts(const lattice_geometry& geometry) : shift{}, parity_shift(0) {
    extents length = geometry.local();
    for (int mu = 0; mu < dimensions; ++mu) {
      shift[mu] = geometry.is_cut(mu) ? 1 : 0;
      parity_shift ^= shift[mu];
      length[mu] += 2 * shift[mu];
    }
    order = site_order(length);
  }

  /// Returns the coordinate of one of the box in the whole lattice; for this rank's sites.
  global_order global(const lattice_geometry& geometry) const {
    global_order whole(geometry);
    for (int mu = 0; mu < dimensions; ++mu) whole.origin[mu] -= shift[mu];
    return whole;
  }

  PLAQUETTE_HOST_DEVICE int parity_of(int parity) const { return parity ^ parity_shift; }
  /// Of a local coordinate of this rank's sites.
  PLAQUETTE_HOST_DEVICE site_coordinate coordinate_of(const site_coordinate& local) const {
    return {{local.x[0] + shift[0], local.x[1] + shift[1], local.x[2] + shift[2], local.x[3] + shift[3]}};
  }
  /// Of a local coordinate from -1 to L, both included.
  PLAQUETTE_HOST_DEVICE site_coordinate wrapped_coordinate_of(const site_coordinate& local) const {
    site_coordinate at = coordinate_of(local);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < dimensions; ++k)
      at.x[k] += at.x[k] < 0 ? order.length[k] : at.x[k] >= order.length[k] ? -order.length[k] : 0;
    return at;
  }
  PLAQUETTE_HOST_DEVICE site_number number_of(const site_coordinate& at) const {
    return {(at.x[0] + at.x[1] + at.x[2] + at.x[3]) & 1, order.index(at)};
  }
};

}  // namespace plaquette::gpu
