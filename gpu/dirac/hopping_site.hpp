// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One site of one application of the hopping term, on host and device, for all its kernels.
#pragma once

#include <utility>

#include "common/algebra/hermitian_6x6.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/dirac/hop_algebra.hpp"
#include "gpu/dirac/hopping_launch.hpp"
#include "gpu/dirac/hopping_sums.hpp"

namespace plaquette::gpu {

/// Everything one application to one parity needs.
template <class T>
struct hopping_arguments {
  using real = real_of<T>;

  spinor_pointer<T> out;
  spinor_pointer<const T> in, x, w;        ///< x: for the epilogues with x; w: for the sums
  const std::byte* links_here = nullptr;   ///< U_mu(x) of the output parity: [block][mu] as in hop_algebra.hpp
  const std::byte* links_there = nullptr;  ///< the same for the input parity
  const std::byte* clover = nullptr;       ///< [block][chirality] as in `loaded_clover`
  sums_of_runs sums;                       ///< where <out, w> and |out|^2 are left
  site_order order;
  int parity = 0;  ///< of the output
  int columns = 1;
  int exchange = 0;        ///< see loaded_spinor::load
  bool exchanged = false;  ///< D^+
  epilogue finish = epilogue::store;
  bool past_caches = false;     ///< of the output
  real a = 1;                   ///< of x
  real inside[hop_directions];  ///< real weight of each hop, the scale included; twice it in time
  real across[hop_directions];  ///< of a hop across the boundary of the box
};

/// The indices of a site's neighbours, and which of them lie across a boundary.
struct hop_neighbours {
  std::int32_t here;
  std::int32_t index[hop_directions];
  bool across[hop_directions];
};

/// \param half_x  x / 2 of the site
PLAQUETTE_KERNEL_INLINE hop_neighbours neighbours_of(const site_order& order, int parity, std::int32_t half_x,
                                                     std::int32_t y, std::int32_t z, std::int32_t t) {
  const std::int32_t row = order.half_x.value, plane = row * order.length[1], cube = plane * order.length[2];
  hop_neighbours n;
  const std::int32_t i = half_x + row * y + plane * z + cube * t;
  const bool odd = ((y + z + t + parity) & 1) != 0;  // x of the site
  n.here = i;
  n.across[0] = odd && half_x + 1 == row;
  n.across[1] = !odd && half_x == 0;
  n.index[0] = odd ? (n.across[0] ? i + 1 - row : i + 1) : i;
  n.index[1] = odd ? i : (n.across[1] ? i + row - 1 : i - 1);
  n.across[2] = y + 1 == order.length[1];
  n.across[3] = y == 0;
  n.index[2] = n.across[2] ? i + row - plane : i + row;
  n.index[3] = n.across[3] ? i + plane - row : i - row;
  n.across[4] = z + 1 == order.length[2];
  n.across[5] = z == 0;
  n.index[4] = n.across[4] ? i + plane - cube : i + plane;
  n.index[5] = n.across[5] ? i + cube - plane : i - plane;
  const std::int32_t last = cube * (order.length[3] - 1);
  n.across[6] = t + 1 == order.length[3];
  n.across[7] = t == 0;
  n.index[6] = n.across[6] ? i - last : i + cube;
  n.index[7] = n.across[7] ? i + last : i - cube;
  return n;
}

/// Returns the column of a site's block, of the field whose column of block 0 `begin` points to.
template <class Byte>
PLAQUETTE_KERNEL_INLINE Byte* block_of(Byte* begin, std::uint32_t block_stride, std::int32_t i) {
  return advanced(begin, static_cast<std::uint32_t>(i) / lanes, block_stride);
}
template <class T, class Byte>
PLAQUETTE_KERNEL_INLINE Byte* column_of(Byte* begin, int column) {
  return begin + static_cast<std::int64_t>(column) * spinor_block_bytes<T>;
}

template <class T, reconstruct stored>
PLAQUETTE_KERNEL_INLINE const std::byte* link_of(const std::byte* links, std::int32_t i, int mu) {
  constexpr std::uint32_t link = lanes * link_bytes<T>(stored);
  return advanced(links, static_cast<std::uint32_t>(i) / lanes, 4 * link) + static_cast<std::uint32_t>(mu) * link;
}

/// Loads the link of a hop: U_mu(x) forwards, the neighbour's backwards.
template <class T, reconstruct stored, int direction, load_hint hint>
PLAQUETTE_KERNEL_INLINE void load_link_of_hop(loaded_link<T, stored>& link, const hopping_arguments<T>& arg,
                                              const hop_neighbours& n) {
  const bool backwards = direction % 2 == 1;
  const std::int32_t i = backwards ? n.index[direction] : n.here;
  link.template load<hint>(link_of<T, stored>(backwards ? arg.links_there : arg.links_here, i, direction / 2),
                           lane_of(i));
}

/// A complex phase for each hop across a boundary; for the kernels that know none, an empty type.
struct no_phases {};
template <class T>
struct boundary_phases {
  complex<real_of<T>> across[hop_directions];
  bool used = false;
};

/// Applies the phase of a hop across a boundary.
template <int direction, class Real, class Phases>
PLAQUETTE_KERNEL_INLINE void apply_phase(spin_rows<Real, 2>& g, const Phases& phases) {
  if constexpr (!std::is_same_v<Phases, no_phases>) {
    if (phases.used)
      for (auto& row : g.z)
        for (auto& z : row) z = phases.across[direction] * z;
  }
}

/// Which halves of a neighbour its hop needs.
template <int direction>
inline constexpr spinor_part part_of_hop = direction == 6   ? spinor_part::lower
                                           : direction == 7 ? spinor_part::upper
                                                            : spinor_part::both;

/// Computes sum[k] += the hop of one direction of `count` neighbours that are loaded.
template <int direction, class T, bool exchanged, int count, class Link, class Phases>
PLAQUETTE_KERNEL_INLINE void add_loaded_hop(spin_rows<real_of<T>, 4> (&sum)[count], const hopping_arguments<T>& arg,
                                            const spinor_in_memory<T, exchanged> (&psi)[count], bool across,
                                            const Link& link, const Phases& phases) {
  using real = real_of<T>;
  su3<real> u;
  make_whole(u, link);
  const real weight = across ? arg.across[direction] : arg.inside[direction];
#pragma unroll
  for (int k = 0; k < count; ++k) {
    spin_rows<real, 2> h, g;
    project<direction>(h, psi[k]);
    multiply<direction % 2 == 1>(g, u, h);
    if (across) apply_phase<direction>(g, phases);
    add_unprojected<direction>(sum[k], g, is_half<T> ? weight * psi[k].scale() : weight);
  }
}

/// Does the same for columns that follow each other.
template <int direction, class T, reconstruct stored, bool exchanged, load_hint hint, int count, class Phases>
PLAQUETTE_KERNEL_INLINE void add_hop(spin_rows<real_of<T>, 4> (&sum)[count], const hopping_arguments<T>& arg,
                                     const std::byte* in, const hop_neighbours& n, const loaded_link<T, stored>& link,
                                     const Phases& phases) {
  spinor_in_memory<T, exchanged> psi[count];
  const std::int32_t i = n.index[direction];
  const std::byte* const block = block_of(in, static_cast<std::uint32_t>(arg.in.block_stride), i);
#pragma unroll
  for (int k = 0; k < count; ++k)
    psi[k].template load<hint, part_of_hop<direction>>(block + k * spinor_block_bytes<T>, lane_of(i), arg.exchange);
  add_loaded_hop<direction, T, exchanged>(sum, arg, psi, n.across[direction], link, phases);
}

/// The chiral block of the site-diagonal part, as it lies in memory. It has 36 real numbers (six of the diagonal, then
/// those below it row by row) as [chunk][32]. In half it has 72 bytes as [16-byte chunks][32], [8 bytes][32] and [32]
/// scales.
template <class T>
inline constexpr int chiral_block_bytes = lanes * (is_half<T> ? 76 : 36 * static_cast<int>(sizeof(real_of<T>)));

template <class T>
struct loaded_clover {
  static constexpr int bytes = is_half<T> ? 72 : 36 * static_cast<int>(sizeof(real_of<T>));
  static constexpr int chunks = bytes / 16;
  std::uint32_t word[bytes / 4];
  float scale;

