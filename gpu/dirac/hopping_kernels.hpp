// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels of the hopping term and their launch, instantiated a precision a file. For .cu files only.
///
/// Variant 1 is `gather_hops` (hopping_site.hpp). Variants 2 and 3 do the same with the same functions, and differ in
/// how sites are dealt to threads and in how links get there.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "gpu/device/host_block.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dirac/hopping_site.hpp"

namespace plaquette::gpu {

/// How blocks and threads find their site.
struct tile_walk {
  int tile[3];  ///< of x/2, y, z
  int log2_z;   ///< of tile[2]
  int tiles_x, tiles_y, slab;
  divisor by_x, by_y;       ///< of tiles_x, tiles_y
  int tile_t;               ///< sites of a tile in t
  int groups;               ///< of a batch: threads of a site; a power of two
  int part_columns;         ///< of a batch: columns of a block
  divisor by_t, by_tile_t;  ///< of the tiles along t, of tile_t
  bool backwards;           ///< the last block first
};

struct site_of_thread {
  int half_x, y, z, t;
  int group;
};

__device__ __forceinline__ int row_of_tiles(const tile_walk& walk) {
  return static_cast<int>(walk.backwards ? gridDim.y - 1 - blockIdx.y : blockIdx.y);
}

/// Returns blockIdx: x along y, and z inside a slab; y along t, then parts of a batch; z along slabs. threadIdx: x/2,
/// y, then z, t and the group.
/// \param t  of the tile, in tiles
__device__ __forceinline__ site_of_thread find_site(const tile_walk& walk, int t) {
  int at = static_cast<int>(walk.backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x), tile_x = 0;
  if (walk.tiles_x > 1) {
    const int q = walk.by_x.quotient(at);
    tile_x = at - q * walk.tiles_x;
    at = q;
  }
  const int inside = walk.by_y.quotient(at), tile_y = at - inside * walk.tiles_y;
  const int rest = static_cast<int>(threadIdx.z) >> walk.log2_z;
  site_of_thread s;
  s.half_x = tile_x * walk.tile[0] + static_cast<int>(threadIdx.x);
  s.y = tile_y * walk.tile[1] + static_cast<int>(threadIdx.y);
  s.z =
      (static_cast<int>(walk.backwards ? gridDim.z - 1 - blockIdx.z : blockIdx.z) * walk.slab + inside) * walk.tile[2] +
      (static_cast<int>(threadIdx.z) & ((1 << walk.log2_z) - 1));
  s.t = t * walk.tile_t + rest;
  s.group = 0;
  return s;
}

__device__ __forceinline__ bool inside(const site_of_thread& s, const site_order& order) {
  return s.half_x < order.half_x.value && s.y < order.length[1] && s.z < order.length[2] && s.t < order.length[3];
}

template <int first, int last, class Function>
__device__ __forceinline__ void for_directions(const Function& function) {
  [&]<int... d>(std::integer_sequence<int, d...>) {
    (function.template operator()<first + d>(), ...);
  }(std::make_integer_sequence<int, last - first>{});
}

/// One site, one column, no messages: links that there are registers for are loaded before the kernel before has ended.
template <class T, reconstruct stored, bool exchanged, bool with_clover, bool links_once>
__device__ __forceinline__ void hop_to_site(const hopping_arguments<T>& arg, const site_of_thread& s) {
  constexpr load_hint link_hint = links_once ? load_hint::constant_once : load_hint::constant;
  constexpr int early = links_once ? 0 : sizeof(real_of<T>) == 8 ? 2 : 4;
  if (!inside(s, arg.order)) return;
  const hop_neighbours n = neighbours_of(arg.order, arg.parity, s.half_x, s.y, s.z, s.t);
  loaded_link<T, stored> first_links[early > 0 ? early : 1];
  for_directions<0, early>([&]<int d>() { load_link_of_hop<T, stored, d, link_hint>(first_links[d], arg, n); });
  wait_for_previous_kernel();
  spin_rows<real_of<T>, 4> h[1] = {};
  for_directions<0, hop_directions>([&]<int d>() {
    loaded_link<T, stored> link;
    if constexpr (d < early)
      link = first_links[d];
    else
      load_link_of_hop<T, stored, d, link_hint>(link, arg, n);
    add_hop<d, T, stored, exchanged, load_hint::ordered>(h, arg, arg.in.begin, n, link, no_phases{});
  });
  finish_site<T, exchanged, with_clover, load_hint::ordered, link_hint, leaves_sums<T>(with_clover)>(
      h[0], arg, 0, n.here, with_clover ? clover_of<T>(arg.clover, n.here) : nullptr, lane_of(n.here));
}

/// Registers let 16 warps run on a multiprocessor (8 in double): enough, when all loads of a site are in flight. More,
/// of fewer registers, suit lattices on which 16 leave the last wave of blocks half empty.
template <class T, reconstruct stored, bool exchanged, bool with_clover, bool links_once, int warps = 16>
__global__ void __launch_bounds__(warps == 20 ? 128 : most_threads(is_half<T> ? 2 : sizeof(real_of<T>)),
                                  warps == 20 ? 5 : warps / 8)
    hop_tiles(const __grid_constant__ hopping_arguments<T> arg, const __grid_constant__ tile_walk walk) {
  trigger_dependent_launch();
  hop_to_site<T, stored, exchanged, with_clover, links_once>(arg, find_site(walk, row_of_tiles(walk)));
}

/// Copies 16, 8 or 4 bytes to shared memory, past the registers.
template <int bytes>
__device__ __forceinline__ void copy_to_shared(std::byte* to, const std::byte* from) {
#ifdef __CUDACC__
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(bytes) : "memory");
#else
  std::memcpy(to, from, bytes);
#endif
}
/// The copies that this thread has started since the last call are a group.
__device__ __forceinline__ void end_copies_of_link() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits until all but the last `under_way` groups of this thread are there.
template <int under_way>
__device__ __forceinline__ void wait_for_links() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(under_way) : "memory");
#endif
}
/// Waits until the copies of all threads of the block are there. False in the host build's first phase: the thread is
/// to return, and will be called again.
__device__ __forceinline__ bool block_has_copied() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  return true;
#else
  return !before_barrier;
