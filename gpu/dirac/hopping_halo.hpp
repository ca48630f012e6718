// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The hopping term of a rank whose neighbours are other ranks, on host and device. Faces are packed and sent. A site
/// at a cut is computed whole, from the messages, once they are here. Every number is made by the same operations in
/// the same order as on one rank: the results are the same bits.
#pragma once

#include "gpu/dirac/ghost_spinor.hpp"
#include "gpu/dirac/hopping_site.hpp"
#include "gpu/halo/ghost_zones.hpp"

namespace plaquette::gpu {

struct tile_table;  // hopping_tiles.hpp

/// The messages and links that one application to one parity needs in addition to `hopping_arguments`.
struct hopping_halo {
  ghost_zones zones;
  /// U_mu(x - mu) of the sites of the output parity on the lower face of mu: [block of 32 face sites][link].
  const std::byte* ghost_links[dimensions] = {};
};

/// Which sites an application computes.
enum class box_part {
  all,
  interior,  ///< sites that need no message
  boundary
};

/// Coordinates of a site, x in halves.
struct site_place {
  std::int32_t half_x, y, z, t;
};

template <int direction>
PLAQUETTE_KERNEL_INLINE std::int32_t face_index(const site_order& order, const site_place& at) {
  return face_order{order}.template index<direction / 2>(at.half_x, at.y, at.z, at.t);
}

template <int direction>
PLAQUETTE_KERNEL_INLINE bool needs_message(const hopping_halo& halo, const hop_neighbours& n) {
  return n.across[direction] && halo.zones.is_cut(direction);
}

/// The link of a hop: of this rank, or the neighbour's that belongs to a message.
struct link_place {
  const std::byte* block;  ///< of lane 0
  std::uint32_t lane;
};
template <class T, reconstruct stored, int direction>
PLAQUETTE_KERNEL_INLINE link_place link_of_hop(const hopping_arguments<T>& arg, const hopping_halo& halo,
                                               const hop_neighbours& n, const site_place& at) {
  constexpr bool backwards = direction % 2 == 1;
  if (backwards && needs_message<direction>(halo, n)) {
    const std::int32_t f = face_index<direction>(arg.order, at);
    return {
        advanced(halo.ghost_links[direction / 2], static_cast<std::uint32_t>(f) / lanes, lanes * link_bytes<T>(stored)),
        static_cast<std::uint32_t>(lane_of(f))};
  }
  const std::int32_t i = backwards ? n.index[direction] : n.here;
  return {link_of<T, stored>(backwards ? arg.links_there : arg.links_here, i, direction / 2),
          static_cast<std::uint32_t>(lane_of(i))};
}

/// Computes sum[k] += the hop of one direction of `count` columns that follow each other, whose projected spinors are
/// in a message.
/// \param ghost            the message, of the first of the columns
/// \param message_columns  of 32 sites of the message
template <int direction, class T, reconstruct stored, int count, class Phases>
PLAQUETTE_KERNEL_INLINE void add_ghost_hop(spin_rows<real_of<T>, 4> (&sum)[count], const hopping_arguments<T>& arg,
                                           const std::byte* ghost, std::int32_t message_columns, std::int32_t f,
                                           const loaded_link<T, stored>& link, const Phases& phases) {
  using real = real_of<T>;
  const std::byte* const block =
      advanced(ghost, static_cast<std::uint32_t>(f) / lanes,
               static_cast<std::uint32_t>(message_columns) * static_cast<std::uint32_t>(ghost_block_bytes<T>));
  ghost_spinor<T> psi[count];
#pragma unroll
  for (int k = 0; k < count; ++k) psi[k].load(block + k * ghost_block_bytes<T>, lane_of(f));
  su3<real> u;
  make_whole(u, link);
  const real weight = arg.across[direction];
#pragma unroll
  for (int k = 0; k < count; ++k) {
    spin_rows<real, 2> h, g;
    psi[k].get(h);
    multiply<direction % 2 == 1>(g, u, h);
    apply_phase<direction>(g, phases);
    add_unprojected<direction>(sum[k], g, is_half<T> ? weight * psi[k].scale() : weight);
  }
}

/// Adds the hop of one direction, wherever its spinor is.
template <int direction, class T, reconstruct stored, bool exchanged, load_hint hint, int count, class Phases>
PLAQUETTE_KERNEL_INLINE void add_hop_of_rank(spin_rows<real_of<T>, 4> (&sum)[count], const hopping_arguments<T>& arg,
                                             const hopping_halo& halo, int buffer, int column, const hop_neighbours& n,
                                             const site_place& at, const loaded_link<T, stored>& link,
                                             const Phases& phases) {
  if (needs_message<direction>(halo, n))
    add_ghost_hop<direction, T, stored>(
        sum, arg, halo.zones.ghost[buffer][direction] + static_cast<std::int64_t>(column) * ghost_block_bytes<T>,
        arg.columns, face_index<direction>(arg.order, at), link, phases);
  else
    add_hop<direction, T, stored, exchanged, hint>(sum, arg, column_of<T>(arg.in.begin, column), n, link, phases);
}

/// True if any hop of the site leaves the box through a cut.
PLAQUETTE_KERNEL_INLINE bool is_at_cut(const ghost_zones& zones, const hop_neighbours& n) {
  bool at_cut = false;
#pragma unroll
  for (int d = 0; d < hop_directions; ++d) at_cut = at_cut || (n.across[d] && zones.is_cut(d));
  return at_cut;
}

/// Variant 1 on a rank: `gather_hops` with messages. The part's other sites stay unchanged.
template <class T, reconstruct stored, bool exchanged>
struct gather_hops_of_rank {
  hopping_arguments<T> arg;
  boundary_phases<T> phases;
  hopping_halo halo;
  box_part part;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto column = static_cast<int>(i / arg.order.sites);
    const auto site = static_cast<std::int32_t>(i - static_cast<std::int64_t>(column) * arg.order.sites);
    const site_coordinate x = arg.order.coordinate_of(arg.parity, site);
    const site_place at{x.x[0] / 2, x.x[1], x.x[2], x.x[3]};
    const hop_neighbours n = neighbours_of(arg.order, arg.parity, at.half_x, at.y, at.z, at.t);
    if (part != box_part::all && is_at_cut(halo.zones, n) != (part == box_part::boundary)) return;
    const int buffer = static_cast<int>(*halo.zones.current & 1U);
    spin_rows<real_of<T>, 4> h[1] = {};
    [&]<int... direction>(std::integer_sequence<int, direction...>) {
      (add_direction<direction>(h, buffer, column, n, at), ...);
    }(std::make_integer_sequence<int, hop_directions>{});
    if (arg.clover != nullptr)
      finish_site<T, exchanged, true, load_hint::ordered, load_hint::ordered>(
          h[0], arg, column, site, clover_of<T>(arg.clover, site), lane_of(site));
    else
      finish_site<T, exchanged, false, load_hint::ordered, load_hint::ordered>(h[0], arg, column, site, nullptr, 0);
  }

