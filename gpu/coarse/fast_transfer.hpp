// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fast restriction and prolongation, between quarks or a coarse lattice and a coarser one. For .cu files only.
#pragma once

#include <algorithm>

#include "gpu/coarse/fine_sites.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

/// The null vectors as kernels take them.
struct vector_pointers {
  aggregate_pointers blocks;
  const complex<float>* begin;
  std::int32_t rows, vectors;

  PLAQUETTE_HOST_DEVICE const complex<float>* row(std::int64_t index) const { return begin + index * vectors; }
};

#ifdef __CUDACC__

/// Whether the kernels of this file serve these vectors: 16 bytes are two of a row.
inline bool fast_transfer_serves(const vector_pointers& v) {
  return v.vectors % 2 == 0 && v.vectors <= 64 && v.rows <= 48;
}

/// sum += a b, and += conj(a) b
__device__ __forceinline__ void add_times(float2& sum, float ar, float ai, const float2& b) {
  sum.x = fmaf(ar, b.x, sum.x);
  sum.y = fmaf(ar, b.y, sum.y);
  sum.x = fmaf(-ai, b.y, sum.x);
  sum.y = fmaf(ai, b.x, sum.y);
}

/// 16 bytes of null vectors, which nothing reads again soon.
__device__ __forceinline__ float4 load_vectors(const complex<float>* at) {
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(at));
  return v;
}

/// Sites of a stretch of an aggregate, one parity, with some columns.
struct site_stretch {
  const std::int32_t* site;  ///< of the first place
  std::int32_t sites;
  int first_column, columns;  ///< columns of all; beyond them the last is taken
};

/// Where the numbers of a site begin in shared memory, of each chirality: sites are a little apart, so that threads
/// that write neighbouring sites find them in banks of their own.
template <int width>
__host__ __device__ __forceinline__ int site_begin(int site, int rows) {
  return site * (rows * width + (width > 1 ? 2 : 0));
}

/// Fine numbers into shared memory: [chirality][site][row][column].
template <int width, class T>
__device__ __forceinline__ void stage(float2* to, int chirality_stride, const quark_sites<T>& fine,
                                      const site_stretch& what, std::int32_t /*rows*/) {
  for (int k = static_cast<int>(threadIdx.x); k < what.sites * width; k += static_cast<int>(blockDim.x)) {
    const int c = k / what.sites, i = k - c * what.sites;
    complex<float> loaded[2 * quark_rows];
    fine.load(what.site[i], min(what.first_column + c, what.columns - 1), loaded);
#pragma unroll
    for (int r = 0; r < quark_rows; ++r) {
      float2* const at = to + site_begin<width>(i, quark_rows) + r * width + c;
      at[0] = make_float2(loaded[r].re, loaded[r].im);
      at[chirality_stride] = make_float2(loaded[r + quark_rows].re, loaded[r + quark_rows].im);
    }
  }
}
template <int width>
__device__ __forceinline__ void stage(float2* to, int chirality_stride, const coarse_sites<float>& fine,
                                      const site_stretch& what, std::int32_t rows) {
  for (int k = static_cast<int>(threadIdx.x); k < what.sites * width * 2 * rows; k += static_cast<int>(blockDim.x)) {
    const int by_column = k / (2 * rows), j = k - by_column * 2 * rows, i = by_column / width,
              c = by_column - i * width;
    const int chirality = j / rows, r = j - chirality * rows;
    const complex<float> z = fine.number(what.site[i], min(what.first_column + c, what.columns - 1), chirality, r);
    to[chirality * chirality_stride + site_begin<width>(i, rows) + r * width + c] = make_float2(z.re, z.im);
  }
}

