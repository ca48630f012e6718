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

struct tile_table {
  std::shared_ptr<std::byte> memory;  ///< of the device: [tile_place]
  std::int32_t interior = 0, all = 0;

  const tile_place* begin() const { return reinterpret_cast<const tile_place*>(memory.get()); }
};

/// \param cut  bit d: see `ghost_zones`
/// Throws memory_error, and std::logic_error for a box whose coordinates do not have 16 bits.
tile_table make_tile_table(const queue& q, memory_pool& workspace, const site_order& order, const hopping_launch& how,
                           unsigned cut);

}  // namespace plaquette::gpu
