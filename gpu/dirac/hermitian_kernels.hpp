// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels of the Hermitian Wilson operator and their launch, instantiated a precision a file. For .cu files only.
///
/// Variant 1 is `gather_hermitian` (hermitian_site.hpp), which also takes links of 18 reals and complex phases of the
/// boundary. The others do the same with the same functions, for links of 12 and 8 reals.
#pragma once

#include "gpu/device/cache_halves.hpp"
#include "gpu/device/one_kernel.hpp"
#include "gpu/dirac/hermitian_site.hpp"
#include "gpu/dirac/hopping_kernels.hpp"

namespace plaquette::gpu {

#ifdef __CUDACC__

/// How blocks and threads find their sites. Tiles have numbers: x fastest, then y, z inside a slab, t, slabs.
struct lattice_walk {
  int tile[dimensions];                     ///< of x/2, y, z, t
  int log2_z;                               ///< of tile[2]
  divisor by_x, by_y, by_slab, by_tiles_t;  ///< of the tiles along x, y, z inside a slab, t
  divisor by_t;                             ///< of tile[3]
  int steps, groups, tiles;
  int slabs, first_slab, first_t;  ///< on several ranks slabs and t are counted from these, so that cuts come late
  bool backwards;                  ///< the last tile first
  /// Of a batch, if not null: a block takes a tile of the share of its multiprocessor's half of the cache, as long as
  /// there are any. Counters: tiles taken of each share, blocks that have one; zero before and after.
  const std::uint8_t* half_of;
  unsigned* counters;
  int first_share;  ///< tiles of half 0: the first ones
};

struct lattice_site {
  int half_x, y, z, t;
  int parity, group;
  int position;  ///< in the tile
};

/// Returns k of `length` places in a circle, counted from `first`.
__device__ __forceinline__ int in_circle(int k, int first, int length) {
  return k + first < length ? k + first : k + first - length;
}

/// Returns threadIdx: x/2, y, then z, t, parity, group.
/// \tparam Halo  no_halo or hermitian_halo
template <class Halo>
__device__ __forceinline__ lattice_site find_lattice_site(const lattice_walk& walk, int tile) {
  const int row = walk.by_x.quotient(tile), plane = walk.by_y.quotient(row), cube = walk.by_slab.quotient(plane),
            slab = walk.by_tiles_t.quotient(cube);
  const int in_slab = plane - cube * walk.by_slab.value, in_t = cube - slab * walk.by_tiles_t.value;
  constexpr bool is_cut = !std::is_same_v<Halo, no_halo>;
  const int z_slab = is_cut ? in_circle(slab, walk.first_slab, walk.slabs) : slab;
  const int t_tile = is_cut ? in_circle(in_t, walk.first_t, walk.by_tiles_t.value) : in_t;
  const int z = static_cast<int>(threadIdx.z) & ((1 << walk.log2_z) - 1);
  const int rest = static_cast<int>(threadIdx.z) >> walk.log2_z, kind = walk.by_t.quotient(rest);
  const int t = rest - kind * walk.tile[3];
  lattice_site s;
  s.half_x = (tile - row * walk.by_x.value) * walk.tile[0] + static_cast<int>(threadIdx.x);
  s.y = (row - plane * walk.by_y.value) * walk.tile[1] + static_cast<int>(threadIdx.y);
  s.z = (z_slab * walk.by_slab.value + in_slab) * walk.tile[2] + z;
  s.t = t_tile * walk.tile[3] * walk.steps + t;
  s.parity = kind & 1;
  s.group = kind >> 1;
  s.position = static_cast<int>(threadIdx.x) +
               walk.tile[0] * (static_cast<int>(threadIdx.y) + walk.tile[1] * (z + (t << walk.log2_z)));
  return s;
}

__device__ __forceinline__ bool inside(const lattice_site& s, const site_order& order) {
  return s.half_x < order.half_x.value && s.y < order.length[1] && s.z < order.length[2] && s.t < order.length[3];
}

/// Returns the next tile for a multiprocessor of a half: of its own share, then of the other; -1 when there is none.
__device__ __forceinline__ int take_tile(const lattice_walk& walk, int half) {
  for (const int share : {half, 1 - half}) {
    const int first = share == 0 ? 0 : walk.first_share;
    const int count = share == 0 ? walk.first_share : walk.tiles - walk.first_share;
    const auto taken = static_cast<int>(atomicAdd(walk.counters + share, 1U));
    if (taken < count) return walk.backwards ? first + count - 1 - taken : first + taken;
  }
  return -1;
}

__device__ __forceinline__ int tile_of_block(const lattice_walk& walk) {
  return walk.backwards ? walk.tiles - 1 - static_cast<int>(blockIdx.x) : static_cast<int>(blockIdx.x);
}

/// Waits for the kernel before, which has written the input of this one. On several ranks that kernel packs the faces.
/// It lets this one start when all that is read has been written. Then only sites at cuts wait for it.
template <class Halo>
__device__ __forceinline__ void wait_for_fields() {
  if constexpr (std::is_same_v<Halo, no_halo>) wait_for_previous_kernel();
}

/// Returns the tile of a block if they are taken from shares; all threads call this.
/// \param room  shared memory
template <class Halo>
__device__ __forceinline__ int taken_tile(const lattice_walk& walk, int* room) {
  wait_for_fields<Halo>();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    unsigned multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    *room = take_tile(walk, walk.half_of[multiprocessor]);
    if (is_last_block(walk.counters + 2, gridDim.x - 1)) walk.counters[0] = walk.counters[1] = 0;
  }
  __syncthreads();
  return *room;
}

