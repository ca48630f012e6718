// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The inner loops, compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it). Read `hopping_block` first.
#pragma once

#include <utility>

#include "common/algebra/link_reconstruction.hpp"
#include "common/algebra/projector.hpp"
#include "cpu_ref/simd/kernels.hpp"
#include "cpu_ref/simd/simd.hpp"

#define PLAQUETTE_UNROLL _Pragma("GCC unroll 12")
#define PLAQUETTE_ALWAYS_INLINE_LAMBDA __attribute__((always_inline))

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// A Dirac spinor on W sites.
template <class V>
struct block_spinor {
  complex_simd<V> c[12];  // spin * 3 + colour
};

template <class T, int W>
using register_of = simd<real_of<T>, W>;

/// What a hop is multiplied by where it is multiplied by nothing.
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

// --- Numbers in memory -----------------------------------------------------------------------------------------------

/// Words of one column of a block of Dirac spinors, and of the upper or lower half of its numbers.
template <class T, int W>
inline constexpr int spinor_block_words = site_words<T>(12) * W;
template <class T, int W>
inline constexpr int spinor_half_words = 6 * storage<T>::words_of_complex * W;

/// Where the halves of a spinor lie as the kernels see it. In the basis of the fields gamma_5 exchanges them, and D^+ =
/// gamma_5 D gamma_5: a daggered hopping term is the hopping term with both exchanged wherever a spinor is read or
/// written. The clover term commutes with gamma_5.
template <class T, int W, class Word>
struct spinor_halves {
  Word *upper, *lower;

  /// \param exchange  words by which the halves are exchanged: 0, or spinor_half_words
  PLAQUETTE_INLINE spinor_halves(Word* data, std::int64_t exchange)
      : upper(data + exchange), lower(data + (spinor_half_words<T, W> - exchange)) {
    // Two registers with constant distances to them, not an address for each number.
    asm("" : "+r"(upper), "+r"(lower));
  }
  /// Where component k begins.
  PLAQUETTE_INLINE Word* at(int k) const { return (k < 6 ? upper : lower) + k % 6 * storage<T>::words_of_complex * W; }
};
template <class T, int W>
PLAQUETTE_INLINE std::int64_t exchange_of(bool exchanged) {
  return exchanged ? spinor_half_words<T, W> : 0;
}

/// Reads the complex numbers of W sites. `unscaled(k)` are integers in fixed point, and numbers are those times
/// `scale`.
template <class T, int W>
struct site_reader {
  using V = register_of<T, W>;
  const T* at;

  PLAQUETTE_INLINE site_reader(const T* data, int /*components*/) : at(data) {}
  PLAQUETTE_INLINE complex_simd<V> from(const T* component) const { return load_component<V, W>(component, 0); }
  PLAQUETTE_INLINE complex_simd<V> operator()(int k) const { return load_component<V, W>(at, k); }
};
template <int W>
struct site_reader<half, W> {
  using V = simd<float, W>;
  const std::uint32_t* at;
  V scale;

  PLAQUETTE_INLINE site_reader(const std::uint32_t* data, int components)
      : at(data),
        scale(data == nullptr
                  ? V{}
                  : V::load(reinterpret_cast<const float*>(data + components * W)) * V::broadcast(fixed_point_unit)) {}
  PLAQUETTE_INLINE complex_simd<V> from(const std::uint32_t* component) const {
    const auto integers = packed_simd<W>::load(component);
    return {integers.re * scale, integers.im * scale};
  }
  PLAQUETTE_INLINE complex_simd<V> operator()(int k) const { return from(at + k * W); }
};

/// Reads spinors for a hop. In fixed point they stay the integers that they are, and `scale` multiplies what a hop
/// adds.
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

/// Writes the complex numbers of W sites, component by component, then `finish`. Fixed point keeps them until then,
/// when the largest is known; `capacity` is how many it can keep.
template <class T, int W, int capacity>
struct site_writer {
  using V = register_of<T, W>;
  T* at;
  bool past_caches;

  PLAQUETTE_INLINE site_writer(T* data, bool stream) : at(data), past_caches(stream) {}
  PLAQUETTE_INLINE void put(int k, const complex_simd<V>& z) { put(k, z, at + 2 * k * W); }
  /// \param to  where component k begins
  PLAQUETTE_INLINE void put(int /*k*/, const complex_simd<V>& z, T* to) {
    if (past_caches) {
      z.re.stream(to);
      z.im.stream(to + W);
    } else {
      store_component<W>(to, 0, z);
    }
  }
  PLAQUETTE_INLINE void finish(int /*components*/) {}
  template <class PlaceOf>
  PLAQUETTE_INLINE void finish(int /*components*/, const PlaceOf& /*place_of*/) {}
};
template <int W, int capacity>
struct site_writer<half, W, capacity> {
  using V = simd<float, W>;
  std::uint32_t* at;
  bool past_caches;
  complex_simd<V> held[capacity];

  PLAQUETTE_INLINE site_writer(std::uint32_t* data, bool stream) : at(data), past_caches(stream) {}

  PLAQUETTE_INLINE void put(int k, const complex_simd<V>& z) { held[k] = z; }
  PLAQUETTE_INLINE void put(int k, const complex_simd<V>& z, std::uint32_t* /*to*/) { held[k] = z; }
  PLAQUETTE_INLINE void finish(int components) {
    finish(components, [&](int k) PLAQUETTE_ALWAYS_INLINE_LAMBDA { return at + k * W; });
  }
  /// \param place_of  where component k begins
  template <class PlaceOf>
  PLAQUETTE_INLINE void finish(int components, const PlaceOf& place_of) {
    typename packed_simd<W>::lanes bits = {};
    PLAQUETTE_UNROLL
    for (int k = 0; k < components; ++k)
      bits = packed_simd<W>::larger(packed_simd<W>::larger(bits, held[k].re), held[k].im);
    const V largest{(typename V::vector)bits};
    // Below `smallest_scale` the scale stays there, so that its inverse and its products are ordinary numbers.
    // (Compared so that NaN stays.) A site of zeros keeps the scale 0, as memory set to zero has it.
    const V least = V::broadcast(smallest_scale);
    const V floored{least.v > largest.v ? least.v : largest.v};
    const V scale{largest.v == V{}.v ? largest.v : floored.v};
    const V to_integers = V::broadcast(fixed_point_one) / floored;
    const auto write = [&](std::uint32_t* word, const auto& vector) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
      const V as_real{(typename V::vector)vector};
      float* const to = reinterpret_cast<float*>(word);
      if (past_caches)
        as_real.stream(to);
      else
        as_real.store(to);
    };
    PLAQUETTE_UNROLL
    for (int k = 0; k < components; ++k) write(place_of(k), packed_simd<W>::packed(held[k], to_integers));
    write(at + components * W, scale.v);
  }
};

