// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/pair_hopping.hpp"

#include <cmath>
#include <stdexcept>

#include "common/algebra/float_pair.hpp"
#include "common/error.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dirac/hopping_site.hpp"

namespace plaquette::gpu {

namespace {

/// A pair whose low part may overlap the high one, as sums leave it. Sums and products cost half as many operations as
/// those of float_pair. They err by some 2^-47 of the magnitudes that are added. (This file is compiled without
/// contraction, which would spoil the exact sums.)
struct loose_pair {
  float high = 0.0F, low = 0.0F;
};
PLAQUETTE_KERNEL_INLINE loose_pair operator-(const loose_pair& a) { return {-a.high, -a.low}; }
PLAQUETTE_KERNEL_INLINE loose_pair operator+(const loose_pair& a, const loose_pair& b) {
  const float_pair sum = two_sum(a.high, b.high);
  return {sum.high, sum.low + (a.low + b.low)};
}
PLAQUETTE_KERNEL_INLINE loose_pair operator-(const loose_pair& a, const loose_pair& b) { return a + (-b); }
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

struct loaded_pair_spinor {
  loose_pair number[spinor_reals];

  /// \param exchange  see loaded_spinor::load
  template <spinor_part part>
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* site, int exchange) {
    constexpr int half_bytes = half_spinor_size * chunk_stride;
#pragma unroll
    for (int k = 0; k < spinor_reals / 2; ++k) {
      const bool in_upper = k < half_spinor_size;
      if (part != spinor_part::both && in_upper != (part == spinor_part::upper)) continue;
      const auto v = load_words<load_hint::ordered, 4>(in_upper ? site + exchange + k * chunk_stride
                                                                : site + (half_bytes - exchange) +
                                                                      (k - half_spinor_size) * chunk_stride);
      number[2 * k] = {as_float(v.w[0]), as_float(v.w[1])};
      number[2 * k + 1] = {as_float(v.w[2]), as_float(v.w[3])};
    }
  }
  PLAQUETTE_KERNEL_INLINE loose_pair operator[](int k) const { return number[k]; }
  PLAQUETTE_KERNEL_INLINE static loose_pair sum(const loose_pair& a, const loose_pair& b) { return a + b; }
  PLAQUETTE_KERNEL_INLINE static loose_pair plain(const loose_pair& a) { return a; }
};

PLAQUETTE_KERNEL_INLINE words<4> chunk_of(const float_pair& re, const float_pair& im) {
  return {{as_bits(re.high), as_bits(re.low), as_bits(im.high), as_bits(im.low)}};
}

/// One column of a site of the output.
struct pair_hops_to_site {
  spinor_pointer<double> out;
  spinor_pointer<const double> in;
  const std::byte *links_here, *links_there;  ///< of the parity of the output, and of the input
  site_order order;
  int parity;                         ///< of the output
  int exchange;                       ///< of D^+: see hopping_arguments
  loose_pair inside[hop_directions];  ///< weight of each hop; twice it in time
  loose_pair across[hop_directions];  ///< of a hop across the end of the lattice

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto column = static_cast<int>(index / order.sites);
    const auto i = static_cast<std::int32_t>(index - static_cast<std::int64_t>(column) * order.sites);
    const site_coordinate at = order.coordinate_of(parity, i);
    const hop_neighbours n = neighbours_of(order, parity, at.x[0] / 2, at.x[1], at.x[2], at.x[3]);
    spin_rows<loose_pair, 4> sum{};
    [&]<int... direction>(std::integer_sequence<int, direction...>) {
      (add_direction<direction>(sum, column, n), ...);
    }(std::make_integer_sequence<int, hop_directions>{});
    std::byte* const site = site_of(out, column, i);
#pragma unroll
    for (int k = 0; k < spinor_reals / 2; ++k) {
      const complex<loose_pair>& z = sum.z[k / colours][k % colours];
      const int to = exchange == 0 ? k : (k + half_spinor_size) % (2 * half_spinor_size);
      store_words<4>(site + to * chunk_stride,
                     chunk_of(fast_two_sum(z.re.high, z.re.low), fast_two_sum(z.im.high, z.im.low)), false);
    }
  }