template <class T>
inline constexpr int bytes_of_number = is_half<T> ? 2 : sizeof(real_of<T>);

/// Returns the threads of a block. A multiprocessor holds two such, or more that are smaller.
template <class T>
constexpr int threads_of_block(bool small) {
  return small ? most_small_threads : most_threads(bytes_of_number<T>);
}

/// Waits for the messages that a site at a cut needs, once the kernel before has packed the messages for others.
__device__ __forceinline__ site_at_cut await_messages(const hermitian_halo& halo, const hop_neighbours& n,
                                                      const lattice_site& s) {
  wait_for_previous_kernel();  // it counts the application
  const std::uint32_t application = load_counter(halo.zones.current);
#pragma unroll
  for (int d = 0; d < hop_directions; ++d)
    if (n.across[d] && halo.zones.is_cut(d)) wait_for_message(halo.zones, d, application);
  return {s.parity, static_cast<int>(application & 1U), {s.half_x, s.y, s.z, s.t}};
}

/// Calls body(halo) where the site needs messages, and body(no_halo) elsewhere: tests for messages between the loads of
/// all sites would keep these from being in flight together.
template <class Halo, class Body>
__device__ __forceinline__ void by_place(const Halo& halo, const hop_neighbours& n, const Body& body) {
  if constexpr (!std::is_same_v<Halo, no_halo>)
    if (is_at_cut(halo.zones, n)) return body(halo);
  body(no_halo{});
}

/// One column. Threads go through a tile's steps along t without a barrier: they keep step by themselves. Nothing is
/// prefetched before the previous kernel has ended: this would take registers, and some would spill. In single and half
/// precision the first links are loaded together, so that more loads are in flight.
/// \tparam small  fewer registers, and more threads
/// \tparam Halo   no_halo or hermitian_halo
template <class T, reconstruct stored, bool small, class Halo>
__global__ void __launch_bounds__(threads_of_block<T>(small), 2)
    hermitian_tiles(const __grid_constant__ hermitian_arguments<T> arg, const __grid_constant__ lattice_walk walk,
                    const __grid_constant__ Halo halo) {
  constexpr int early = sizeof(real_of<T>) == 8 ? 0 : 4;
  const hopping_arguments<T>& hops = arg.hops;
  trigger_dependent_launch();
  wait_for_fields<Halo>();
  lattice_site s = find_lattice_site<Halo>(walk, tile_of_block(walk));
#pragma unroll 1
  for (int step = 0; step < walk.steps; ++step, s.t += walk.tile[3]) {
    if (!inside(s, hops.order)) return;
    const hop_neighbours n = neighbours_on_lattice(hops.order, arg.parity_step, s.parity, s.half_x, s.y, s.z, s.t);
    loaded_link<T, stored> first_links[early > 0 ? early : 1];
    for_directions<0, early>(
        [&]<int d>() { load_link_of_hop<T, stored, d, load_hint::constant>(first_links[d], hops, n); });
    by_place(halo, n, [&](const auto& here) {
      constexpr bool at_cut = !std::is_same_v<std::decay_t<decltype(here)>, no_halo>;
      site_at_cut site;
      if constexpr (at_cut) site = await_messages(here, n, s);
      spin_rows<real_of<T>, 4> h[1] = {};
      for_directions<0, hop_directions>([&]<int d>() {
        loaded_link<T, stored> link;
        if constexpr (d < early)
          link = first_links[d];
        else
          load_link_of_hop<T, stored, d, load_hint::constant>(link, hops, n);
        if constexpr (at_cut)
          if (needs_message<d>(here, n)) {
            if constexpr (d % 2 == 1) {
              const link_place place = ghost_link_of<T, stored, d>(hops, here, site);
              link.template load<load_hint::constant>(place.block, place.lane);
            }
            return add_message_hop<d, T, stored>(h, hops, here, site, 0, link, no_phases{});
          }
        add_hop<d, T, stored, false, load_hint::ordered>(h, hops, hops.in.begin, n, link, no_phases{});
      });
      finish_hermitian(h[0], arg, 0, n.here);
    });
  }
}