/// Elements of a link as they are needed. Numbers of 16 bits stay the integers that they are: their unit is in
/// `hopping_arguments::scale`.
template <class T, int W, link_form form>
struct link_reader {  // whole, expanded
  using V = register_of<T, W>;
  const real_of<T>* at;

  template <class Pointer>
  PLAQUETTE_INLINE link_reader(Pointer data, const real_of<T>* /*factor*/) : at(data) {}
  PLAQUETTE_INLINE complex_simd<V> operator()(int row, int column) const {
    return load_component<V, W>(at, 3 * row + column);
  }
};
template <int W>
struct link_reader<half, W, link_form::whole> {
  using V = simd<float, W>;
  const std::uint32_t* at;

  PLAQUETTE_INLINE link_reader(const std::uint32_t* data, const float* /*factor*/) : at(data) {}
  PLAQUETTE_INLINE complex_simd<V> operator()(int row, int column) const {
    return packed_simd<W>::load(at + (3 * row + column) * W);
  }
};

/// Of the third row, from the other two by `element(row, column)`.
template <class V, int W, class Real, class Element>
PLAQUETTE_INLINE complex_simd<V> rebuilt_element(const Element& element, int column, const Real* factor) {
  const int j = (column + 1) % 3, k = (column + 2) % 3;
  const auto minor = conjugate_minor(element(0, j), element(1, k), element(0, k), element(1, j));
  return factor == nullptr ? minor : load_component<V, W>(factor, 0) * minor;
}

template <class T, int W>
struct link_reader<T, W, link_form::two_rows> {
  using V = register_of<T, W>;
  const T *at, *factor;

  PLAQUETTE_INLINE link_reader(const T* data, const T* third_row_factor) : at(data), factor(third_row_factor) {}
  PLAQUETTE_INLINE complex_simd<V> operator()(int row, int column) const {
    const auto stored = [this](int r, int c)
                            PLAQUETTE_ALWAYS_INLINE_LAMBDA { return load_component<V, W>(at, 3 * r + c); };
    return row < 2 ? stored(row, column) : rebuilt_element<V, W>(stored, column, factor);
  }
};
template <int W>
struct link_reader<half, W, link_form::two_rows> {
  using V = simd<float, W>;
  complex_simd<V> stored[2][3];
  const float* factor;

  PLAQUETTE_INLINE link_reader(const std::uint32_t* data, const float* third_row_factor) : factor(third_row_factor) {
    PLAQUETTE_UNROLL
    for (int k = 0; k < 6; ++k) stored[k / 3][k % 3] = packed_simd<W>::load(data + k * W);
  }
  PLAQUETTE_INLINE complex_simd<V> operator()(int row, int column) const {
    if (row < 2) return stored[row][column];
    const auto element = [this](int r, int c) PLAQUETTE_ALWAYS_INLINE_LAMBDA { return stored[r][c]; };
    const auto squared_unit = rebuilt_element<V, W>(element, column, factor);
    const V unit = V::broadcast(fixed_point_unit);
    return {squared_unit.re * unit, squared_unit.im * unit};
  }
};

/// A link of any stored form with all its elements.
template <int W, class T>
PLAQUETTE_INLINE void expand_link(real_of<T>* to, const word_of<T>* from, const real_of<T>* factor,
                                  reconstruct stored) {
  using V = register_of<T, W>;
  const auto copy_elements = [&](const auto& u) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
    PLAQUETTE_UNROLL
    for (int k = 0; k < 9; ++k) store_component<W>(to, k, u(k / 3, k % 3));
  };
  if (stored == reconstruct::none) {
    copy_elements(link_reader<T, W, link_form::whole>(from, factor));
  } else if (stored == reconstruct::twelve) {
    copy_elements(link_reader<T, W, link_form::two_rows>(from, factor));
  } else {
    V p[8];
    if constexpr (is_half<T>) {
      const V unit = V::broadcast(fixed_point_unit);
      PLAQUETTE_UNROLL
      for (int k = 0; k < 4; ++k) {
        const auto pair = packed_simd<W>::load(from + k * W);
        p[2 * k] = pair.re * unit;
        p[2 * k + 1] = pair.im * unit;
      }
    } else {
      PLAQUETTE_UNROLL
      for (int k = 0; k < 8; ++k) p[k] = V::load(from + k * W);
    }
    using real = real_of<T>;
    const complex_simd<V> phase{V::broadcast(static_cast<real>(frame_phase_cos)),
                                V::broadcast(static_cast<real>(frame_phase_sin))};
    complex_simd<V> u[3][3];
    matrix_of_parameters(u, p, phase, V::broadcast(1));
    const auto element = [&](int i, int j) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
      return factor == nullptr ? u[i][j] : load_component<V, W>(factor, 0) * u[i][j];
    };
    copy_elements(element);
  }
}

// --- The hopping term ------------------------------------------------------------------------------------------------

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

