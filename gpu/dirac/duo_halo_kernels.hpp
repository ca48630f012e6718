// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Smoother polynomials (duo_polynomial.hpp) on a rank whose neighbours are other ranks. For .cu files only.
///
/// As in hopping_halo_kernels.hpp: faces travel as projected spinors, and a site at a cut is computed whole, when its
/// messages are here. Tiles away from the cuts have the code of one rank. Results are the same bits as on one.
#pragma once

#include <algorithm>

#include "gpu/dirac/duo_kernels.hpp"
#include "gpu/dirac/rank_walk.hpp"

namespace plaquette::gpu {

/// The messages and links from other ranks for an application to one parity.
struct duo_halo {
  ghost_zones zones;
  /// U_mu(x - mu) of the sites of the output parity on the lower face of mu: [block of 32 face sites][32], packed.
  const std::byte* links[dimensions] = {};
};

/// The neighbours of a site at a cut: those beyond it are in messages, which are here.
struct duo_messages {
  static constexpr bool exist = true;
  const duo_halo& halo;
  int buffer;

  template <int direction>
  PLAQUETTE_KERNEL_INLINE bool has(const hop_neighbours& n) const {
    return n.across[direction] && halo.zones.is_cut(direction);
  }
  template <int direction>
  PLAQUETTE_KERNEL_INLINE std::int32_t place(const site_order& order, const site_place& at) const {
    return face_index<direction>(order, at);
  }
  template <int direction>
  PLAQUETTE_KERNEL_INLINE const std::byte* links() const {
    return halo.links[direction / 2];
  }
  template <int direction>
  PLAQUETTE_KERNEL_INLINE const std::byte* spinors() const {
    return halo.zones.ghost[buffer][direction];
  }
};

/// Packs the messages to neighbours, as `face_packing` does. A piece is a pair of columns of a block of face sites.
struct duo_face_packing {
  const duo_arguments& duos;
  const ghost_zones& zones;

  PLAQUETTE_HOST_DEVICE std::int32_t pieces(int direction) const {
    return zones.is_cut(direction) ? face_order{duos.arg.order}.blocks(direction / 2) * duos.pairs : 0;
  }
  PLAQUETTE_HOST_DEVICE void pack(int direction, std::int32_t piece, std::int32_t lane, int buffer) const {
    const std::int32_t block = piece / duos.pairs, pair = piece - block * duos.pairs, f = block * lanes + lane;
    if (f >= face_order{duos.arg.order}.sites(direction / 2)) return;
    std::byte* const to =
        zones.outgoing[buffer][direction] + std::int64_t{piece} * ghost_duo_bytes + lane * chunk_bytes;
    [&]<int... d>(std::integer_sequence<int, d...>) {
      ((d == direction ? pack_projected<d>(f, pair, to) : void()), ...);
    }(std::make_integer_sequence<int, hop_directions>{});
  }

 private:
  template <int direction>
  PLAQUETTE_KERNEL_INLINE void pack_projected(std::int32_t f, std::int32_t pair, std::byte* to) const {
    constexpr int mu = direction / 2;
    const site_order& order = duos.arg.order;
    const std::int32_t at = direction % 2 == 0 ? 0 : order.length[mu] - 1;
    const std::int32_t i = order.index(face_order{order}.coordinate_of(mu, at, 1 - duos.arg.parity, f));
    loaded_duos psi;
    psi.load<part_of_hop<direction>>(
        duos.in + (std::int64_t{i / lanes} * duos.pairs + pair) * duo_chunks * chunk_stride + lane_of(i) * chunk_bytes);
    spin_rows<duo, 2> h;
    project<direction>(h, psi);
#pragma unroll
    for (int c = 0; c < ghost_duo_chunks; ++c) {
      const auto number = [&](int k) -> const complex<duo>& { return h.z[k / colours][k % colours]; };
      const complex<duo>&first = number(2 * c), &second = number(2 * c + 1);
      store_words<4>(to + c * chunk_stride, words<4>{{first.re.bits, first.im.bits, second.re.bits, second.im.bits}},
                     false);
    }
  }
};

/// Packs the links of a lower face from links of half precision.
struct pack_ghost_links_for_duos {
  const std::byte* links;  ///< [block of 32 face sites][link]
  std::byte* packed;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto f = static_cast<std::int32_t>(index);
    loaded_link<half, reconstruct::twelve> link;
    link.load<load_hint::ordered>(links + std::int64_t{f / lanes} * lanes * link_bytes<half>(reconstruct::twelve),
                                  lane_of(f));
    store_chunk(packed + std::int64_t{f} * chunk_bytes, packed_chunk(link));
  }
};