/// From shared memory to fine fields, the inverse.
template <int width, class T>
__device__ __forceinline__ void unstage(const float2* from, int chirality_stride, const quark_sites<T>& fine,
                                        const site_stretch& what, std::int32_t /*rows*/, bool add) {
  for (int k = static_cast<int>(threadIdx.x); k < what.sites * width; k += static_cast<int>(blockDim.x)) {
    const int c = k / what.sites, i = k - c * what.sites;
    if (what.first_column + c >= what.columns) continue;
    complex<float> z[2 * quark_rows];
#pragma unroll
    for (int r = 0; r < quark_rows; ++r) {
      const float2* const at = from + site_begin<width>(i, quark_rows) + r * width + c;
      z[r] = {at[0].x, at[0].y};
      z[r + quark_rows] = {at[chirality_stride].x, at[chirality_stride].y};
    }
    fine.store(what.site[i], what.first_column + c, z, add);
  }
}
template <int width>
__device__ __forceinline__ void unstage(const float2* from, int chirality_stride, const coarse_sites<float>& fine,
                                        const site_stretch& what, std::int32_t rows, bool add) {
  for (int k = static_cast<int>(threadIdx.x); k < what.sites * width * 2 * rows; k += static_cast<int>(blockDim.x)) {
    const int by_column = k / (2 * rows), j = k - by_column * 2 * rows, i = by_column / width,
              c = by_column - i * width;
    if (what.first_column + c >= what.columns) continue;
    const int chirality = j / rows, r = j - chirality * rows;
    const float2 z = from[chirality * chirality_stride + site_begin<width>(i, rows) + r * width + c];
    complex<float>& to = fine.number(what.site[i], what.first_column + c, chirality, r);
    to = add ? to + complex<float>{z.x, z.y} : complex<float>{z.x, z.y};
  }
}

/// Where row r of a chirality lies.
template <int width, class Fine>
__device__ __forceinline__ int row_place(std::int32_t r, std::int32_t rows) {
  if constexpr (width == 1) return r;
  if constexpr (requires { Fine::rows(); }) rows = quark_rows;
  const std::int32_t site = r / rows;
  return site_begin<width>(site, rows) + (r - site * rows) * width;
}

/// sums += conj(two vectors of a row) times the row's numbers.
template <int width>
__device__ __forceinline__ void add_row(float2 (&sums)[2][width], const float4& a, const float2* x) {
  if constexpr (width == 1) {
    add_times(sums[0][0], a.x, -a.y, x[0]);
    add_times(sums[1][0], a.z, -a.w, x[0]);
  } else {
#pragma unroll
    for (int c = 0; c < width; c += 2) {
      const float4 two = *reinterpret_cast<const float4*>(x + c);
      const float2 first = make_float2(two.x, two.y), second = make_float2(two.z, two.w);
      add_times(sums[0][c], a.x, -a.y, first);
      add_times(sums[1][c], a.z, -a.w, first);
      add_times(sums[0][c + 1], a.x, -a.y, second);
      add_times(sums[1][c + 1], a.z, -a.w, second);
    }
  }
}

/// A block takes a coarse site and `width` columns. Half of its threads are for each chirality; a thread has two
/// vectors and takes every n-th row. Fine numbers are staged, `segment` sites at a time.
template <class Fine, int width>
__global__ void __launch_bounds__(256, width > 4 ? 2 : 3)
    restrict_kernel(const __grid_constant__ Fine fine, const __grid_constant__ vector_pointers v,
                    coarse_pointer<complex<float>> coarse, int columns, int segment) {
  extern __shared__ __align__(16) float2 numbers[];
  constexpr int ahead = width == 1 ? 6 : 3;
  let_next_kernel_start();
  wait_for_previous_kernel();
  const std::int64_t s = blockIdx.x;
  const int first_column = static_cast<int>(blockIdx.y) * width, chirality_stride = site_begin<width>(segment, v.rows);
  const int lanes_of_row = v.vectors / 2, per_chirality = static_cast<int>(blockDim.x) / 2;
  const int rows_at_once = per_chirality / lanes_of_row;
  const int chirality = static_cast<int>(threadIdx.x) / per_chirality;
  const int own = static_cast<int>(threadIdx.x) - chirality * per_chirality;
  const int row = own / lanes_of_row, pair = own - row * lanes_of_row;
  const bool works = row < rows_at_once;
  float2 sums[2][width] = {};
  for (int parity = 0; parity < 2; ++parity) {
    if (!fine.has[parity]) continue;
    const std::int32_t count = v.blocks.count(s, parity);
    const std::int64_t place = s * v.blocks.volume + v.blocks.first(s, parity);
    const complex<float>* const begin = v.row(v.blocks.block_begin(s, parity, chirality, v.rows)) + 2 * pair;
    for (std::int32_t first = 0; first < count; first += segment) {
      const std::int32_t sites = min(segment, count - first), all = sites * v.rows;
      const complex<float>* const from = begin + std::int64_t{first} * v.rows * v.vectors;
      const auto load = [&](std::int32_t r) {
        return works && r < all ? load_vectors(from + std::int64_t{r} * v.vectors) : make_float4(0, 0, 0, 0);
      };
      float4 rows[ahead];
#pragma unroll
      for (int k = 0; k < ahead; ++k) rows[k] = load(row + k * rows_at_once);
      __syncthreads();
      stage<width>(numbers, chirality_stride, fine, {v.blocks.site + place + first, sites, first_column, columns},
                   v.rows);
      __syncthreads();
      const float2* const x = numbers + chirality * chirality_stride;
      for (std::int32_t next = row; next < all; next += ahead * rows_at_once) {
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
          const std::int32_t r = min(next + k * rows_at_once, all - 1);  // beyond the end vectors are zero
          const float4 a = rows[k];
          rows[k] = load(next + (k + ahead) * rows_at_once);
          add_row<width>(sums, a, x + row_place<width, Fine>(r, v.rows));
        }
      }
    }
  }
  // Threads of the same vectors add up, a column at a time.
  __shared__ float2 partial[256][2];
  for (int c = 0; c < width && first_column + c < columns; ++c) {
    __syncthreads();
    if (works) {
      // (A register cannot be indexed by a number that is not known.)
#pragma unroll
      for (int k = 0; k < width; ++k)
        if (k == c) {
          partial[threadIdx.x][0] = sums[0][k];
          partial[threadIdx.x][1] = sums[1][k];
        }
    }
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < 2 * v.vectors; k += static_cast<int>(blockDim.x)) {
      const int of = k / v.vectors, vector = k - of * v.vectors;
      complex<float> total{};
      for (int r = 0; r < rows_at_once; ++r) {
        const float2 z = partial[of * per_chirality + r * lanes_of_row + vector / 2][vector % 2];
        total += complex<float>{z.x, z.y};
      }
      coarse.at(s, first_column + c)[k] = total;
    }
  }
}

