// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/pair_hopping.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "common/algebra/float_pair.hpp"
#include "common/error.hpp"
#include "common/krylov/batch.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dirac/hopping_site.hpp"

namespace plaquette::gpu {

namespace {

/// A pair whose low part may overlap the high one, as sums leave it. Sums and products cost half as many operations as
/// with float_pair. They err by some 2^-47 of the magnitudes that are added. (This file is compiled without
/// contraction, which would spoil the exact sums.)
struct loose_pair {
  float high = 0.0F, low = 0.0F;
};
PLAQUETTE_KERNEL_INLINE loose_pair operator-(const loose_pair& a) { return {-a.high, -a.low}; }
PLAQUETTE_KERNEL_INLINE loose_pair operator+(const loose_pair& a, const loose_pair& b) {
  const float_pair sum = two_sum(a.high, b.high);
  return {sum.high, sum.low + (a.low + b.low)};
}
PLAQUETTE_KERNEL_INLINE float rest_of_product(const loose_pair& a, const loose_pair& b, float product) {
  return fmaf(a.low, b.high, fmaf(a.high, b.low, fmaf(a.high, b.high, -product)));
}
PLAQUETTE_KERNEL_INLINE loose_pair operator*(const loose_pair& a, const loose_pair& b) {
  const float product = a.high * b.high;
  return {product, rest_of_product(a, b, product)};
}
PLAQUETTE_KERNEL_INLINE loose_pair multiply_add(const loose_pair& a, const loose_pair& b, const loose_pair& c) {
  return c + a * b;
}

/// Returns a + sign b, with a sign of +1 or -1.
PLAQUETTE_KERNEL_INLINE loose_pair add_signed(const loose_pair& a, float sign, const loose_pair& b) {
  const float sum = fmaf(sign, b.high, a.high), of_b = sum - a.high;
  const float rest = (a.high - (sum - of_b)) + fmaf(sign, b.high, -of_b);
  return {sum, rest + fmaf(sign, b.low, a.low)};
}
/// Three products a b added to a power of two S, which is at least twice each partial sum. So `sum` stays from S/2 to
/// 3S/2, all its values are multiples of 2^-24 S, and they differ by less than S: `sum - next` is exact. Then the
/// second FMA is the part that the first one has left out, at most 2^-24 S, rounded once.
struct three_products {
  float sum, rest;