/// What the sum has of the hops in time waits for its factor 2. In fixed point that is in the scale of those hops, so
/// that it costs nothing either.
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
/// Before colour j, `ask(j)` may ask for what later blocks need.
template <int mu, bool forward, int sign, int W, class V, class Spinor, class Link, class Ask>
PLAQUETTE_INLINE void hop_inside(block_spinor<V>& sum, const Spinor& psi, const Link& link, int permutation,
                                 const typename V::lane* table, const Ask& ask) {
  complex_simd<V> w[2][3] = {};
  PLAQUETTE_UNROLL
  for (int j = 0; j < 3; ++j) {
    ask(j);
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
template <int mu, bool forward, int sign, class V, class Slot, class Link, class Ask>
PLAQUETTE_INLINE void hop_from_slot(block_spinor<V>& sum, const Slot& half_spinor, const Link& link, const Ask& ask) {
  complex_simd<V> w[2][3] = {};
  PLAQUETTE_UNROLL
  for (int j = 0; j < 3; ++j) {
    ask(j);
    add_colour<!forward>(w, link, j, half_spinor(j), half_spinor(3 + j));
  }
  add_half_spinor<mu, forward, sign>(sum, w, half_spinor.scale());
}

/// Elements of one chirality's block: `diagonal(i)` and, below it, `lower(i, j)`, to be multiplied by `scaled` at last.
template <class T, int W>
struct clover_reader {
  using V = register_of<T, W>;
  const T* at;

  PLAQUETTE_INLINE explicit clover_reader(const T* data) : at(data) {}
  PLAQUETTE_INLINE V diagonal(int i) const { return V::load(at + i * W); }
  PLAQUETTE_INLINE complex_simd<V> lower(int row, int column) const {
    const T* const element = at + (6 + row * (row - 1) + 2 * column) * W;
    return {V::load(element), V::load(element + W)};
  }
  PLAQUETTE_INLINE complex_simd<V> scaled(const complex_simd<V>& z) const { return z; }
};
template <int W>
struct clover_reader<half, W> {
  using V = simd<float, W>;
  const std::uint32_t* at;
  V scale;

  PLAQUETTE_INLINE explicit clover_reader(const std::uint32_t* data)
      : at(data), scale(V::load(reinterpret_cast<const float*>(data + 18 * W)) * V::broadcast(fixed_point_unit)) {}
  PLAQUETTE_INLINE V diagonal(int i) const {
    const auto pair = packed_simd<W>::load(at + i / 2 * W);
    return i % 2 == 0 ? pair.re : pair.im;
  }
  PLAQUETTE_INLINE complex_simd<V> lower(int row, int column) const {
    return packed_simd<W>::load(at + (3 + row * (row - 1) / 2 + column) * W);
  }
  PLAQUETTE_INLINE complex_simd<V> scaled(const complex_simd<V>& z) const { return {z.re * scale, z.im * scale}; }
};

/// out = A in for one chirality: a Hermitian 6x6 block.
template <class V, class Block>
PLAQUETTE_INLINE void clover_times(complex_simd<V>* out, const complex_simd<V>* in, const Block& block) {
  PLAQUETTE_UNROLL
  for (int i = 0; i < 6; ++i) {
    const V diagonal = block.diagonal(i);
    complex_simd<V> sum{diagonal * in[i].re, diagonal * in[i].im};
    PLAQUETTE_UNROLL
    for (int j = 0; j < 6; ++j) {
      if (j < i) sum = add_product(sum, block.lower(i, j), in[j]);
      if (j > i) sum = add_conjugate_product(sum, block.lower(j, i), in[j]);
    }
    out[i] = block.scaled(sum);
  }
}

/// From upper and lower half to sqrt 2 times the two chiralities, or back.
template <class V>
PLAQUETTE_INLINE block_spinor<V> sum_and_difference(const block_spinor<V>& in) {
  block_spinor<V> out;
  PLAQUETTE_UNROLL
  for (int k = 0; k < 6; ++k) {
    out.c[k] = in.c[k] + in.c[6 + k];
    out.c[6 + k] = in.c[k] - in.c[6 + k];
  }
  return out;
}

/// Turned to the chiral basis and back, by a factor of 2 too much, which the blocks lack.
template <class T, int W, class V>
PLAQUETTE_INLINE block_spinor<V> clover_times(const block_spinor<V>& in, const word_of<T>* clover) {
  const auto chiral = sum_and_difference(in);
  block_spinor<V> out;
  clover_times(out.c, chiral.c, clover_reader<T, W>(clover));
  clover_times(out.c + 6, chiral.c + 6, clover_reader<T, W>(clover + chiral_block_words<T> * W));
  return sum_and_difference(out);
}

template <class T, int W>
PLAQUETTE_INLINE auto load_spinor(const word_of<T>* p, bool exchanged = false) {
  block_spinor<register_of<T, W>> s;
  const site_reader<T, W> psi(p, 12);
  const spinor_halves<T, W, const word_of<T>> halves(p, exchange_of<T, W>(exchanged));
  PLAQUETTE_UNROLL
  for (int k = 0; k < 12; ++k) s.c[k] = psi.from(halves.at(k));
  return s;
}
/// Column c of block b of a field of the arguments, as the kernel sees it.
template <class T, int W>
PLAQUETTE_INLINE auto load_spinor(const hopping_arguments<T>& arg, const field_pointer<const word_of<T>>& from,
                                  std::int64_t b, int c) {
  return load_spinor<T, W>(from.data + (b * from.column_stride + c) * spinor_block_words<T, W>, arg.exchanged);
}

/// Sums of one column: doubles in W lanes.
template <class V>
struct column_sums {
  typename V::wide s[most_sums] = {};

  PLAQUETTE_INLINE void add_dot(const complex_simd<V>& a, const complex_simd<V>& b) {
    const auto ar = a.re.widened(), ai = a.im.widened(), br = b.re.widened(), bi = b.im.widened();
    s[0] += ar * br + ai * bi;
    s[1] += ar * bi - ai * br;
  }
  PLAQUETTE_INLINE void add_norm2(int which, const complex_simd<V>& a) {
    const auto re = a.re.widened(), im = a.im.widened();
    s[which] += re * re + im * im;
  }
};

/// h = scale D psi; nearly always scale is one, and it spares 24 of some 820 instructions.
template <class V, class Real>
PLAQUETTE_INLINE block_spinor<V> scaled(const block_spinor<V>& h, Real scale) {
  if (scale == 1) return h;
  block_spinor<V> r;
  PLAQUETTE_UNROLL
  for (int k = 0; k < 12; ++k) r.c[k] = {V::broadcast(scale) * h.c[k].re, V::broadcast(scale) * h.c[k].im};
  return r;
}

/// a x + scale h, where x is column c of block b.
template <class T, int W, class V>
PLAQUETTE_INLINE block_spinor<V> added_to_x(const hopping_arguments<T>& arg, const block_spinor<V>& h, std::int64_t b,
                                            int c) {
  const V scale = V::broadcast(arg.scale), a = V::broadcast(arg.a);
  const block_spinor<V> x = load_spinor<T, W>(arg, arg.x, b, c);
  block_spinor<V> r;
  PLAQUETTE_UNROLL
  for (int k = 0; k < 12; ++k) r.c[k] = {a * x.c[k].re + scale * h.c[k].re, a * x.c[k].im + scale * h.c[k].im};
  return r;
}

/// The epilogues with the clover term, of h = D psi. A function of its own: beside its own multiply-adds the way of h
/// through memory is nothing, and it would stand in every kernel again.
template <class T, int W, class V>
__attribute__((noinline)) void finish_with_clover(const hopping_arguments<T>& arg, block_spinor<V>& h, std::int64_t b,
                                                  int c) {
  const bool of_x = arg.finish == epilogue::clover_x_add;
  const auto product = clover_times<T, W>(of_x ? load_spinor<T, W>(arg, arg.x, b, c) : h,
                                          arg.clover + b * 2 * chiral_block_words<T> * W);
  if (of_x) {
    const V scale = V::broadcast(arg.scale);
    PLAQUETTE_UNROLL
    for (int k = 0; k < 12; ++k) h.c[k] = {product.c[k].re + scale * h.c[k].re, product.c[k].im + scale * h.c[k].im};
  } else if (arg.finish == epilogue::add_clover) {
    h = added_to_x<T, W>(arg, product, b, c);
  } else {
    h = scaled(product, arg.scale);
  }
}

/// gamma_5 (a x + scale h) + d x + b u + c w, where gamma_5 exchanges the halves. A function of its own for the same
/// reason.
template <class T, int W, class V>
__attribute__((noinline)) void finish_hermitian(const hopping_arguments<T>& arg, block_spinor<V>& h, std::int64_t b,
                                                int c) {
  const V scale = V::broadcast(arg.scale), a = V::broadcast(arg.a), d = V::broadcast(arg.d);
  const block_spinor<V> x = load_spinor<T, W>(arg, arg.x, b, c);
  block_spinor<V> r;
  PLAQUETTE_UNROLL
  for (int k = 0; k < 12; ++k) {
    const auto &of_h = h.c[(k + 6) % 12], &of_x = x.c[(k + 6) % 12];
    r.c[k] = {scale * of_h.re + a * of_x.re + d * x.c[k].re, scale * of_h.im + a * of_x.im + d * x.c[k].im};
  }
  const auto add = [&](const field_pointer<const word_of<T>>& from, real_of<T> factor) {
    if (from.data == nullptr) return;
    const V f = V::broadcast(factor);
    const auto u = load_spinor<T, W>(from.data + (b * from.column_stride + c) * spinor_block_words<T, W>);
    PLAQUETTE_UNROLL
    for (int k = 0; k < 12; ++k) r.c[k] = {r.c[k].re + f * u.c[k].re, r.c[k].im + f * u.c[k].im};
  };
  add(arg.u, arg.b);
  add(arg.w, arg.c);
  h = r;
}

/// What the epilogue makes of D psi.
template <class T, int W, class V>
PLAQUETTE_INLINE block_spinor<V> finished(const hopping_arguments<T>& arg, const block_spinor<V>& sum, std::int64_t b,
                                          int c) {
  if (arg.finish == epilogue::store && !arg.hermitian) return scaled(sum, arg.scale);
  if (arg.finish == epilogue::add) return added_to_x<T, W>(arg, sum, b, c);
  block_spinor<V> in_memory = sum;
  if (arg.hermitian)
    finish_hermitian<T, W>(arg, in_memory, b, c);
  else
    finish_with_clover<T, W>(arg, in_memory, b, c);
  return in_memory;
}

/// Adds the part of one column of a block to <out, w> and |out|^2.
template <class T, int W, class V>
__attribute__((noinline)) void add_sums(const hopping_arguments<T>& arg, const block_spinor<V>& r, std::int64_t b,
                                        int c) {
  const block_spinor<V> w = load_spinor<T, W>(arg, arg.w, b, c);
  column_sums<V> sums;
  PLAQUETTE_UNROLL
  for (int k = 0; k < 12; ++k) {
    sums.add_dot(r.c[k], w.c[k]);
    sums.add_norm2(2, r.c[k]);
  }
  double* const total = arg.lane_sums + static_cast<std::int64_t>(c) * most_sums * W;
  for (int i = 0; i < most_sums; ++i)
    for (int lane = 0; lane < W; ++lane) total[i * W + lane] += sums.s[i][lane];
}

/// Stores the result of one column of a block and, where asked for, adds its part to the sums.
template <class T, int W, class V>
PLAQUETTE_INLINE void store_block(const hopping_arguments<T>& arg, const block_spinor<V>& r, std::int64_t b, int c) {
  word_of<T>* const to = arg.out.data + (b * arg.out.column_stride + c) * spinor_block_words<T, W>;
  site_writer<T, W, 12> out(to, arg.stream);
  const spinor_halves<T, W, word_of<T>> halves(to, exchange_of<T, W>(arg.exchanged));
  const auto place_of = [&](int k) PLAQUETTE_ALWAYS_INLINE_LAMBDA { return halves.at(k); };
  PLAQUETTE_UNROLL
  for (int k = 0; k < 12; ++k) out.put(k, r.c[k], place_of(k));
  out.finish(12, place_of);
  if (arg.lane_sums == nullptr) return;
  const block_spinor<V> in_memory = r;
  add_sums<T, W>(arg, in_memory, b, c);
}

/// Where the links of a block's 8 hops lie.
template <class T, int W>
struct links_of_block {
  const hopping_arguments<T>& arg;
  const std::int32_t* neighbour;
  std::int64_t block;
  int words;  ///< a lane of a link

  struct link {
    const word_of<T>* data;
    const real_of<T>* factor;
  };
  /// The factor of link number `index`: null where it is one.
  PLAQUETTE_INLINE const real_of<T>* factor_of(const std::uint8_t* factors, std::int64_t index) const {
    return factors == nullptr || factors[index] == 0 ? nullptr : arg.link_factors + factors[index] * 2 * W;
  }
  PLAQUETTE_INLINE link of_slot(std::int64_t slot) const {
    return {arg.slot_links.data + slot * words * W, factor_of(arg.slot_links.factors, slot)};
  }
  /// Of hop d, 2 mu or 2 mu + 1, to a block of this rank or, forwards, to a slot.
  PLAQUETTE_INLINE link of_hop(int d) const {
    const link_pointer<T>& from = d % 2 == 0 ? arg.links_here : arg.links_there;
    const std::int64_t index = d / 2 * arg.blocks + (d % 2 == 0 ? block : neighbour[d]);
    return {from.data + index * words * W, factor_of(from.factors, index)};
  }
  /// Of hop d wherever it goes; backwards to a slot it is a copy of the neighbour's.
  /// \tparam far  whether neighbours may be slots
  template <bool far>
  PLAQUETTE_INLINE link of(int d) const {
    return far && d % 2 == 1 && neighbour[d] < 0 ? of_slot(-1 - neighbour[d]) : of_hop(d);
  }
};

/// All links of a block, [8][9][re, im][W]. A function of its own: it is called once for many columns, and would crowd
/// the kernels that do not call it.
template <bool far, class T, int W>
__attribute__((noinline)) void expand_links(const links_of_block<T, W>& links, real_of<T>* to) {
  for (int d = 0; d < hop_directions; ++d) {
    const auto link = links.template of<far>(d);
    expand_link<W, T>(to + d * 18 * W, link.data, link.factor, links.arg.stored);
  }
}

/// Where what is asked for is brought: into the second-level cache, or into the first, to be read or to be written.
enum class bring { near, nearer, to_be_written };

/// Asks for part `part` of `parts` of `words` words.
template <bring to = bring::near, class Word>
PLAQUETTE_INLINE void prefetch(const Word* from, int words, int part = 0, int parts = 1) {
  const int lines = words * static_cast<int>(sizeof(Word)) / 64;
  for (int line = lines * part / parts; line < lines * (part + 1) / parts; ++line)
    __builtin_prefetch(reinterpret_cast<const char*>(from) + 64 * line, to == bring::to_be_written ? 1 : 0,
                       to == bring::near ? 2 : 3);
}

/// The same of all that a hop needs of a neighbour: in time one half, and in fixed point the scales behind both.
template <class T, int W>
PLAQUETTE_INLINE void prefetch_spinor(const word_of<T>* from, int direction, std::int64_t exchange) {
  if (direction / 2 < 3) {
    prefetch(from, spinor_block_words<T, W>);
  } else {
    const spinor_halves<T, W, const word_of<T>> halves(from, exchange);
    prefetch(halves.at(colours * spin_kept_in_time(sign_of_hop(direction))), spinor_half_words<T, W>);
    prefetch(from + 2 * spinor_half_words<T, W>, storage<T>::words_of_scale * W);
  }
}

/// D psi on one block, all columns: sum over mu of (1 - gamma_mu) U_mu(x) psi(x + mu) + (1 + gamma_mu) U_mu^+(x - mu)
/// psi(x - mu); D^+ by `spinor_halves`. The links stay in the first-level cache from column to column.
/// \tparam far  reads slots of the halo, and asks ahead for what is far away; without, the loop has nothing of it.
template <link_form form, bool far, int W, class T>
PLAQUETTE_INLINE void hopping_block(const hopping_arguments<T>& arg, std::int64_t b) {
  using real = real_of<T>;
  using V = register_of<T, W>;
  const std::int64_t exchange = exchange_of<T, W>(arg.exchanged);
  // Numbers of ordinary precision have one code for both: an expanded link is a whole one.
  const bool expand = form == link_form::expanded || (form == link_form::whole && !is_half<T> && arg.expand);
  const std::int32_t* const neighbour = arg.neighbours + b * hop_directions;
  const std::uint8_t* const permutation = arg.permutations + b * hop_directions;
  const links_of_block<T, W> links{arg, neighbour, b,
                                   form == link_form::two_rows ? link_words<T>(12)
                                   : expand                    ? link_words<T>(static_cast<int>(arg.stored))
                                                               : link_words<T>(18)};
  if (far && arg.prefetch_links.nearer)
    for (int d = 0; d < hop_directions; ++d) prefetch<bring::nearer>(links.template of<far>(d).data, links.words * W);
  alignas(64) real expanded[hop_directions * 18 * W];
  if (expand) expand_links<far>(links, expanded);

  typename links_of_block<T, W>::link link_of[hop_directions];
  for (int d = 0; d < hop_directions; ++d) {
    if constexpr (form == link_form::whole && !is_half<T>)
      if (expand) {
        link_of[d] = {expanded + d * 18 * W, nullptr};
        continue;
      }
    if constexpr (form != link_form::expanded) link_of[d] = links.template of<far>(d);
  }

  // What the next block or the one after it needs of links, and that one of neighbours that no block has touched of
  // late, is asked for soon enough to arrive, and a few lines at a time: more at once would fill the queue of
  // outstanding misses, in which loads from the second-level cache wait too.
  const bool ask_for_links = far && arg.prefetch_links.blocks_ahead > 0;
  const auto ahead_of_this = [&](std::int64_t blocks) { return b + blocks < arg.blocks ? b + blocks : b; };
  const std::int64_t coming_block = ahead_of_this(arg.prefetch_links.blocks_ahead), later = ahead_of_this(2);
  const links_of_block<T, W> coming_links{arg, arg.neighbours + coming_block * hop_directions, coming_block,
                                          links.words};
  const word_of<T>* const coming_clover =
      ask_for_links && arg.clover != nullptr ? arg.clover + coming_block * 2 * chiral_block_words<T> * W : nullptr;
  const std::int32_t *first_new = nullptr, *last_new = nullptr;
  if (far && arg.prefetch) {
    first_new = arg.newly_needed + arg.newly_needed_from[later];
    last_new = arg.newly_needed + arg.newly_needed_from[later + 1];
  }

  for (int c = 0; c < arg.columns; ++c) {
    if (far && arg.prefetch_columns && c + 1 < arg.columns)
      for (int d = 0; d < hop_directions; ++d)
        if (neighbour[d] >= 0)
          prefetch_spinor<T, W>(arg.in.data + (neighbour[d] * arg.in.column_stride + c + 1) * spinor_block_words<T, W>,
                                d, exchange);
    const auto of_coming_block = [&](const field_pointer<const word_of<T>>& field) {
      return ask_for_links && field.data != nullptr
                 ? field.data + (coming_block * field.column_stride + c) * spinor_block_words<T, W>
                 : nullptr;
    };
    const word_of<T>*const coming_x = of_coming_block(arg.x), *const coming_w = of_coming_block(arg.w);
    // Where the result goes is asked for while it is made: its stores would wait for their lines one behind the other,
    // and what the next block puts aside behind them.
    const word_of<T>* const result = far && arg.prefetch && !arg.stream
                                         ? arg.out.data + (b * arg.out.column_stride + c) * spinor_block_words<T, W>
                                         : nullptr;
    block_spinor<V> sum;
    const auto hop = [&]<int mu, bool forward>() PLAQUETTE_ALWAYS_INLINE_LAMBDA {
      constexpr int d = 2 * mu + (forward ? 0 : 1);
      constexpr int sign = sign_of_hop(d);
      const std::int64_t n = neighbour[d];
      const word_of<T>* const coming_link = ask_for_links && c == 0 ? coming_links.template of<far>(d).data : nullptr;
      const auto ask = [&]([[maybe_unused]] int j) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
        if constexpr (far) {
          constexpr int parts = 3 * hop_directions;
          const int part = 3 * d + j;
          if (result != nullptr) prefetch<bring::to_be_written>(result, spinor_block_words<T, W>, part, parts);
          if (coming_link != nullptr && arg.prefetch_links.into_first)
            prefetch<bring::nearer>(coming_link, links.words * W, j, 3);
          else if (coming_link != nullptr)
            prefetch(coming_link, links.words * W, j, 3);
          for (const std::int32_t* i = first_new; i != last_new; ++i)
            prefetch(arg.in.data + (*i * arg.in.column_stride + c) * spinor_block_words<T, W>, spinor_block_words<T, W>,
                     part, parts);
          if (coming_clover != nullptr && c == 0) prefetch(coming_clover, 2 * chiral_block_words<T> * W, part, parts);
          if (coming_x != nullptr) prefetch(coming_x, spinor_block_words<T, W>, part, parts);
          if (coming_w != nullptr) prefetch(coming_w, spinor_block_words<T, W>, part, parts);
        }
      };
      const auto multiply = [&](const auto& link) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
        if (far && n < 0)
          hop_from_slot<mu, forward, sign>(
              sum, slot_reader<T, W>{arg.slots + ((-1 - n) * arg.columns + c) * slot_reals<T> * W}, link, ask);
        else
          hop_inside<mu, forward, sign, W>(
              sum,
              hop_reader<T, W>(arg.in.data + (n * arg.in.column_stride + c) * spinor_block_words<T, W>, exchange,
                               arg.hop_scale[mu]),
              link, permutation[d], arg.permutation_table, ask);
      };
      if constexpr (form == link_form::expanded)
        multiply(link_reader<T, W, form>(expanded + d * 18 * W, nullptr));
      else
        multiply(link_reader<T, W, form>(link_of[d].data, link_of[d].factor));
    };
    hop.template operator()<3, true>();
    hop.template operator()<3, false>();
    hop.template operator()<0, true>();
    hop.template operator()<0, false>();
    hop.template operator()<1, true>();
    hop.template operator()<1, false>();
    hop.template operator()<2, true>();
    hop.template operator()<2, false>();
    store_block<T, W>(arg, finished<T, W>(arg, sum, b, c), b, c);
  }
}

