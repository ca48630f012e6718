// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels of the hopping term on several ranks and their launch, instantiated a precision a file. For .cu files
/// only.
///
/// They do what those of hopping_kernels.hpp do, tile by tile in the order of a table. Tiles at a cut come last, and
/// wait for the messages they need where a neighbour's kernel writes these: by then most are here. The packing kernel
/// comes first; where a kernel may start before the one before has ended, the sites' kernel starts as soon as every
/// block of the packing kernel has seen the end of what came before it, and both run side by side.
#pragma once

#include "gpu/dirac/hopping_halo.hpp"
#include "gpu/dirac/hopping_kernels.hpp"
#include "gpu/dirac/hopping_tiles.hpp"
#include "gpu/halo/message_wait.hpp"

namespace plaquette::gpu {

#ifdef __CUDACC__

struct rank_walk {
  const tile_place* tiles;  ///< one a block
  int tile[3];              ///< of x/2, y, z
  int log2_z, tile_t;
  int groups;  ///< of a batch: threads of a site; a power of two
};

__device__ __forceinline__ site_of_thread site_in_tile(const rank_walk& walk, const tile_place& tile) {
  const int z = static_cast<int>(threadIdx.z), t = z >> walk.log2_z, group = t / walk.tile_t;
  site_of_thread s;
  s.half_x = tile.half_x + static_cast<int>(threadIdx.x);
  s.y = tile.y + static_cast<int>(threadIdx.y);
  s.z = tile.z + (z & ((1 << walk.log2_z) - 1));
  s.t = tile.t + t - group * walk.tile_t;
  s.group = group;
  return s;
}

__device__ __forceinline__ tile_place load_tile(const rank_walk& walk) {
  static_assert(sizeof(tile_place) == 16);
  const words<4> w = load_words<load_hint::constant, 4>(reinterpret_cast<const std::byte*>(walk.tiles + blockIdx.x));
  tile_place tile;
  tile.half_x = static_cast<std::uint16_t>(w.w[0] & 0xffffU);
  tile.y = static_cast<std::uint16_t>(w.w[0] >> 16);
  tile.z = static_cast<std::uint16_t>(w.w[1] & 0xffffU);
  tile.t = static_cast<std::uint16_t>(w.w[1] >> 16);
  tile.faces = w.w[2];
  return tile;
}

__device__ __forceinline__ std::uint32_t current_application(const ghost_zones& zones) {
  return *static_cast<const volatile std::uint32_t*>(zones.current);
}

/// All threads of a block, until the messages of these faces are here; returns which of the two buffers they are in.
__device__ __forceinline__ int wait_for_messages(const ghost_zones& zones, unsigned faces) {
  const std::uint32_t current = current_application(zones);
  const int d = static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  if (d < hop_directions && (faces >> d & 1U) != 0 && zones.arrived[d] != nullptr) wait_for_message(zones, d, current);
  __syncthreads();
  return static_cast<int>(current & 1U);
}

template <class T, reconstruct stored, bool exchanged, bool with_clover, bool links_once>
__global__ void __launch_bounds__(most_threads(is_half<T> ? 2 : sizeof(real_of<T>)), 2)
    hop_tiles_of_rank(const __grid_constant__ hopping_arguments<T> arg, const __grid_constant__ rank_walk walk,
                      const __grid_constant__ hopping_halo halo) {
  constexpr load_hint link_hint = links_once ? load_hint::constant_once : load_hint::constant;
  let_next_kernel_start();
  const tile_place tile = load_tile(walk);
  const site_of_thread s = site_in_tile(walk, tile);
  const bool works = inside(s, arg.order);
  const hop_neighbours n = neighbours_of(arg.order, arg.parity, s.half_x, s.y, s.z, s.t);
  if (tile.faces == 0) {
    if (works) {
      spin_rows<real_of<T>, 4> h[1] = {};
      for_directions<0, hop_directions>([&]<int d>() {
        loaded_link<T, stored> link;
        load_link_of_hop<T, stored, d, link_hint>(link, arg, n);
        add_hop<d, T, stored, exchanged, load_hint::ordered>(h, arg, arg.in.begin, n, link, no_phases{});
      });
      finish_site<T, exchanged, with_clover, load_hint::ordered, link_hint>(
          h[0], arg, 0, n.here, with_clover ? clover_of<T>(arg.clover, n.here) : nullptr, lane_of(n.here));
    }
  } else {
    const int buffer = wait_for_messages(halo.zones, tile.faces);
    if (works) {
      const site_place at{s.half_x, s.y, s.z, s.t};
      spin_rows<real_of<T>, 4> h[1] = {};
      for_directions<0, hop_directions>([&]<int d>() {
        loaded_link<T, stored> link;
        const link_place place = link_of_hop<T, stored, d>(arg, halo, n, at);
        link.template load<load_hint::constant>(place.block, place.lane);
        add_hop_of_rank<d, T, stored, exchanged, load_hint::ordered>(h, arg, halo, buffer, 0, n, at, link, no_phases{});
      });
      finish_site<T, exchanged, with_clover, load_hint::ordered, link_hint>(
          h[0], arg, 0, n.here, with_clover ? clover_of<T>(arg.clover, n.here) : nullptr, lane_of(n.here));
    }
  }
  // So that the end of this kernel is that of the packing kernel too.
  wait_for_previous_kernel();
}

template <class T, reconstruct stored, bool exchanged, bool with_clover>
__global__ void __launch_bounds__(most_threads(is_half<T> ? 2 : sizeof(real_of<T>)), 2)
    hop_batch_of_rank(const __grid_constant__ hopping_arguments<T> arg, const __grid_constant__ rank_walk walk,
                      const __grid_constant__ hopping_halo halo) {
  constexpr int at_once = with_clover ? 1 : batch_columns_at_once(is_half<T> ? 2 : sizeof(real_of<T>));
  constexpr int slot_bytes = lanes * link_bytes<T>(stored);
  extern __shared__ __align__(16) std::byte shared[];
  let_next_kernel_start();
  const tile_place tile = load_tile(walk);
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
  const int buffer = tile.faces == 0 ? 0 : wait_for_messages(halo.zones, tile.faces);
  if (works) {
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
      if (tile.faces == 0) {
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
          finish_site<T, exchanged, with_clover, load_hint::ordered, load_hint::none>(h[k], arg, first + k, n.here,
                                                                                      clover, lane);
    }
  }
  wait_for_previous_kernel();
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

template <class T, reconstruct stored>
void launch_tiles_of_rank(const queue& q, hopping_arguments<T> arg, const hopping_halo& halo, const hopping_launch& how,
                          const tile_table& table, box_part part) {
  const std::int32_t first = part == box_part::boundary ? table.interior : 0;
  const std::int32_t count = (part == box_part::interior ? table.interior : table.all) - first;
  if (count == 0) return;
  const bool batch = how.variant == hopping_variant::batch, with_clover = arg.clover != nullptr;
  require_fitting_launch<T>(how, arg.columns);
  rank_walk walk{table.begin() + first,
                 {how.tile[0], how.tile[1], how.tile[2]},
                 log2_of(how.tile[2]),
                 how.tile[3],
                 batch ? how.groups : 1};
  arg.past_caches = how.past_caches;
  const int threads = how.sites() * walk.groups;
  const int shared = batch ? (how.sites() + lanes - 1) / lanes * batch_block_bytes<T, stored>(with_clover) : 0;
  detail::rank_kernel<T> kernel;
  if constexpr (is_half<T>)
    kernel = arg.exchanged ? detail::rank_kernel_for<T, stored, true>(how, with_clover)
                           : detail::rank_kernel_for<T, stored, false>(how, with_clover);
  else
    kernel = detail::rank_kernel_for<T, stored, false>(how, with_clover);
  constexpr int most = most_threads(is_half<T> ? 2 : sizeof(real_of<T>));
  detail::prepare_kernel(kernel, shared, std::max(1, most * 2 / threads), q.device());
  launch_kernel(q, dim3(static_cast<unsigned>(count)),
                dim3(static_cast<unsigned>(how.tile[0]), static_cast<unsigned>(how.tile[1]),
                     static_cast<unsigned>(how.tile[2] * how.tile[3] * walk.groups)),
                shared, how.dependent && part == box_part::all, kernel.function, arg, walk, halo);
}

inline constexpr int packing_threads = 128;

/// Blocks of each direction's messages follow each other.
struct packing_blocks {
  unsigned first[hop_directions + 1];
};

template <class T, bool exchanged>
__global__ void __launch_bounds__(packing_threads)
    pack_kernel(const __grid_constant__ pack_faces<T, exchanged> body, const __grid_constant__ packing_blocks blocks) {
  const ghost_zones& zones = body.zones;
  wait_for_previous_kernel();
  const std::uint32_t current = *static_cast<const volatile std::uint32_t*>(zones.packed) + 1;
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      *static_cast<volatile std::uint32_t*>(zones.current) = current;
      __threadfence();
    }
    __syncthreads();
  }
  // What comes next may start: it knows the application's number, and what came before us has ended.
  let_next_kernel_start();
  int direction = 0;
  while (blockIdx.x >= blocks.first[direction + 1]) ++direction;
  const auto piece = static_cast<std::int32_t>((blockIdx.x - blocks.first[direction]) * (packing_threads / lanes) +
                                               threadIdx.x / lanes);
  if (piece < body.pieces(direction))
    body.pack(direction, piece, static_cast<std::int32_t>(threadIdx.x % lanes), static_cast<int>(current & 1U));
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  const unsigned last = blocks.first[direction + 1] - blocks.first[direction] - 1;
  if (count_block(zones.tickets + direction, last) == last && zones.announced[direction] != nullptr) {
    __threadfence_system();
    set_flag(zones.announced[direction], current);
  }
  if (count_block(zones.tickets + hop_directions, gridDim.x - 1) == gridDim.x - 1)
    *static_cast<volatile std::uint32_t*>(zones.packed) = current;
}

