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

  std::int32_t length[dimensions];     ///< of a tile
  std::int32_t along = 0, column = 1;  ///< direction and sites of a column, of tiles of columns
  divisor inside[dimensions - 1], across[dimensions - 1], sites;

  /// \param longest  extents of a tile at most: it has the largest divisors of the lattice's
  site_tiles(const site_order& order, const std::array<int, dimensions>& longest)
      : site_tiles({order.length[0], order.length[1], order.length[2], order.length[3]}, longest) {}
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

  /// Of tiles of columns along nu, at most 8 sites long each, for work whose neighbours lie in the plane (mu, nu). A
  /// thread goes along a column; `site` is its first site. nu is not x.
  static site_tiles of_columns(const site_order& order, int mu, int nu) {
    std::array<int, dimensions> extents{order.length[0], order.length[1], order.length[2], order.length[3]},
        longest{mu == 0 ? 32 : 8, 1, 1, 1};
    const int column = largest_divisor(order.length[nu], 8);
    extents[static_cast<std::size_t>(nu)] /= column;
    longest[static_cast<std::size_t>(mu != 0 ? mu : nu == 1 ? 2 : 1)] = mu == 0 ? 4 : 16;
    site_tiles tiles(extents, longest);
    tiles.along = nu;
    tiles.column = column;
    return tiles;
  }

  /// Returns the local coordinate of site n, of tiles of columns the first site of column n.
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
      if (mu == along) at.x[mu] *= column;
      here = next_here;
      tile = next_tile;
    }
    return at;
  }

 private:
  static int largest_divisor(int number, int most) {
    int divisor = std::min(most, number);
    while (number % divisor != 0) --divisor;
    return divisor;
  }
  site_tiles(const std::array<int, dimensions>& extents, const std::array<int, dimensions>& longest) {
    int count = 1;
    for (int mu = 0; mu < dimensions; ++mu) {
      const int extent = extents[static_cast<std::size_t>(mu)];
      length[mu] = largest_divisor(extent, longest[static_cast<std::size_t>(mu)]);
      count *= length[mu];
      if (mu == dimensions - 1) continue;
      inside[mu] = divisor(length[mu]);
      across[mu] = divisor(extent / length[mu]);
    }
    sites = divisor(count);
  }
};

/// Returns the coordinate some steps further in a direction.
PLAQUETTE_HOST_DEVICE constexpr site_coordinate moved_by(site_coordinate at, int mu, int steps) {
  PLAQUETTE_GPU_UNROLL
  for (int nu = 0; nu < dimensions; ++nu) at.x[nu] += nu == mu ? steps : 0;
  return at;
}

/// Returns the parity of a coordinate.
PLAQUETTE_HOST_DEVICE constexpr int parity_of(const site_coordinate& at) {
  return (at.x[0] + at.x[1] + at.x[2] + at.x[3]) & 1;
}

}  // namespace plaquette::gpu