template <link_form form, bool far, int W, class T>
void hopping_kernel(const hopping_arguments<T>& arg, const std::int32_t* list, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i) hopping_block<form, far, W>(arg, list != nullptr ? list[i] : i);
}

template <int W, class T>
void clover_kernel(const clover_arguments<T>& arg, std::int64_t first, std::int64_t count) {
  for (std::int64_t b = first; b < first + count; ++b)
    for (int c = 0; c < arg.columns; ++c) {
      const auto in = load_spinor<T, W>(arg.in.data + (b * arg.in.column_stride + c) * spinor_block_words<T, W>);
      const auto out = clover_times<T, W>(in, arg.clover + b * 2 * chiral_block_words<T> * W);
      site_writer<T, W, 12> to(arg.out.data + (b * arg.out.column_stride + c) * spinor_block_words<T, W>, false);
      PLAQUETTE_UNROLL
      for (int k = 0; k < 12; ++k) to.put(k, out.c[k]);
      to.finish(12);
    }
}

// --- Vector operations -----------------------------------------------------------------------------------------------

/// One operation on one complex component.
template <vector_operation op, class V, class Reader, class Writer>
PLAQUETTE_INLINE void operate_on_component(column_sums<V>& sums, const Reader& x, const Reader& y, const Reader& u,
                                           const Reader& v, const Reader& w, Writer& to_x, Writer& to_y,
                                           const complex_simd<V>& a, const complex_simd<V>& b, int k) {
  constexpr operation_traits traits = traits_of(op);
  operands_of_number<complex_simd<V>> n;
  if constexpr (traits.reads_x) n.x = x(k);
  if constexpr (traits.uses_y) n.y = y(k);
  if constexpr (traits.reads_u) n.u = u(k);
  if constexpr (traits.reads_v) n.v = v(k);
  operate<op>(n, a, b);
  if constexpr (traits.writes_x) to_x.put(k, n.x);
  if constexpr (traits.uses_y) to_y.put(k, n.y);
  if constexpr (traits.has_dot()) {
    const auto left = [&] {
      if constexpr (traits.reads_w())
        return w(k);
      else
        return n.u;
    }();
    sums.add_dot(left, traits.dot_right == operand::x ? n.x : n.v);
  }
  if constexpr (traits.has_norm())
    sums.add_norm2(traits.has_dot() ? 2 : 0, traits.norm_of == operand::x   ? n.x
                                             : traits.norm_of == operand::y ? n.y
                                                                            : n.u);
}

