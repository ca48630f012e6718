// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One site of one application of H = gamma_5 D_w(-rho), on host and device, for all its kernels. hopping_site.hpp has
/// the hops. Sites of the whole lattice have one number: i, on odd sites behind the padded blocks of the even ones. So
/// fields and links of both parities are one array to a kernel.
///
/// gamma_5 exchanges the halves of a spinor. The sum of hops and diagonal is stored with its halves exchanged, and the
/// terms added to H in are exchanged when they are read.
#pragma once

#include "gpu/dirac/hermitian_launch.hpp"
#include "gpu/dirac/hopping_halo.hpp"
#include "gpu/dirac/hopping_site.hpp"
#include "gpu/halo/message_wait.hpp"

namespace plaquette::gpu {

/// out = (a H + d) in + b u + c w.
template <class T>
struct hermitian_arguments {
  using real = real_of<T>;

  /// Of both parities: out, in, links (here and there are the same), weights of the hops with a, the order. Here x and
  /// w are u and w, null if there is none; a multiplies `in` inside gamma_5.
  hopping_arguments<T> hops;
  std::int32_t parity_step = 0;  ///< from the number of an even site to the odd site with the same i
  real d = 0, b = 0, c = 0;
};

/// Returns the numbers of the whole lattice.
PLAQUETTE_KERNEL_INLINE hop_neighbours neighbours_on_lattice(const site_order& order, std::int32_t parity_step,
                                                             int parity, std::int32_t half_x, std::int32_t y,
                                                             std::int32_t z, std::int32_t t) {
  hop_neighbours n = neighbours_of(order, parity, half_x, y, z, t);
  const std::int32_t there = parity == 0 ? parity_step : 0;
  n.here += parity_step - there;
#pragma unroll
  for (int d = 0; d < hop_directions; ++d) n.index[d] += there;
  return n;
}

/// Returns the place of a site of a column.
template <class T, class Byte>
PLAQUETTE_KERNEL_INLINE spinor_place<T, Byte> place_of_site(Byte* begin, std::int32_t block_stride, int column,
                                                            std::int32_t i) {
  return place_in<T>(block_of(column_of<T>(begin, column), static_cast<std::uint32_t>(block_stride), i), lane_of(i));
}

/// Computes sum += factor * the spinor at a place, with its halves exchanged or not.
template <class T, bool exchanged>
PLAQUETTE_KERNEL_INLINE void add_stored(spin_rows<real_of<T>, 4>& sum, const spinor_place<T, const std::byte>& from,
                                        real_of<T> factor) {
  spinor_in_memory<T, exchanged> psi;
  psi.template load<load_hint::ordered, spinor_part::both>(from, exchanged ? spinor_block_bytes<T> / 2 : 0);
  if constexpr (is_half<T>) factor *= psi.scale();
#pragma unroll
  for (int k = 0; k < spins * colours; ++k) {
    complex<real_of<T>>& z = sum.z[k / colours][k % colours];
    z.re = multiply_add(factor, psi.plain(psi[2 * k]), z.re);
    z.im = multiply_add(factor, psi.plain(psi[2 * k + 1]), z.im);
  }
}

template <class T, bool exchanged>
PLAQUETTE_KERNEL_INLINE void add_stored(spin_rows<real_of<T>, 4>& sum, const spinor_pointer<const T>& x, int column,
                                        std::int32_t i, real_of<T> factor) {
  add_stored<T, exchanged>(sum, place_of_site<T>(x.begin, x.block_stride, column, i), factor);
}

/// Computes the result from the sum of hops h, and stores it.
/// \param to  the place of the result
template <class T>
PLAQUETTE_KERNEL_INLINE void finish_hermitian(spin_rows<real_of<T>, 4>& h, const hermitian_arguments<T>& arg,
                                              int column, std::int32_t i, const spinor_place<T, std::byte>& to) {
  const hopping_arguments<T>& hops = arg.hops;
  const auto own = place_of_site<T>(hops.in.begin, hops.in.block_stride, column, i);
  add_stored<T, false>(h, own, hops.a);
  if (arg.d != real_of<T>(0)) add_stored<T, true>(h, own, arg.d);
  if (hops.x.begin != nullptr) add_stored<T, true>(h, hops.x, column, i, arg.b);
  if (hops.w.begin != nullptr) add_stored<T, true>(h, hops.w, column, i, arg.c);
  hopping_arguments<T> exchanged;
  exchanged.exchange = is_half<T> ? 0 : spinor_block_bytes<T> / 2;
  exchanged.past_caches = hops.past_caches;
  store_spinor_at<T, true, false>(h, exchanged, column, i, to);
}
template <class T>
PLAQUETTE_KERNEL_INLINE void finish_hermitian(spin_rows<real_of<T>, 4>& h, const hermitian_arguments<T>& arg,
                                              int column, std::int32_t i) {
  const spinor_pointer<T>& out = arg.hops.out;
  finish_hermitian(h, arg, column, i, place_of_site<T>(out.begin, out.block_stride, column, i));
}

/// Variant 1: one thread a site and column. The index counts even sites, odd sites, then columns.
template <class T, reconstruct stored>
struct gather_hermitian {
  hermitian_arguments<T> arg;
  boundary_phases<T> phases;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const site_order& order = arg.hops.order;
    const std::int64_t of_lattice = 2 * std::int64_t{order.sites};
    const auto column = static_cast<int>(index / of_lattice);
    const auto site = static_cast<std::int32_t>(index - column * of_lattice);
    const int parity = site < order.sites ? 0 : 1;
    const site_coordinate at = order.coordinate_of(parity, site - parity * order.sites);
    const hop_neighbours n =
        neighbours_on_lattice(order, arg.parity_step, parity, at.x[0] / 2, at.x[1], at.x[2], at.x[3]);
    spin_rows<real_of<T>, 4> h[1] = {};
    const std::byte* const in = column_of<T>(arg.hops.in.begin, column);
    [&]<int... direction>(std::integer_sequence<int, direction...>) {
      (add_direction<direction>(h, in, n), ...);
    }(std::make_integer_sequence<int, hop_directions>{});
    finish_hermitian(h[0], arg, column, n.here);
  }

