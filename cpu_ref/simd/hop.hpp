// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One hop on W sites: project, multiply by the link, reconstruct.
/// Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it).
#pragma once

#include "common/algebra/projector.hpp"
#include "cpu_ref/simd/block_spinor.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// The factor of a hop that is not multiplied.
struct no_scale {};
template <class V>
PLAQUETTE_INLINE complex_simd<V> scaled_by(no_scale, const complex_simd<V>& z) {
  return z;
}
template <class V>
PLAQUETTE_INLINE complex_simd<V> scaled_by(const V& scale, const complex_simd<V>& z) {
  return {z.re * scale, z.im * scale};
}
template <class Lane>
PLAQUETTE_INLINE no_scale permuted(no_scale, const Lane*) {
  return {};
}
template <class T, int W, class Lane>
PLAQUETTE_INLINE simd<T, W> permuted(const simd<T, W>& scale, const Lane* from) {
  return scale.permuted(from);
}

/// Reads spinors for a hop. In fixed point they stay integers, and `scale` multiplies the contribution of a hop.
template <class T, int W>
struct hop_reader {
  using V = register_of<T, W>;
  spinor_halves<T, W, const T> halves;

  PLAQUETTE_INLINE hop_reader(const T* data, std::int64_t exchange, const T& /*hop_scale*/) : halves(data, exchange) {}
  PLAQUETTE_INLINE complex_simd<V> operator()(int k) const { return load_component<V, W>(halves.at(k), 0); }
  PLAQUETTE_INLINE no_scale scale() const { return {}; }
};
template <int W>
struct hop_reader<half, W> {
  using V = simd<float, W>;
  const std::uint32_t* at;
  spinor_halves<half, W, const std::uint32_t> halves;
  float hop_scale;

  PLAQUETTE_INLINE hop_reader(const std::uint32_t* data, std::int64_t exchange, const float& scale_of_hop)
      : at(data), halves(data, exchange), hop_scale(scale_of_hop) {}
  PLAQUETTE_INLINE complex_simd<V> operator()(int k) const { return packed_simd<W>::load(halves.at(k)); }
  PLAQUETTE_INLINE V scale() const {
    return V::load(reinterpret_cast<const float*>(at + 12 * W)) * V::broadcast(hop_scale);
  }
};

/// Reads half-spinors from a slot of the halo: [6][re, im][W], in fixed point then [W] scales.
template <class T, int W>
struct slot_reader {
  using V = register_of<T, W>;
  const real_of<T>* at;

  PLAQUETTE_INLINE complex_simd<V> operator()(int k) const { return load_component<V, W>(at, k); }
  PLAQUETTE_INLINE auto scale() const {
    if constexpr (is_half<T>)
      return V::load(at + 12 * W);
    else
      return no_scale{};
  }
};

/// The half-spinor of (1 + sign gamma_mu) psi, one colour: in time the half that is not zero, without its factor 2.
template <class V>
struct half_spinor_colour {
  complex_simd<V> spin[2];
};
template <int mu, int sign, class Spinor>
PLAQUETTE_INLINE auto projected(const Spinor& psi, int j) {
  if constexpr (mu == 3) {
    constexpr int first = 3 * spin_kept_in_time(sign);
    return half_spinor_colour<typename Spinor::V>{{psi(first + j), psi(first + 3 + j)}};
  } else {
    constexpr chiral_links pair = links_of_gamma(mu);
    return half_spinor_colour<typename Spinor::V>{{project_spin<mu, sign, 0>(psi(j), psi(3 * pair.lower[0] + j)),
                                                   project_spin<mu, sign, 1>(psi(3 + j), psi(3 * pair.lower[1] + j))}};
  }
}

/// Hops in time are in the sum without their factor 2. In fixed point that is in the scale of those hops, so that it
/// costs nothing either.
template <class V>
PLAQUETTE_INLINE complex_simd<V> doubled(no_scale, const complex_simd<V>& z) {
  return {V::broadcast(2) * z.re, V::broadcast(2) * z.im};
}
template <class V>
PLAQUETTE_INLINE complex_simd<V> doubled(const V& /*scale*/, const complex_simd<V>& z) {
  return z;
}