  PLAQUETTE_KERNEL_INLINE three_products(float start, const loose_pair (&a)[3], const loose_pair (&b)[3]) {
    sum = fmaf(a[0].high, b[0].high, start);
    rest = fmaf(a[0].high, b[0].high, start - sum);
#pragma unroll
    for (int k = 1; k < 3; ++k) {
      const float next = fmaf(a[k].high, b[k].high, sum);
      rest += fmaf(a[k].high, b[k].high, sum - next);
      sum = next;
    }
  }
};
/// Returns a . b + c . d. Both high parts are multiples of 2^-24 S below S/2: their sum is exact. Only rounding of the
/// rests is lost, at most 2^-43 S, a tenth of that as a rule.
PLAQUETTE_KERNEL_INLINE loose_pair sum_of_products(float start, const loose_pair (&a)[3], const loose_pair (&b)[3],
                                                   const loose_pair (&c)[3], const loose_pair (&d)[3]) {
  const three_products ab(start, a, b), cd(start, c, d);
  float crossed = fmaf(a[0].low, b[0].high, a[0].high * b[0].low);
#pragma unroll
  for (int k = 1; k < 3; ++k) crossed = fmaf(a[k].low, b[k].high, fmaf(a[k].high, b[k].low, crossed));
#pragma unroll
  for (int k = 0; k < 3; ++k) crossed = fmaf(c[k].low, d[k].high, fmaf(c[k].high, d[k].low, crossed));
  const float_pair z = fast_two_sum((ab.sum - start) + (cd.sum - start), (ab.rest + cd.rest) + crossed);
  return {z.high, z.low};
}

/// Returns a power of two above twice |v . h| for the real and for the imaginary parts of h, for all v whose norm is at
/// most `bound`.
PLAQUETTE_KERNEL_INLINE float start_of_sums(const complex<loose_pair> (&h)[colours], float bound) {
  constexpr std::uint32_t exponent_one = 1U << 23;
  float re = 0.0F, im = 0.0F;
#pragma unroll
  for (int c = 0; c < colours; ++c) {
    re = fmaf(h[c].re.high, h[c].re.high, re);
    im = fmaf(h[c].im.high, h[c].im.high, im);
  }
  const float norm = fmaxf(re, im);
  if (norm > 0x1p-90F && norm < 0x1p90F)  // 2^k with 4^k above it
    return as_float(((as_bits(norm * (4.05F * bound * bound)) + exponent_one) >> 24) * exponent_one + (64U << 23));
  float most = 0.0F;
#pragma unroll
  for (int c = 0; c < colours; ++c) most = fmaxf(most, fmaxf(fabsf(h[c].re.high), fabsf(h[c].im.high)));
  return as_float((as_bits(most * (3.5F * bound)) & 0x7F800000U) + exponent_one);
}

PLAQUETTE_KERNEL_INLINE complex<loose_pair> exchanged_if(bool condition, const complex<loose_pair>& z) {
  return {condition ? z.im : z.re, condition ? z.re : z.im};
}

PLAQUETTE_KERNEL_INLINE words<4> chunk_of(const float_pair& re, const float_pair& im) {
  return {{as_bits(re.high), as_bits(re.low), as_bits(im.high), as_bits(im.low)}};
}

/// The phases of the two spins that a hop moves: i^power. That is an exchange of real and imaginary part, of both spins
/// or none, and signs. In time there is no phase.
struct hop_phases {
  bool exchanges;
  float re[2], im[2];  ///< factors of the terms added to real and imaginary parts
};
/// Returns bit mu for each direction mu in space of whose hop `holds(power)`.
constexpr std::uint32_t directions_where(bool forwards, int a, bool (*holds)(int power)) {
  std::uint32_t bits = 0;
  for (int mu = 0; mu < 3; ++mu)  // Of minus gamma_mu (DeGrand-Rossi), hence the other sign.
    if (holds((links_of_gamma(mu).power[a] + (forwards ? 0 : 2)) & 3)) bits |= 1U << mu;
  return bits;
}
constexpr bool is_odd(int power) { return power % 2 == 1; }
constexpr bool makes_re_negative(int power) { return power == 1 || power == 2; }
constexpr bool makes_im_negative(int power) { return power >= 2; }
constexpr std::uint32_t exchanging = directions_where(true, 0, is_odd);
static_assert(directions_where(true, 1, is_odd) == exchanging);
// Upper spins 0 and 1 go with lower spins 3 and 2 along x and y, with 2 and 3 along z.
static_assert(links_of_gamma(0).lower[0] == 3 && links_of_gamma(1).lower[0] == 3 && links_of_gamma(2).lower[0] == 2);
constexpr int last_crossed = 1;

/// Returns i^power of the way to the upper spins, or i^-power of the way back, which in the case of an exchange has the
/// other signs.
/// \param one  a phase without a sign
template <bool forwards, bool back>
PLAQUETTE_KERNEL_INLINE hop_phases phases_of(int mu, float one) {
  constexpr std::uint32_t other = back ? exchanging : 0;
  constexpr std::uint32_t re[2] = {directions_where(forwards, 0, makes_re_negative) ^ other,
                                   directions_where(forwards, 1, makes_re_negative) ^ other};
  constexpr std::uint32_t im[2] = {directions_where(forwards, 0, makes_im_negative) ^ other,
                                   directions_where(forwards, 1, makes_im_negative) ^ other};
  const auto sign = [&](std::uint32_t negative) { return as_float(as_bits(one) | (negative >> mu) << 31); };
  return {((exchanging >> mu) & 1) != 0, {sign(re[0]), sign(re[1])}, {sign(im[0]), sign(im[1])}};
}

/// Sites in an order in which the sites of a block of threads are a tile: whole rows of x, four (or two) in y, two in
/// z.
struct tile_order {
  site_order order;
  divisor tiles_y, tiles_z;
  int log2_y;

  tile_order() = default;
  explicit tile_order(const site_order& of)
      : order(of),
        tiles_y(of.length[1] / (of.length[1] % 4 == 0 ? 4 : 2)),
        tiles_z(of.length[2] / 2),
        log2_y(of.length[1] % 4 == 0 ? 2 : 1) {}