  template <load_hint hint>
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* block, std::uint32_t lane) {
    const auto of_lane = [&](std::uint32_t width) {
      return hint == load_hint::none ? block + width * lane : advanced(block, lane, width);
    };
    const std::byte* const at = of_lane(16);
#pragma unroll
    for (int k = 0; k < chunks; ++k) {
      const auto v = load_words<hint, 4>(at + k * 16 * lanes);
#pragma unroll
      for (int i = 0; i < 4; ++i) word[4 * k + i] = v.w[i];
    }
    if constexpr (is_half<T>) {
      const auto v = load_words<hint, 2>(of_lane(8) + chunks * 16 * lanes);
      word[4 * chunks] = v.w[0];
      word[4 * chunks + 1] = v.w[1];
      scale = as_float(load_words<hint, 1>(of_lane(4) + 72 * lanes).w[0]);
    }
  }
  PLAQUETTE_KERNEL_INLINE real_of<T> number(int k) const {
    if constexpr (is_half<T>)
      return biased_number_of(word[k / 2], k & 1) - number_bias;
    else if constexpr (sizeof(real_of<T>) == 4)
      return as_float(word[k]);
    else
      return as_double(word[2 * k], word[2 * k + 1]);
  }
};

/// Returns both chiral blocks of the 32 sites among which i is.
template <class T>
PLAQUETTE_KERNEL_INLINE const std::byte* clover_of(const std::byte* clover, std::int32_t i) {
  return advanced(clover, static_cast<std::uint32_t>(i) / lanes, 2 * chiral_block_bytes<T>);
}

