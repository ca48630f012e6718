// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of a basis of fields: V^+ W and V C.
/// Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it).
#pragma once

#include "cpu_ref/simd/block_numbers.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

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

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