  /// Returns the coordinate of which x is halved.
  PLAQUETTE_HOST_DEVICE site_coordinate site(std::int32_t n) const {
    const std::int32_t row = order.half_x.quotient(n), tile = row >> (log2_y + 1), line = tiles_y.quotient(tile),
                       t = tiles_z.quotient(line);
    const std::int32_t y = row & ((1 << log2_y) - 1), z = (row >> log2_y) & 1;
    return {{n - row * order.half_x.value, ((tile - line * tiles_y.value) << log2_y) + y,
             2 * (line - t * tiles_z.value) + z, t}};
  }
  PLAQUETTE_HOST_DEVICE std::int32_t index(const site_coordinate& at) const {
    return at.x[0] + order.half_x.value * (at.x[1] + order.length[1] * (at.x[2] + order.length[2] * at.x[3]));
  }
};

/// One column of a site of the output. The directions are a loop of one body, small enough for the caches of
/// instructions: they differ in data only.
struct pair_hops_to_site {
  spinor_pointer<float_pair> out;
  spinor_pointer<const float_pair> in;
  const std::byte *links_here, *links_there;  ///< of the parity of the output, and of the input
  tile_order tiles;
  int parity;         ///< of the output
  int exchange;       ///< of D^+: see hopping_arguments
  loose_pair scale;   ///< of D
  float row_norm[2];  ///< of the links in space, in time

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto column = static_cast<int>(index / tiles.order.sites);
    const site_coordinate at =
        tiles.site(static_cast<std::int32_t>(index - static_cast<std::int64_t>(column) * tiles.order.sites));
    const std::int32_t i = tiles.index(at);
    const std::byte* const from = column_of<float_pair>(in.begin, column);
    spin_rows<loose_pair, 2> upper{}, lower{};  // lower spins in the order of the upper ones that they go with
#pragma unroll 1
    for (int mu = 0; mu < dimensions; ++mu) {
      add_hop<true>(upper, lower, at, i, from, mu);
      add_hop<false>(upper, lower, at, i, from, mu);
      if (mu == last_crossed) exchange_spins(lower);
    }
    std::byte* const site = site_of(column_of<float_pair>(out.begin, column), out.block_stride, i);
    store_half(site + exchange, upper);
    store_half(site + (half_bytes - exchange), lower);
  }

 private:
  static constexpr int half_bytes = half_spinor_size * chunk_stride;