/// Computes psi = A psi. The chiral halves are (upper +- lower) / sqrt 2; the first has gamma_5 = +1.
/// \param block  of lane 0
template <class T, load_hint hint>
PLAQUETTE_KERNEL_INLINE void multiply_by_clover(spin_rows<real_of<T>, 4>& psi, const std::byte* block,
                                                std::uint32_t lane) {
  using real = real_of<T>;
  spin_rows<real, 4> sum;
#pragma unroll
  for (int chirality = 0; chirality < 2; ++chirality) {
    loaded_clover<T> a;
    a.template load<hint>(block + chirality * chiral_block_bytes<T>, lane);
    complex<real> v[chiral_rows], r[chiral_rows];
#pragma unroll
    for (int k = 0; k < chiral_rows; ++k) {
      const complex<real> u = psi.z[k / colours][k % colours], l = psi.z[2 + k / colours][k % colours];
      v[k] = chirality == 0 ? u + l : u - l;
      r[k] = a.number(k) * v[k];
    }
#pragma unroll
    for (int row = 1; row < chiral_rows; ++row)
#pragma unroll
      for (int column = 0; column < row; ++column) {
        const int e = chiral_rows + 2 * hermitian_6x6::lower_index(row, column);
        const real re = a.number(e), im = a.number(e + 1);
        r[row].re = multiply_add(re, v[column].re, multiply_add(-im, v[column].im, r[row].re));
        r[row].im = multiply_add(re, v[column].im, multiply_add(im, v[column].re, r[row].im));
        r[column].re = multiply_add(re, v[row].re, multiply_add(im, v[row].im, r[column].re));
        r[column].im = multiply_add(re, v[row].im, multiply_add(-im, v[row].re, r[column].im));
      }
    const real half_scale = is_half<T> ? real(0.5) * a.scale : real(0.5);
#pragma unroll
    for (int k = 0; k < chiral_rows; ++k) {
      complex<real>&u = sum.z[k / colours][k % colours], &l = sum.z[2 + k / colours][k % colours];
      if (chirality == 0) {
        u = l = half_scale * r[k];
      } else {
        u = {multiply_add(half_scale, r[k].re, u.re), multiply_add(half_scale, r[k].im, u.im)};
        l = {multiply_add(-half_scale, r[k].re, l.re), multiply_add(-half_scale, r[k].im, l.im)};
      }
    }
  }
  psi = sum;
}

/// Computes sum += factor * the spinor at a site.
template <class T, bool exchanged, load_hint hint>
PLAQUETTE_KERNEL_INLINE void add_spinor(spin_rows<real_of<T>, 4>& sum, const hopping_arguments<T>& arg,
                                        const spinor_pointer<const T>& x, int column, std::int32_t i,
                                        real_of<T> factor) {
  spinor_in_memory<T, exchanged> psi;
  psi.template load<hint, spinor_part::both>(
      block_of(column_of<T>(x.begin, column), static_cast<std::uint32_t>(x.block_stride), i), lane_of(i), arg.exchange);
  if constexpr (is_half<T>) factor *= psi.scale();
#pragma unroll
  for (int k = 0; k < spins * colours; ++k) {
    complex<real_of<T>>& z = sum.z[k / colours][k % colours];
    z.re = multiply_add(factor, psi.plain(psi[2 * k]), z.re);
    z.im = multiply_add(factor, psi.plain(psi[2 * k + 1]), z.im);
  }
}

