// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the blocks of a kernel find their tiles on a rank whose neighbours are other ranks, how they pack faces, and how
/// they wait for messages. For .cu files only.
#pragma once

#include <algorithm>

#include "gpu/dirac/hopping_halo.hpp"
#include "gpu/dirac/hopping_kernels.hpp"
#include "gpu/dirac/hopping_tiles.hpp"
#include "gpu/halo/message_wait.hpp"

namespace plaquette::gpu {

/// How blocks find their work: the first `packing_end` pack. Then come most of the interior, the tiles at the cuts, and
/// the rest of the interior, which fills the multiprocessors while those wait.
struct rank_walk {
  unsigned packing_begin[hop_directions];  ///< blocks of each direction's message follow each other
  unsigned packing_end;
  unsigned before, at_cuts;  ///< tiles of the interior before the tiles at the cuts; tiles at the cuts
  unsigned inside;           ///< tiles of the interior
  bool backwards;            ///< both kinds of tiles, the last one first
  interior_tiles interior;
  const tile_place* boundary;
  unsigned readers;  ///< blocks that pack or wait
  int tile[3];       ///< sites of a tile: x/2, y, z
  int log2_z, tile_t;
  int groups;  ///< of a batch: threads of a site; a power of two

  unsigned blocks() const { return packing_end + inside + at_cuts; }
};

/// The sites of a block start here.
struct tile_origin {
  int half_x, y, z, t;
  unsigned faces;
};

__device__ __forceinline__ bool is_at_cut(const rank_walk& walk, unsigned number) {
  return number - walk.before < walk.at_cuts;
}

__device__ __forceinline__ tile_origin interior_tile(const rank_walk& walk, unsigned number) {
  const unsigned k = number < walk.before ? number : number - walk.at_cuts;
  const site_coordinate tile = walk.interior.tile(static_cast<int>(walk.backwards ? walk.inside - 1 - k : k));
  return {tile.x[0] * walk.tile[0], tile.x[1] * walk.tile[1], tile.x[2] * walk.tile[2], tile.x[3] * walk.tile_t, 0};
}

__device__ __forceinline__ tile_origin boundary_tile(const rank_walk& walk, unsigned number) {
  static_assert(sizeof(tile_place) == 16);
  const unsigned k = number - walk.before;
  const words<4> w = load_words<load_hint::constant, 4>(
      reinterpret_cast<const std::byte*>(walk.boundary + (walk.backwards ? walk.at_cuts - 1 - k : k)));
  return {static_cast<int>(w.w[0] & 0xffffU), static_cast<int>(w.w[0] >> 16), static_cast<int>(w.w[1] & 0xffffU),
          static_cast<int>(w.w[1] >> 16), w.w[2]};
}

__device__ __forceinline__ site_of_thread site_in_tile(const rank_walk& walk, const tile_origin& tile) {
  const int z = static_cast<int>(threadIdx.z), t = z >> walk.log2_z, group = t / walk.tile_t;
  site_of_thread s;
  s.half_x = tile.half_x + static_cast<int>(threadIdx.x);
  s.y = tile.y + static_cast<int>(threadIdx.y);
  s.z = tile.z + (z & ((1 << walk.log2_z) - 1));
  s.t = tile.t + t - group * walk.tile_t;
  s.group = group;
  return s;
}

#ifdef __CUDACC__

struct packing_blocks {
  unsigned first[hop_directions + 1];  ///< blocks of each direction's message follow each other
};

__device__ __forceinline__ unsigned thread_of_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

/// A block's share of one direction's message, and, by the last block of them, word to the neighbour.
/// \param faces  packs the messages to neighbours: `pieces` and `pack` of face_packing (hopping_halo.hpp)
template <class Faces>
__device__ __forceinline__ void pack_block(const Faces& faces, const ghost_zones& zones, int direction, unsigned block,
                                           unsigned blocks, std::uint32_t application) {
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z, thread = thread_of_block();
  // Tiles of small boxes have fewer threads than a piece has lanes.
  const auto sites = static_cast<unsigned>(faces.pieces(direction) * lanes);
  for (unsigned i = block * threads + thread; i < sites; i += blocks * threads)
    faces.pack(direction, static_cast<std::int32_t>(i / lanes), static_cast<std::int32_t>(i % lanes),
               static_cast<int>(application & 1U));
  announce_message(zones, direction, blocks, application, thread);
}

/// Blocks of the sites' kernel that pack.
template <class Faces>
__device__ __forceinline__ void pack_in_tiles(const Faces& faces, const ghost_zones& zones, const rank_walk& walk) {
  wait_for_previous_kernel();
  const std::uint32_t application = load_counter(zones.completed) + 1;
  int direction = hop_directions - 1;
  while (blockIdx.x < walk.packing_begin[direction]) --direction;
  const unsigned end = direction + 1 < hop_directions ? walk.packing_begin[direction + 1] : walk.packing_end;
  pack_block(faces, zones, direction, blockIdx.x - walk.packing_begin[direction], end - walk.packing_begin[direction],
             application);
  if (thread_of_block() == 0) count_reader(zones, walk.readers, application);
}

inline constexpr int packing_threads = 128;

/// A block's share of a kernel that does nothing but pack. All of its threads call this.
template <class Faces>
__device__ __forceinline__ void pack_alone(const Faces& faces, const ghost_zones& zones, const packing_blocks& blocks) {
  const std::uint32_t application = load_counter(zones.completed) + 1;
  int direction = 0;
  while (blockIdx.x >= blocks.first[direction + 1]) ++direction;
  pack_block(faces, zones, direction, blockIdx.x - blocks.first[direction],
             blocks.first[direction + 1] - blocks.first[direction], application);
  if (threadIdx.x == 0) count_reader(zones, gridDim.x, application);
}
/// Returns the blocks of such a kernel.
template <class Faces>
packing_blocks blocks_that_pack(const Faces& faces) {
  packing_blocks blocks{};
  for (int d = 0; d < hop_directions; ++d)
    blocks.first[d + 1] =
        blocks.first[d] + static_cast<unsigned>((faces.pieces(d) * lanes + packing_threads - 1) / packing_threads);
  return blocks;
}

/// All threads of a block, until the messages of these faces are here; returns which of the two buffers they are in.
__device__ __forceinline__ int wait_for_messages(const ghost_zones& zones, const rank_walk& walk, unsigned faces) {
  const bool packs = walk.packing_end > 0;
  const std::uint32_t application = packs ? load_counter(zones.completed) + 1 : load_counter(zones.current);
  const unsigned thread = thread_of_block();
  if (thread < hop_directions && (faces >> thread & 1U) != 0)
    wait_for_message(zones, static_cast<int>(thread), application);
  __syncthreads();
  if (packs && thread == 0) count_reader(zones, walk.readers, application);
  return static_cast<int>(application & 1U);
}

#endif

/// Deals the tiles of a part of the box to blocks, of which none packs.
inline rank_walk walk_through(const hopping_launch& how, const tile_table& table, box_part part, bool backwards) {
  rank_walk walk{};
  walk.interior = table.interior;
  walk.boundary = table.begin();
  walk.inside = part == box_part::boundary ? 0 : static_cast<unsigned>(table.interior_count);
  walk.before = walk.inside / 8 * 5;
  walk.at_cuts = part == box_part::interior ? 0 : static_cast<unsigned>(table.boundary);
  walk.readers = walk.at_cuts;
  walk.backwards = backwards;
  for (int mu = 0; mu < 3; ++mu) walk.tile[mu] = how.tile[mu];
  walk.log2_z = log2_of(how.tile[2]);
  walk.tile_t = how.tile[3];
  walk.groups = how.variant == hopping_variant::batch ? how.groups : 1;
  return walk;
}

/// Sets which blocks pack: enough to fill the links between devices, but few, since the sites' blocks want the
/// multiprocessors.
inline void deal_packing(rank_walk& walk, const site_order& order, const ghost_zones& zones, int columns, int threads) {
  constexpr int pieces_a_warp = 4, most_blocks = 16;
  const int warps = std::max(1, threads / lanes);
  unsigned blocks = 0;
  for (int d = 0; d < hop_directions; ++d) {
    walk.packing_begin[d] = blocks;
    if (!zones.is_cut(d)) continue;
    const std::int64_t pieces = std::int64_t{face_order{order}.blocks(d / 2)} * columns;
    blocks += static_cast<unsigned>(std::clamp<std::int64_t>(pieces / (pieces_a_warp * warps), 1, most_blocks));
  }
  walk.packing_end = blocks;
  walk.readers = walk.packing_end + walk.at_cuts;
}

}  // namespace plaquette::gpu
