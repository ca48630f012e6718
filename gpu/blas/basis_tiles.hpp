// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of a basis in double precision on the tensor cores (compute capability 9.0), for a few columns on the other
/// side: the basis comes from memory once, in the order in which it lies there. For .cu files only.
///
/// A complex product is a real one of twice the size. Of 16 x 16 numbers a and 16 x 8 numbers b a warp makes 16 x 8
/// sums; thread (g, t), g = lane / 4, t = lane % 4, holds of a the rows g and g + 8 at t, t + 4, t + 8, t + 12, of b
/// the column g at the same, of the sums the columns 2 t and 2 t + 1 in rows g and g + 8 (PTX ISA, mma.m16n8k16 with
/// .f64). Here the 16 are the real and imaginary parts of 8 complex numbers, and columns 2 j and 2 j + 1 the parts of
/// column j.
#pragma once

#include "gpu/device/launch.hpp"
#include "gpu/dirac/memory_access.hpp"

namespace plaquette::gpu {

/// Matrices as they lie in fields: [block][column][row].
struct basis_blocks {
  const complex<double>* begin;
  std::int64_t block_stride;  ///< complex numbers
  std::int32_t columns;
};

/// Columns of the other side in one product, complex.
inline constexpr int tile_columns = 4;

#ifdef __CUDACC__

namespace detail {

inline constexpr int warps_of_tiles = 4;
/// Of V^+ W columns of V, of V C rows, that a warp takes: two tiles.
inline constexpr int rows_of_warp = 32;

__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
      "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
        "d"(b[2]), "d"(b[3]));
#endif
}

template <load_hint hint>
__device__ __forceinline__ complex<double> load_number(const complex<double>* from) {
  const words<4> w = load_words<hint, 4>(reinterpret_cast<const std::byte*>(from));
  return {as_double(w.w[0], w.w[1]), as_double(w.w[2], w.w[3])};
}

/// partial[range][j][i] = <v_i, w_j> over a range of blocks. blockIdx: range, columns of V.
template <int tiles>
__global__ void __launch_bounds__(32 * warps_of_tiles, tiles == 6 ? 2 : 3)
    products_in_tiles(const basis_blocks v, const basis_blocks w, std::int32_t rows, std::int32_t first_column,
                      std::int32_t blocks, std::int32_t of_range, complex<double>* partial) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  const int first = (static_cast<int>(blockIdx.y) * warps_of_tiles + static_cast<int>(threadIdx.x) / 32) * rows_of_warp;
  let_next_kernel_start();
  wait_for_previous_kernel();
  if (first >= v.columns) return;
  // Columns that are not there are read as the last one; nobody keeps their sums.
  std::int64_t of_v[2][2], of_w[tiles];
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int k = 0; k < 2; ++k) of_v[m][k] = std::int64_t{min(first + 16 * m + 8 * k + g, v.columns - 1)} * rows + t;
#pragma unroll
  for (int n = 0; n < tiles; ++n)
    of_w[n] = std::int64_t{min(first_column + tile_columns * n + g / 2, w.columns - 1)} * rows + t;
  double c[2][tiles][4] = {};
  const std::int32_t begin = static_cast<int>(blockIdx.x) * of_range, end = min(begin + of_range, blocks);
  const bool imaginary = g % 2 == 1;
  for (std::int32_t block = begin; block < end; ++block) {
    const complex<double>* const v_block = v.begin + block * v.block_stride;
    const complex<double>* const w_block = w.begin + block * w.block_stride;
#pragma unroll 2
    for (int r = 0; r < rows; r += 8) {
      double a[2][8];
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int k = 0; k < 2; ++k)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const auto z = load_number<load_hint::constant_once>(v_block + of_v[m][k] + r + 4 * h);
            a[m][4 * h + k] = z.re;
            a[m][4 * h + 2 + k] = z.im;
          }
#pragma unroll
      for (int n = 0; n < tiles; ++n) {
        double b[4];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const auto z = load_number<load_hint::constant>(w_block + of_w[n] + r + 4 * h);
          b[2 * h] = imaginary ? z.im : z.re;
          b[2 * h + 1] = imaginary ? -z.re : z.im;
        }
#pragma unroll
        for (int m = 0; m < 2; ++m) multiply_add(c[m][n], a[m], b);
      }
    }
  }
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int i = first + 16 * m + 8 * k + g;
      if (i >= v.columns) continue;
#pragma unroll
      for (int n = 0; n < tiles; ++n) {
        const int j = first_column + tile_columns * n + t;
        if (j < w.columns)
          partial[(std::int64_t{blockIdx.x} * w.columns + j) * v.columns + i] = {c[m][n][2 * k], c[m][n][2 * k + 1]};
      }
    }
}

