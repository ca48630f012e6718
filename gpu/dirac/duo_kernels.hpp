// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The hops of smoother polynomials (duo_polynomial.hpp) and their kernel on one rank. For .cu files only.
#pragma once

#include <atomic>

#include "gpu/dirac/duo_packing.hpp"
#include "gpu/dirac/hopping_halo.hpp"
#include "gpu/dirac/hopping_kernels.hpp"
#include "gpu/fields/duo.hpp"

namespace plaquette::gpu {

/// Chunks of a site and pair of columns, of which each has four numbers: [block][pair][chunk][32].
inline constexpr int duo_chunks = 6;
inline constexpr int words_of_block = chiral_rows * chiral_rows / 2;
/// Chunks of a projected spinor, as it crosses a cut: [block of 32 face sites][pair][chunk][32].
inline constexpr int ghost_duo_chunks = duo_chunks / 2, ghost_duo_bytes = ghost_duo_chunks * chunk_stride;
/// Shared memory of 32 sites: chunks of links and the last word of each, then chunks of blocks and their last words.
inline constexpr int link_chunks = 2 * hop_directions, block_chunks = 2 * words_of_block / 4;
inline constexpr int duo_block_bytes = (link_chunks + block_chunks) * chunk_stride + hop_directions * 4 * lanes;
static_assert(block_chunks * 4 == 2 * words_of_block);

/// The work of a kernel besides the hops of `in`, h. A lacks its centre; x has the output's parity.
enum class duo_work {
  divide,       ///< stores A h
  multiply,     ///< stores h + (gain A + 2 diagonal - i turn) x
  add_to_field  ///< adds that to a field, in single precision, times numbers of columns
};

struct duo_arguments {
  hopping_arguments<half> arg;  ///< packed links and blocks of A, order, parity; the field that becomes larger
  const std::byte *in, *x;
  std::byte* out;
  const float* of_columns;
  int pairs;
  float diagonal, gain, factor;          ///< diagonal: of A too; factor: of the term added to a field
  std::uint32_t first_of_both = 0x1010;  ///< see both_by
  duo inside[hop_directions], across[hop_directions], turn;
};

/// A neighbour as `project` takes it.
struct loaded_duos {
  duo number[spinor_reals];

  template <spinor_part part>
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* site) {
    constexpr int first = part == spinor_part::lower ? duo_chunks / 2 : 0;
    constexpr int last = part == spinor_part::upper ? duo_chunks / 2 : duo_chunks;
#pragma unroll
    for (int c = first; c < last; ++c) {
      const auto v = load_words<load_hint::ordered, 4>(site + c * chunk_stride);
#pragma unroll
      for (int j = 0; j < 4; ++j) number[4 * c + j].bits = v.w[j];
    }
  }
  PLAQUETTE_KERNEL_INLINE duo operator[](int k) const { return number[k]; }
  PLAQUETTE_KERNEL_INLINE static duo sum(duo a, duo b) { return a + b; }
  PLAQUETTE_KERNEL_INLINE static duo plain(duo a) { return a; }
};

/// Loads a projected spinor that another device may have written.
PLAQUETTE_KERNEL_INLINE void load_ghost(spin_rows<duo, 2>& h, const std::byte* site) {
#pragma unroll
  for (int c = 0; c < ghost_duo_chunks; ++c) {
    const auto v = load_words<load_hint::fresh, 4>(site + c * chunk_stride);
#pragma unroll
    for (int j = 0; j < 2; ++j) h.z[(2 * c + j) / colours][(2 * c + j) % colours] = {{v.w[2 * j]}, {v.w[2 * j + 1]}};
  }
}

PLAQUETTE_KERNEL_INLINE complex<duo>& number_of_spinor(spin_rows<duo, 4>& psi, int k) {
  return psi.z[k / colours][k % colours];
}

