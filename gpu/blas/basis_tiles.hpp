// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of a basis on the tensor cores in double precision (compute capability 9.0), for a few columns on the other
/// side. The basis is read from memory once, in its order. Numbers stored in single precision become double ones in
/// registers. For .cu files only.
///
/// A complex product is a real one of twice the size. A warp multiplies a matrix a (16 x 16) by a matrix b (16 x 8).
/// Thread (g, t), g = lane / 4, t = lane % 4, holds of a the rows g and g + 8 at t, t + 4, t + 8, t + 12, and of b the
/// column g at the same places. Of the sums it holds the columns 2 t and 2 t + 1 in rows g and g + 8 (PTX ISA,
/// mma.m16n8k16 with .f64). The 16 rows are the real and imaginary parts of 8 complex numbers. Columns 2 j and 2 j + 1
/// are the parts of column j.
#pragma once

#include "gpu/device/copy_to_shared.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/device/one_kernel.hpp"
#include "gpu/fields/memory_access.hpp"

namespace plaquette::gpu {

/// Matrices as they lie in fields: [block][column][row].
template <class T>
struct basis_blocks {
  const complex<T>* begin;
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

/// Numbers of 16 bytes.
template <class T>
inline constexpr int numbers_at_once = 16 / static_cast<int>(sizeof(complex<T>));

template <load_hint hint, class T>
__device__ __forceinline__ void load_numbers(complex<double> (&z)[numbers_at_once<T>], const complex<T>* from) {
  const words<4> w = load_words<hint, 4>(reinterpret_cast<const std::byte*>(from));
  if constexpr (sizeof(T) == 8) {
    z[0] = {as_double(w.w[0], w.w[1]), as_double(w.w[2], w.w[3])};
  } else {
    z[0] = {double{as_float(w.w[0])}, double{as_float(w.w[1])}};
    z[1] = {double{as_float(w.w[2])}, double{as_float(w.w[3])}};
  }
}

/// Of V^+ W, the part of V that a warp has in shared memory: [stage][column][128 bytes of rows]. Columns with odd
/// numbers have the first and last half of these exchanged, so that eight threads read from all banks.
inline constexpr int stages = 4, chunks_of_stage = 8, stage_bytes = rows_of_warp * chunks_of_stage * 16;
inline constexpr int staged_bytes_of_warp = stages * stage_bytes, staged_bytes = warps_of_tiles * staged_bytes_of_warp;

/// \param chunk  of 16 bytes
__device__ __forceinline__ int place_in_stage(int column, int chunk) {
  return (column * chunks_of_stage + (chunk ^ ((column & 1) << 2))) * 16;
}

/// partial[range][j][i] = <v_i, w_j> over a range of blocks. blockIdx: range, columns of V. V goes through shared
/// memory, so that whole lines of 128 bytes are loaded. In single precision a thread takes two rows where it takes
/// one in double. The order of rows does not matter, as V and W share it.
template <class T, int tiles>
__global__ void __launch_bounds__(32 * warps_of_tiles, tiles == 6 ? 2 : 3)
    products_in_tiles(const basis_blocks<T> v, const basis_blocks<T> w, std::int32_t rows, std::int32_t first_column,
                      std::int32_t blocks, std::int32_t of_range, complex<double>* partial) {
  constexpr int at_once = numbers_at_once<T>, rows_of_stage = chunks_of_stage * at_once;
  extern __shared__ __align__(16) std::byte shared[];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int g = lane / 4, t = lane % 4;
  const int first = (static_cast<int>(blockIdx.y * (blockDim.x / 32)) + warp) * rows_of_warp;
  trigger_dependent_launch();
  wait_for_previous_kernel();
  if (first >= v.columns) return;
  std::byte* const staged = shared + warp * stages * stage_bytes;
  const std::int32_t begin = static_cast<int>(blockIdx.x) * of_range, end = min(begin + of_range, blocks);
  const int steps_of_block = rows / rows_of_stage, steps = (end - begin) * steps_of_block;

  // The copies, some steps ahead: four columns at a time, eight threads each.
  const complex<T>* ahead =
      v.begin + begin * v.block_stride + std::int64_t{first + lane / 8} * rows + lane % 8 * at_once;
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

  // Missing columns of W are read as the last one; their sums are dropped.
  std::int64_t of_w[tiles];
#pragma unroll
  for (int n = 0; n < tiles; ++n)
    of_w[n] = std::int64_t{min(first_column + tile_columns * n + g / 2, w.columns - 1)} * rows + t * at_once;
  double c[2][tiles][4] = {};
  const bool imaginary = g % 2 == 1;
  const complex<T>* w_rows = w.begin + begin * w.block_stride;
  int rows_left = rows;
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<stages - 2>();
    __syncwarp();
    copy_stage();
    const std::byte* const stage = staged + step % stages * stage_bytes;
    // Each product is over eight rows: two chunks of a thread in double, one in single precision.
#pragma unroll(tiles == 6 ? 1 : at_once)
    for (int product = 0; product < at_once; ++product) {
      const auto load = [&]<load_hint hint>(complex<double>(&z)[2], const complex<T>* of_chunk_0) {
        if constexpr (at_once == 2) {
          load_numbers<hint>(z, of_chunk_0 + 4 * at_once * product);
        } else {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            complex<double> one[1];
            load_numbers<hint>(one, of_chunk_0 + 4 * h);
            z[h] = one[0];
          }
        }
      };
      double a[2][8];
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const int column = 16 * m + 8 * k + g;
          complex<double> z[2];
          if constexpr (at_once == 2) {
            load_numbers<load_hint::none>(
                z, reinterpret_cast<const complex<T>*>(stage + place_in_stage(column, t + 4 * product)));
          } else {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
              complex<double> one[1];
              load_numbers<load_hint::none>(
                  one, reinterpret_cast<const complex<T>*>(stage + place_in_stage(column, t + 4 * h)));
              z[h] = one[0];
            }
          }
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            a[m][4 * h + k] = z[h].re;
            a[m][4 * h + 2 + k] = z[h].im;
          }
        }