#endif
}

/// A link's words as they lie in global memory, to the same places of a block of 32 links in shared memory.
template <class T, reconstruct stored>
__device__ __forceinline__ void copy_link_to_shared(std::byte* to, std::uint32_t to_lane, const std::byte* from,
                                                    std::uint32_t lane) {
  using link = loaded_link<T, stored>;
#pragma unroll
  for (int k = 0; k < link::chunks; ++k)
    copy_to_shared<16>(to + 16 * to_lane + k * chunk_stride, advanced(from, lane, 16) + k * chunk_stride);
  if constexpr (link::pairs == 1)
    copy_to_shared<8>(to + 8 * to_lane + link::chunks * chunk_stride,
                      advanced(from, lane, 8) + link::chunks * chunk_stride);
  if constexpr (link::singles == 1)
    copy_to_shared<4>(to + 4 * to_lane + (link::chunks * 16 + link::pairs * 8) * lanes,
                      advanced(from, lane, 4) + (link::chunks * 16 + link::pairs * 8) * lanes);
}

/// Both chiral blocks of a site, in the same way.
template <class T>
__device__ __forceinline__ void copy_clover_to_shared(std::byte* to, std::uint32_t to_lane, const std::byte* from,
                                                      std::uint32_t lane, int chirality) {
  constexpr int chunks = loaded_clover<T>::chunks;
  to += chirality * chiral_block_bytes<T>;
  from += chirality * chiral_block_bytes<T>;
#pragma unroll
  for (int k = 0; k < chunks; ++k)
    copy_to_shared<16>(to + 16 * to_lane + k * chunk_stride, advanced(from, lane, 16) + k * chunk_stride);
  if constexpr (is_half<T>) {
    copy_to_shared<8>(to + 8 * to_lane + chunks * chunk_stride, advanced(from, lane, 8) + chunks * chunk_stride);
    copy_to_shared<4>(to + 4 * to_lane + 72 * lanes, advanced(from, lane, 4) + 72 * lanes);
  }
}

/// A link in full, as `loaded_link` of all its numbers reads it.
template <class Real>
__device__ __forceinline__ void store_whole(std::byte* to, std::uint32_t lane, const su3<Real>& u) {
  static_assert(sizeof(Real) == 4);
  const auto bits = [&](int k) {
    const complex<Real>& z = u.e[k / 2 / colours][k / 2 % colours];
    return as_bits(k % 2 == 0 ? z.re : z.im);
  };
#pragma unroll
  for (int k = 0; k < 4; ++k)
    *reinterpret_cast<words<4>*>(to + 16 * lane +
                                 k * chunk_stride) = {{bits(4 * k), bits(4 * k + 1), bits(4 * k + 2), bits(4 * k + 3)}};
  *reinterpret_cast<words<2>*>(to + 8 * lane + 4 * chunk_stride) = {{bits(16), bits(17)}};
}