/// Adds (1 + sign gamma_mu) scale w to the sum, where w = U h has two spins. The hops in time come first: each begins
/// the half of the sum that it alone adds to. The first hop in space, forwards in x, makes up for their factor 2, in
/// multiply-adds where the others add.
template <int mu, bool forward, int sign, class V, class Scale>
PLAQUETTE_INLINE void add_half_spinor(block_spinor<V>& sum, const complex_simd<V> (&w)[2][3], const Scale& scale) {
  PLAQUETTE_UNROLL
  for (int i = 0; i < 3; ++i) {
    const auto w0 = scaled_by(scale, w[0][i]), w1 = scaled_by(scale, w[1][i]);
    if constexpr (mu == 3) {
      constexpr int first = 3 * spin_kept_in_time(sign);
      sum.c[first + i] = w0;
      sum.c[first + 3 + i] = w1;
    } else {
      const auto so_far = [&](int spin) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
        const auto& s = sum.c[3 * spin + i];
        return mu == 0 && forward ? doubled(scale, s) : s;
      };
      constexpr chiral_links pair = links_of_gamma(mu);
      sum.c[i] = so_far(0) + w0;
      sum.c[3 + i] = so_far(1) + w1;
      sum.c[3 * pair.lower[0] + i] = add_reconstructed<mu, sign, 0>(so_far(pair.lower[0]), w0);
      sum.c[3 * pair.lower[1] + i] = add_reconstructed<mu, sign, 1>(so_far(pair.lower[1]), w1);
    }
  }
}

/// w += column j of U (or of U^+) times colour j of the half-spinor h.
template <bool adjoint, class V, class Link>
PLAQUETTE_INLINE void add_colour(complex_simd<V> (&w)[2][3], const Link& link, int j, const complex_simd<V>& h0,
                                 const complex_simd<V>& h1) {
  PLAQUETTE_UNROLL
  for (int i = 0; i < 3; ++i) {
    const auto u = adjoint ? link(j, i) : link(i, j);
    if constexpr (adjoint) {
      w[0][i] = add_conjugate_product(w[0][i], u, h0);
      w[1][i] = add_conjugate_product(w[1][i], u, h1);
    } else {
      w[0][i] = add_product(w[0][i], u, h0);
      w[1][i] = add_product(w[1][i], u, h1);
    }
  }
}

/// One hop from a block of this rank: project, permute lanes, multiply, reconstruct. Forwards the half-spinor is
/// permuted before U(x) multiplies it; backwards U^+(x - mu) multiplies in the neighbour's lane order and the product
/// is permuted: links are never permuted. Colour by colour, so that 12 products and one colour of h are in registers.
/// Before colour j, `request(j)` may prefetch data for later blocks.
template <int mu, bool forward, int sign, int W, class V, class Spinor, class Link, class Request>
PLAQUETTE_INLINE void hop_inside(block_spinor<V>& sum, const Spinor& psi, const Link& link, int permutation,
                                 const typename V::lane* table, const Request& request) {
  complex_simd<V> w[2][3] = {};
  PLAQUETTE_UNROLL
  for (int j = 0; j < 3; ++j) {
    request(j);
    auto h = projected<mu, sign>(psi, j);
    if constexpr (forward)
      if (permutation != 0) {
        h.spin[0] = permuted(h.spin[0], table + permutation * W);
        h.spin[1] = permuted(h.spin[1], table + permutation * W);
      }
    add_colour<!forward>(w, link, j, h.spin[0], h.spin[1]);
  }
  if constexpr (!forward)
    if (permutation != 0) {
      PLAQUETTE_UNROLL
      for (int i = 0; i < 3; ++i) {
        w[0][i] = permuted(w[0][i], table + permutation * W);
        w[1][i] = permuted(w[1][i], table + permutation * W);
      }
    }
  auto scale = psi.scale();
  if (permutation != 0) scale = permuted(scale, table + permutation * W);
  add_half_spinor<mu, forward, sign>(sum, w, scale);
}

/// One hop from a slot of the halo: projected and in this block's lane order already, as is the link.
template <int mu, bool forward, int sign, class V, class Slot, class Link, class Request>
PLAQUETTE_INLINE void hop_from_slot(block_spinor<V>& sum, const Slot& half_spinor, const Link& link,
                                    const Request& request) {
  complex_simd<V> w[2][3] = {};
  PLAQUETTE_UNROLL
  for (int j = 0; j < 3; ++j) {
    request(j);
    add_colour<!forward>(w, link, j, half_spinor(j), half_spinor(3 + j));
  }
  add_half_spinor<mu, forward, sign>(sum, w, half_spinor.scale());
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