#pragma unroll
      for (int n = 0; n < tiles; ++n) {
        double b[4];
        complex<double> z[2];
        load.template operator()<load_hint::constant>(z, w_rows + of_w[n]);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          b[2 * h] = imaginary ? z[h].im : z[h].re;
          b[2 * h + 1] = imaginary ? -z[h].re : z[h].im;
        }
#pragma unroll
        for (int m = 0; m < 2; ++m) multiply_add(c[m][n], a[m], b);
      }
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

/// target = start target + V C for some columns. A warp takes 32 rows of a block. matrix: [column][column of V].
/// Thread g has of 16 rows numbers g and g + 8 in double, 2 g and 2 g + 1 in single precision: 16 bytes.
template <class T, int tiles>
__global__ void __launch_bounds__(32 * warps_of_tiles, tiles == 6 ? 2 : 3)
    combine_in_tiles(const basis_blocks<T> v, complex<T>* target, std::int64_t target_stride,
                     std::int32_t target_columns, std::int32_t rows, std::int32_t blocks, std::int32_t first_column,
                     const complex<double>* matrix, bool add) {
  constexpr int at_once = numbers_at_once<T>;
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  const std::int32_t warp = static_cast<int>(blockIdx.x) * warps_of_tiles + static_cast<int>(threadIdx.x) / 32;
  const std::int32_t of_block = rows / rows_of_warp, block = warp / of_block;
  const std::int32_t first = (warp - block * of_block) * rows_of_warp + g * at_once;
  trigger_dependent_launch();
  wait_for_previous_kernel();
  if (block >= blocks) return;
  const complex<T>* const v_block = v.begin + block * v.block_stride + first;
  complex<T>* const to = target + block * target_stride + first;
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
      for (int chunk = 0; chunk < 2 / at_once; ++chunk)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          complex<double> z[at_once];
          load_numbers<load_hint::constant_once>(
              z, v_block + std::int64_t{min(column[h], v.columns - 1)} * rows + 16 * m + 8 * chunk);
#pragma unroll
          for (int k = 0; k < at_once; ++k) {
            a[m][4 * h + chunk + k] = z[k].re;
            a[m][4 * h + 2 + chunk + k] = z[k].im;
          }
        }