/// psi = a psi with the blocks of A that a thread has left in shared memory, halved.
template <bool two_pipes>
PLAQUETTE_KERNEL_INLINE void multiply_by_duo_blocks(spin_rows<duo, 4>& psi, const std::byte* blocks, std::uint32_t lane,
                                                    std::uint32_t first_of_both) {
  spin_rows<duo, 4> sum;
#pragma unroll
  for (int chirality = 0; chirality < 2; ++chirality) {
    std::uint32_t word[words_of_block + 2];
    constexpr int half_of_chunks = block_chunks / 2 + 1;  // 18 words: the middle chunk is of both
#pragma unroll
    for (int k = 0; k < half_of_chunks; ++k) {
      const auto v = load_words<load_hint::none, 4>(blocks + 16 * lane + (k + chirality * 4) * chunk_stride);
#pragma unroll
      for (int j = 0; j < 4; ++j) word[4 * k + j] = v.w[j];
    }
    const int first = chirality * 2;
    complex<duo> v[chiral_rows], r[chiral_rows];
#pragma unroll
    for (int k = 0; k < chiral_rows; ++k) {
      const complex<duo>&u = number_of_spinor(psi, k), &l = number_of_spinor(psi, k + chiral_rows);
      v[k] = chirality == 0 ? complex<duo>{u.re + l.re, u.im + l.im} : complex<duo>{u.re - l.re, u.im - l.im};
      const duo two{word[first + k / 2]}, a = k % 2 == 0 ? both_of<0>(two) : both_of<1>(two);
      r[k] = {a * v[k].re, a * v[k].im};
    }
#pragma unroll
    for (int row = 1; row < chiral_rows; ++row)
#pragma unroll
      for (int column = 0; column < row; ++column) {
        const duo e{word[first + chiral_rows / 2 + hermitian_6x6::lower_index(row, column)]};
        const duo re = two_pipes ? both_by(e, first_of_both) : both_of<0>(e), im = both_of<1>(e);
        r[row].re = multiply_add(re, v[column].re, multiply_add(-im, v[column].im, r[row].re));
        r[row].im = multiply_add(re, v[column].im, multiply_add(im, v[column].re, r[row].im));
        r[column].re = multiply_add(re, v[row].re, multiply_add(im, v[row].im, r[column].re));
        r[column].im = multiply_add(re, v[row].im, multiply_add(-im, v[row].re, r[column].im));
      }
#pragma unroll
    for (int k = 0; k < chiral_rows; ++k) {
      complex<duo>&u = number_of_spinor(sum, k), &l = number_of_spinor(sum, k + chiral_rows);
      if (chirality == 0) {
        u = l = r[k];
      } else {
        u = {u.re + r[k].re, u.im + r[k].im};
        l = {l.re - r[k].re, l.im - r[k].im};
      }
    }
  }
  psi = sum;
}

/// field += by * one of the two columns.
template <int which>
PLAQUETTE_KERNEL_INLINE void add_column(const spinor_pointer<half>& field, std::int32_t i, int column, float by,
                                        spin_rows<duo, 4>& psi) {
  complex<float> x[spins * colours];
  load_site<half>(spinor_pointer<const half>(field), i, column, x);
#pragma unroll
  for (int k = 0; k < spins * colours; ++k) {
    const complex<duo>& z = number_of_spinor(psi, k);
    x[k] = {multiply_add(by, number_of<which>(z.re), x[k].re), multiply_add(by, number_of<which>(z.im), x[k].im)};
  }
  store_site<half>(field, i, column, x);
}

/// Returns the number of a thread's site in its tile.
/// \param tile  sites in x/2, y, z
PLAQUETTE_KERNEL_INLINE int number_in_tile(const int (&tile)[3]) {
  return static_cast<int>(threadIdx.x) +
         tile[0] * (static_cast<int>(threadIdx.y) + tile[1] * static_cast<int>(threadIdx.z));
}

/// Where a thread keeps the links and blocks of its site, in shared memory.
struct duo_room {
  std::byte *links, *blocks, *ninths;
  std::uint32_t lane;

  /// \param shared   of the block
  /// \param in_tile  the number of the site in its tile
  PLAQUETTE_KERNEL_INLINE duo_room(std::byte* shared, int in_tile) {
    links = shared + static_cast<std::uint32_t>(in_tile) / lanes * duo_block_bytes;
    blocks = links + link_chunks * chunk_stride;
    ninths = blocks + block_chunks * chunk_stride;
    lane = lane_of(in_tile);
  }
};

/// One rank, or a tile away from the cuts. Elsewhere see duo_halo_kernels.hpp.
struct no_messages {
  static constexpr bool exist = false;
  template <int>
  PLAQUETTE_KERNEL_INLINE bool has(const hop_neighbours&) const {
    return false;
  }
  template <int>
  PLAQUETTE_KERNEL_INLINE std::int32_t place(const site_order&, const site_place&) const {
    return 0;
  }
  template <int>
  PLAQUETTE_KERNEL_INLINE const std::byte* links() const {
    return nullptr;
  }
  template <int>
  PLAQUETTE_KERNEL_INLINE const std::byte* spinors() const {
    return nullptr;
  }
};