__device__ __forceinline__ void copy_16_to_shared(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

/// Rows of a block and chirality, at most; smaller blocks take turns more smoothly where there is little to compute.
template <int width>
inline constexpr int prolonged_rows = width == 1 ? 48 : 96;
/// Numbers from row to row of vectors in shared memory: threads that read 16 bytes of a row each find them in banks of
/// their own.
__host__ __device__ constexpr int staged_row(int vectors) { return vectors + (vectors / 2 % 2 == 0 ? 2 : 4); }

/// A block takes `segment` sites of one parity of an aggregate and `width` columns; a thread a row, whose null vectors
/// are staged in shared memory as the coarse numbers are.
template <class Fine, int width>
__global__ void __launch_bounds__(2 * prolonged_rows<width>)
    prolong_kernel(const __grid_constant__ Fine fine, const __grid_constant__ vector_pointers v,
                   coarse_pointer<const complex<float>> coarse, int columns, int segments, int segment, bool add) {
  extern __shared__ __align__(16) float2 shared[];
  const auto block = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t by_parity = block / segments, s = by_parity / 2;
  const int parity = static_cast<int>(by_parity - 2 * s);
  const int first = static_cast<int>(block - by_parity * segments) * segment;
  const std::int32_t sites = min(segment, v.blocks.count(s, parity) - first);
  const int first_column = static_cast<int>(blockIdx.y) * width, stride = staged_row(v.vectors);
  const bool empty = !fine.has[parity] || sites <= 0;
  const int rows = sites * v.rows;
  float2* const staged = shared;                                   // [chirality and row][stride]
  float2* const numbers = shared + 2 * segment * v.rows * stride;  // [chirality and vector][column]
  if (!empty) {
    const int of_row = v.vectors / 2;
    for (int chirality = 0; chirality < chiralities; ++chirality) {
      const complex<float>* const from =
          v.row(v.blocks.block_begin(s, parity, chirality, v.rows) + std::int64_t{first} * v.rows);
      for (int k = static_cast<int>(threadIdx.x); k < rows * of_row; k += static_cast<int>(blockDim.x)) {
        const int r = k / of_row, j = k - r * of_row;
        copy_16_to_shared(staged + (chirality * rows + r) * stride + 2 * j, from + 2 * k);
      }
    }
  }
  let_next_kernel_start();
  wait_for_previous_kernel();
  if (empty) return;
  for (int k = static_cast<int>(threadIdx.x); k < 2 * v.vectors * width; k += static_cast<int>(blockDim.x)) {
    const int c = k / (2 * v.vectors), j = k - c * 2 * v.vectors;
    const complex<float> z = coarse.at(s, min(first_column + c, columns - 1))[j];
    numbers[j * width + c] = make_float2(z.re, z.im);
  }
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  const int row = static_cast<int>(threadIdx.x), chirality = row >= rows ? 1 : 0;
  float2 sums[width] = {};
  if (row < 2 * rows) {
    const float2* const a = staged + row * stride;
    const float2* const x = numbers + chirality * v.vectors * width;
#pragma unroll 2
    for (int k = 0; k < v.vectors; k += 2) {
      const float4 z = *reinterpret_cast<const float4*>(a + k);
#pragma unroll
      for (int c = 0; c < width; ++c) {
        add_times(sums[c], z.x, z.y, x[k * width + c]);
        add_times(sums[c], z.z, z.w, x[(k + 1) * width + c]);
      }
    }
  }
  __syncthreads();
  // Results where vectors were.
  const int chirality_stride = site_begin<width>(sites, v.rows) + 8;
  if (row < 2 * rows)
#pragma unroll
    for (int c = 0; c < width; ++c)
      shared[chirality * chirality_stride + row_place<width, Fine>(row - chirality * rows, v.rows) + c] = sums[c];
  __syncthreads();
  const std::int64_t place = s * v.blocks.volume + v.blocks.first(s, parity) + first;
  unstage<width>(shared, chirality_stride, fine, {v.blocks.site + place, sites, first_column, columns}, v.rows, add);
}

template <class Kernel>
void allow_shared(Kernel kernel, int bytes) {
  if (bytes > (48 << 10)) check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

template <int width, int rows, class Fine>
void queue_restriction_of(const queue& q, const Fine& fine, const vector_pointers& v, std::int64_t sites,
                          const coarse_pointer<complex<float>>& coarse, int columns) {
  const int lanes_of_row = v.vectors / 2, threads = 2 * (128 / lanes_of_row * lanes_of_row);
  const int segment = std::max(1, rows / v.rows),
            bytes = 2 * site_begin<width>(segment, v.rows) * static_cast<int>(sizeof(float2));
  const auto kernel = restrict_kernel<Fine, width>;
  allow_shared(kernel, bytes);
  launch_kernel(q, dim3(static_cast<unsigned>(sites), static_cast<unsigned>((columns + width - 1) / width)),
                dim3(static_cast<unsigned>(threads)), bytes, true, kernel, fine, v, coarse, columns, segment);
}
template <class Fine>
void queue_restriction(const queue& q, const Fine& fine, const vector_pointers& v, std::int64_t sites,
                       const coarse_pointer<complex<float>>& coarse, int columns) {
  if (columns == 1)
    queue_restriction_of<1, 768>(q, fine, v, sites, coarse, columns);
  else if (columns <= 4)
    queue_restriction_of<4, 192>(q, fine, v, sites, coarse, columns);
  else
    queue_restriction_of<12, 96>(q, fine, v, sites, coarse, columns);
}

template <int width, class Fine>
void queue_prolongation_of(const queue& q, const Fine& fine, const vector_pointers& v, std::int64_t sites,
                           const coarse_pointer<const complex<float>>& coarse, int columns, bool add) {
  const int segment = std::max(1, prolonged_rows<width> / v.rows), rows = segment * v.rows;
  const int most = (v.blocks.volume + 1) / 2;  // sites of a parity: half, whatever the aggregate's shape
  const int segments = (most + segment - 1) / segment;
  const int vectors = 2 * rows * staged_row(v.vectors) + 2 * v.vectors * width,
            results = 2 * (site_begin<width>(segment, v.rows) + 8);
  const int bytes = std::max(vectors, results) * static_cast<int>(sizeof(float2));
  const auto kernel = prolong_kernel<Fine, width>;
  allow_shared(kernel, bytes);
  launch_kernel(
      q, dim3(static_cast<unsigned>(sites * 2 * segments), static_cast<unsigned>((columns + width - 1) / width)),
      dim3(static_cast<unsigned>(2 * rows)), bytes, true, kernel, fine, v, coarse, columns, segments, segment, add);
}
template <class Fine>
void queue_prolongation(const queue& q, const Fine& fine, const vector_pointers& v, std::int64_t sites,
                        const coarse_pointer<const complex<float>>& coarse, int columns, bool add) {
  if (columns == 1)
    queue_prolongation_of<1>(q, fine, v, sites, coarse, columns, add);
  else if (columns <= 4)
    queue_prolongation_of<4>(q, fine, v, sites, coarse, columns, add);
  else
    queue_prolongation_of<12>(q, fine, v, sites, coarse, columns, add);
}

#endif

}  // namespace plaquette::gpu