#pragma unroll
    for (int n = 0; n < tiles; ++n) {
      double b[4] = {};
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (column[h] < v.columns) {
          complex<double> z[1];
          load_numbers<load_hint::constant>(z, of_matrix[n] + column[h]);
          b[2 * h] = imaginary ? z[0].im : z[0].re;
          b[2 * h + 1] = imaginary ? z[0].re : -z[0].im;
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
      for (int chunk = 0; chunk < 2 / at_once; ++chunk) {
        complex<T>* const at = to + std::int64_t{j} * rows + 16 * m + 8 * chunk;
        if constexpr (at_once == 1) {
          complex<double> z{c[m][n][2 * chunk], c[m][n][2 * chunk + 1]};
          if (add) z += *at;
          *at = z;
        } else {
          complex<double> old[at_once] = {};
          if (add) load_numbers<load_hint::ordered>(old, at);
          words<4> w;
#pragma unroll
          for (int k = 0; k < at_once; ++k) {
            w.w[2 * k] = as_bits(static_cast<float>(c[m][n][2 * k] + old[k].re));
            w.w[2 * k + 1] = as_bits(static_cast<float>(c[m][n][2 * k + 1] + old[k].im));
          }
          store_words<4>(reinterpret_cast<std::byte*>(at), w, false);
        }
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

/// Warps that have columns of V in a range of V^+ W, and warps that are started.
constexpr int warps_of_products(int v_columns) { return (v_columns + detail::rows_of_warp - 1) / detail::rows_of_warp; }
/// Of a block of threads.
constexpr int warps_of_block(int v_columns) {
  const int warps = warps_of_products(v_columns);
  return warps < detail::warps_of_tiles ? warps : detail::warps_of_tiles;
}
constexpr int started_warps_of_products(int v_columns) {
  const int of_block = warps_of_block(v_columns);
  return (warps_of_products(v_columns) + of_block - 1) / of_block * of_block;
}

/// Ranges of blocks for which there are as many blocks of threads as the device holds.
inline int blocks_at_once(int multiprocessors, int v_columns, int w_columns) {
  const int resident = w_columns > 3 * tile_columns ? 2 : 3;  // the launch bounds of products_in_tiles
  return multiprocessors * resident * detail::warps_of_tiles / started_warps_of_products(v_columns);
}

// The numbers of a kernel (one_kernel.hpp): bytes of a real, 0 for V^+ W and 1 for V C, tiles of columns.

/// Computes partial[range][j][i], for ranges of `of_range` blocks.
/// \param rows  of a block: a multiple of 16
template <class T>
void launch_products_in_tiles(const queue& q, const basis_blocks<T>& v, const basis_blocks<T>& w, std::int32_t rows,
                              std::int32_t blocks, std::int32_t of_range, complex<double>* partial) {
  const int warps = warps_of_block(v.columns), of_block = warps * detail::rows_of_warp;
  const dim3 grid(static_cast<unsigned>((blocks + of_range - 1) / of_range),
                  static_cast<unsigned>((v.columns + of_block - 1) / of_block));
  detail::for_tile_counts(w.columns, [&]<int tiles>(int first) {
    if constexpr (!is_compiled<sizeof(T), 0, tiles>()) {
      refuse_kernel<sizeof(T), 0, tiles>();
    } else {
      check(cudaFuncSetAttribute(detail::products_in_tiles<T, tiles>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 detail::staged_bytes));
      launch_kernel(q, grid, dim3(static_cast<unsigned>(32 * warps)), detail::staged_bytes_of_warp * warps, true,
                    detail::products_in_tiles<T, tiles>, v, w, rows, first, blocks, of_range, partial);
    }
  });
}

/// Computes target = V C, or that is added.
/// \param rows  of a block: a multiple of 32
template <class T>
void launch_combine_in_tiles(const queue& q, const basis_blocks<T>& v, complex<T>* target, std::int64_t target_stride,
                             std::int32_t target_columns, std::int32_t rows, std::int32_t blocks,
                             const complex<double>* matrix, bool add) {
  const std::int64_t warps = std::int64_t{rows / detail::rows_of_warp} * blocks;
  const dim3 grid(static_cast<unsigned>((warps + detail::warps_of_tiles - 1) / detail::warps_of_tiles));
  detail::for_tile_counts(target_columns, [&]<int tiles>(int first) {
    if constexpr (!is_compiled<sizeof(T), 1, tiles>())
      refuse_kernel<sizeof(T), 1, tiles>();
    else
      launch_kernel(q, grid, dim3(32 * detail::warps_of_tiles), 0, true, detail::combine_in_tiles<T, tiles>, v, target,
                    target_stride, target_columns, rows, blocks, first, matrix, add);
  });
}

#endif

}  // namespace plaquette::gpu
