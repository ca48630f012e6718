// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of a basis in double precision on the tensor cores (compute capability 9.0), for a few columns on the other
/// side. The basis is read from memory once, in its order. For .cu files only.
///
/// A complex product is a real one of twice the size. A warp multiplies a matrix a (16 x 16) by a matrix b (16 x 8).
/// Thread (g, t), g = lane / 4, t = lane % 4, holds of a the rows g and g + 8 at t, t + 4, t + 8, t + 12, and of b the
/// column g at the same places. Of the sums it holds the columns 2 t and 2 t + 1 in rows g and g + 8 (PTX ISA,
/// mma.m16n8k16 with .f64). The 16 rows are the real and imaginary parts of 8 complex numbers. Columns 2 j and 2 j + 1
/// are the parts of column j.
#pragma once

#include "gpu/device/copy_to_shared.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/memory_access.hpp"

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

/// Of V^+ W, what a warp has of V in shared memory: [stage][column][8 rows]. Columns with odd numbers have their first
/// and last four rows exchanged, so that eight threads read from all banks.
inline constexpr int stages = 4, rows_of_stage = 8, stage_bytes = rows_of_warp * rows_of_stage * 16;
inline constexpr int staged_bytes = warps_of_tiles * stages * stage_bytes;

__device__ __forceinline__ int place_in_stage(int column, int row) {
  return (column * rows_of_stage + (row ^ ((column & 1) << 2))) * 16;
}

/// partial[range][j][i] = <v_i, w_j> over a range of blocks. blockIdx: range, columns of V. V goes through shared
/// memory, so that whole lines of 128 bytes are asked for.
template <int tiles>
__global__ void __launch_bounds__(32 * warps_of_tiles, tiles == 6 ? 2 : 3)
    products_in_tiles(const basis_blocks v, const basis_blocks w, std::int32_t rows, std::int32_t first_column,
                      std::int32_t blocks, std::int32_t of_range, complex<double>* partial) {
  extern __shared__ __align__(16) std::byte shared[];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int g = lane / 4, t = lane % 4;
  const int first = (static_cast<int>(blockIdx.y) * warps_of_tiles + warp) * rows_of_warp;
  let_next_kernel_start();
  wait_for_previous_kernel();
  if (first >= v.columns) return;
  std::byte* const staged = shared + warp * stages * stage_bytes;
  const std::int32_t begin = static_cast<int>(blockIdx.x) * of_range, end = min(begin + of_range, blocks);
  const int steps_of_block = rows / rows_of_stage, steps = (end - begin) * steps_of_block;

  // What is copied, some steps ahead: four columns at a time, eight threads each.
  const complex<double>* ahead = v.begin + begin * v.block_stride + std::int64_t{first + lane / 8} * rows + lane % 8;
  int left_in_block = steps_of_block, copied = 0;
  const auto copy_stage = [&] {
    if (copied < steps) {
      std::byte* const to = staged + copied % stages * stage_bytes;
#pragma unroll
      for (int q = 0; q < rows_of_warp / 4; ++q) {
        const int column = 4 * q + lane / 8;
        const bool there = first + column < v.columns;
        start_copy_to_shared(to + place_in_stage(column, lane % 8),
                             there ? ahead + std::int64_t{4 * q} * rows : v.begin, there);
      }
      ahead += rows_of_stage;
      if (--left_in_block == 0) {
        left_in_block = steps_of_block;
        ahead += v.block_stride - rows;
      }
    }
    ++copied;
    end_group_of_copies();
  };
  for (int k = 0; k < stages - 1; ++k) copy_stage();

  // Columns of W that are not there are read as the last one; nobody keeps their sums.
  std::int64_t of_w[tiles];
#pragma unroll
  for (int n = 0; n < tiles; ++n)
    of_w[n] = std::int64_t{min(first_column + tile_columns * n + g / 2, w.columns - 1)} * rows + t;
  double c[2][tiles][4] = {};
  const bool imaginary = g % 2 == 1;
  const complex<double>* w_rows = w.begin + begin * w.block_stride;
  int rows_left = rows;
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<stages - 2>();
    __syncwarp();
    copy_stage();
    const std::byte* const stage = staged + step % stages * stage_bytes;
    double a[2][8];
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int k = 0; k < 2; ++k)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const auto z = load_number<load_hint::none>(
              reinterpret_cast<const complex<double>*>(stage + place_in_stage(16 * m + 8 * k + g, t + 4 * h)));
          a[m][4 * h + k] = z.re;
          a[m][4 * h + 2 + k] = z.im;
        }
#pragma unroll
    for (int n = 0; n < tiles; ++n) {
      double b[4];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const auto z = load_number<load_hint::constant>(w_rows + of_w[n] + 4 * h);
        b[2 * h] = imaginary ? z.im : z.re;
        b[2 * h + 1] = imaginary ? -z.re : z.im;
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) multiply_add(c[m][n], a[m], b);
    }
    w_rows += rows_of_stage;
    rows_left -= rows_of_stage;
    if (rows_left == 0) {
      rows_left = rows;
      w_rows += w.block_stride - rows;
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

/// Ranges of blocks for which there are as many blocks of threads as the device holds.
inline int blocks_at_once(int multiprocessors, int v_columns, int w_columns) {
  constexpr int of_block = detail::warps_of_tiles * detail::rows_of_warp;
  const int resident = w_columns > 3 * tile_columns ? 2 : 3;  // the launch bounds of products_in_tiles
  return multiprocessors * resident / ((v_columns + of_block - 1) / of_block);
}

/// partial[range][j][i], for ranges of `of_range` blocks.
/// \param rows  of a block: a multiple of 8
inline void launch_products_in_tiles(const queue& q, const basis_blocks& v, const basis_blocks& w, std::int32_t rows,
                                     std::int32_t blocks, std::int32_t of_range, complex<double>* partial) {
  constexpr int of_block = detail::warps_of_tiles * detail::rows_of_warp;
  const dim3 grid(static_cast<unsigned>((blocks + of_range - 1) / of_range),
                  static_cast<unsigned>((v.columns + of_block - 1) / of_block));
  detail::for_tile_counts(w.columns, [&]<int tiles>(int first) {
    check(cudaFuncSetAttribute(detail::products_in_tiles<tiles>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               detail::staged_bytes));
    launch_kernel(q, grid, dim3(32 * detail::warps_of_tiles), detail::staged_bytes, true,
                  detail::products_in_tiles<tiles>, v, w, rows, first, blocks, of_range, partial);
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