/// Stores a site of the output, and leaves its sums, if they are requested and `sums_too`.
/// \param column, i  of the site, for the sums
/// \param to         its place
template <class T, bool exchanged, bool sums_too>
PLAQUETTE_KERNEL_INLINE void store_spinor_at(const spin_rows<real_of<T>, 4>& psi, const hopping_arguments<T>& arg,
                                             [[maybe_unused]] int column, [[maybe_unused]] std::int32_t i,
                                             const spinor_place<T, std::byte>& to) {
  std::byte* const site = to.site;
  [[maybe_unused]] const auto leave_sums = [&]([[maybe_unused]] const stored_spinor<T>& out) {
#ifdef __CUDA_ARCH__
    double sums[sums_of_runs::count];
    const std::byte* const w =
        block_of(column_of<T>(arg.w.begin, column), static_cast<std::uint32_t>(arg.w.block_stride), i);
    sums_of_site<T>(sums, out, load_stored<T>(place_in<T>(w, lane_of(i)), arg.exchange));
    leave_sums_of_site(arg.sums, column, i, sums);
#endif
  };
  const auto number = [&](int k) {
    const complex<real_of<T>>& z = psi.z[k / 2 / colours][k / 2 % colours];
    return k % 2 == 0 ? z.re : z.im;
  };
  if constexpr (is_half<T>) {
    float largest = 0.0F;
#pragma unroll
    for (int k = 0; k < spinor_reals; ++k) largest = larger_magnitude_of(largest, number(k));
    if (largest > 0.0F && largest < smallest_magnitude) largest = smallest_magnitude;  // NaN stays
    const float inverse = largest > 0.0F ? quick_ratio(fixed_point_one, largest) : 0.0F;
    loaded_half_spinor<false> packed;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      words<4> w;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int stored = 8 * c + 2 * j, k = exchanged ? (stored + spinor_reals / 2) % spinor_reals : stored;
        packed.word[4 * c + j] = w.w[j] = packed_numbers(biased(number(k), inverse), biased(number(k + 1), inverse));
      }
      store_words<4>(site + c * chunk_stride, w, arg.past_caches);
    }
    packed.scale_ = largest * (1.0F / fixed_point_one);
    store_words<1>(to.scale, words<1>{{as_bits(packed.scale_)}}, arg.past_caches);
    if constexpr (sums_too) {
      if (arg.sums.begin != nullptr) leave_sums(packed);
    }
  } else {
    constexpr int chunks = chunks_of<T>(spins * colours), half_bytes = chunks / 2 * chunk_stride;
    std::byte* const upper = site + arg.exchange;
    std::byte* const lower = site + (half_bytes - arg.exchange);
#pragma unroll
    for (int c = 0; c < chunks; ++c) {
      words<4> w;
      if constexpr (sizeof(real_of<T>) == 4) {
#pragma unroll
        for (int j = 0; j < 4; ++j) w.w[j] = as_bits(number(4 * c + j));
      } else {
        const words<2> re = bits_of(number(2 * c)), im = bits_of(number(2 * c + 1));
        w = {{re.w[0], re.w[1], im.w[0], im.w[1]}};
      }
      store_words<4>(c < chunks / 2 ? upper + c * chunk_stride : lower + (c - chunks / 2) * chunk_stride, w,
                     arg.past_caches);
    }
    if constexpr (sums_too) {
      if (arg.sums.begin != nullptr) leave_sums(psi);
    }
  }
}

template <class T, bool exchanged, bool sums_too = false>
PLAQUETTE_KERNEL_INLINE void store_spinor(const spin_rows<real_of<T>, 4>& psi, const hopping_arguments<T>& arg,
                                          int column, std::int32_t i) {
  store_spinor_at<T, exchanged, sums_too>(
      psi, arg, column, i,
      place_in<T>(block_of(column_of<T>(arg.out.begin, column), static_cast<std::uint32_t>(arg.out.block_stride), i),
                  lane_of(i)));
}

/// Computes the stored numbers from h, as `hopping_arguments::finish` says.
/// \param clover  the blocks of lane 0, and which lane
template <class T, bool exchanged, bool with_clover, load_hint field_hint, load_hint clover_hint>
PLAQUETTE_KERNEL_INLINE void finish_numbers(spin_rows<real_of<T>, 4>& h, const hopping_arguments<T>& arg, int column,
                                            std::int32_t i, const std::byte* clover, std::uint32_t clover_lane) {
  using real = real_of<T>;
  if constexpr (!with_clover) {
    if (arg.finish == epilogue::add) add_spinor<T, exchanged, field_hint>(h, arg, arg.x, column, i, arg.a);
  } else {
    // One multiplication by A, whose operand and the term added to it depend on the epilogue.
    spin_rows<real, 4> rest{};
    if (arg.finish == epilogue::clover_x_add) {
      rest = h;
      h = {};
      add_spinor<T, exchanged, field_hint>(h, arg, arg.x, column, i, real(1));
    }
    multiply_by_clover<T, clover_hint>(h, clover, clover_lane);
    if (arg.finish == epilogue::add_clover) add_spinor<T, exchanged, field_hint>(rest, arg, arg.x, column, i, arg.a);
#pragma unroll
    for (int k = 0; k < spins * colours; ++k) h.z[k / colours][k % colours] += rest.z[k / colours][k % colours];
  }
}

