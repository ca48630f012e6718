// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tiles of a box in the order in which a rank works on them: those that need a message come last.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/device/memory_pool.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/dirac/hopping_launch.hpp"
#include "gpu/fields/site_order.hpp"

namespace plaquette::gpu {

/// A tile as a block of threads finds it.
struct alignas(16) tile_place {
  std::uint16_t half_x, y, z, t;  ///< of its first site
  std::uint32_t faces;            ///< bit d: some hop of direction d leaves the box through a cut
  std::uint32_t unused = 0;
};

/// Tiles of the interior are a box of tiles, numbered x fastest, then y, z inside a slab, t, slabs; those at the cuts
/// are listed.
struct tile_table {
  std::int32_t first[dimensions] = {},
               count[dimensions] = {};  ///< the interior: first tile and tiles of each direction
  std::int32_t slab = 1;                ///< tiles of z
  std::shared_ptr<std::byte> memory;    ///< of the device: [tile_place]
  std::int32_t boundary = 0;            ///< how many are listed

  /// Numbers of the interior; where the last slab is not full some name no tile.
  std::int32_t interior() const { return count[0] * count[1] * slab * slabs() * count[3]; }
  std::int32_t slabs() const { return (count[2] + slab - 1) / slab; }
  const tile_place* begin() const { return reinterpret_cast<const tile_place*>(memory.get()); }
};

/// \param cut  bit d: see `ghost_zones`
/// Throws memory_error, and std::logic_error for a box whose coordinates do not have 16 bits.
tile_table make_tile_table(const queue& q, memory_pool& workspace, const site_order& order, const hopping_launch& how,
                           unsigned cut);

}  // namespace plaquette::gpu
