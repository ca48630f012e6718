// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The last operations on D psi before it is stored. Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names
/// it).
#pragma once

#include "cpu_ref/simd/clover_kernel.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// Column c of block b of a field of the arguments, as the kernel sees it.
template <class T, int W>
PLAQUETTE_INLINE auto load_spinor(const hopping_arguments<T>& arg, const field_pointer<const word_of<T>>& from,
                                  std::int64_t b, int c) {
  return load_spinor<T, W>(from.data + (b * from.column_stride + c) * spinor_block_words<T, W>, arg.exchanged);
}

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

/// The epilogues with the clover term, of h = D psi. A function of its own: compared to its own multiply-adds the way
/// of h through memory is nothing, and it would stand in every kernel again.
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

/// Returns the result of the epilogue from D psi.
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

/// Stores the result of one column of a block and, if requested, adds its part to the sums.
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

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