/// How threads of a batch find the links of their tile in shared memory.
enum class batch_links {
  own,     ///< one group: a thread reads the links that it has copied itself, and so no thread waits for another
  common,  ///< groups of threads copy them together
  whole    ///< the same, and each link is made whole once for all columns; in half precision
};

/// Bytes of a link there.
template <class T, reconstruct stored, batch_links form>
inline constexpr int shared_link_bytes =
    form == batch_links::whole ? link_bytes<real_of<T>>(reconstruct::none) : link_bytes<T>(stored);

/// Returns the bytes of shared memory for the eight links of 32 sites, and for their blocks of A.
template <class T, reconstruct stored, batch_links form = batch_links::common>
constexpr int batch_block_bytes(bool with_clover) {
  return hop_directions * lanes * shared_link_bytes<T, stored, form> + (with_clover ? 2 * chiral_block_bytes<T> : 0);
}

/// One number a site that says where its numbers lie in a column of a field. It is the distance of its block, in units
/// of 4 bytes (half) or 16, plus the lane. Blocks are whole multiples of 32 units, so that the lane is in the last five
/// bits.
template <class T>
inline constexpr std::uint32_t place_unit = is_half<T> ? 4 : 16;
/// Returns whether places in units fit into 32 bits: of fields up to 16 GiB (half) or 64.
template <class T>
bool places_have_32_bits(const hopping_arguments<T>& arg) {
  const std::int64_t stride = std::max(arg.in.block_stride, arg.out.block_stride);
  return arg.order.blocks() * (stride / place_unit<T>) <= std::int64_t{1} << 32;
}
template <class T>
__device__ __forceinline__ std::uint32_t packed_place(std::int32_t block_stride, std::int32_t i) {
  return static_cast<std::uint32_t>(i) / lanes * (static_cast<std::uint32_t>(block_stride) / place_unit<T>)+lane_of(i);
}
template <class T, class Byte>
__device__ __forceinline__ spinor_place<T, Byte> place_of(Byte* column, std::uint32_t packed) {
  Byte* const at = advanced(column, packed, place_unit<T>);
  if constexpr (is_half<T>)
    return {advanced(at, packed % lanes, 16 - place_unit<T>), at + 3 * chunk_stride};
  else
    return {at, nullptr};
}
template <class T, class Byte>
__device__ __forceinline__ spinor_place<T, Byte> columns_further(spinor_place<T, Byte> place, int columns) {
  place.site += columns * spinor_block_bytes<T>;
  if constexpr (is_half<T>) place.scale += columns * spinor_block_bytes<T>;
  return place;
}