/// target = start target + V C for some columns. blockIdx: rows of a block, blocks. matrix: [column][column of V].
template <int tiles>
__global__ void __launch_bounds__(32 * warps_of_tiles, tiles == 6 ? 2 : 3)
    combine_in_tiles(const basis_blocks v, complex<double>* target, std::int64_t target_stride,
                     std::int32_t target_columns, std::int32_t rows, std::int32_t first_column,
                     const complex<double>* matrix, bool add) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  const int first = (static_cast<int>(blockIdx.x) * warps_of_tiles + static_cast<int>(threadIdx.x) / 32) * rows_of_warp;
  let_next_kernel_start();
  wait_for_previous_kernel();
  if (first >= rows) return;
  const complex<double>* const v_block = v.begin + std::int64_t{blockIdx.y} * v.block_stride + first + g;
  complex<double>* const to = target + std::int64_t{blockIdx.y} * target_stride + first + g;
  const complex<double>* of_matrix[tiles];
#pragma unroll
  for (int n = 0; n < tiles; ++n)
    of_matrix[n] = matrix + std::int64_t{min(first_column + tile_columns * n + g / 2, target_columns - 1)} * v.columns;
  double c[2][tiles][4] = {};
  const bool imaginary = g % 2 == 1;
#pragma unroll 2
  for (int i = 0; i < v.columns; i += 8) {
    double a[2][8];
    int column[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) column[h] = i + 4 * h + t;
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int k = 0; k < 2; ++k)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const auto z = load_number<load_hint::constant_once>(
              v_block + std::int64_t{min(column[h], v.columns - 1)} * rows + 16 * m + 8 * k);
          a[m][4 * h + k] = z.re;
          a[m][4 * h + 2 + k] = z.im;
        }
#pragma unroll
    for (int n = 0; n < tiles; ++n) {
      double b[4] = {};
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (column[h] < v.columns) {
          const auto z = load_number<load_hint::constant>(of_matrix[n] + column[h]);
          b[2 * h] = imaginary ? z.im : z.re;
          b[2 * h + 1] = imaginary ? z.re : -z.im;
        }
#pragma unroll
      for (int m = 0; m < 2; ++m) multiply_add(c[m][n], a[m], b);
    }
  }
#pragma unroll
  for (int n = 0; n < tiles; ++n) {
    const int j = first_column + tile_columns * n + t;
    if (j >= target_columns) continue;
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        complex<double>* const at = to + std::int64_t{j} * rows + 16 * m + 8 * k;
        complex<double> z{c[m][n][2 * k], c[m][n][2 * k + 1]};
        if (add) z += *at;
        *at = z;
      }
  }
}

template <class Function>
void for_tile_counts(int columns, const Function& launch) {
  for (int first = 0; first < columns;) {
    const int left = columns - first;
    if (left <= tile_columns)
      launch.template operator()<1>(first);
    else if (left <= 3 * tile_columns)
      launch.template operator()<3>(first);
    else
      launch.template operator()<6>(first);
    first += left <= 3 * tile_columns ? 3 * tile_columns : 6 * tile_columns;
  }
}

}  // namespace detail

/// partial[range][j][i], for ranges of `of_range` blocks.
/// \param rows  of a block: a multiple of 8
inline void launch_products_in_tiles(const queue& q, const basis_blocks& v, const basis_blocks& w, std::int32_t rows,
                                     std::int32_t blocks, std::int32_t of_range, complex<double>* partial) {
  constexpr int of_block = detail::warps_of_tiles * detail::rows_of_warp;
  const dim3 grid(static_cast<unsigned>((blocks + of_range - 1) / of_range),
                  static_cast<unsigned>((v.columns + of_block - 1) / of_block));
  detail::for_tile_counts(w.columns, [&]<int tiles>(int first) {
    launch_kernel(q, grid, dim3(32 * detail::warps_of_tiles), 0, true, detail::products_in_tiles<tiles>, v, w, rows,
                  first, blocks, of_range, partial);
  });
}

/// target = V C, or that is added.
/// \param rows  of a block: a multiple of 32
inline void launch_combine_in_tiles(const queue& q, const basis_blocks& v, complex<double>* target,
                                    std::int64_t target_stride, std::int32_t target_columns, std::int32_t rows,
                                    std::int32_t blocks, const complex<double>* matrix, bool add) {
  constexpr int of_block = detail::warps_of_tiles * detail::rows_of_warp;
  constexpr std::int32_t most_blocks = 32768;  // they are counted by the grid's second dimension
  for (std::int32_t begin = 0; begin < blocks; begin += most_blocks) {
    const basis_blocks from{v.begin + begin * v.block_stride, v.block_stride, v.columns};
    const dim3 grid(static_cast<unsigned>((rows + of_block - 1) / of_block),
                    static_cast<unsigned>(std::min(most_blocks, blocks - begin)));
    detail::for_tile_counts(target_columns, [&]<int tiles>(int first) {
      launch_kernel(q, grid, dim3(32 * detail::warps_of_tiles), 0, true, detail::combine_in_tiles<tiles>, from,
                    target + begin * target_stride, target_stride, target_columns, rows, first, matrix, add);
    });
  }
}

#endif

}  // namespace plaquette::gpu