  template <bool forwards>
  PLAQUETTE_KERNEL_INLINE void add_hop(spin_rows<loose_pair, 2>& upper, spin_rows<loose_pair, 2>& lower,
                                       const site_coordinate& at, std::int32_t i, const std::byte* from, int mu) const {
    const bool in_space = mu < 3;
    const std::int32_t there = neighbour<forwards>(at, i, mu), owner = forwards ? i : there;
    su3<loose_pair> u;
    load_link(u,
              at_lane(link_of<float_pair, reconstruct::none>(forwards ? links_here : links_there, owner, mu), owner));
    spin_rows<loose_pair, 2> h, l, g;
    load_spinor<forwards>(h, l, site_of(from, in.block_stride, there), mu);
    add_rotated(h, l, phases_of<forwards, false>(mu, in_space ? 1.0F : 0.0F));
    multiply<!forwards>(g, u, h, row_norm[in_space ? 0 : 1]);
    if (in_space || !forwards) add(upper, g);
    if (in_space || forwards) add_rotated(lower, g, phases_of<forwards, true>(mu, 1.0F));
  }
  PLAQUETTE_KERNEL_INLINE static void exchange_spins(spin_rows<loose_pair, 2>& x) {
#pragma unroll
    for (int c = 0; c < colours; ++c) {
      const complex<loose_pair> z = x.z[0][c];
      x.z[0][c] = x.z[1][c];
      x.z[1][c] = z;
    }
  }
  template <class Byte, class T>
  PLAQUETTE_KERNEL_INLINE static Byte* at_lane(Byte* block, T i) {
    return advanced(block, lane_of(i), 16);
  }
  template <class Byte>
  PLAQUETTE_KERNEL_INLINE static Byte* site_of(Byte* begin, std::int64_t stride, std::int32_t i) {
    return at_lane(block_of(begin, static_cast<std::uint32_t>(stride), i), i);
  }
  template <bool forwards>
  PLAQUETTE_KERNEL_INLINE std::int32_t neighbour(const site_coordinate& at, std::int32_t i, int mu) const {
    const bool x_is_odd = ((at.x[1] + at.x[2] + at.x[3] + parity) & 1) != 0;
    if (mu == 0 && x_is_odd != forwards) return i;  // x / 2 is the same
    std::int32_t x = at.x[0], length = tiles.order.half_x.value, stride = 1;
#pragma unroll
    for (int nu = 1; nu < dimensions; ++nu)
      if (mu >= nu) {
        stride *= length;
        length = tiles.order.length[nu];
        x = at.x[nu];
      }
    const std::int32_t across = stride * (length - 1);
    if (forwards) return x + 1 == length ? i - across : i + stride;
    return x == 0 ? i + across : i - stride;
  }
  PLAQUETTE_KERNEL_INLINE static complex<loose_pair> number_of(const words<4>& v) {
    return {{as_float(v.w[0]), as_float(v.w[1])}, {as_float(v.w[2]), as_float(v.w[3])}};
  }
  PLAQUETTE_KERNEL_INLINE static void load_half(spin_rows<loose_pair, 2>& h, const std::byte* first,
                                                const std::byte* second) {
#pragma unroll
    for (int c = 0; c < colours; ++c)
      h.z[0][c] = number_of(load_words<load_hint::ordered, 4>(first + c * chunk_stride));
#pragma unroll
    for (int c = 0; c < colours; ++c)
      h.z[1][c] = number_of(load_words<load_hint::ordered, 4>(second + c * chunk_stride));
  }
  /// Loads the upper spins, and the lower ones that go with them; in time the half that a hop needs, and in l anything.
  template <bool forwards>
  PLAQUETTE_KERNEL_INLINE void load_spinor(spin_rows<loose_pair, 2>& h, spin_rows<loose_pair, 2>& l,
                                           const std::byte* site, int mu) const {
    constexpr int row = colours * chunk_stride;
    const int lower_half = half_bytes - exchange, first = forwards && mu == 3 ? lower_half : exchange;
    const int crossed = mu <= last_crossed ? row : 0;
    load_half(h, site + first, site + first + row);
    load_half(l, site + lower_half + crossed, site + lower_half + (row - crossed));
  }
  PLAQUETTE_KERNEL_INLINE static void load_link(su3<loose_pair>& u, const std::byte* link) {
#pragma unroll
    for (int k = 0; k < colours * colours; ++k)
      u.e[k / colours][k % colours] = number_of(load_words<load_hint::constant_once, 4>(link + k * chunk_stride));
  }
  PLAQUETTE_KERNEL_INLINE static void add_rotated(spin_rows<loose_pair, 2>& sum, const spin_rows<loose_pair, 2>& b,
                                                  const hop_phases& phases) {
#pragma unroll
    for (int a = 0; a < 2; ++a)
#pragma unroll
      for (int c = 0; c < colours; ++c) {
        complex<loose_pair>& z = sum.z[a][c];
        const complex<loose_pair> v = exchanged_if(phases.exchanges, b.z[a][c]);
        z = {add_signed(z.re, phases.re[a], v.re), add_signed(z.im, phases.im[a], v.im)};
      }
  }
  PLAQUETTE_KERNEL_INLINE static void add(spin_rows<loose_pair, 2>& sum, const spin_rows<loose_pair, 2>& b) {
#pragma unroll
    for (int a = 0; a < 2; ++a)
#pragma unroll
      for (int c = 0; c < colours; ++c) {
        complex<loose_pair>& z = sum.z[a][c];
        z = {z.re + b.z[a][c].re, z.im + b.z[a][c].im};
      }
  }
  /// Computes g = U h, or U^+ h.
  template <bool adjoint>
  PLAQUETTE_KERNEL_INLINE static void multiply(spin_rows<loose_pair, 2>& g, const su3<loose_pair>& u,
                                               const spin_rows<loose_pair, 2>& h, float bound) {
#pragma unroll
    for (int a = 0; a < 2; ++a) {
      const float start = start_of_sums(h.z[a], bound);
#pragma unroll
      for (int i = 0; i < colours; ++i) {
        loose_pair re[colours], im[colours], minus_im[colours], v_re[colours], v_im[colours];
#pragma unroll
        for (int j = 0; j < colours; ++j) {
          const complex<loose_pair>& e = adjoint ? u.e[j][i] : u.e[i][j];
          re[j] = e.re;
          im[j] = adjoint ? -e.im : e.im;
          minus_im[j] = -im[j];
          v_re[j] = h.z[a][j].re;
          v_im[j] = h.z[a][j].im;
        }
        g.z[a][i] = {sum_of_products(start, re, v_re, minus_im, v_im), sum_of_products(start, re, v_im, im, v_re)};
      }
    }
  }
  PLAQUETTE_KERNEL_INLINE words<4> chunk_of_sum(const complex<loose_pair>& z) const {
    const loose_pair re = scale * z.re, im = scale * z.im;
    return chunk_of(fast_two_sum(re.high, re.low), fast_two_sum(im.high, im.low));
  }
  PLAQUETTE_KERNEL_INLINE void store_half(std::byte* to, const spin_rows<loose_pair, 2>& sum) const {
#pragma unroll
    for (int k = 0; k < half_spinor_size; ++k)
      store_words<4>(to + k * chunk_stride, chunk_of_sum(sum.z[k / colours][k % colours]), false);
  }
};

#ifdef __CUDACC__
__global__ void __launch_bounds__(128, 3)
    pair_kernel(std::int64_t count, bool backwards, const __grid_constant__ pair_hops_to_site body) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const std::int64_t i = std::int64_t{block_number(backwards)} * blockDim.x + threadIdx.x;
  if (i < count) body(i);
}
#endif