 private:
  template <int direction>
  PLAQUETTE_HOST_DEVICE void add_direction(spin_rows<real_of<T>, 4> (&h)[1], const std::byte* in,
                                           const hop_neighbours& n) const {
    loaded_link<T, stored> link;
    load_link_of_hop<T, stored, direction, load_hint::ordered>(link, arg.hops, n);
    add_hop<direction, T, stored, false, load_hint::ordered>(h, arg.hops, in, n, link, phases);
  }
};

// --- On several ranks
// -------------------------------------------------------------------------------------------------

/// The messages and links from other ranks for an application. A message has both parities: of each 32 face sites the
/// columns of hops to even sites, then those to odd ones.
struct hermitian_halo {
  ghost_zones zones;
  /// U_mu(x - mu) of the sites of a parity on the lower face of mu: [block of 32 face sites][link].
  const std::byte* ghost_links[2][dimensions] = {};
  std::int32_t columns = 0;

  PLAQUETTE_HOST_DEVICE std::int32_t message_columns() const { return 2 * columns; }
};
/// One rank: an empty type.
struct no_halo {};

/// True if the hop leaves the box through a cut.
template <int direction>
PLAQUETTE_KERNEL_INLINE bool needs_message(const no_halo&, const hop_neighbours&) {
  return false;
}
template <int direction>
PLAQUETTE_KERNEL_INLINE bool needs_message(const hermitian_halo& halo, const hop_neighbours& n) {
  return n.across[direction] && halo.zones.is_cut(direction);
}

/// A site of the lattice: its parity, its coordinates (x in halves), and in which of two buffers its messages are.
struct site_at_cut {
  int parity, buffer;
  site_place at;
};

/// Returns the block and the lane of the link of a hop backwards into a message.
template <class T, reconstruct stored, int direction>
PLAQUETTE_KERNEL_INLINE link_place ghost_link_of(const hopping_arguments<T>& arg, const hermitian_halo& halo,
                                                 const site_at_cut& site) {
  const std::int32_t f = face_index<direction>(arg.order, site.at);
  return {advanced(halo.ghost_links[site.parity][direction / 2], static_cast<std::uint32_t>(f) / lanes,
                   lanes * link_bytes<T>(stored)),
          static_cast<std::uint32_t>(lane_of(f))};
}

/// Computes sum[k] += the hop of one direction of `count` columns that is in a message.
template <int direction, class T, reconstruct stored, int count, class Phases>
PLAQUETTE_KERNEL_INLINE void add_message_hop(spin_rows<real_of<T>, 4> (&sum)[count], const hopping_arguments<T>& arg,
                                             const hermitian_halo& halo, const site_at_cut& site, int column,
                                             const loaded_link<T, stored>& link, const Phases& phases) {
  const std::byte* const ghost = halo.zones.ghost[site.buffer][direction] +
                                 static_cast<std::int64_t>(site.parity * halo.columns + column) * ghost_block_bytes<T>;
  add_ghost_hop<direction, T, stored>(sum, arg, ghost, halo.message_columns(),
                                      face_index<direction>(arg.order, site.at), link, phases);
}

