// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tiles of a rank's box: every site lies in exactly one of them, and sites at a cut in tiles that wait.
#include "gpu/dirac/hopping_tiles.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "gpu/device/memory_pool.hpp"

namespace plaquette::gpu {
namespace {

/// How often each site of a parity (x in halves) is worked on, and whether by a tile that waits.
struct visits {
  std::vector<int> count, waiting;
};

visits walk(const site_order& order, const tile_table& table, const hopping_launch& how, const queue& q) {
  const int length[dimensions] = {order.half_x.value, order.length[1], order.length[2], order.length[3]};
  visits seen{std::vector<int>(static_cast<std::size_t>(order.sites)),
              std::vector<int>(static_cast<std::size_t>(order.sites))};
  const auto visit = [&](const site_coordinate& first, bool waits) {
    for (int t = first.x[3]; t < first.x[3] + how.tile[3]; ++t)
      for (int z = first.x[2]; z < first.x[2] + how.tile[2]; ++z)
        for (int y = first.x[1]; y < first.x[1] + how.tile[1]; ++y)
          for (int x = first.x[0]; x < first.x[0] + how.tile[0]; ++x) {
            if (x >= length[0] || y >= length[1] || z >= length[2] || t >= length[3]) continue;
            const auto i = static_cast<std::size_t>(x + length[0] * (y + length[1] * (z + length[2] * t)));
            ++seen.count[i];
            seen.waiting[i] += waits ? 1 : 0;
          }
  };
  for (int n = 0; n < table.interior_count; ++n) {
    site_coordinate at = table.interior.tile(n);
    for (int mu = 0; mu < dimensions; ++mu) at.x[mu] *= how.tile[mu];
    visit(at, false);
  }
  std::vector<tile_place> listed(static_cast<std::size_t>(table.boundary));
  copy_to_host(q, listed.data(), table.begin(), listed.size() * sizeof(tile_place));
  for (const tile_place& place : listed) visit({{place.half_x, place.y, place.z, place.t}}, true);
  return seen;
}

bool is_at_cut(const site_order& order, std::int32_t i, int parity, unsigned cut) {
  const site_coordinate x = order.coordinate_of(parity, i);
  for (int d = 0; d < 2 * dimensions; ++d)
    if ((cut >> (d / 2) & 1U) != 0 && order.leaves(x, d / 2, d % 2 == 0 ? +1 : -1)) return true;
  return false;
}

TEST(TilesOfARank, HoldEverySiteOnceAndThoseAtACutInTilesThatWait) {
  const queue q;
  const auto pool = std::make_shared<memory_pool>(0);
  for (const extents& local :
       {extents{4, 4, 4, 4}, extents{16, 8, 16, 10}, extents{8, 6, 10, 32}, extents{2, 2, 28, 6}})
    for (unsigned cut = 0; cut < 16; ++cut)
      for (const int columns : {1, 3, 12})
        for (const int number_bytes : {8, 4, 2}) {
          hopping_problem problem{local, columns, number_bytes, reconstruct::twelve};
          problem.cut = cut;
          const site_order order(local);
          for (const hopping_launch& how : candidates(problem)) {
            if (how.variant == hopping_variant::gather) continue;
            const visits seen = walk(order, make_tile_table(q, *pool, order, how, cut), how, q);
            for (std::int32_t i = 0; i < order.sites; ++i) {
              ASSERT_EQ(seen.count[static_cast<std::size_t>(i)], 1) << how.name() << " cut " << cut << " site " << i;
              if (is_at_cut(order, i, 0, cut) || is_at_cut(order, i, 1, cut)) {
                ASSERT_EQ(seen.waiting[static_cast<std::size_t>(i)], 1) << how.name() << " cut " << cut << " " << i;
              }
            }
          }
        }
}

}  // namespace
}  // namespace plaquette::gpu