/// The four links of a site, with the factors of their hops: the coefficient, 2 in time, phases at the boundaries.
struct pack_pair_links {
  gauge_configuration::const_pointer from;
  std::byte* to;  ///< of one parity
  int parity;
  site_order order;
  double coefficient[dimensions];
  complex<double> phase[dimensions];

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto i = static_cast<std::int32_t>(index);
    const site_coordinate at = order.coordinate_of(parity, i);
    for (int mu = 0; mu < dimensions; ++mu) {
      const su3<double> u = from.load(parity, i, mu);
      const bool leaves = order.leaves(at, mu, +1);
      const complex<double> factor{coefficient[mu] * (leaves ? phase[mu].re : 1.0),
                                   coefficient[mu] * (leaves ? phase[mu].im : 0.0)};
      std::byte* const link =
          to +
          (static_cast<std::int64_t>(i / lanes) * dimensions + mu) * lanes * link_bytes<float_pair>(reconstruct::none) +
          16 * (i % lanes);
      for (int k = 0; k < colours * colours; ++k) {
        const complex<double> z = factor * u(k / colours, k % colours);
        store_words<4>(link + k * chunk_stride, chunk_of(float_pair(z.re), float_pair(z.im)), false);
      }
    }
  }
};

template <class Byte>
PLAQUETTE_KERNEL_INLINE Byte* place_of_site(Byte* begin, std::int64_t stride, int column, std::int32_t i) {
  return begin + (i / lanes) * stride + static_cast<std::int64_t>(column) * spinor_block_bytes<float_pair> +
         16 * (i % lanes);
}
PLAQUETTE_KERNEL_INLINE loose_pair pair_of(double x) {
  const float_pair pair(x);
  return {pair.high, pair.low};
}

