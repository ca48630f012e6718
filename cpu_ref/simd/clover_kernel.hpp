// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The clover term on W sites: two Hermitian 6x6 blocks.
/// Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it).
#pragma once

#include "cpu_ref/simd/block_spinor.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

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

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