/// Makes the links and blocks of a site whole, and leaves them in shared memory.
template <class Messages>
PLAQUETTE_KERNEL_INLINE void keep_links_and_blocks(const duo_arguments& duos, const Messages& messages,
                                                   const hop_neighbours& n, const site_place& at,
                                                   const duo_room& room) {
  const hopping_arguments<half>& arg = duos.arg;
  for_directions<0, hop_directions>([&]<int d>() {
    constexpr bool backwards = d % 2 == 1;
    packed_link link;
    if (backwards && messages.template has<d>(n))
      link.load_ghost<load_hint::constant>(messages.template links<d>(), messages.template place<d>(arg.order, at));
    else
      link.load<load_hint::constant>(backwards ? arg.links_there : arg.links_here, backwards ? n.index[d] : n.here,
                                     d / 2);
    su3<float> u;
#pragma unroll
    for (int k = 0; k < 2 * colours; ++k) u.e[k / colours][k % colours] = {link.number(2 * k), link.number(2 * k + 1)};
    third_row_from_others(u);
    const auto bits = [&](int k) {
      return duo_of(u.e[k / colours][k % colours].re, u.e[k / colours][k % colours].im).bits;
    };
#pragma unroll
    for (int c = 0; c < 2; ++c)
      *reinterpret_cast<words<4>*>(room.links + 16 * room.lane + (2 * d + c) * chunk_stride) = {
          {bits(4 * c), bits(4 * c + 1), bits(4 * c + 2), bits(4 * c + 3)}};
    *reinterpret_cast<std::uint32_t*>(room.ninths + 4 * room.lane + d * 4 * lanes) = bits(8);
  });
  std::uint32_t word[2 * words_of_block];
  packed_blocks a;
  a.load<load_hint::constant>(arg.clover, n.here);
#pragma unroll
  for (int chirality = 0; chirality < 2; ++chirality) {
    const float scale = 0.5F * duos.gain * a.scale(chirality);
#pragma unroll
    for (int k = 0; k < words_of_block; ++k) {
      const float more = k < chiral_rows / 2 ? duos.diagonal : 0.0F;
      word[chirality * words_of_block + k] = duo_of(multiply_add(scale, a.number(chirality, 2 * k), more),
                                                    multiply_add(scale, a.number(chirality, 2 * k + 1), more))
                                                 .bits;
    }
  }
#pragma unroll
  for (int c = 0; c < block_chunks; ++c)
    *reinterpret_cast<words<4>*>(room.blocks + 16 * room.lane +
                                 c * chunk_stride) = {{word[4 * c], word[4 * c + 1], word[4 * c + 2], word[4 * c + 3]}};
}

