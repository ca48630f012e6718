// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tiles of a rank's box: tiles of the interior by numbers, tiles that need a message by a list.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/device/memory_pool.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/dirac/hopping_launch.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

/// A tile as a block of threads finds it.
struct alignas(16) tile_place {
  std::uint16_t half_x, y, z, t;  ///< of its first site
  std::uint32_t faces;            ///< bit d: some hop of direction d leaves the box through a cut
  std::uint32_t unused = 0;
};

/// How tiles of the interior are numbered: x fastest, then y, z inside a slab, t, slabs. An argument of kernels.
struct interior_tiles {
  std::int32_t first[dimensions] = {};  ///< the interior is a box of tiles: its first
  divisor by_x, by_y, by_slab, by_t;    ///< tiles of the box in x, y, z of a slab, t

  /// Returns the tile of a number, in tiles. If z is not cut, the last slab may name tiles that lie outside the box.
  PLAQUETTE_HOST_DEVICE site_coordinate tile(std::int32_t number) const {
    const std::int32_t row = by_x.quotient(number), plane = by_y.quotient(row), cube = by_slab.quotient(plane),
                       slab = by_t.quotient(cube);
    return {{first[0] + number - row * by_x.value, first[1] + row - plane * by_y.value,
             first[2] + slab * by_slab.value + plane - cube * by_slab.value, first[3] + cube - slab * by_t.value}};
  }
};

/// The interior by numbers; the tiles at the cuts are listed.
struct tile_table {
  interior_tiles interior;
  std::int32_t interior_count = 0;    ///< numbers
  std::shared_ptr<std::byte> memory;  ///< of the device: [tile_place]
  std::int32_t boundary = 0;          ///< how many are listed

  const tile_place* begin() const { return reinterpret_cast<const tile_place*>(memory.get()); }
};

/// \param cut  bit mu: see `hopping_problem`
/// Throws memory_error, and std::logic_error for a box whose coordinates do not have 16 bits.
tile_table make_tile_table(const queue& q, memory_pool& workspace, const site_order& order, const hopping_launch& how,
                           unsigned cut);

}  // namespace plaquette::gpu