/// Columns whose sums are kept at a time: few enough to stay in the first-level cache.
inline constexpr int columns_of_a_pass = 16;

/// An operation on a range of blocks. Numbers are walked in the order in which they lie in memory: block by block, all
/// columns of a block. The sums of a column are added in a fixed order: block by block in each lane, then lane by lane.
template <vector_operation op, int W, class T>
void operate_kernel(const operation_arguments<T>& arg, std::int64_t first, std::int64_t count) {
  using real = real_of<T>;
  using V = register_of<T, W>;
  const std::int64_t words =
      static_cast<std::int64_t>(arg.components * storage<T>::words_of_complex + storage<T>::words_of_scale) * W;
  const auto at = [&](const auto& field, std::int64_t b, int c) {
    return field.data == nullptr ? nullptr : field.data + (b * field.column_stride + c) * words;
  };
  const auto coefficient = [](const real* numbers, int c) {
    return numbers == nullptr ? complex_simd<V>{}
                              : complex_simd<V>{V::broadcast(numbers[2 * c]), V::broadcast(numbers[2 * c + 1])};
  };
  using reader = site_reader<T, W>;
  using writer = site_writer<T, W, most_fixed_point_components>;
  for (int begin = 0; begin < arg.columns; begin += columns_of_a_pass) {
    const int end = begin + columns_of_a_pass < arg.columns ? begin + columns_of_a_pass : arg.columns;
    column_sums<V> pass[columns_of_a_pass];
    for (std::int64_t block = first; block < first + count; ++block)
      for (int c = begin; c < end; ++c) {
        const auto a = coefficient(arg.a, c), b = coefficient(arg.b, c);
        column_sums<V> sums = pass[c - begin];
        // Pointers that an operation does not use are null and never read.
        const reader x(at(arg.x, block, c), arg.components), y(at(arg.y, block, c), arg.components),
            u(at(arg.u, block, c), arg.components), v(at(arg.v, block, c), arg.components),
            w(at(arg.w, block, c), arg.components);
        writer to_x(at(arg.x, block, c), false), to_y(at(arg.y, block, c), false);
        if constexpr (op == vector_operation::bicgstab_step) {
          // One after the other, while the block is in the first-level cache: each reads what the one before has
          // stored.
          const reader z(at(arg.z, block, c), arg.components);
          writer to_z(at(arg.z, block, c), false);
          const complex_simd<V> minus_b{-b.re, -b.im};
          for (int k = 0; k < arg.components; ++k)
            operate_on_component<vector_operation::axpy_pair>(sums, x, y, z, y, w, to_x, to_y, a, b, k);
          to_x.finish(arg.components);
          for (int k = 0; k < arg.components; ++k)
            operate_on_component<vector_operation::axpy_norm2>(sums, y, y, u, v, w, to_y, to_y, minus_b, b, k);
          to_y.finish(arg.components);
          const reader stored_y(at(arg.y, block, c), arg.components);
          for (int k = 0; k < arg.components; ++k)
            operate_on_component<vector_operation::bicgstab_direction>(sums, z, y, stored_y, v, w, to_z, to_y,
                                                                       coefficient(arg.c, c), b, k);
          to_z.finish(arg.components);
        } else {
          for (int k = 0; k < arg.components; ++k) operate_on_component<op>(sums, x, y, u, v, w, to_x, to_y, a, b, k);
          if constexpr (traits_of(op).writes_x) to_x.finish(arg.components);
          if constexpr (traits_of(op).uses_y) to_y.finish(arg.components);
        }
        pass[c - begin] = sums;
      }
    if constexpr (traits_of(op).sums() > 0)
      for (int c = begin; c < end; ++c)
        for (int i = 0; i < most_sums; ++i) {
          double total = 0.0;
          for (int lane = 0; lane < W; ++lane) total += pass[c - begin].s[i][lane];
          arg.sums[c * most_sums + i] = total;
        }
  }
}