 private:
  template <class Byte, class T>
  PLAQUETTE_KERNEL_INLINE static Byte* at_lane(Byte* block, T i) {
    return advanced(block, lane_of(i), 16);
  }
  PLAQUETTE_KERNEL_INLINE static std::byte* site_of(const spinor_pointer<double>& x, int column, std::int32_t i) {
    return at_lane(block_of(column_of<double>(x.begin, column), static_cast<std::uint32_t>(x.block_stride), i), i);
  }
  PLAQUETTE_KERNEL_INLINE static const std::byte* site_of(const spinor_pointer<const double>& x, int column,
                                                          std::int32_t i) {
    return at_lane(block_of(column_of<double>(x.begin, column), static_cast<std::uint32_t>(x.block_stride), i), i);
  }

  template <int direction>
  PLAQUETTE_KERNEL_INLINE void add_direction(spin_rows<loose_pair, 4>& sum, int column, const hop_neighbours& n) const {
    constexpr bool backwards = direction % 2 == 1;
    const std::int32_t there = n.index[direction], owner = backwards ? there : n.here;
    const std::byte* const link =
        at_lane(link_of<double, reconstruct::none>(backwards ? links_there : links_here, owner, direction / 2), owner);
    su3<loose_pair> u;
#pragma unroll
    for (int k = 0; k < colours * colours; ++k) {
      const auto v = load_words<load_hint::constant, 4>(link + k * chunk_stride);
      u.e[k / colours][k % colours] = {{as_float(v.w[0]), as_float(v.w[1])}, {as_float(v.w[2]), as_float(v.w[3])}};
    }
    loaded_pair_spinor psi;
    psi.load<part_of_hop<direction>>(site_of(in, column, there), exchange);
    spin_rows<loose_pair, 2> h, g;
    project<direction>(h, psi);
    multiply<backwards>(g, u, h);
    add_unprojected<direction>(sum, g, n.across[direction] ? across[direction] : inside[direction]);
  }
};

/// The four links of a site.
struct pack_pair_links {
  gauge_configuration::const_pointer from;
  std::byte* to;  ///< of one parity
  int parity;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto i = static_cast<std::int32_t>(index);
    for (int mu = 0; mu < dimensions; ++mu) {
      const su3<double> u = from.load(parity, i, mu);
      std::byte* const link =
          to +
          (static_cast<std::int64_t>(i / lanes) * dimensions + mu) * lanes * link_bytes<double>(reconstruct::none) +
          16 * (i % lanes);
      for (int k = 0; k < colours * colours; ++k) {
        const complex<double>& z = u(k / colours, k % colours);
        store_words<4>(link + k * chunk_stride, chunk_of(float_pair(z.re), float_pair(z.im)), false);
      }
    }
  }
};

/// All numbers of a column of a site.
template <bool to_pairs>
struct convert_numbers {
  spinor_pointer<double> out;
  spinor_pointer<const double> in;
  std::int32_t sites;  ///< padded ones too

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto column = static_cast<int>(index / sites);
    const auto i = static_cast<std::int32_t>(index - static_cast<std::int64_t>(column) * sites);
    const std::byte* const from = place(in.begin, in.block_stride, column, i);
    std::byte* const to = place(out.begin, out.block_stride, column, i);
    for (int k = 0; k < spinor_reals / 2; ++k) {
      const auto v = load_words<load_hint::ordered, 4>(from + k * chunk_stride);
      if constexpr (to_pairs) {
        store_words<4>(to + k * chunk_stride,
                       chunk_of(float_pair(as_double(v.w[0], v.w[1])), float_pair(as_double(v.w[2], v.w[3]))), false);
      } else {
        const auto re = bits_of(static_cast<double>(float_pair(as_float(v.w[0]), as_float(v.w[1]))));
        const auto im = bits_of(static_cast<double>(float_pair(as_float(v.w[2]), as_float(v.w[3]))));
        store_words<4>(to + k * chunk_stride, words<4>{{re.w[0], re.w[1], im.w[0], im.w[1]}}, false);
      }
    }
  }

 private:
  template <class Byte>
  PLAQUETTE_KERNEL_INLINE static Byte* place(Byte* begin, std::int64_t stride, int column, std::int32_t i) {
    return begin + (i / lanes) * stride + static_cast<std::int64_t>(column) * spinor_block_bytes<double> +
           16 * (i % lanes);
  }
};