 private:
  template <int direction>
  PLAQUETTE_HOST_DEVICE void add_direction(spin_rows<real_of<T>, 4> (&h)[1], int buffer, int column,
                                           const hop_neighbours& n, const site_place& at) const {
    loaded_link<T, stored> link;
    const link_place place = link_of_hop<T, stored, direction>(arg, halo, n, at);
    link.template load<load_hint::ordered>(place.block, place.lane);
    add_hop_of_rank<direction, T, stored, exchanged, load_hint::ordered>(h, arg, halo, buffer, column, n, at, link,
                                                                         phases);
  }
};

/// Packs one site of one column for hops of direction d of a neighbour, which reach the lower face for hops forwards.
/// \param parity  of the site
/// \param step    from the site's number among its parity to its number in `arg.in`
/// \param to      the block of 32 sites of the message
template <int direction, class T, bool exchanged>
PLAQUETTE_KERNEL_INLINE void pack_projected(const hopping_arguments<T>& arg, int parity, std::int32_t step,
                                            std::int32_t f, std::int32_t column, std::byte* to, std::int32_t lane) {
  constexpr int mu = direction / 2;
  const std::int32_t at = direction % 2 == 0 ? 0 : arg.order.length[mu] - 1;
  const std::int32_t i = arg.order.index(face_order{arg.order}.coordinate_of(mu, at, parity, f)) + step;
  spinor_in_memory<T, exchanged> psi;
  psi.template load<load_hint::ordered, part_of_hop<direction>>(
      block_of(column_of<T>(arg.in.begin, column), static_cast<std::uint32_t>(arg.in.block_stride), i), lane_of(i),
      arg.exchange);
  spin_rows<real_of<T>, 2> h;
  project<direction>(h, psi);
  ghost_spinor<T> ghost;
  ghost.set(h, psi.scale());
  ghost.store(to, lane);
}
/// Does the same for a direction that is known when the kernel runs.
template <class T, bool exchanged>
PLAQUETTE_KERNEL_INLINE void pack_site(const hopping_arguments<T>& arg, int direction, int parity, std::int32_t step,
                                       std::int32_t f, std::int32_t column, std::byte* to, std::int32_t lane) {
  [&]<int... d>(std::integer_sequence<int, d...>) {
    ((d == direction ? pack_projected<d, T, exchanged>(arg, parity, step, f, column, to, lane) : void()), ...);
  }(std::make_integer_sequence<int, hop_directions>{});
}

