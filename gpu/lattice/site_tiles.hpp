// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sites in the order of tiles. The threads of a block then work on neighbours: one finds in the cache of the
/// multiprocessor the matrices that another has read. Without it each of them reads from the L2 cache, whose 5.5 TB/s
/// (H200) limit kernels that multiply matrices of neighbours.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "gpu/device/unroll.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

/// A rank's sites of both parities, tile by tile, x fastest in a tile and among tiles.
struct site_tiles {
  static constexpr int sites_of_a_tile = 128;  ///< at most; a block of threads is to have as many

  std::int32_t length[dimensions];  ///< of a tile
  divisor inside[dimensions - 1], across[dimensions - 1], sites;

  /// \param longest  extents of a tile at most: it has the largest divisors of the lattice's
  site_tiles(const site_order& order, const std::array<int, dimensions>& longest) {
    int count = 1;
    for (int mu = 0; mu < dimensions; ++mu) {
      length[mu] = std::min(longest[static_cast<std::size_t>(mu)], order.length[mu]);
      while (order.length[mu] % length[mu] != 0) --length[mu];
      count *= length[mu];
      if (mu == dimensions - 1) continue;
      inside[mu] = divisor(length[mu]);
      across[mu] = divisor(order.length[mu] / length[mu]);
    }
    sites = divisor(count);
  }
  /// Of tiles for work whose neighbours lie in a plane. Eight sites along x fill whole sectors of 32 bytes.
  static site_tiles of_plane(const site_order& order, int mu, int nu) {
    std::array<int, dimensions> longest{8, 1, 1, 1};
    const bool has_x = mu == 0 || nu == 0;
    for (const int direction : {mu, nu}) longest[static_cast<std::size_t>(direction)] = has_x ? 8 : 4;
    if (has_x) longest[0] = 16;
    return {order, longest};
  }
  /// Of tiles for work with neighbours in all directions.
  static site_tiles of_lattice(const site_order& order) { return {order, {16, 2, 2, 2}}; }

  /// Returns the local coordinate of site n.
  PLAQUETTE_HOST_DEVICE site_coordinate site(std::int64_t n) const {
    std::int32_t tile = sites.quotient(static_cast<std::int32_t>(n)),
                 here = static_cast<std::int32_t>(n) - tile * sites.value;
    site_coordinate at;
    PLAQUETTE_GPU_UNROLL
    for (int mu = 0; mu < dimensions; ++mu) {
      const bool last = mu == dimensions - 1;
      const std::int32_t next_here = last ? 0 : inside[last ? 0 : mu].quotient(here),
                         next_tile = last ? 0 : across[last ? 0 : mu].quotient(tile);
      at.x[mu] = here - (last ? 0 : next_here * length[mu]) +
                 length[mu] * (tile - (last ? 0 : next_tile * across[last ? 0 : mu].value));
      here = next_here;
      tile = next_tile;
    }
    return at;
  }
};

/// Returns the parity of a coordinate.
PLAQUETTE_HOST_DEVICE constexpr int parity_of(const site_coordinate& at) {
  return (at.x[0] + at.x[1] + at.x[2] + at.x[3]) & 1;
}

}  // namespace plaquette::gpu