/// Bytes of shared memory before the links, for `taken_tile`.
inline constexpr int room_bytes = 16;

/// Several columns: the links of the tile come to shared memory once. See `hop_batch`.
/// \tparam alone  one group: a thread reads the links that it has copied itself
/// \tparam wide   a multiprocessor holds one block, of more threads
/// \tparam Halo   no_halo or hermitian_halo
template <class T, reconstruct stored, bool alone, bool wide, class Halo>
__global__ void __launch_bounds__(wide ? most_wide_threads(bytes_of_number<T>) : threads_of_block<T>(false),
                                  wide ? 1 : 2)
    hermitian_batch(const __grid_constant__ hermitian_arguments<T> arg, const __grid_constant__ lattice_walk walk,
                    const __grid_constant__ Halo halo) {
  constexpr int at_once = batch_columns_at_once(bytes_of_number<T>);
  constexpr int slot_bytes = lanes * link_bytes<T>(stored);
  const hopping_arguments<T>& hops = arg.hops;
  const int groups = alone ? 1 : walk.groups;
  extern __shared__ __align__(16) std::byte shared[];
  trigger_dependent_launch();
  const lattice_site s = find_lattice_site<Halo>(
      walk, walk.half_of == nullptr ? tile_of_block(walk) : taken_tile<Halo>(walk, reinterpret_cast<int*>(shared)));
  const bool works = inside(s, hops.order);
  if (alone && !works) return;
  const hop_neighbours n = neighbours_on_lattice(hops.order, arg.parity_step, s.parity, s.half_x, s.y, s.z, s.t);
  const int place = s.position + s.parity * walk.tile[0] * walk.tile[1] * walk.tile[2] * walk.tile[3];
  std::byte* const slots =
      shared + room_bytes + static_cast<std::uint32_t>(place) / lanes * (hop_directions * slot_bytes);
  const std::uint32_t lane = lane_of(place);
  if (works)
    for_directions<0, hop_directions>([&]<int d>() {
      if (!alone && (d & (groups - 1)) != s.group) return;
      const std::int32_t i = d % 2 == 1 ? n.index[d] : n.here;
      link_place place{link_of<T, stored>(hops.links_here, i, d / 2), static_cast<std::uint32_t>(lane_of(i))};
      if constexpr (!std::is_same_v<Halo, no_halo> && d % 2 == 1)
        if (needs_message<d>(halo, n))
          place = ghost_link_of<T, stored, d>(hops, halo, {s.parity, 0, {s.half_x, s.y, s.z, s.t}});
      copy_link_to_shared<T, stored>(slots + d * slot_bytes, lane, place.block, place.lane);
      if (alone) asm volatile("cp.async.commit_group;" ::: "memory");
    });
  if constexpr (!alone) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    if (!works) return;
  }
  wait_for_fields<Halo>();
  by_place(halo, n, [&](const auto& here) {
    constexpr bool at_cut = !std::is_same_v<std::decay_t<decltype(here)>, no_halo>;
    site_at_cut site;
    if constexpr (at_cut) site = await_messages(here, n, s);
    const std::uint32_t packed_here = packed_place<T>(hops.out.block_stride, n.here);
    std::uint32_t packed[hop_directions];
#pragma unroll
    for (int d = 0; d < hop_directions; ++d) packed[d] = packed_place<T>(hops.in.block_stride, n.index[d]);
#pragma unroll 1
    for (int column = s.group * at_once; column < hops.columns; column += groups * at_once) {
      spin_rows<real_of<T>, 4> h[at_once] = {};
      // The last ones go back over a column that is done already, where their number is odd.
      const int first = at_once == 1 ? column : min(column, hops.columns - at_once);
      const std::byte* const in = column_of<T>(hops.in.begin, first);
      for_directions<0, hop_directions>([&]<int d>() {
        if constexpr (alone) asm volatile("cp.async.wait_group %0;" ::"n"(hop_directions - 1 - d) : "memory");
        loaded_link<T, stored> link;
        link.template load<load_hint::none>(slots + d * slot_bytes, lane);
        if constexpr (at_cut)
          if (needs_message<d>(here, n))
            return add_message_hop<d, T, stored>(h, hops, here, site, first, link, no_phases{});
        const auto from = place_of<T>(in, packed[d]);
        spinor_in_memory<T, false> psi[at_once];
#pragma unroll
        for (int k = 0; k < at_once; ++k)
          psi[k].template load<load_hint::ordered, part_of_hop<d>>(columns_further(from, k), 0);
        add_loaded_hop<d, T, false>(h, hops, psi, n.across[d], link, no_phases{});
      });
      const auto to = place_of<T>(column_of<T>(hops.out.begin, first), packed_here);
#pragma unroll
      for (int k = 0; k < at_once; ++k)
        if (at_once == 1 || first + k >= column) finish_hermitian(h[k], arg, first + k, n.here, columns_further(to, k));
    }
  });
}