/// The operations on h, by pairs: see `epilogue`. The output may be h or x.
struct finish_pairs {
  spinor_pointer<float_pair> out;
  spinor_pointer<const float_pair> h, x;
  const std::byte* clover;  ///< blocks of the output's parity, or null
  epilogue finish;
  loose_pair a;
  std::int32_t sites;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto column = static_cast<int>(index / sites);
    const auto i = static_cast<std::int32_t>(index - static_cast<std::int64_t>(column) * sites);
    spin_rows<loose_pair, 4> psi = load(h, column, i), rest{};
    if (finish == epilogue::clover_x_add) {
      rest = psi;
      psi = load(x, column, i);
    }
    if (clover != nullptr) psi = product(clover_of<float_pair>(clover, i), lane_of(i), psi);
    if (finish == epilogue::add || finish == epilogue::add_clover) {
      rest = load(x, column, i);
      for (int k = 0; k < spins * colours; ++k) {
        complex<loose_pair>& z = rest.z[k / colours][k % colours];
        z = {a * z.re, a * z.im};
      }
    }
    std::byte* const to = place_of_site(out.begin, out.block_stride, column, i);
    for (int k = 0; k < spins * colours; ++k) {
      const complex<loose_pair>&u = psi.z[k / colours][k % colours], &v = rest.z[k / colours][k % colours];
      store_words<4>(to + k * chunk_stride, chunk_of(rounded(u.re + v.re), rounded(u.im + v.im)), false);
    }
  }

 private:
  PLAQUETTE_KERNEL_INLINE static float_pair rounded(const loose_pair& x) { return fast_two_sum(x.high, x.low); }
  PLAQUETTE_KERNEL_INLINE static spin_rows<loose_pair, 4> load(const spinor_pointer<const float_pair>& from, int column,
                                                               std::int32_t i) {
    const std::byte* const site = place_of_site(from.begin, from.block_stride, column, i);
    spin_rows<loose_pair, 4> psi;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spins * colours; ++k) {
      const auto v = load_words<load_hint::ordered, 4>(site + k * chunk_stride);
      psi.z[k / colours][k % colours] = {{as_float(v.w[0]), as_float(v.w[1])}, {as_float(v.w[2]), as_float(v.w[3])}};
    }
    return psi;
  }
  PLAQUETTE_KERNEL_INLINE static complex<loose_pair> fma(const complex<loose_pair>& a, const complex<loose_pair>& b,
                                                         const complex<loose_pair>& c) {
    return {multiply_add(a.re, b.re, multiply_add(-a.im, b.im, c.re)),
            multiply_add(a.re, b.im, multiply_add(a.im, b.re, c.im))};
  }
  /// Returns A psi, see `multiply_by_clover`.
  PLAQUETTE_KERNEL_INLINE static spin_rows<loose_pair, 4> product(const std::byte* blocks, std::uint32_t lane,
                                                                  const spin_rows<loose_pair, 4>& psi) {
    spin_rows<loose_pair, 4> sum{};
#pragma unroll 1
    for (int chirality = 0; chirality < 2; ++chirality) {
      const float sign = chirality == 0 ? 1.0F : -1.0F;
      loaded_clover<float_pair> block;
      block.load<load_hint::ordered>(blocks + chirality * chiral_block_bytes<float_pair>, lane);
      const auto number = [&](int k) {
        return loose_pair{as_float(block.word[2 * k]), as_float(block.word[2 * k + 1])};
      };
      complex<loose_pair> v[chiral_rows], r[chiral_rows];
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < chiral_rows; ++k) {
        const complex<loose_pair>&u = psi.z[k / colours][k % colours], &l = psi.z[2 + k / colours][k % colours];
        v[k] = {halved(add_signed(u.re, sign, l.re)), halved(add_signed(u.im, sign, l.im))};
        r[k] = {number(k) * v[k].re, number(k) * v[k].im};
      }
      PLAQUETTE_GPU_UNROLL
      for (int row = 1; row < chiral_rows; ++row) {
        PLAQUETTE_GPU_UNROLL
        for (int column = 0; column < row; ++column) {
          const int k = chiral_rows + 2 * hermitian_6x6::lower_index(row, column);
          const complex<loose_pair> e{number(k), number(k + 1)}, conjugate{e.re, -e.im};
          r[row] = fma(e, v[column], r[row]);
          r[column] = fma(conjugate, v[row], r[column]);
        }
      }
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < chiral_rows; ++k) {
        complex<loose_pair>&u = sum.z[k / colours][k % colours], &l = sum.z[2 + k / colours][k % colours];
        u = {u.re + r[k].re, u.im + r[k].im};
        l = {add_signed(l.re, sign, r[k].re), add_signed(l.im, sign, r[k].im)};
      }
    }
    return sum;
  }
  PLAQUETTE_KERNEL_INLINE static loose_pair halved(const loose_pair& a) { return {0.5F * a.high, 0.5F * a.low}; }
};

bool is_spinor(const field<float_pair>& x) { return x.shape().spins == spins && x.shape().colours == colours; }

}  // namespace

pair_hopping_term::pair_hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                                     reconstruct /*stored*/)
    : context_(ctx), action_(action) {
  if (ctx.halo() != nullptr) throw input_error("pairs of floats: expected a lattice of one rank, found several ranks");
  parity_bytes_ = std::int64_t{ctx.order().blocks()} * link_block_bytes<float_pair>(reconstruct::none);
  links_ = ctx.workspace().take(static_cast<std::size_t>(2 * parity_bytes_));
  follow(links);
}

