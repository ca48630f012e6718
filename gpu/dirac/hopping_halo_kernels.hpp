// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels of the hopping term on several ranks and their launch, instantiated a precision a file. For .cu files
/// only.
///
/// They do the same as the kernels of hopping_kernels.hpp, tile by tile. First, in some blocks, the faces are packed
/// and written into the neighbours' memory. Then comes the interior, with the tiles at the cuts behind its greater
/// part. These wait for their messages, but by then most are here. Where the host sends messages, packing is a kernel
/// of its own, and so are the two kinds of tiles.
#pragma once

#include "gpu/dirac/hopping_halo.hpp"
#include "gpu/dirac/hopping_kernels.hpp"
#include "gpu/dirac/rank_walk.hpp"

namespace plaquette::gpu {

#ifdef __CUDACC__

template <class T, reconstruct stored, bool exchanged, bool with_clover, bool links_once>
__global__ void __launch_bounds__(most_threads(is_half<T> ? 2 : sizeof(real_of<T>)), 2)
    hop_tiles_of_rank(const __grid_constant__ hopping_arguments<T> arg, const __grid_constant__ rank_walk walk,
                      const __grid_constant__ hopping_halo halo) {
  constexpr load_hint link_hint = links_once ? load_hint::constant_once : load_hint::constant;
  trigger_dependent_launch();
  if (blockIdx.x < walk.packing_end)
    return pack_in_tiles(face_packing<T, exchanged>{arg, halo.zones}, halo.zones, walk);
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
  if (blockIdx.x < walk.packing_end)
    return pack_in_tiles(face_packing<T, exchanged>{arg, halo.zones}, halo.zones, walk);
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

template <class T, reconstruct stored>
void launch_tiles_of_rank(const queue& q, hopping_arguments<T> arg, const hopping_halo& halo, const hopping_launch& how,
                          const tile_table& table, box_part part, bool packs) {
  const bool batch = how.variant == hopping_variant::batch, with_clover = arg.clover != nullptr;
  require_fitting_launch<T>(how, arg.columns);
  rank_walk walk = walk_through(how, table, part, how.alternates && q.next_is_reversed());
  const int threads = how.sites() * walk.groups;
  if (packs) deal_packing(walk, arg.order, halo.zones, arg.columns, threads);
  if (walk.blocks() == 0) return;

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
  launch_kernel(q, dim3(walk.blocks()),
                dim3(static_cast<unsigned>(how.tile[0]), static_cast<unsigned>(how.tile[1]),
                     static_cast<unsigned>(how.tile[2] * how.tile[3] * walk.groups)),
                shared, how.dependent, kernel.function, arg, walk, halo);
}

template <class T, bool exchanged>
__global__ void __launch_bounds__(packing_threads)
    pack_kernel(const __grid_constant__ hopping_arguments<T> arg, const __grid_constant__ ghost_zones zones,
                const __grid_constant__ packing_blocks blocks) {
  pack_alone(face_packing<T, exchanged>{arg, zones}, zones, blocks);
}

template <class T, bool exchanged>
void queue_packing_kernel(const queue& q, const hopping_arguments<T>& arg, const ghost_zones& zones) {
  const packing_blocks blocks = blocks_that_pack(face_packing<T, exchanged>{arg, zones});
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