// --- Products of a basis ---------------------------------------------------------------------------------------------

/// Columns of V^+ W and of target that a kernel makes side by side, and how many numbers of a site: as many sums as
/// there are registers for.
#ifdef __AVX512F__
inline constexpr int tile_columns = 2, combined_columns = 4, combined_numbers = 2;
#else
inline constexpr int tile_columns = 1, combined_columns = 2, combined_numbers = 1;
#endif

/// sums += V^+ W for `rows` rows and `columns` columns over some blocks, which add up lane by lane first.
template <int rows, int columns, int W, class T>
PLAQUETTE_INLINE void products_of_tile(const basis_arguments<T>& arg, int row, int column, std::int64_t first,
                                       std::int64_t count) {
  using V = simd<T, W>;
  const std::int64_t of_column = std::int64_t{2} * arg.components * W;
  V re[rows][columns], im[rows][columns];
  PLAQUETTE_UNROLL
  for (int i = 0; i < rows; ++i) {
    PLAQUETTE_UNROLL
    for (int j = 0; j < columns; ++j) re[i][j] = im[i][j] = V::broadcast(0);
  }
  for (std::int64_t b = first; b < first + count; ++b) {
    const T* v = arg.v + b * arg.v_stride + row * of_column;
    const T* w = arg.w + b * arg.w_stride + column * of_column;
    for (int k = 0; k < arg.components; ++k, v += 2 * W, w += 2 * W) {
      complex_simd<V> y[columns];
      PLAQUETTE_UNROLL
      for (int j = 0; j < columns; ++j) y[j] = load_component<V, W>(w + j * of_column, 0);
      PLAQUETTE_UNROLL
      for (int i = 0; i < rows; ++i) {
        const auto x = load_component<V, W>(v + i * of_column, 0);
        PLAQUETTE_UNROLL
        for (int j = 0; j < columns; ++j) {
          re[i][j] = re[i][j] + x.re * y[j].re + x.im * y[j].im;
          im[i][j] = im[i][j] + x.re * y[j].im - x.im * y[j].re;
        }
      }
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      double* const sum = arg.sums + 2 * (static_cast<std::int64_t>(column + j) * arg.rows + row + i);
      const auto wide_re = re[i][j].widened(), wide_im = im[i][j].widened();
      double of_lanes[2] = {0.0, 0.0};
      for (int lane = 0; lane < W; ++lane) {
        of_lanes[0] += wide_re[lane];
        of_lanes[1] += wide_im[lane];
      }
      sum[0] += of_lanes[0];
      sum[1] += of_lanes[1];
    }
}

/// A few blocks at a time, which stay in the second-level cache while all pairs of columns go over them.
template <int W, class T>
void products_kernel(const basis_arguments<T>& arg, int first_row, int rows, std::int64_t first, std::int64_t count) {
  constexpr std::int64_t few = 8;
  const int last_row = first_row + rows, whole_rows = first_row + rows / basis_tile_rows * basis_tile_rows;
  for (std::int64_t b = first; b < first + count; b += few) {
    const std::int64_t blocks = b + few < first + count ? few : first + count - b;
    int j = 0;
    for (; j + tile_columns <= arg.columns; j += tile_columns) {
      for (int i = first_row; i < whole_rows; i += basis_tile_rows)
        products_of_tile<basis_tile_rows, tile_columns, W>(arg, i, j, b, blocks);
      for (int i = whole_rows; i < last_row; ++i) products_of_tile<1, tile_columns, W>(arg, i, j, b, blocks);
    }
    for (; tile_columns > 1 && j < arg.columns; ++j) {
      for (int i = first_row; i < whole_rows; i += basis_tile_rows)
        products_of_tile<basis_tile_rows, 1, W>(arg, i, j, b, blocks);
      for (int i = whole_rows; i < last_row; ++i) products_of_tile<1, 1, W>(arg, i, j, b, blocks);
    }
  }
}

/// target (+)= V C for `columns` columns and `numbers` numbers of a site of one block.
template <int columns, int numbers, int W, class T>
PLAQUETTE_INLINE void combine_tile(const basis_arguments<T>& arg, std::int64_t block, int column, int number) {
  using V = simd<T, W>;
  const std::int64_t of_column = std::int64_t{2} * arg.components * W;
  const T* v = arg.v + block * arg.v_stride + 2 * number * W;
  T* const target = arg.target + block * arg.w_stride + column * of_column + 2 * number * W;
  complex_simd<V> sum[columns][numbers];
  PLAQUETTE_UNROLL
  for (int j = 0; j < columns; ++j) {
    PLAQUETTE_UNROLL
    for (int k = 0; k < numbers; ++k)
      sum[j][k] =
          arg.add ? load_component<V, W>(target + j * of_column, k) : complex_simd<V>{V::broadcast(0), V::broadcast(0)};
  }
  const T* const c = arg.matrix + 2 * static_cast<std::int64_t>(column) * arg.rows;
  for (int i = 0; i < arg.rows; ++i, v += of_column) {
    complex_simd<V> x[numbers];
    PLAQUETTE_UNROLL
    for (int k = 0; k < numbers; ++k) x[k] = load_component<V, W>(v, k);
    PLAQUETTE_UNROLL
    for (int j = 0; j < columns; ++j) {
      const T* const z = c + 2 * (static_cast<std::int64_t>(j) * arg.rows + i);
      const complex_simd<V> factor{V::broadcast(z[0]), V::broadcast(z[1])};
      PLAQUETTE_UNROLL
      for (int k = 0; k < numbers; ++k) sum[j][k] = add_product(sum[j][k], factor, x[k]);
    }
  }
  PLAQUETTE_UNROLL
  for (int j = 0; j < columns; ++j) {
    PLAQUETTE_UNROLL
    for (int k = 0; k < numbers; ++k) store_component<W>(target + j * of_column, k, sum[j][k]);
  }
}

template <int W, class T>
void combine_kernel(const basis_arguments<T>& arg, std::int64_t first, std::int64_t count) {
  const auto all_numbers = [&]<int columns>(std::int64_t b, int j) {
    int k = 0;
    for (; k + combined_numbers <= arg.components; k += combined_numbers)
      combine_tile<columns, combined_numbers, W>(arg, b, j, k);
    for (; combined_numbers > 1 && k < arg.components; ++k) combine_tile<columns, 1, W>(arg, b, j, k);
  };
  for (std::int64_t b = first; b < first + count; ++b) {
    int j = 0;
    for (; j + combined_columns <= arg.columns; j += combined_columns)
      all_numbers.template operator()<combined_columns>(b, j);
    for (; j < arg.columns; ++j) all_numbers.template operator()<1>(b, j);
  }
}

template <int W, class T>
T multiply_add_kernel(std::int64_t iterations) {
  using V = simd<T, W>;
  V chain[fma_chains];
  for (int k = 0; k < fma_chains; ++k) chain[k] = V::broadcast(static_cast<T>(k));
  const V factor = V::broadcast(static_cast<T>(0.5)), term = V::broadcast(static_cast<T>(0.25));
  for (std::int64_t i = 0; i < iterations; ++i) {
    PLAQUETTE_UNROLL
    for (int k = 0; k < fma_chains; ++k) chain[k] = chain[k] * factor + term;
  }
  T sum = 0;
  for (const V& v : chain)
    for (int lane = 0; lane < W; ++lane) sum += v.v[lane];
  return sum;
}

template <int W, class T>
void copy_kernel(T* to, const T* from, std::int64_t count, bool stream) {
  using V = simd<T, W>;
  if (stream)
    for (std::int64_t i = 0; i < count; i += W) V::load(from + i).stream(to + i);
  else
    for (std::int64_t i = 0; i < count; i += W) V::load(from + i).store(to + i);
}

template <class T, int W>
kernel_table<T> make_table() {
  kernel_table<T> table;
  table.width = W;
  const auto fill_hops = [&]<link_form form>() {
    auto& hop = table.hop[static_cast<int>(form)];
    hop[0] = hopping_kernel<form, false, W, T>;
    hop[1] = hopping_kernel<form, true, W, T>;
  };
  fill_hops.template operator()<link_form::whole>();
  fill_hops.template operator()<link_form::two_rows>();
  // Where numbers have their ordinary type, a copy is read by the code for whole links.
  fill_hops.template operator()<is_half<T> ? link_form::expanded : link_form::whole>();
  if (!is_half<T>)
    for (int far = 0; far < 2; ++far)
      table.hop[static_cast<int>(link_form::expanded)][far] = table.hop[static_cast<int>(link_form::whole)][far];
  table.clover = clover_kernel<W, T>;
  if constexpr (!is_half<T>) {
    table.products = products_kernel<W, T>;
    table.combine = combine_kernel<W, T>;
  }
  table.multiply_add = multiply_add_kernel<W, real_of<T>>;
  table.copy = copy_kernel<W, real_of<T>>;
  const auto fill = [&]<int... op>(std::integer_sequence<int, op...>) {
    ((table.operate[op] = operate_kernel<static_cast<vector_operation>(op), W, T>), ...);
  };
  fill(std::make_integer_sequence<int, vector_operations>{});
  return table;
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