void pair_hopping_term::follow(const gauge_configuration& links) {
  const site_order& order = context_.order();
  for (int p = 0; p < 2; ++p) {
    pack_pair_links body{.from = links.sites(),
                         .to = links_.get() + p * parity_bytes_,
                         .parity = p,
                         .order = order,
                         .coefficient = {},
                         .phase = {}};
    for (int mu = 0; mu < dimensions; ++mu) {
      body.coefficient[mu] = action_.hop_coefficient(mu) * (mu == 3 ? 2.0 : 1.0);
      body.phase[mu] = action_.boundary_phase[static_cast<std::size_t>(mu)];
    }
    for_each_index(context_.queue(), order.sites, body, 128);
  }
  context_.queue().synchronize();  // kernels may load links before the kernel that comes before them has ended
}

void pair_hopping_term::apply(field<float_pair>& out, const field<float_pair>& in, bool daggered,
                              const hopping_finish<float_pair>& finish) const {
  if (!is_spinor(out) || !is_spinor(in) || out.parts() != 1 || in.parts() != 1 ||
      out.parity_of_part(0) == in.parity_of_part(0) || out.columns() != in.columns() ||
      (finish.x != nullptr && !(finish.x->shape() == out.shape())) ||
      (finish.w != nullptr && !(finish.w->shape() == out.shape())))
    throw std::logic_error("pair_hopping_term: expected Dirac spinors on opposite parities with equal columns");
  if ((needs_x(finish.finish) && finish.x == nullptr) || (needs_clover(finish.finish) && finish.clover == nullptr))
    throw std::logic_error("pair_hopping_term: the epilogue lacks its field or its clover blocks");
  const bool replaces_x = needs_x(finish.finish) && finish.x->sites(0).begin == out.sites(0).begin;
  field<float_pair> h = replaces_x ? like(out) : out;
  const int p = out.parity_of_part(0);
  const pair_hops_to_site body{.out = h.sites(0),
                               .in = in.sites(0),
                               .links_here = links_.get() + p * parity_bytes_,
                               .links_there = links_.get() + (1 - p) * parity_bytes_,
                               .tiles = tile_order(context_.order()),
                               .parity = p,
                               .exchange = daggered ? spinor_block_bytes<float_pair> / 2 : 0,
                               .scale = pair_of(finish.scale),
                               .row_norm = {static_cast<float>(std::abs(action_.hop_coefficient(0))), 2.0F}};
  const std::int64_t count = std::int64_t{body.tiles.order.sites} * in.columns();
#ifdef __CUDACC__
  launch_kernel(context_.queue(), dim3(static_cast<unsigned>((count + 127) / 128)), dim3(128), 0, true, pair_kernel,
                count, context_.queue().next_is_reversed(), body);
#else
  for_each_index(context_.queue(), count, body, 128);
#endif
  if (finish.finish != epilogue::store)
    for_each_index(context_.queue(), count,
                   finish_pairs{.out = out.sites(0),
                                .h = std::as_const(h).sites(0),
                                .x = needs_x(finish.finish) ? finish.x->sites(0) : spinor_pointer<const float_pair>{},
                                .clover = needs_clover(finish.finish) ? finish.clover : nullptr,
                                .finish = finish.finish,
                                .a = pair_of(finish.a),
                                .sites = context_.order().sites},
                   128);
  if (finish.w != nullptr) *finish.sums = dot_norm2(out, *finish.w);
}

template <>
void site_diagonal<float_pair>::apply(field<float_pair>& out, const field<float_pair>& in) const {
  if (!(out.shape() == in.shape()) || in.parts() != 1 || !is_spinor(in))
    throw std::logic_error("site_diagonal: fields must be Dirac spinors of one and the same parity");
  if (is_number()) {
    copy(out, in);
    scale(out, uniform_scalars(out, value_));
    return;
  }
  const std::int32_t sites = context_.order().sites;
  for_each_index(context_.queue(), std::int64_t{sites} * in.columns(),
                 finish_pairs{.out = out.sites(0),
                              .h = in.sites(0),
                              .x = {},
                              .clover = blocks(in.parity_of_part(0)),
                              .finish = epilogue::clover,
                              .a = {},
                              .sites = sites},
                 128);
}

}  // namespace plaquette::gpu