/// Packs the messages to neighbours: message d is made of the sites of the face that hops of direction d of the
/// neighbour reach.
template <class T, bool exchanged>
struct face_packing {
  const hopping_arguments<T>& arg;
  const ghost_zones& zones;

  /// Returns one column of a block of face sites.
  PLAQUETTE_HOST_DEVICE std::int32_t pieces(int direction) const {
    return zones.is_cut(direction) ? face_order{arg.order}.blocks(direction / 2) * arg.columns : 0;
  }

  /// Packs lane `lane` of a piece.
  PLAQUETTE_HOST_DEVICE void pack(int direction, std::int32_t piece, std::int32_t lane, int buffer) const {
    const std::int32_t block = piece / arg.columns, column = piece - block * arg.columns, f = block * lanes + lane;
    if (f >= face_order{arg.order}.sites(direction / 2)) return;
    std::byte* const to = zones.outgoing[buffer][direction] + static_cast<std::int64_t>(piece) * ghost_block_bytes<T>;
    pack_site<T, exchanged>(arg, direction, 1 - arg.parity, 0, f, column, to, lane);
  }
};

/// The host's loop over a face: an index is a lane of a piece.
template <class T, bool exchanged>
struct pack_face {
  hopping_arguments<T> arg;
  ghost_zones zones;
  int direction;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    face_packing<T, exchanged>{arg, zones}.pack(direction, static_cast<std::int32_t>(index / lanes),
                                                static_cast<std::int32_t>(index % lanes),
                                                static_cast<int>(*zones.current & 1U));
  }
};

/// How an application is queued. One kernel does faces and sites where every message is a kernel's business. Otherwise
/// faces come first, then sites: all at once, or the interior before the sites at the cuts.
template <class T>
void queue_packing(const queue& q, const hopping_arguments<T>& arg, const hopping_halo& halo);
/// \param tiles  of `how`; null for gather
/// \param packs  the same kernel packs the faces; in tiles, and of all sites, alone
template <class T, reconstruct stored>
void queue_hops_of_rank(const queue& q, const hopping_work<T>& work, const hopping_halo& halo,
                        const hopping_launch& how, const tile_table* tiles, box_part part, bool packs);

}  // namespace plaquette::gpu