template <class T, class Halo>
struct lattice_kernel {
  void (*function)(const hermitian_arguments<T>, const lattice_walk, const Halo);
  std::atomic<std::int64_t>* prepared;  ///< for which shared memory and device
};

template <class T, reconstruct stored, class Halo>
void launch_on_lattice(const queue& q, hermitian_arguments<T> arg, const hermitian_launch& how, const Halo& halo) {
  constexpr int bytes = bytes_of_number<T>;
  const site_order& order = arg.hops.order;
  const bool batch = arg.hops.columns > 1;
  const auto parts = [](int length, int of) { return (length + of - 1) / of; };
  const bool wide = batch && how.wide(bytes);
  const int most_of_block = how.small ? most_small_threads : wide ? most_wide_threads(bytes) : most_threads(bytes);
  if (how.threads() > most_of_block || how.threads() > how.tile[0] * how.tile[1] * most_threads_in_z ||
      (1 << log2_of(how.tile[2])) != how.tile[2] || (how.groups & (how.groups - 1)) != 0 ||
      (batch ? how.steps != 1 || how.small || (wide && how.groups != 1) : how.groups != 1 || how.halves) ||
      (how.small && bytes != 8))
    throw std::logic_error("hermitian_wilson: a launch that does not fit its kernel");
  lattice_walk walk;
  std::copy(std::begin(how.tile), std::end(how.tile), walk.tile);
  walk.log2_z = log2_of(how.tile[2]);
  const int tiles_z = parts(order.length[2], how.tile[2]);
  const int slab = how.slab == 0 || how.slab > tiles_z ? tiles_z : how.slab;
  walk.by_x = divisor(parts(order.half_x.value, how.tile[0]));
  walk.by_y = divisor(parts(order.length[1], how.tile[1]));
  walk.by_slab = divisor(slab);
  walk.by_tiles_t = divisor(parts(order.length[3], how.tile[3] * how.steps));
  walk.by_t = divisor(how.tile[3]);
  walk.slabs = parts(tiles_z, slab);
  walk.tiles = walk.by_x.value * walk.by_y.value * slab * walk.by_tiles_t.value * walk.slabs;
  walk.first_slab = walk.slabs / 2;
  walk.first_t = walk.by_tiles_t.value / 2;
  walk.steps = how.steps;
  walk.groups = how.groups;
  walk.backwards = how.alternates && q.next_is_reversed();
  arg.hops.past_caches = how.past_caches;

  lattice_kernel<T, Halo> kernel;
  // The numbers of a kernel (one_kernel.hpp): stored reals, and its form here.
  constexpr int reals = stored_reals(stored), tiles = 0, small = 1, own = 2, common = 3, of_wide = 4;
  const auto set = [&]<auto function>() { kernel = {function, detail::prepared_of<function>()}; };
  const auto take = [&]<int form>() {
    if constexpr (!is_compiled<reals, form>())
      refuse_kernel<reals, form>();
    else if constexpr (form == tiles || form == small)
      set.template operator()<hermitian_tiles<T, stored, form == small, Halo>>();
    else
      set.template operator()<hermitian_batch<T, stored, form != common, form == of_wide, Halo>>();
  };
  constexpr bool has_small = bytes == 8, has_wide = most_wide_threads(bytes) > most_threads(bytes);
  if (has_small && how.small) {
    if constexpr (has_small) take.template operator()<small>();
  } else if (has_wide && wide) {
    if constexpr (has_wide) take.template operator()<of_wide>();
  } else if (!batch) {
    take.template operator()<tiles>();
  } else if (how.groups == 1) {
    take.template operator()<own>();
  } else {
    take.template operator()<common>();
  }
  const int shared = batch ? parts(2 * how.positions(), lanes) * batch_block_bytes<T, stored>(false) + room_bytes : 0;
  detail::prepare_kernel(kernel, shared, wide ? 1 : std::max(1, most_of_block * 2 / how.threads()), q.device());
  walk.half_of = nullptr;
  if (how.halves) {
    const cache_halves& halves = cache_halves_of(q);
    walk.half_of = reinterpret_cast<const std::uint8_t*>(halves.half_of.get());
    walk.counters = q.counters(3);
    const std::int64_t all = halves.multiprocessors[0] + halves.multiprocessors[1];
    walk.first_share = static_cast<int>(std::int64_t{walk.tiles} * halves.multiprocessors[0] / all);
  }
  launch_kernel(q, dim3(static_cast<unsigned>(walk.tiles)),
                dim3(static_cast<unsigned>(how.tile[0]), static_cast<unsigned>(how.tile[1]),
                     static_cast<unsigned>(how.tile[2] * how.tile[3] * 2 * how.groups)),
                shared, how.dependent || !std::is_same_v<Halo, no_halo>, kernel.function, arg, walk, halo);
}