/// Does the same, and stores it.
template <class T, bool exchanged, bool with_clover, load_hint field_hint, load_hint clover_hint, bool sums_too = false>
PLAQUETTE_KERNEL_INLINE void finish_site(spin_rows<real_of<T>, 4>& h, const hopping_arguments<T>& arg, int column,
                                         std::int32_t i, const std::byte* clover, std::uint32_t clover_lane) {
  finish_numbers<T, exchanged, with_clover, field_hint, clover_hint>(h, arg, column, i, clover, clover_lane);
  store_spinor<T, exchanged, sums_too>(h, arg, column, i);
}

/// Variant 1: one thread a site and column, nothing but reads and one write. Only this variant supports complex phases
/// of the boundary. i counts sites of a column, then columns.
template <class T, reconstruct stored, bool exchanged>
struct gather_hops {
  hopping_arguments<T> arg;
  boundary_phases<T> phases;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto column = static_cast<int>(i / arg.order.sites);
    const auto site = static_cast<std::int32_t>(i - static_cast<std::int64_t>(column) * arg.order.sites);
    const site_coordinate at = arg.order.coordinate_of(arg.parity, site);
    const hop_neighbours n = neighbours_of(arg.order, arg.parity, at.x[0] / 2, at.x[1], at.x[2], at.x[3]);
    spin_rows<real_of<T>, 4> h[1] = {};
    const std::byte* const in = column_of<T>(arg.in.begin, column);
    [&]<int... direction>(std::integer_sequence<int, direction...>) {
      (add_direction<direction>(h, in, n), ...);
    }(std::make_integer_sequence<int, hop_directions>{});
    if (arg.clover != nullptr)
      finish_site<T, exchanged, true, load_hint::ordered, load_hint::ordered>(
          h[0], arg, column, site, clover_of<T>(arg.clover, site), lane_of(site));
    else
      finish_site<T, exchanged, false, load_hint::ordered, load_hint::ordered>(h[0], arg, column, site, nullptr, 0);
  }

 private:
  template <int direction>
  PLAQUETTE_HOST_DEVICE void add_direction(spin_rows<real_of<T>, 4> (&h)[1], const std::byte* in,
                                           const hop_neighbours& n) const {
    loaded_link<T, stored> link;
    load_link_of_hop<T, stored, direction, load_hint::ordered>(link, arg, n);
    add_hop<direction, T, stored, exchanged, load_hint::ordered>(h, arg, in, n, link, phases);
  }
};

/// Makes the sums of runs of an output that is there, as kernels leave them at their end.
template <class T>
struct make_runs {
  hopping_arguments<T> arg;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto column = static_cast<int>(index / arg.sums.runs);
    const auto run = static_cast<std::int32_t>(index - static_cast<std::int64_t>(column) * arg.sums.runs);
    double of_site[sums_of_runs::most_sites][sums_of_runs::count];
    for (int s = 0; s < arg.sums.sites(); ++s) {
      const std::int32_t i = (run << arg.sums.log2_sites) + s;
      sums_of_site<T>(of_site[s], load(arg.out, column, i), load(arg.w, column, i));
    }
    leave_sums_of_run(arg.sums, column, run, of_site);
  }

 private:
  PLAQUETTE_HOST_DEVICE stored_spinor<T> load(const spinor_pointer<const T>& x, int column, std::int32_t i) const {
    const std::byte* const block =
        block_of(column_of<T>(x.begin, column), static_cast<std::uint32_t>(x.block_stride), i);
    return load_stored<T>(place_in<T>(block, lane_of(i)), arg.exchange);
  }
};

/// One application to one parity, queued.
template <class T>
struct hopping_work {
  hopping_arguments<T> arg;
  boundary_phases<T> phases;
};

template <class T, reconstruct stored>
void launch_hopping(const queue& q, const hopping_work<T>& work, const hopping_launch& how);  // hopping_kernels.hpp

}  // namespace plaquette::gpu