/// Computes all columns of a site whose links and blocks are kept.
template <duo_work work, bool two_pipes, class Messages>
PLAQUETTE_KERNEL_INLINE void hop_to_duos(const duo_arguments& duos, const Messages& messages, const hop_neighbours& n,
                                         const site_place& at, const duo_room& room) {
  const hopping_arguments<half>& arg = duos.arg;
  constexpr int of_pair = duo_chunks * lanes;  // in units of 16 bytes
  const auto place = [&](std::int32_t i) {
    return static_cast<std::uint32_t>(i) / lanes * static_cast<std::uint32_t>(duos.pairs * of_pair) + lane_of(i);
  };
  std::uint32_t places[hop_directions];
#pragma unroll
  for (int d = 0; d < hop_directions; ++d) places[d] = place(n.index[d]);
  if constexpr (Messages::exist)
    for_directions<0, hop_directions>([&]<int d>() {
      if (!messages.template has<d>(n)) return;
      const auto f = static_cast<std::uint32_t>(messages.template place<d>(arg.order, at));
      places[d] = f / lanes * static_cast<std::uint32_t>(duos.pairs * ghost_duo_chunks * lanes) + f % lanes;
    });
  const std::uint32_t here = place(n.here);
#pragma unroll 1
  for (int pair = 0; pair < duos.pairs; ++pair) {
    const std::int64_t offset = std::int64_t{pair} * of_pair * chunk_bytes;
    spin_rows<duo, 4> h{};
    for_directions<0, hop_directions>([&]<int d>() {
      loaded_duos psi;
      spin_rows<duo, 2> projected, g;
      if (messages.template has<d>(n)) {
        load_ghost(projected, advanced(messages.template spinors<d>() + std::int64_t{pair} * ghost_duo_bytes, places[d],
                                       chunk_bytes));
      } else {
        psi.load<part_of_hop<d>>(advanced(duos.in + offset, places[d], chunk_bytes));
        if constexpr (Messages::exist) project<d>(projected, psi);
      }
      su3<duo> u;
      const auto put = [&](int k, std::uint32_t bits) {
        const duo e{bits};
        u.e[k / colours][k % colours] = {two_pipes ? both_by(e, duos.first_of_both) : both_of<0>(e), both_of<1>(e)};
      };
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const auto v = load_words<load_hint::none, 4>(room.links + 16 * room.lane + (2 * d + c) * chunk_stride);
#pragma unroll
        for (int j = 0; j < 4; ++j) put(4 * c + j, v.w[j]);
      }
      put(8, load_words<load_hint::none, 1>(room.ninths + 4 * room.lane + d * 4 * lanes).w[0]);
      const duo weight = n.across[d] ? duos.across[d] : duos.inside[d];
      if constexpr (!Messages::exist) project<d>(projected, psi);
      multiply<d % 2 == 1>(g, u, projected);
      add_unprojected<d>(h, g, weight);
    });
    if constexpr (work == duo_work::divide) {
      multiply_by_duo_blocks<two_pipes>(h, room.blocks, room.lane, duos.first_of_both);
    } else {
      spin_rows<duo, 4> v;
      loaded_duos x;
      x.load<spinor_part::both>(advanced(duos.x + offset, here, chunk_bytes));
#pragma unroll
      for (int k = 0; k < spins * colours; ++k) {
        complex<duo>& z = number_of_spinor(h, k);
        number_of_spinor(v, k) = {x[2 * k], x[2 * k + 1]};
        z.re = multiply_add(duos.turn, x[2 * k + 1], z.re);
        z.im = multiply_add(-duos.turn, x[2 * k], z.im);
      }
      multiply_by_duo_blocks<two_pipes>(v, room.blocks, room.lane, duos.first_of_both);
#pragma unroll
      for (int k = 0; k < spins * colours; ++k) number_of_spinor(h, k) += number_of_spinor(v, k);
    }
    if constexpr (work == duo_work::add_to_field) {
      add_column<0>(arg.out, n.here, 2 * pair, duos.factor * duos.of_columns[2 * pair], h);
      if (2 * pair + 1 < arg.columns)
        add_column<1>(arg.out, n.here, 2 * pair + 1, duos.factor * duos.of_columns[2 * pair + 1], h);
    } else {
      std::byte* const to = advanced(duos.out + offset, here, chunk_bytes);
#pragma unroll
      for (int c = 0; c < duo_chunks; ++c) {
        const complex<duo>&first = number_of_spinor(h, 2 * c), &second = number_of_spinor(h, 2 * c + 1);
        store_words<4>(to + c * chunk_stride, words<4>{{first.re.bits, first.im.bits, second.re.bits, second.im.bits}},
                       arg.past_caches);
      }
    }
  }
}

/// One parity. A thread keeps the links and blocks of its site in shared memory, made whole, and goes through all
/// columns.
template <duo_work work, bool two_pipes>
__global__ void __launch_bounds__(256, 2)
    duo_hops(const __grid_constant__ duo_arguments duos, const __grid_constant__ tile_walk walk) {
#ifdef __CUDACC__
  extern __shared__ __align__(16) std::byte shared[];
#else
  std::byte* const shared = shared_of_host_block;
#endif
  trigger_dependent_launch();
  const hopping_arguments<half>& arg = duos.arg;
  const site_of_thread s = find_site(walk, row_of_tiles(walk));
  if (!inside(s, arg.order)) return;
  const int in_tile = number_in_tile(walk.tile);
  const hop_neighbours n = neighbours_of(arg.order, arg.parity, s.half_x, s.y, s.z, s.t);
  const duo_room room(shared, in_tile);
  const site_place at{s.half_x, s.y, s.z, s.t};
  keep_links_and_blocks(duos, no_messages{}, n, at, room);
  wait_for_previous_kernel();
  hop_to_duos<work, two_pipes>(duos, no_messages{}, n, at, room);
}

}  // namespace plaquette::gpu