#endif

#ifdef __CUDACC__

/// Queues one of the kernels above and returns true, or returns false if only the gather can do it.
template <class T, class Halo>
bool launched_on_lattice(const queue& q, const hermitian_work<T>& work, reconstruct stored, const hermitian_launch& how,
                         const Halo& halo) {
  hopping_arguments<T> both = work.arg.hops;  // whose places, of two parities, must have 32 bits
  both.order.sites *= 2;
  const bool fits = work.arg.hops.columns == 1 || places_have_32_bits(both);
  if (how.gather || !fits || work.phases.used || stored == reconstruct::none) return false;
  if (stored == reconstruct::twelve)
    launch_on_lattice<T, reconstruct::twelve>(q, work.arg, how, halo);
  else
    launch_on_lattice<T, reconstruct::eight>(q, work.arg, how, halo);
  return true;
}

#endif

template <class T>
void launch_hermitian(const queue& q, const hermitian_work<T>& work, reconstruct stored, const hermitian_launch& how) {
#ifdef __CUDACC__
  if (launched_on_lattice(q, work, stored, how, no_halo{})) return;
#endif
  static_cast<void>(how);
  const std::int64_t count = 2 * std::int64_t{work.arg.hops.order.sites} * work.arg.hops.columns;
  const auto run = [&]<reconstruct kept>() {
    for_each_index(q, count, gather_hermitian<T, kept>{work.arg, work.phases}, 128);
  };
  if (stored == reconstruct::none) return run.template operator()<reconstruct::none>();
  if (stored == reconstruct::twelve) return run.template operator()<reconstruct::twelve>();
  run.template operator()<reconstruct::eight>();
}

}  // namespace plaquette::gpu