template <class T, reconstruct stored, bool exchanged, bool with_clover, batch_links form>
__global__ void __launch_bounds__(most_threads(is_half<T> ? 2 : sizeof(real_of<T>)), 2)
    hop_batch(const __grid_constant__ hopping_arguments<T> arg, const __grid_constant__ tile_walk walk) {
  constexpr int bytes = is_half<T> ? 2 : sizeof(real_of<T>);
  // Blocks of A need the registers of a second column.
  constexpr int at_once = with_clover ? 1 : batch_columns_at_once(bytes);
  constexpr bool alone = form == batch_links::own, whole = form == batch_links::whole;
  const int groups = alone ? 1 : walk.groups;
  constexpr int slot_bytes = lanes * shared_link_bytes<T, stored, form>;
#ifdef __CUDACC__
  extern __shared__ __align__(16) std::byte shared[];
#else
  std::byte* const shared = shared_of_host_block;
#endif
  trigger_dependent_launch();
  const int row = row_of_tiles(walk), part = walk.by_t.quotient(row);
  site_of_thread s = find_site(walk, row - part * walk.by_t.value);
  // Along t come first the sites of the tile, then the next group's.
  const int thread_t = static_cast<int>(threadIdx.z) >> walk.log2_z;
  const int group = alone ? 0 : walk.by_tile_t.quotient(thread_t);
  s.t -= group * walk.tile_t;
  const int in_tile =
      static_cast<int>(threadIdx.x) +
      walk.tile[0] * (static_cast<int>(threadIdx.y) +
                      walk.tile[1] * (static_cast<int>(threadIdx.z) - ((group * walk.tile_t) << walk.log2_z)));
  const bool works = inside(s, arg.order);
  if (alone && !works) return;
  const hop_neighbours n = neighbours_of(arg.order, arg.parity, s.half_x, s.y, s.z, s.t);
  std::byte* const slots =
      shared + static_cast<std::uint32_t>(in_tile) / lanes * batch_block_bytes<T, stored, form>(with_clover);
  std::byte* const clover = slots + hop_directions * slot_bytes;
  const std::uint32_t lane = lane_of(in_tile);
  if (works) {
    for_directions<0, hop_directions>([&]<int d>() {
      if (!alone && (d & (groups - 1)) != group) return;
      if constexpr (whole) {
        loaded_link<T, stored> link;
        load_link_of_hop<T, stored, d, load_hint::constant>(link, arg, n);
        su3<real_of<T>> u;
        make_whole(u, link);
        store_whole(slots + d * slot_bytes, lane, u);
      } else {
        const std::int32_t i = d % 2 == 1 ? n.index[d] : n.here;
        copy_link_to_shared<T, stored>(slots + d * slot_bytes, lane,
                                       link_of<T, stored>(d % 2 == 1 ? arg.links_there : arg.links_here, i, d / 2),
                                       lane_of(i));
      }
      if (alone) end_copies_of_link();
    });
    if constexpr (with_clover) {
      const std::byte* const from = clover_of<T>(arg.clover, n.here);
#pragma unroll
      for (int chirality = 0; chirality < 2; ++chirality)
        if (alone || (chirality & (groups - 1)) == group)
          copy_clover_to_shared<T>(clover, lane, from, lane_of(n.here), chirality);
      if (alone) end_copies_of_link();
    }
  }
  if constexpr (!alone) {
    if (!block_has_copied() || !works) return;
  }
  wait_for_previous_kernel();
  const std::uint32_t packed_here = packed_place<T>(arg.out.block_stride, n.here);
  std::uint32_t packed[hop_directions];
#pragma unroll
  for (int d = 0; d < hop_directions; ++d) packed[d] = packed_place<T>(arg.in.block_stride, n.index[d]);
  const int begin = part * walk.part_columns, end = min(begin + walk.part_columns, arg.columns);
#pragma unroll 1
  for (int column = begin + group * at_once; column < end; column += groups * at_once) {
    spin_rows<real_of<T>, 4> h[at_once] = {};
    // The last ones go back over a column that is done already, where their number is odd.
    const int first = at_once == 1 ? column : min(column, arg.columns - at_once);
    const std::byte* const in = column_of<T>(arg.in.begin, first);
    for_directions<0, hop_directions>([&]<int d>() {
      if constexpr (alone) wait_for_links<hop_directions - 1 - d + (with_clover ? 1 : 0)>();
      std::conditional_t<whole, loaded_link<real_of<T>, reconstruct::none>, loaded_link<T, stored>> link;
      link.template load<load_hint::none>(slots + d * slot_bytes, lane);
      const auto from = place_of<T>(in, packed[d]);
      spinor_in_memory<T, exchanged> psi[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k)
        psi[k].template load<load_hint::ordered, part_of_hop<d>>(columns_further(from, k), arg.exchange);
      add_loaded_hop<d, T, exchanged>(h, arg, psi, n.across[d], link, no_phases{});
    });
    if constexpr (alone && with_clover) wait_for_links<0>();
    const auto to = place_of<T>(column_of<T>(arg.out.begin, first), packed_here);
#pragma unroll
    for (int k = 0; k < at_once; ++k)
      if (at_once == 1 || first + k >= column) {
        finish_numbers<T, exchanged, with_clover, load_hint::ordered, load_hint::none>(h[k], arg, first + k, n.here,
                                                                                       clover, lane);
        store_spinor_at<T, exchanged, leaves_sums<T>(with_clover)>(h[k], arg, first + k, n.here,
                                                                   columns_further(to, k));
      }
  }
}