/// Variant 1 on a rank. Messages are here.
template <class T, reconstruct stored>
struct gather_hermitian_of_rank {
  hermitian_arguments<T> arg;
  boundary_phases<T> phases;
  hermitian_halo halo;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const site_order& order = arg.hops.order;
    const std::int64_t of_lattice = 2 * std::int64_t{order.sites};
    const auto column = static_cast<int>(index / of_lattice);
    const auto number = static_cast<std::int32_t>(index - column * of_lattice);
    const int parity = number < order.sites ? 0 : 1;
    const site_coordinate x = order.coordinate_of(parity, number - parity * order.sites);
    const site_at_cut site{parity, static_cast<int>(*halo.zones.current & 1U), {x.x[0] / 2, x.x[1], x.x[2], x.x[3]}};
    const hop_neighbours n =
        neighbours_on_lattice(order, arg.parity_step, parity, site.at.half_x, x.x[1], x.x[2], x.x[3]);
    spin_rows<real_of<T>, 4> h[1] = {};
    [&]<int... direction>(std::integer_sequence<int, direction...>) {
      (add_direction<direction>(h, column, n, site), ...);
    }(std::make_integer_sequence<int, hop_directions>{});
    finish_hermitian(h[0], arg, column, n.here);
  }

 private:
  template <int direction>
  PLAQUETTE_HOST_DEVICE void add_direction(spin_rows<real_of<T>, 4> (&h)[1], int column, const hop_neighbours& n,
                                           const site_at_cut& site) const {
    loaded_link<T, stored> link;
    if (!needs_message<direction>(halo, n)) {
      load_link_of_hop<T, stored, direction, load_hint::ordered>(link, arg.hops, n);
      add_hop<direction, T, stored, false, load_hint::ordered>(h, arg.hops, column_of<T>(arg.hops.in.begin, column), n,
                                                               link, phases);
      return;
    }
    if constexpr (direction % 2 == 1) {
      const link_place place = ghost_link_of<T, stored, direction>(arg.hops, halo, site);
      link.template load<load_hint::ordered>(place.block, place.lane);
    } else {
      load_link_of_hop<T, stored, direction, load_hint::ordered>(link, arg.hops, n);
    }
    add_message_hop<direction, T, stored>(h, arg.hops, halo, site, column, link, phases);
  }
};

/// Packs both parities of the faces. A piece is a column of a block of face sites, of one parity.
template <class T>
struct lattice_face_packing {
  const hermitian_arguments<T>& arg;
  const hermitian_halo& halo;

  PLAQUETTE_HOST_DEVICE std::int32_t pieces(int direction) const {
    return halo.zones.is_cut(direction) ? face_order{arg.hops.order}.blocks(direction / 2) * halo.message_columns() : 0;
  }
  PLAQUETTE_HOST_DEVICE void pack(int direction, std::int32_t piece, std::int32_t lane, int buffer) const {
    const std::int32_t block = piece / halo.message_columns(), rest = piece - block * halo.message_columns();
    const int hops_to = rest < halo.columns ? 0 : 1;
    const std::int32_t f = block * lanes + lane;
    if (f >= face_order{arg.hops.order}.sites(direction / 2)) return;
    std::byte* const to =
        halo.zones.outgoing[buffer][direction] + static_cast<std::int64_t>(piece) * ghost_block_bytes<T>;
    pack_site<T, false>(arg.hops, direction, 1 - hops_to, hops_to == 0 ? arg.parity_step : 0, f,
                        rest - hops_to * halo.columns, to, lane);
  }
};

/// The host's loop over a face: an index is a lane of a piece.
template <class T>
struct pack_lattice_face {
  hermitian_arguments<T> arg;
  hermitian_halo halo;
  int direction;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    lattice_face_packing<T>{arg, halo}.pack(direction, static_cast<std::int32_t>(index / lanes),
                                            static_cast<std::int32_t>(index % lanes),
                                            static_cast<int>(*halo.zones.current & 1U));
  }
};

/// One application, queued.
template <class T>
struct hermitian_work {
  hermitian_arguments<T> arg;
  boundary_phases<T> phases;
};

template <class T>
void launch_hermitian(const queue& q, const hermitian_work<T>& work, reconstruct stored,
                      const hermitian_launch& how);  // hermitian_kernels.hpp

/// Does the same where directions are cut and kernels send all messages: queues the packing of faces, then the sites.
template <class T>
void launch_hermitian_of_rank(const queue& q, const hermitian_work<T>& work, const hermitian_halo& halo,
                              reconstruct stored, const hermitian_launch& how);  // hermitian_halo_kernels.hpp

}  // namespace plaquette::gpu