/// One parity of a rank's box. First come the blocks that pack, if any, then the tiles.
template <duo_work work, bool two_pipes>
__global__ void __launch_bounds__(256, 2)
    duo_hops_of_rank(const __grid_constant__ duo_arguments duos, const __grid_constant__ rank_walk walk,
                     const __grid_constant__ duo_halo halo) {
#ifdef __CUDACC__
  extern __shared__ __align__(16) std::byte shared[];
#else
  std::byte* const shared = shared_of_host_block;
#endif
  trigger_dependent_launch();
#ifdef __CUDACC__
  if (blockIdx.x < walk.packing_end) return pack_in_tiles(duo_face_packing{duos, halo.zones}, halo.zones, walk);
#endif
  const hopping_arguments<half>& arg = duos.arg;
  const unsigned number = blockIdx.x - walk.packing_end;
  const bool is_interior = !is_at_cut(walk, number);
  const tile_origin tile = is_interior ? interior_tile(walk, number) : boundary_tile(walk, number);
  const site_of_thread s = site_in_tile(walk, tile);
  const bool works = inside(s, arg.order);
  const hop_neighbours n = neighbours_of(arg.order, arg.parity, s.half_x, s.y, s.z, s.t);
  const site_place at{s.half_x, s.y, s.z, s.t};
  const duo_room room(shared, number_in_tile(walk.tile));
  if (is_interior) {
    if (!works) return;
    keep_links_and_blocks(duos, no_messages{}, n, at, room);
    wait_for_previous_kernel();
    return hop_to_duos<work, two_pipes>(duos, no_messages{}, n, at, room);
  }
  if (works) keep_links_and_blocks(duos, duo_messages{halo, 0}, n, at, room);
  wait_for_previous_kernel();
#ifdef __CUDACC__
  const int buffer = wait_for_messages(halo.zones, walk, tile.faces);
#else
  const int buffer = static_cast<int>(*halo.zones.current & 1U);
#endif
  if (works) hop_to_duos<work, two_pipes>(duos, duo_messages{halo, buffer}, n, at, room);
}

#ifdef __CUDACC__

static __global__ void __launch_bounds__(packing_threads)
    pack_duo_faces(const __grid_constant__ duo_arguments duos, const __grid_constant__ ghost_zones zones,
                   const __grid_constant__ packing_blocks blocks) {
  pack_alone(duo_face_packing{duos, zones}, zones, blocks);
}

inline void queue_duo_packing(const queue& q, const duo_arguments& duos, const ghost_zones& zones) {
  const packing_blocks blocks = blocks_that_pack(duo_face_packing{duos, zones});
  launch_kernel(q, dim3(blocks.first[hop_directions]), dim3(packing_threads), 0, false, pack_duo_faces, duos, zones,
                blocks);
}

#else

/// The host's loop over a face: an index is a lane of a piece.
struct pack_duo_face {
  duo_arguments duos;
  ghost_zones zones;
  int direction;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    duo_face_packing{duos, zones}.pack(direction, static_cast<std::int32_t>(index / lanes),
                                       static_cast<std::int32_t>(index % lanes), static_cast<int>(*zones.current & 1U));
  }
};

inline void queue_duo_packing(const queue& q, const duo_arguments& duos, const ghost_zones& zones) {
  *zones.current = *zones.completed + 1;
  for (int d = 0; d < hop_directions; ++d) {
    if (!zones.is_cut(d)) continue;
    for_each_index(q, std::int64_t{lanes} * duo_face_packing{duos, zones}.pieces(d), pack_duo_face{duos, zones, d});
    if (zones.announced[d] != nullptr) set_flag(zones.announced[d], *zones.current);
  }
  *zones.completed = *zones.current;
}

#endif

}  // namespace plaquette::gpu