namespace detail {

template <class T>
struct tile_kernel {
  void (*function)(const hopping_arguments<T>, const tile_walk);
  std::atomic<std::int64_t>* prepared;  ///< for which shared memory and device
};

template <auto function>
auto prepared_of() {
  static std::atomic<std::int64_t> prepared{-1};
  return &prepared;
}

template <class T, auto function>
tile_kernel<T> made_kernel() {
  return {function, prepared_of<function>()};
}

template <class T, reconstruct stored, bool exchanged, bool with_clover>
tile_kernel<T> kernel_for(const hopping_launch& how) {
  using enum batch_links;
  if (how.variant == hopping_variant::batch) {
    if constexpr (is_half<T>) {
      if (how.whole_links) return made_kernel<T, hop_batch<T, stored, exchanged, with_clover, whole>>();
    }
    return how.groups == 1 ? made_kernel<T, hop_batch<T, stored, exchanged, with_clover, own>>()
                           : made_kernel<T, hop_batch<T, stored, exchanged, with_clover, common>>();
  }
  if constexpr (is_half<T>) {
    if (how.links_once && how.warps == 20)
      return made_kernel<T, hop_tiles<T, stored, exchanged, with_clover, true, 20>>();
    if constexpr (!with_clover) {
      if (how.links_once && how.warps == 24)
        return made_kernel<T, hop_tiles<T, stored, exchanged, with_clover, true, 24>>();
    }
  }
  return how.links_once ? made_kernel<T, hop_tiles<T, stored, exchanged, with_clover, true>>()
                        : made_kernel<T, hop_tiles<T, stored, exchanged, with_clover, false>>();
}

template <class T, reconstruct stored, bool exchanged>
tile_kernel<T> kernel_for(const hopping_launch& how, bool with_clover) {
  return with_clover ? kernel_for<T, stored, exchanged, true>(how) : kernel_for<T, stored, exchanged, false>(how);
}

/// Lets a kernel use all shared memory that there is; the unused rest is cache.
template <class Kernel>
void prepare_kernel(const Kernel& kernel, int shared_bytes, int blocks, int device) {
#ifdef __CUDACC__
  const std::int64_t wanted = (std::int64_t{device} << 32) | shared_bytes;
  if (kernel.prepared->load() == wanted) return;
  int most_shared_bytes = 0;
  check(cudaDeviceGetAttribute(&most_shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             shared_bytes == 0 ? 0 : most_shared_bytes));
  const int carve_out = shared_bytes == 0 ? 0 : std::min(100, (shared_bytes + 1024) * blocks * 100 / (228 * 1024) + 1);
  check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributePreferredSharedMemoryCarveout, carve_out));
  kernel.prepared->store(wanted);
#else
  static_cast<void>(kernel), static_cast<void>(shared_bytes), static_cast<void>(blocks), static_cast<void>(device);
#endif
}

}  // namespace detail

/// Returns the logarithm of a power of two.
inline int log2_of(int n) {
  int bits = 0;
  while ((1 << bits) < n) ++bits;
  return bits;
}

template <class T>
void require_fitting_launch(const hopping_launch& how, int columns) {
  const bool batch = how.variant == hopping_variant::batch;
  const int groups = batch ? how.groups : 1;
  if (how.sites() * groups > most_threads(is_half<T> ? 2 : sizeof(real_of<T>)) ||
      how.tile[2] * how.tile[3] * groups > most_threads_in_z || (1 << log2_of(how.tile[2])) != how.tile[2] ||
      (groups & (groups - 1)) != 0 || (how.warps == 20 && how.sites() > 128) || (batch ? columns < 2 : columns != 1) ||
      (how.whole_links && (groups == 1 || !is_half<T>)))
    throw std::logic_error("hopping_term: a launch that does not fit its kernel");
}