template <class T, bool exchanged>
void queue_packing_kernel(const queue& q, const pack_faces<T, exchanged>& body, bool dependent) {
  packing_blocks blocks{};
  for (int d = 0; d < hop_directions; ++d)
    blocks.first[d + 1] =
        blocks.first[d] + static_cast<unsigned>((body.pieces(d) * lanes + packing_threads - 1) / packing_threads);
  launch_kernel(q, dim3(blocks.first[hop_directions]), dim3(packing_threads), 0, dependent, pack_kernel<T, exchanged>,
                body, blocks);
}

#else

template <class T, bool exchanged>
void queue_packing_kernel(const queue& q, const pack_faces<T, exchanged>& body, bool /*dependent*/) {
  const ghost_zones& zones = body.zones;
  *zones.current = *zones.packed + 1;
  std::int64_t pieces = 0;
  for (int d = 0; d < hop_directions; ++d) pieces += body.pieces(d);
  for_each_index(q, pieces * lanes, body);
  for (int d = 0; d < hop_directions; ++d)
    if (zones.is_cut(d) && zones.announced[d] != nullptr) set_flag(zones.announced[d], *zones.current);
  *zones.packed = *zones.current;
}

#endif

template <class T>
void queue_packing(const queue& q, const hopping_arguments<T>& arg, const hopping_halo& halo, bool dependent) {
  const auto run = [&]<bool exchanged>() {
    queue_packing_kernel<T, exchanged>(
        q, {arg.in, face_order{arg.order}, halo.zones, 1 - arg.parity, arg.columns, arg.exchange}, dependent);
  };
  if constexpr (is_half<T>) {
    if (arg.exchanged) return run.template operator()<true>();
  }
  run.template operator()<false>();
}

template <class T, reconstruct stored>
void queue_hops_of_rank(const queue& q, const hopping_work<T>& work, const hopping_halo& halo,
                        const hopping_launch& how, const tile_table* table, box_part part) {
#ifdef __CUDACC__
  if (how.variant != hopping_variant::gather && !work.phases.used)
    return launch_tiles_of_rank<T, stored>(q, work.arg, halo, how, *table, part);
#endif
  static_cast<void>(how);
  static_cast<void>(table);
  const std::int64_t count = static_cast<std::int64_t>(work.arg.order.sites) * work.arg.columns;
  const auto run = [&](const auto& body) { for_each_index(q, count, body, 128); };
  if constexpr (is_half<T>) {
    if (work.arg.exchanged) return run(gather_hops_of_rank<T, stored, true>{work.arg, work.phases, halo, part});
  }
  run(gather_hops_of_rank<T, stored, false>{work.arg, work.phases, halo, part});
}

}  // namespace plaquette::gpu
