// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels of the hopping term on several ranks and their launch, instantiated a precision a file. For .cu files
/// only.
///
/// They do what those of hopping_kernels.hpp do, tile by tile. First, in some blocks, the faces are packed and written
/// into the neighbours' memory. Then comes the interior, with the tiles at the cuts behind its greater part. These wait
/// for their messages, but by then most are here. Where the host sends messages, packing is a kernel of its own, and so
/// are the two kinds of tiles.
#pragma once

#include "gpu/dirac/hopping_halo.hpp"
#include "gpu/dirac/hopping_kernels.hpp"
#include "gpu/dirac/hopping_tiles.hpp"
#include "gpu/halo/message_wait.hpp"

namespace plaquette::gpu {

#ifdef __CUDACC__

/// How blocks find their work: the first `packing_end` pack. Then come most of the interior, the tiles at the cuts, and
/// the rest of the interior, which fills the multiprocessors while those wait.
struct rank_walk {
  unsigned packing_begin[hop_directions];  ///< blocks of each direction's message follow each other
  unsigned packing_end;
  unsigned before, at_cuts;  ///< tiles of the interior before those at the cuts; tiles at the cuts
  unsigned inside;           ///< tiles of the interior
  bool backwards;            ///< both kinds of tiles, the last one first
  interior_tiles interior;
  const tile_place* boundary;
  unsigned readers;  ///< blocks that pack or wait
  int tile[3];       ///< sites of a tile: x/2, y, z
  int log2_z, tile_t;
  int groups;  ///< of a batch: threads of a site; a power of two
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

__device__ __forceinline__ unsigned thread_of_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
/// A block's share of one direction's message, and, by the last block of them, word to the neighbour.
template <class T, bool exchanged>
__device__ __forceinline__ void pack_block(const hopping_arguments<T>& arg, const ghost_zones& zones, int direction,
                                           unsigned block, unsigned blocks, std::uint32_t application) {
  const face_packing<T, exchanged> faces{arg, zones};
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z, thread = thread_of_block();
  // Tiles of small boxes have fewer threads than a piece has lanes.
  const auto sites = static_cast<unsigned>(faces.pieces(direction) * lanes);
  for (unsigned i = block * threads + thread; i < sites; i += blocks * threads)
    faces.pack(direction, static_cast<std::int32_t>(i / lanes), static_cast<std::int32_t>(i % lanes),
               static_cast<int>(application & 1U));
  announce_message(zones, direction, blocks, application, thread);
}

/// Blocks of the sites' kernel that pack.
template <class T, bool exchanged>
__device__ __forceinline__ void pack_in_tiles(const hopping_arguments<T>& arg, const ghost_zones& zones,
                                              const rank_walk& walk) {
  wait_for_previous_kernel();
  const std::uint32_t application = load_counter(zones.completed) + 1;
  int direction = hop_directions - 1;
  while (blockIdx.x < walk.packing_begin[direction]) --direction;
  const unsigned end = direction + 1 < hop_directions ? walk.packing_begin[direction + 1] : walk.packing_end;
  pack_block<T, exchanged>(arg, zones, direction, blockIdx.x - walk.packing_begin[direction],
                           end - walk.packing_begin[direction], application);
  if (thread_of_block() == 0) count_reader(zones, walk.readers, application);
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

template <class T, reconstruct stored, bool exchanged, bool with_clover, bool links_once>
__global__ void __launch_bounds__(most_threads(is_half<T> ? 2 : sizeof(real_of<T>)), 2)
    hop_tiles_of_rank(const __grid_constant__ hopping_arguments<T> arg, const __grid_constant__ rank_walk walk,
                      const __grid_constant__ hopping_halo halo) {
  constexpr load_hint link_hint = links_once ? load_hint::constant_once : load_hint::constant;
  trigger_dependent_launch();
  if (blockIdx.x < walk.packing_end) return pack_in_tiles<T, exchanged>(arg, halo.zones, walk);
  const unsigned number = blockIdx.x - walk.packing_end;
  if (!is_at_cut(walk, number))
    return hop_to_site<T, stored, exchanged, with_clover, links_once>(arg,
                                                                      site_in_tile(walk, interior_tile(walk, number)));
  const tile_origin tile = boundary_tile(walk, number);
  const site_of_thread s = site_in_tile(walk, tile);
  const hop_neighbours n = neighbours_of(arg.order, arg.parity, s.half_x, s.y, s.z, s.t);
  wait_for_previous_kernel();
  const int buffer = wait_for_messages(halo.zones, walk, tile.faces);
  if (!inside(s, arg.order)) return;
  const site_place at{s.half_x, s.y, s.z, s.t};
  spin_rows<real_of<T>, 4> h[1] = {};
  for_directions<0, hop_directions>([&]<int d>() {
    loaded_link<T, stored> link;
    const link_place place = link_of_hop<T, stored, d>(arg, halo, n, at);
    link.template load<link_hint>(place.block, place.lane);
    add_hop_of_rank<d, T, stored, exchanged, load_hint::ordered>(h, arg, halo, buffer, 0, n, at, link, no_phases{});
  });
  finish_site<T, exchanged, with_clover, load_hint::ordered, link_hint, leaves_sums<T>(with_clover)>(
      h[0], arg, 0, n.here, with_clover ? clover_of<T>(arg.clover, n.here) : nullptr, lane_of(n.here));
}

template <class T, reconstruct stored, bool exchanged, bool with_clover>
__global__ void __launch_bounds__(most_threads(is_half<T> ? 2 : sizeof(real_of<T>)), 2)
    hop_batch_of_rank(const __grid_constant__ hopping_arguments<T> arg, const __grid_constant__ rank_walk walk,
                      const __grid_constant__ hopping_halo halo) {
  constexpr int at_once = with_clover ? 1 : batch_columns_at_once(is_half<T> ? 2 : sizeof(real_of<T>));
  constexpr int slot_bytes = lanes * link_bytes<T>(stored);
  extern __shared__ __align__(16) std::byte shared[];
  trigger_dependent_launch();
  if (blockIdx.x < walk.packing_end) return pack_in_tiles<T, exchanged>(arg, halo.zones, walk);
  const unsigned number = blockIdx.x - walk.packing_end;
  const bool is_interior = !is_at_cut(walk, number);
  const tile_origin tile = is_interior ? interior_tile(walk, number) : boundary_tile(walk, number);
  const site_of_thread s = site_in_tile(walk, tile);
  const int groups = walk.groups;
  const int in_tile =
      static_cast<int>(threadIdx.x) +
      walk.tile[0] * (static_cast<int>(threadIdx.y) +
                      walk.tile[1] * (static_cast<int>(threadIdx.z) - ((s.group * walk.tile_t) << walk.log2_z)));
  const bool works = inside(s, arg.order);
  const hop_neighbours n = neighbours_of(arg.order, arg.parity, s.half_x, s.y, s.z, s.t);
  const site_place at{s.half_x, s.y, s.z, s.t};
  std::byte* const slots =
      shared + static_cast<std::uint32_t>(in_tile) / lanes * batch_block_bytes<T, stored>(with_clover);
  std::byte* const clover = slots + hop_directions * slot_bytes;
  const std::uint32_t lane = lane_of(in_tile);
  if (works) {
    for_directions<0, hop_directions>([&]<int d>() {
      if ((d & (groups - 1)) != s.group) return;
      const link_place place = link_of_hop<T, stored, d>(arg, halo, n, at);
      copy_link_to_shared<T, stored>(slots + d * slot_bytes, lane, place.block, place.lane);
    });
    if constexpr (with_clover) {
      const std::byte* const from = clover_of<T>(arg.clover, n.here);
#pragma unroll
      for (int chirality = 0; chirality < 2; ++chirality)
        if ((chirality & (groups - 1)) == s.group)
          copy_clover_to_shared<T>(clover, lane, from, lane_of(n.here), chirality);
    }
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  wait_for_previous_kernel();
  const int buffer = is_interior ? 0 : wait_for_messages(halo.zones, walk, tile.faces);
  if (!works) return;
#pragma unroll 1
  for (int column = s.group * at_once; column < arg.columns; column += groups * at_once) {
    spin_rows<real_of<T>, 4> h[at_once] = {};
    // The last ones go back over a column that is done already, where their number is odd.
    const int first = at_once == 1 ? column : min(column, arg.columns - at_once);
    const std::byte* const in = column_of<T>(arg.in.begin, first);
    const auto link_in_slot = [&](int d) {
      loaded_link<T, stored> link;
      link.template load<load_hint::none>(slots + d * slot_bytes, lane);
      return link;
    };
    if (is_interior) {
      for_directions<0, hop_directions>([&]<int d>() {
        add_hop<d, T, stored, exchanged, load_hint::ordered>(h, arg, in, n, link_in_slot(d), no_phases{});
      });
    } else {
      for_directions<0, hop_directions>([&]<int d>() {
        add_hop_of_rank<d, T, stored, exchanged, load_hint::ordered>(h, arg, halo, buffer, first, n, at,
                                                                     link_in_slot(d), no_phases{});
      });
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k)
      if (at_once == 1 || first + k >= column)
        finish_site<T, exchanged, with_clover, load_hint::ordered, load_hint::none, leaves_sums<T>(with_clover)>(
            h[k], arg, first + k, n.here, clover, lane);
  }
}

namespace detail {

template <class T>
struct rank_kernel {
  void (*function)(const hopping_arguments<T>, const rank_walk, const hopping_halo);
  std::atomic<std::int64_t>* prepared;
};

template <class T, auto function>
rank_kernel<T> made_rank_kernel() {
  return {function, prepared_of<function>()};
}

template <class T, reconstruct stored, bool exchanged, bool with_clover>
rank_kernel<T> rank_kernel_for(const hopping_launch& how) {
  if (how.variant == hopping_variant::batch)
    return made_rank_kernel<T, hop_batch_of_rank<T, stored, exchanged, with_clover>>();
  return how.links_once ? made_rank_kernel<T, hop_tiles_of_rank<T, stored, exchanged, with_clover, true>>()
                        : made_rank_kernel<T, hop_tiles_of_rank<T, stored, exchanged, with_clover, false>>();
}

template <class T, reconstruct stored, bool exchanged>
rank_kernel<T> rank_kernel_for(const hopping_launch& how, bool with_clover) {
  return with_clover ? rank_kernel_for<T, stored, exchanged, true>(how)
                     : rank_kernel_for<T, stored, exchanged, false>(how);
}

}  // namespace detail

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
}

template <class T, reconstruct stored>
void launch_tiles_of_rank(const queue& q, hopping_arguments<T> arg, const hopping_halo& halo, const hopping_launch& how,
                          const tile_table& table, box_part part, bool packs) {
  const bool batch = how.variant == hopping_variant::batch, with_clover = arg.clover != nullptr;
  require_fitting_launch<T>(how, arg.columns);
  rank_walk walk{};
  walk.interior = table.interior;
  walk.boundary = table.begin();
  const unsigned interior = part == box_part::boundary ? 0 : static_cast<unsigned>(table.interior_count);
  walk.inside = interior;
  walk.before = interior / 8 * 5;
  walk.backwards = how.alternates && q.next_is_reversed();
  for (int mu = 0; mu < 3; ++mu) walk.tile[mu] = how.tile[mu];
  walk.log2_z = log2_of(how.tile[2]);
  walk.tile_t = how.tile[3];
  walk.groups = batch ? how.groups : 1;
  const int threads = how.sites() * walk.groups;
  if (packs) deal_packing(walk, arg.order, halo.zones, arg.columns, threads);
  walk.at_cuts = part == box_part::interior ? 0 : static_cast<unsigned>(table.boundary);
  walk.readers = walk.packing_end + walk.at_cuts;
  const unsigned blocks = walk.packing_end + interior + walk.at_cuts;
  if (blocks == 0) return;

  arg.past_caches = how.past_caches;
  const int shared = batch ? (how.sites() + lanes - 1) / lanes * batch_block_bytes<T, stored>(with_clover) : 0;
  detail::rank_kernel<T> kernel;
  if constexpr (is_half<T>)
    kernel = arg.exchanged ? detail::rank_kernel_for<T, stored, true>(how, with_clover)
                           : detail::rank_kernel_for<T, stored, false>(how, with_clover);
  else
    kernel = detail::rank_kernel_for<T, stored, false>(how, with_clover);
  constexpr int most = most_threads(is_half<T> ? 2 : sizeof(real_of<T>));
  detail::prepare_kernel(kernel, shared, std::max(1, most * 2 / threads), q.device());
  launch_kernel(q, dim3(blocks),
                dim3(static_cast<unsigned>(how.tile[0]), static_cast<unsigned>(how.tile[1]),
                     static_cast<unsigned>(how.tile[2] * how.tile[3] * walk.groups)),
                shared, how.dependent, kernel.function, arg, walk, halo);
}

inline constexpr int packing_threads = 128;

struct packing_blocks {
  unsigned first[hop_directions + 1];  ///< blocks of each direction's message follow each other
};

template <class T, bool exchanged>
__global__ void __launch_bounds__(packing_threads)
    pack_kernel(const __grid_constant__ hopping_arguments<T> arg, const __grid_constant__ ghost_zones zones,
                const __grid_constant__ packing_blocks blocks) {
  const std::uint32_t application = load_counter(zones.completed) + 1;
  int direction = 0;
  while (blockIdx.x >= blocks.first[direction + 1]) ++direction;
  pack_block<T, exchanged>(arg, zones, direction, blockIdx.x - blocks.first[direction],
                           blocks.first[direction + 1] - blocks.first[direction], application);
  if (threadIdx.x == 0) count_reader(zones, gridDim.x, application);
}

template <class T, bool exchanged>
void queue_packing_kernel(const queue& q, const hopping_arguments<T>& arg, const ghost_zones& zones) {
  packing_blocks blocks{};
  for (int d = 0; d < hop_directions; ++d)
    blocks.first[d + 1] =
        blocks.first[d] +
        static_cast<unsigned>((face_packing<T, exchanged>{arg, zones}.pieces(d) * lanes + packing_threads - 1) /
                              packing_threads);
  launch_kernel(q, dim3(blocks.first[hop_directions]), dim3(packing_threads), 0, false, pack_kernel<T, exchanged>, arg,
                zones, blocks);
}

#else

template <class T, bool exchanged>
void queue_packing_kernel(const queue& q, const hopping_arguments<T>& arg, const ghost_zones& zones) {
  *zones.current = *zones.completed + 1;
  for (int d = 0; d < hop_directions; ++d) {
    if (!zones.is_cut(d)) continue;
    for_each_index(q, std::int64_t{lanes} * face_packing<T, exchanged>{arg, zones}.pieces(d),
                   pack_face<T, exchanged>{arg, zones, d});
    if (zones.announced[d] != nullptr) set_flag(zones.announced[d], *zones.current);
  }
  *zones.completed = *zones.current;
}

#endif

template <class T>
void queue_packing(const queue& q, const hopping_arguments<T>& arg, const hopping_halo& halo) {
  if constexpr (is_half<T>) {
    if (arg.exchanged) return queue_packing_kernel<T, true>(q, arg, halo.zones);
  }
  queue_packing_kernel<T, false>(q, arg, halo.zones);
}

template <class T, reconstruct stored>
void queue_hops_of_rank(const queue& q, const hopping_work<T>& work, const hopping_halo& halo,
                        const hopping_launch& how, const tile_table* tiles, box_part part, bool packs) {
  const auto launch = [&](const hopping_work<T>& some) {
#ifdef __CUDACC__
    if (how.variant != hopping_variant::gather && !some.phases.used)
      return launch_tiles_of_rank<T, stored>(q, some.arg, halo, how, *tiles, part, packs);
#endif
    static_cast<void>(tiles);
    static_cast<void>(packs);
    const std::int64_t count = static_cast<std::int64_t>(some.arg.order.sites) * some.arg.columns;
    const auto run = [&](const auto& body) { for_each_index(q, count, body, 128); };
    if constexpr (is_half<T>) {
      if (some.arg.exchanged) return run(gather_hops_of_rank<T, stored, true>{some.arg, some.phases, halo, part});
    }
    run(gather_hops_of_rank<T, stored, false>{some.arg, some.phases, halo, part});
  };
  if (has_sums_left(work, how)) return launch(work);
  launch_then_sum(q, work, launch, part != box_part::interior);  // the interior comes first
}

}  // namespace plaquette::gpu
