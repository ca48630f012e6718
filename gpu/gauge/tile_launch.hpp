// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Launches of work on sites in the order of tiles. For .cu files only.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/device/launch.hpp"
#include "gpu/lattice/site_tiles.hpp"

namespace plaquette::gpu {

#ifdef __CUDACC__

/// As index_kernel, in registers that leave room for this number of blocks on a multiprocessor.
template <class Body>
__global__ void __launch_bounds__(site_tiles::sites_of_a_tile, Body::blocks_of_a_multiprocessor)
    tile_kernel(std::int64_t count, bool backwards, const Body body) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const std::int64_t i = std::int64_t{block_number(backwards)} * blockDim.x + threadIdx.x;
  if (i < count) body(i);
}

#endif

/// Calls body(n) for 0 <= n < count, blocks of threads as for tiles. A body may say how many blocks a multiprocessor is
/// to hold at once, as `blocks_of_a_multiprocessor`.
template <class Body>
void for_each_index_of_tiles(const queue& q, std::int64_t count, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  constexpr int threads = site_tiles::sites_of_a_tile;
#ifdef __CUDACC__
  if constexpr (requires { Body::blocks_of_a_multiprocessor; })
    launch_kernel(q, dim3(static_cast<unsigned>((count + threads - 1) / threads)), dim3(threads), 0, true,
                  tile_kernel<Body>, count, !goes_forwards<Body>() && q.next_is_reversed(), body);
  else
#endif
    for_each_index(q, count, body, threads);
}

/// Calls body(n) for all sites n of a rank, or all columns if its tiles are of columns, a tile a block of threads.
template <class Body>
void for_each_tiled_site(const queue& q, const site_order& order, const Body& body) {
  for_each_index_of_tiles(q, 2 * static_cast<std::int64_t>(order.sites) / body.tiles.column, body);
}

/// A body of links, for the directions of a tile in turn.
template <class Body>
struct each_direction_of_tiles {
  static constexpr std::int64_t threads = site_tiles::sites_of_a_tile;

  Body body;
  std::int64_t sites;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const std::int64_t block = n / threads, site = block / dimensions * threads + n % threads;
    if (site < sites) body(site, static_cast<int>(block % dimensions));
  }
};

/// Calls body(n, mu) for all sites n of a rank and all directions. The blocks of the four directions of a tile follow
/// each other: they find its links in the L2 cache.
template <class Body>
void for_each_tiled_link(const queue& q, const site_order& order, const Body& body) {
  const std::int64_t sites = 2 * static_cast<std::int64_t>(order.sites);
  constexpr std::int64_t threads = each_direction_of_tiles<Body>::threads;
  for_each_index_of_tiles(q, (sites + threads - 1) / threads * threads * dimensions,
                          each_direction_of_tiles<Body>{body, sites});
}

}  // namespace plaquette::gpu