bool is_spinor(const field<double>& x) { return x.shape().spins == spins && x.shape().colours == colours; }

template <bool to_pairs>
void convert_field(field<double>& out, const field<double>& in) {
  if (!(out.shape() == in.shape()) || !is_spinor(in))
    throw std::logic_error("pair_hopping: expected Dirac spinors of one shape");
  const std::int32_t sites = in.all_blocks() * lanes;
  for_each_index(in.get_context().queue(), std::int64_t{sites} * in.columns(),
                 convert_numbers<to_pairs>{out.sites(0), in.sites(0), sites}, 128);
}

loose_pair pair_of(double x) {
  const float_pair pair(x);
  return {pair.high, pair.low};
}

}  // namespace

void to_pairs(field<double>& out, const field<double>& in) { convert_field<true>(out, in); }
void to_doubles(field<double>& out, const field<double>& in) { convert_field<false>(out, in); }

pair_hopping_term::pair_hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action)
    : context_(ctx), action_(action) {
  if (ctx.halo() != nullptr) throw input_error("pairs of floats: expected a lattice of one rank, found several ranks");
  for (const complex<double>& phase : action.boundary_phase)
    if (phase.im != 0.0)
      throw input_error("pairs of floats: expected phases at the boundaries that are signs, found a complex one");
  const site_order& order = ctx.order();
  parity_bytes_ = std::int64_t{order.blocks()} * link_block_bytes<double>(reconstruct::none);
  links_ = ctx.workspace().take(static_cast<std::size_t>(2 * parity_bytes_));
  for (int p = 0; p < 2; ++p)
    for_each_index(ctx.queue(), order.sites, pack_pair_links{links.sites(), links_.get() + p * parity_bytes_, p}, 128);
  ctx.queue().synchronize();  // kernels may load links before the kernel that comes before them has ended
}

void pair_hopping_term::apply(field<double>& out, const field<double>& in, bool daggered,
                              const hopping_finish<double>& finish) const {
  if (!is_spinor(out) || !is_spinor(in) || out.parts() != 1 || in.parts() != 1 ||
      out.parity_of_part(0) == in.parity_of_part(0) || out.columns() != in.columns() ||
      finish.finish != epilogue::store || finish.w != nullptr)
    throw std::logic_error("pair_hopping_term: expected Dirac spinors on opposite parities with equal columns");
  const int p = out.parity_of_part(0);
  pair_hops_to_site body{.out = out.sites(0),
                         .in = in.sites(0),
                         .links_here = links_.get() + p * parity_bytes_,
                         .links_there = links_.get() + (1 - p) * parity_bytes_,
                         .order = context_.order(),
                         .parity = p,
                         .exchange = daggered ? spinor_block_bytes<double> / 2 : 0,
                         .inside = {},
                         .across = {}};
  for (int d = 0; d < hop_directions; ++d) {
    const int mu = d / 2;
    const double weight = finish.scale * action_.hop_coefficient(mu) * (mu == 3 ? 2.0 : 1.0);
    body.inside[d] = pair_of(weight);
    body.across[d] = pair_of(weight * action_.boundary_phase[static_cast<std::size_t>(mu)].re);
  }
  for_each_index(context_.queue(), std::int64_t{body.order.sites} * in.columns(), body, 128);
}

}  // namespace plaquette::gpu
