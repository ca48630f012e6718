// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Compiled once an instruction set. A tile of the result, some vectors of W numbers k by some columns c, stays in
/// registers while all rows of all matrices go by. A row is loaded once for the columns of the tile.
#pragma once

#include <algorithm>

#include "cpu_ref/coarse/coarse_kernels.hpp"
#include "cpu_ref/simd/simd.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// Sums of KV vectors by C columns.
template <class T, int W, bool Conjugate, int KV, int C>
PLAQUETTE_INLINE void row_tile(const row_products<T>& p, int k0, int c0) {
  using V = simd<T, W>;
  const std::int64_t padded = padded_row(p.length);
  V re[KV][C], im[KV][C];
  for (int v = 0; v < KV; ++v)
    for (int c = 0; c < C; ++c) re[v][c] = im[v][c] = V::broadcast(0);
  for (int m = 0; m < p.products; ++m) {
    const T* row = p.matrix[m] + k0;
    const complex<T>* x = p.x[m] + c0 * p.x_stride[m];
    const std::int64_t stride = p.x_stride[m];
    for (int j = 0; j < p.rows; ++j, row += 2 * padded) {
      V xr[C], xi[C];
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
        xr[c] = V::broadcast(x[c * stride + j].re);
        xi[c] = V::broadcast(x[c * stride + j].im);
      }
#pragma GCC unroll 8
      for (int v = 0; v < KV; ++v) {
        const V ar = V::load(row + v * W), ai = V::load(row + padded + v * W);
        const V bi = Conjugate ? -ai : ai;
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) {
          re[v][c] = re[v][c] + ar * xr[c] - bi * xi[c];
          im[v][c] = im[v][c] + ar * xi[c] + bi * xr[c];
        }
      }
    }
  }
  for (int v = 0; v < KV; ++v)
    for (int c = 0; c < C; ++c) {
      alignas(64) T r[W], i[W];
      re[v][c].store(r);
      im[v][c].store(i);
      const int first = k0 + v * W, count = std::min(W, p.length - first);
      complex<T>* out = p.out + (c0 + c) * p.out_stride + first;
      if (p.start == nullptr) {
        for (int k = 0; k < count; ++k) out[k] = {p.factor * r[k], p.factor * i[k]};
      } else {
        const complex<T>* start = p.start + (c0 + c) * p.start_stride + first;
        for (int k = 0; k < count; ++k) out[k] = {start[k].re + p.factor * r[k], start[k].im + p.factor * i[k]};
      }
    }
}

template <class T, int W, bool Conjugate, int KV, int C>
void row_tiles(const row_products<T>& p, int c0) {
  const int vectors = padded_row(p.length) / W;
  int v = 0;
  for (; v + KV <= vectors; v += KV) row_tile<T, W, Conjugate, KV, C>(p, v * W, c0);
  for (; v < vectors; ++v) row_tile<T, W, Conjugate, 1, C>(p, v * W, c0);
}

template <class T, int W, bool Conjugate>
void multiply_rows_of(const row_products<T>& p) {
  int c = 0;
  for (; c + 4 <= p.columns; c += 4) row_tiles<T, W, Conjugate, 1, 4>(p, c);
  for (; c + 2 <= p.columns; c += 2) row_tiles<T, W, Conjugate, 2, 2>(p, c);
  for (; c < p.columns; ++c) row_tiles<T, W, Conjugate, 3, 1>(p, c);
}

template <class T, int W>
void multiply_rows(const row_products<T>& p) {
  p.conjugate ? multiply_rows_of<T, W, true>(p) : multiply_rows_of<T, W, false>(p);
}

/// Sums over k of J rows by C columns, from x in split form [column][re, im][padded].
template <class T, int W, bool Conjugate, int J, int C>
PLAQUETTE_INLINE void column_tile(const column_products<T>& p, const T* x, int j0, int c0) {
  using V = simd<T, W>;
  const std::int64_t padded = padded_row(p.length);
  V re[J][C], im[J][C];
  for (int j = 0; j < J; ++j)
    for (int c = 0; c < C; ++c) re[j][c] = im[j][c] = V::broadcast(0);
  for (int k = 0; k < padded; k += W) {
    V xr[C], xi[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      xr[c] = V::load(x + (2 * (c0 + c)) * padded + k);
      xi[c] = V::load(x + (2 * (c0 + c) + 1) * padded + k);
    }
#pragma GCC unroll 8
    for (int j = 0; j < J; ++j) {
      const T* row = p.matrix + 2 * (j0 + j) * padded + k;
      const V ar = V::load(row), ai = V::load(row + padded);
      const V bi = Conjugate ? -ai : ai;
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
        re[j][c] = re[j][c] + ar * xr[c] - bi * xi[c];
        im[j][c] = im[j][c] + ar * xi[c] + bi * xr[c];
      }
    }
  }
  for (int j = 0; j < J; ++j)
    for (int c = 0; c < C; ++c) {
      T r = 0, i = 0;
      for (int w = 0; w < W; ++w) r += re[j][c].v[w], i += im[j][c].v[w];
      complex<T>& out = p.out[(c0 + c) * p.out_stride + j0 + j];
      out = p.add ? complex<T>{out.re + r, out.im + i} : complex<T>{r, i};
    }
}

template <class T, int W, bool Conjugate, int J, int C>
void column_tiles(const column_products<T>& p, const T* x, int c0) {
  int j = 0;
  for (; j + J <= p.rows; j += J) column_tile<T, W, Conjugate, J, C>(p, x, j, c0);
  for (; j < p.rows; ++j) column_tile<T, W, Conjugate, 1, C>(p, x, j, c0);
}

template <class T, int W, bool Conjugate>
void multiply_columns_of(const column_products<T>& p) {
  constexpr int most_columns = 16, most_numbers = 4096;
  alignas(64) T split[most_numbers];
  const int padded = padded_row(p.length);
  const int at_once = std::max(1, std::min(most_columns, most_numbers / (2 * padded)));
  for (int first = 0; first < p.columns; first += at_once) {
    column_products<T> part = p;
    part.columns = std::min(at_once, p.columns - first);
    part.out += first * p.out_stride;
    for (int c = 0; c < part.columns; ++c) {
      const complex<T>* from = p.x + (first + c) * p.x_stride;
      T *re = split + 2 * c * padded, *im = re + padded;
      for (int k = 0; k < p.length; ++k) re[k] = from[k].re, im[k] = from[k].im;
      for (int k = p.length; k < padded; ++k) re[k] = im[k] = 0;
    }
    int c = 0;
    for (; c + 4 <= part.columns; c += 4) column_tiles<T, W, Conjugate, 1, 4>(part, split, c);
    for (; c + 2 <= part.columns; c += 2) column_tiles<T, W, Conjugate, 2, 2>(part, split, c);
    for (; c < part.columns; ++c) column_tiles<T, W, Conjugate, 2, 1>(part, split, c);
  }
}

template <class T, int W>
void multiply_columns(const column_products<T>& p) {
  p.conjugate ? multiply_columns_of<T, W, true>(p) : multiply_columns_of<T, W, false>(p);
}

template <class T, int W>
coarse_kernels<T> make_coarse_kernels() {
  return {multiply_rows<T, W>, multiply_columns<T, W>};
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