template <class T, reconstruct stored>
void launch_tiles(const queue& q, hopping_arguments<T> arg, const hopping_launch& how) {
  constexpr int bytes = is_half<T> ? 2 : sizeof(real_of<T>);
  const bool batch = how.variant == hopping_variant::batch;
  const auto parts = [](int length, int of) { return (length + of - 1) / of; };
  tile_walk walk;
  for (int mu = 0; mu < 3; ++mu) walk.tile[mu] = how.tile[mu];
  walk.log2_z = log2_of(how.tile[2]);
  walk.tiles_x = parts(arg.order.half_x.value, how.tile[0]);
  walk.tiles_y = parts(arg.order.length[1], how.tile[1]);
  walk.tile_t = how.tile[3];
  walk.by_tile_t = divisor(walk.tile_t);
  const int tiles_z = parts(arg.order.length[2], how.tile[2]), tiles_t = parts(arg.order.length[3], how.tile[3]);
  walk.slab = how.slab == 0 || how.slab > tiles_z ? tiles_z : how.slab;
  walk.by_x = divisor(walk.tiles_x);
  walk.by_y = divisor(walk.tiles_y);
  walk.backwards = how.alternates && q.next_is_reversed();
  arg.past_caches = how.past_caches;

  const int groups = batch ? how.groups : 1, tile_columns = batch_columns_at_once(bytes);
  walk.groups = groups;
  walk.part_columns = parts(parts(arg.columns, how.parts), tile_columns) * tile_columns;
  walk.by_t = divisor(tiles_t);
  const int column_parts = batch ? parts(arg.columns, walk.part_columns) : 1;
  const int threads = how.sites() * groups;
  require_fitting_launch<T>(how, arg.columns);
  const bool with_clover = arg.clover != nullptr;
  const int block_bytes = how.whole_links ? batch_block_bytes<T, stored, batch_links::whole>(with_clover)
                                          : batch_block_bytes<T, stored>(with_clover);
  const int shared = batch ? parts(how.sites(), lanes) * block_bytes : 0;
  detail::tile_kernel<T> kernel;
  if constexpr (is_half<T>)
    kernel = arg.exchanged ? detail::kernel_for<T, stored, true>(how, with_clover)
                           : detail::kernel_for<T, stored, false>(how, with_clover);
  else
    kernel = detail::kernel_for<T, stored, false>(how, with_clover);
  detail::prepare_kernel(kernel, shared, std::max(1, most_threads(bytes) * 2 / threads), q.device());

  const dim3 blocks{static_cast<unsigned>(walk.tiles_x * walk.tiles_y * walk.slab),
                    static_cast<unsigned>(tiles_t * column_parts), static_cast<unsigned>(parts(tiles_z, walk.slab))},
      block{static_cast<unsigned>(how.tile[0]), static_cast<unsigned>(how.tile[1]),
            static_cast<unsigned>(how.tile[2] * how.tile[3] * groups)};
#ifdef __CUDACC__
  launch_kernel(q, blocks, block, shared, how.dependent, kernel.function, arg, walk);
#else
  run_blocks(blocks, block, shared, groups > 1, kernel.function, arg, walk);
#endif
}

/// Whether the kernel of a launch leaves the sums that are requested, or none are.
template <class T>
bool has_sums_left(const hopping_work<T>& work, const hopping_launch& how) {
  const hopping_arguments<T>& arg = work.arg;
#ifndef __CUDACC__  // sums are of threads side by side in a warp
  return arg.sums.begin == nullptr;
#endif
  return arg.sums.begin == nullptr || (how.variant != hopping_variant::gather && !work.phases.used &&
                                       arg.sums.lie_in_tiles(how) && leaves_sums<T>(arg.clover != nullptr));
}

/// Calls launch(work) of kernels that leave no sums; then come the requested ones, by a separate kernel.
/// \param completes  after this launch all sites are there
template <class T, class Launch>
void launch_then_sum(const queue& q, const hopping_work<T>& work, const Launch& launch, bool completes = true) {
  hopping_work<T> plain = work;
  plain.arg.sums.begin = nullptr;
  launch(plain);
  if (completes && work.arg.sums.begin != nullptr)
    for_each_index(q, std::int64_t{work.arg.sums.runs} * work.arg.columns, make_runs<T>{work.arg}, 128);
}

/// Which links have fast variants: all; in the host build one form, for the time that they take to compile.
template <reconstruct stored>
constexpr bool has_fast_variants() {
#ifdef __CUDACC__
  return true;
#else
  return stored == reconstruct::twelve;
#endif
}

template <class T, reconstruct stored>
void launch_hopping(const queue& q, const hopping_work<T>& work, const hopping_launch& how) {
  if constexpr (has_fast_variants<stored>()) {
    const bool fits = how.variant != hopping_variant::batch || places_have_32_bits(work.arg);
    if (how.variant != hopping_variant::gather && fits && !work.phases.used) {
      if (has_sums_left(work, how)) return launch_tiles<T, stored>(q, work.arg, how);
      return launch_then_sum(q, work, [&](const auto& plain) { launch_tiles<T, stored>(q, plain.arg, how); });
    }
  }
  static_cast<void>(how);
  const std::int64_t count = static_cast<std::int64_t>(work.arg.order.sites) * work.arg.columns;
  launch_then_sum(q, work, [&](const hopping_work<T>& plain) {
    const auto run = [&](const auto& body) { for_each_index(q, count, body, 128); };
    if constexpr (is_half<T>) {
      if (plain.arg.exchanged) return run(gather_hops<T, stored, true>{plain.arg, plain.phases});
    }
    run(gather_hops<T, stored, false>{plain.arg, plain.phases});
  });
}

}  // namespace plaquette::gpu
