// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hopping_tiles.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace plaquette::gpu {

namespace {

/// Which cuts a tile of this many sites, along mu from `first`, lies at.
unsigned faces_along(int mu, int first, int sites, int length, unsigned cut) {
  if ((cut >> mu & 1U) == 0) return 0;
  const unsigned forwards = 1U << (2 * mu), backwards = forwards << 1;
  return (first + sites >= length ? forwards : 0U) | (first == 0 ? backwards : 0U);
}

}  // namespace

tile_table make_tile_table(const queue& q, memory_pool& workspace, const site_order& order, const hopping_launch& how,
                           unsigned cut) {
  const int length[dimensions] = {order.half_x.value, order.length[1], order.length[2], order.length[3]};
  int parts[dimensions];
  for (int mu = 0; mu < dimensions; ++mu) {
    if (length[mu] > 0xffff) throw std::logic_error("tiles: a box of more sites a direction than 16 bits count");
    parts[mu] = (length[mu] + how.tile[mu] - 1) / how.tile[mu];
  }
  tile_table table;
  int count[dimensions];
  for (int mu = 0; mu < dimensions; ++mu) {
    const bool is_cut = (cut >> mu & 1U) != 0;
    table.interior.first[mu] = is_cut ? 1 : 0;
    count[mu] = std::max(0, parts[mu] - (is_cut ? 2 : 0));
  }
  int slab = std::max(1, how.slab == 0 ? count[2] : std::min(how.slab, count[2]));
  // A tile beyond the interior would be one at the cut.
  if (table.interior.first[2] > 0)
    while (count[2] % slab != 0) --slab;
  const int slabs = (count[2] + slab - 1) / slab;
  table.interior_count = count[0] * count[1] * slab * slabs * count[3];
  table.interior.by_x = divisor(std::max(1, count[0]));
  table.interior.by_y = divisor(std::max(1, count[1]));
  table.interior.by_slab = divisor(slab);
  table.interior.by_t = divisor(std::max(1, count[3]));

  // Neighbours soon after each other, as in the interior.
  std::vector<tile_place> boundary;
  const auto number = [](int i) { return static_cast<std::uint16_t>(i); };
  for (int t = 0; t < parts[3]; ++t)
    for (int z = 0; z < parts[2]; ++z)
      for (int y = 0; y < parts[1]; ++y)
        for (int x = 0; x < parts[0]; ++x) {
          const int at[dimensions] = {x * how.tile[0], y * how.tile[1], z * how.tile[2], t * how.tile[3]};
          unsigned faces = 0;
          for (int mu = 0; mu < dimensions; ++mu) faces |= faces_along(mu, at[mu], how.tile[mu], length[mu], cut);
          if (faces != 0) boundary.push_back({number(at[0]), number(at[1]), number(at[2]), number(at[3]), faces});
        }
  table.boundary = static_cast<std::int32_t>(boundary.size());
  const std::size_t bytes = boundary.size() * sizeof(tile_place);
  table.memory = workspace.take(bytes);
  copy_to_device(q, table.memory.get(), boundary.data(), bytes);
  return table;
}

}  // namespace plaquette::gpu
