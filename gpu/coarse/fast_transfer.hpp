// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fast restriction and prolongation, between quarks or a coarse lattice and a coarser one. For .cu files only.
#pragma once

#include <algorithm>

#include "gpu/coarse/fine_sites.hpp"
#include "gpu/coarse/matrix_tiles.hpp"
#include "gpu/coarse/tensor_cores.hpp"
#include "gpu/coarse/transfer.hpp"
#include "gpu/device/copy_to_shared.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/device/one_kernel.hpp"

namespace plaquette::gpu {

/// The null vectors as kernels take them: rows of `vectors` numbers, in single precision, or in 16 bits times a power
/// of two.
struct vector_pointers {
  aggregate_pointers blocks;
  const std::byte* begin;
  std::int32_t rows, vectors;
  coarse_storage storage;
  float scale;              ///< takes numbers into the range of 16 bits
  float back;               ///< its inverse
  std::int32_t even_sites;  ///< of the coarse lattice, where as many are odd; 0 elsewhere

  /// Returns the coarse site that block k takes. Sites of both parities alternately: sites that lie side by side along
  /// x share the 64 bytes that memory gives at a time of a fine field.
  PLAQUETTE_HOST_DEVICE std::int64_t site_of_block(std::int64_t k) const {
    return even_sites > 0 ? k / 2 + k % 2 * even_sites : k;
  }
  PLAQUETTE_HOST_DEVICE complex<float> number(std::int64_t row, std::int32_t vector) const {
    const std::int64_t index = row * vectors + vector;
    if (storage == coarse_storage::single) return reinterpret_cast<const complex<float>*>(begin)[index];
    const std::uint32_t word = reinterpret_cast<const std::uint32_t*>(begin)[index];
    return {back * float_of_half(word & 0xffffU), back * float_of_half(word >> 16)};
  }
};

#ifdef __CUDACC__

/// Computes sum += a b
__device__ __forceinline__ void add_times(float2& sum, float2 a, float2 b) {
  sum.x = fmaf(a.x, b.x, sum.x);
  sum.y = fmaf(a.x, b.y, sum.y);
  sum.x = fmaf(-a.y, b.y, sum.x);
  sum.y = fmaf(a.y, b.x, sum.y);
}

/// 16 bytes of a row: 2 numbers in single precision, 4 in 16 bits.
template <coarse_storage storage>
inline constexpr int numbers_of_16_bytes = storage == coarse_storage::single ? 2 : 4;
template <coarse_storage storage>
__device__ __forceinline__ void unpack_vectors(const uint4& from, float2 (&to)[numbers_of_16_bytes<storage>]) {
  if constexpr (storage == coarse_storage::single) {
    to[0] = make_float2(__uint_as_float(from.x), __uint_as_float(from.y));
    to[1] = make_float2(__uint_as_float(from.z), __uint_as_float(from.w));
  } else {
    to[0] = unpacked(from.x);
    to[1] = unpacked(from.y);
    to[2] = unpacked(from.z);
    to[3] = unpacked(from.w);
  }
}

/// Sites of a stretch of an aggregate, one parity, with some columns.
struct site_stretch {
  const std::int32_t* site;  ///< of the first place
  std::int32_t sites;
  int first_column, columns;  ///< columns of all; beyond them the last is taken
};

// --- One right-hand side, or each by itself
// ---------------------------------------------------------------------------

/// Fine numbers of a column into shared memory, and back: [chirality][site][row].
template <class T>
__device__ __forceinline__ void stage_column(float2* to, int chirality_stride, const fine_spinors<T>& fine,
                                             const site_stretch& what, std::int32_t /*rows*/) {
  for (int i = static_cast<int>(threadIdx.x); i < what.sites; i += static_cast<int>(blockDim.x)) {
    complex<float> loaded[2 * fine_rows];
    fine.load(what.site[i], what.first_column, loaded);
#pragma unroll
    for (int r = 0; r < fine_rows; ++r) {
      to[i * fine_rows + r] = make_float2(loaded[r].re, loaded[r].im);
      to[chirality_stride + i * fine_rows + r] = make_float2(loaded[r + fine_rows].re, loaded[r + fine_rows].im);
    }
  }
}
__device__ __forceinline__ void stage_column(float2* to, int chirality_stride, const coarse_sites<float>& fine,
                                             const site_stretch& what, std::int32_t rows) {
  for (int k = static_cast<int>(threadIdx.x); k < what.sites * 2 * rows; k += static_cast<int>(blockDim.x)) {
    const int i = k / (2 * rows), j = k - i * 2 * rows, chirality = j / rows, r = j - chirality * rows;
    const complex<float> z = fine.number(what.site[i], what.first_column, chirality, r);
    to[chirality * chirality_stride + i * rows + r] = make_float2(z.re, z.im);
  }
}
/// \param number(chirality, site, row, column)  of shared memory
template <class T, class Number>
__device__ __forceinline__ void unstage(const fine_spinors<T>& fine, const site_stretch& what, std::int32_t /*rows*/,
                                        bool add, const Number& number) {
  for (int k = static_cast<int>(threadIdx.x); k < what.sites * what.columns; k += static_cast<int>(blockDim.x)) {
    const int c = k / what.sites, i = k - c * what.sites;
    complex<float> z[2 * fine_rows];
#pragma unroll
    for (int r = 0; r < 2 * fine_rows; ++r) {
      const float2 x = number(r / fine_rows, i, r % fine_rows, c);
      z[r] = {x.x, x.y};
    }
    fine.store(what.site[i], what.first_column + c, z, add);
  }
}
template <class Number>
__device__ __forceinline__ void unstage(const coarse_sites<float>& fine, const site_stretch& what, std::int32_t rows,
                                        bool add, const Number& number) {
  for (int k = static_cast<int>(threadIdx.x); k < what.sites * what.columns * 2 * rows;
       k += static_cast<int>(blockDim.x)) {
    const int by_column = k / (2 * rows), j = k - by_column * 2 * rows, i = by_column / what.columns,
              c = by_column - i * what.columns, chirality = j / rows, r = j - chirality * rows;
    const float2 z = number(chirality, i, r, c);
    complex<float>& to = fine.number(what.site[i], what.first_column + c, chirality, r);
    to = add ? to + complex<float>{z.x, z.y} : complex<float>{z.x, z.y};
  }
}

/// A block takes a coarse site and a column. Half of its threads are for each chirality; a thread has the vectors of 16
/// bytes and takes every n-th row. Fine numbers are staged, `segment` sites at a time.
template <class Fine, coarse_storage storage>
__global__ void __launch_bounds__(256, 3)
    restrict_kernel(const __grid_constant__ Fine fine, const __grid_constant__ vector_pointers v,
                    coarse_pointer<complex<float>> coarse, int segment) {
  extern __shared__ __align__(16) float2 numbers[];
  constexpr int ahead = 6, of_a_lane = numbers_of_16_bytes<storage>;
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const std::int64_t s = v.site_of_block(blockIdx.x);
  const int column = static_cast<int>(blockIdx.y), chirality_stride = segment * v.rows;
  const int lanes_of_row = v.vectors / of_a_lane, per_chirality = static_cast<int>(blockDim.x) / 2;
  const int rows_at_once = per_chirality / lanes_of_row;
  const int chirality = static_cast<int>(threadIdx.x) / per_chirality;
  const int own = static_cast<int>(threadIdx.x) - chirality * per_chirality;
  const int row = own / lanes_of_row, lane_of_row = own - row * lanes_of_row;
  const bool works = row < rows_at_once;
  float2 sums[of_a_lane] = {};
  for (int parity = 0; parity < 2; ++parity) {
    if (!fine.has[parity]) continue;
    const std::int32_t count = v.blocks.count(s, parity);
    const std::int64_t place = s * v.blocks.volume + v.blocks.first(s, parity);
    const uint4* const begin = reinterpret_cast<const uint4*>(v.begin) +
                               v.blocks.block_begin(s, parity, chirality, v.rows) * lanes_of_row + lane_of_row;
    for (std::int32_t first = 0; first < count; first += segment) {
      const std::int32_t sites = min(segment, count - first), all = sites * v.rows;
      const uint4* const from = begin + std::int64_t{first} * v.rows * lanes_of_row;
      const auto load = [&](std::int32_t r) {
        return works && r < all ? load_once(from + r * lanes_of_row) : make_uint4(0, 0, 0, 0);
      };
      uint4 rows[ahead];
#pragma unroll
      for (int k = 0; k < ahead; ++k) rows[k] = load(row + k * rows_at_once);
      __syncthreads();
      stage_column(numbers, chirality_stride, fine, {v.blocks.site + place + first, sites, column, 1}, v.rows);
      __syncthreads();
      const float2* const x = numbers + chirality * chirality_stride;
      for (std::int32_t next = row; next < all; next += ahead * rows_at_once) {
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
          const std::int32_t r = min(next + k * rows_at_once, all - 1);  // beyond the end vectors are zero
          float2 a[of_a_lane];
          unpack_vectors<storage>(rows[k], a);
          rows[k] = load(next + (k + ahead) * rows_at_once);
          const float2 b = x[r];
#pragma unroll
          for (int j = 0; j < of_a_lane; ++j) add_times(sums[j], make_float2(a[j].x, -a[j].y), b);
        }
      }
    }
  }
  // Threads of the same vectors add up.
  __shared__ float2 partial[256][of_a_lane];
  if (works)
#pragma unroll
    for (int j = 0; j < of_a_lane; ++j) partial[threadIdx.x][j] = sums[j];
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < 2 * v.vectors; k += static_cast<int>(blockDim.x)) {
    const int of = k / v.vectors, vector = k - of * v.vectors;
    complex<float> total{};
    for (int r = 0; r < rows_at_once; ++r) {
      const float2 z = partial[of * per_chirality + r * lanes_of_row + vector / of_a_lane][vector % of_a_lane];
      total += complex<float>{z.x, z.y};
    }
    coarse.at(s, column)[k] = storage == coarse_storage::single ? total : v.back * total;
  }
}

/// Pieces of 16 bytes that a lane of the prolongation takes at a time: pieces of a warp follow each other in memory.
inline constexpr int pieces_of_a_lane = 3;

/// A block takes `segment` sites of one parity of an aggregate and a column; half of its warps are for each chirality.
/// A warp takes 96 pieces of 16 bytes at a time, lane l the pieces at l, l + 32 and l + 64: each of its three requests
/// loads whole lines of the cache. A row is 3 * 2^`doublings` pieces, the last ones absent if it has fewer. So pieces
/// are of the same vectors each time, whose coarse numbers a lane has in registers. Contributions of pieces go through
/// shared memory to the lanes that sum a row.
template <class Fine, coarse_storage storage>
__global__ void __launch_bounds__(256, storage == coarse_storage::single && !std::is_same_v<Fine, fine_spinors<double>>
                                           ? 4
                                           : 3)
    prolong_kernel(const __grid_constant__ Fine fine, const __grid_constant__ vector_pointers v,
                   coarse_pointer<const complex<float>> coarse, int segments, int segment, int doublings, bool add) {
  extern __shared__ __align__(16) float2 results[];
  constexpr int of_a_piece = numbers_of_16_bytes<storage>, ahead = 2, at_once = 32 * pieces_of_a_lane;
  const auto block = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t by_parity = block / segments, s = v.site_of_block(by_parity / 2);
  const int parity = static_cast<int>(by_parity % 2);
  const int first = static_cast<int>(block - by_parity * segments) * segment;
  const std::int32_t sites = min(segment, v.blocks.count(s, parity) - first), all = sites * v.rows;
  const bool empty = !fine.has[parity] || sites <= 0;
  const int column = static_cast<int>(blockIdx.y), warps = static_cast<int>(blockDim.x) / 64;  // of a chirality
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32),
            chirality = warp / warps, part = warp - chirality * warps;
  const int pieces = v.vectors / of_a_piece, of_row = pieces_of_a_lane << doublings, rows_at_once = 32 >> doublings;
  // Of the rows that a warp takes at once: which row and vectors each piece is of.
  int row[pieces_of_a_lane], piece[pieces_of_a_lane];
#pragma unroll
  for (int k = 0; k < pieces_of_a_lane; ++k) {
    row[k] = (lane + 32 * k) / of_row;
    piece[k] = lane + 32 * k - row[k] * of_row;
  }
  uint4 loaded[ahead][pieces_of_a_lane];
  const uint4* from = nullptr;
  const auto load = [&](uint4(&to)[pieces_of_a_lane], std::int32_t begin) {
#pragma unroll
    for (int k = 0; k < pieces_of_a_lane; ++k)
      to[k] = begin + row[k] < all && piece[k] < pieces ? load_once(from + (begin + row[k]) * pieces + piece[k])
                                                        : make_uint4(0, 0, 0, 0);
  };
  if (!empty) {
    from = reinterpret_cast<const uint4*>(v.begin) +
           (v.blocks.block_begin(s, parity, chirality, v.rows) + std::int64_t{first} * v.rows) * pieces;
#pragma unroll
    for (int a = 0; a < ahead; ++a) load(loaded[a], (part + a * warps) * rows_at_once);
  }
  trigger_dependent_launch();
  wait_for_previous_kernel();
  if (empty) return;
  float2 x[pieces_of_a_lane][of_a_piece];
#pragma unroll
  for (int k = 0; k < pieces_of_a_lane; ++k)
#pragma unroll
    for (int j = 0; j < of_a_piece; ++j) {
      const int vector = piece[k] * of_a_piece + j;
      const complex<float> z =
          vector < v.vectors ? coarse.at(s, column)[chirality * v.vectors + vector] : complex<float>{};
      const float back = storage == coarse_storage::single ? 1.0F : v.back;
      x[k][j] = make_float2(back * z.re, back * z.im);
    }
  // Two rounds write different halves, so that one barrier a round is enough.
  float2* const partial = results + 2 * segment * v.rows + warp * ahead * at_once;
  for (std::int32_t next = part * rows_at_once; next < all; next += ahead * warps * rows_at_once) {
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      const std::int32_t begin = next + a * warps * rows_at_once;
      float2* const here = partial + a * at_once;
#pragma unroll
      for (int k = 0; k < pieces_of_a_lane; ++k) {
        float2 numbers[of_a_piece], sum{};
        unpack_vectors<storage>(loaded[a][k], numbers);
#pragma unroll
        for (int j = 0; j < of_a_piece; ++j) add_times(sum, numbers[j], x[k][j]);
        here[lane + 32 * k] = sum;
      }
      load(loaded[a], begin + ahead * warps * rows_at_once);
      __syncwarp();
      const float2 one = here[3 * lane], two = here[3 * lane + 1], three = here[3 * lane + 2];
      float2 sum = make_float2(one.x + two.x + three.x, one.y + two.y + three.y);
      for (int distance = 1; distance < 1 << doublings; distance *= 2) {
        sum.x += __shfl_xor_sync(0xffffffffU, sum.x, distance);
        sum.y += __shfl_xor_sync(0xffffffffU, sum.y, distance);
      }
      const std::int32_t r = begin + (lane >> doublings);
      if ((lane & ((1 << doublings) - 1)) == 0 && r < all) results[chirality * segment * v.rows + r] = sum;
    }
  }
  __syncthreads();
  const std::int64_t place = s * v.blocks.volume + v.blocks.first(s, parity) + first;
  unstage(fine, {v.blocks.site + place, sites, column, 1}, v.rows, add,
          [&](int chi, int i, int r, int /*column*/) { return results[(chi * segment + i) * v.rows + r]; });
}

// --- Many right-hand sides -------------------------------------------------------------------------------------------

/// Where the numbers of a row of a chirality begin in shared memory, `width` columns each. Sites of quarks are a little
/// apart, so that threads that write neighbouring sites find them in banks of their own.
template <class Fine, int width>
__host__ __device__ __forceinline__ int row_place(int row) {
  if constexpr (requires { Fine::rows(); })
    return row * width + row / fine_rows;
  else
    return row * width;
}

/// Words of a vector's numbers: one of 16 bits, or two of single precision, scaled.
template <coarse_storage storage>
inline constexpr int words_of_vector = storage == coarse_storage::single ? 2 : 1;

/// Null vectors of a warp on their way to shared memory, past the registers. Rows of a tile follow each other in
/// memory, so that requests load whole lines of the cache. `slots` tiles are under way, whatever else the warp waits
/// for.
/// \tparam vectors  of a row, at most
/// \tparam apart    rows begin that many words apart, up to whole banks: the words that a request reads are then in
///                  banks of their own
template <coarse_storage storage, int vectors, int tile_rows, int apart, int slots>
struct vector_ring {
  static constexpr int words = words_of_vector<storage>;
  static constexpr int row_words = (vectors * words + apart - 1) / (2 * apart) * (2 * apart) + apart;
  static constexpr int tile_words = tile_rows * row_words, bytes = slots * tile_words * 4;
  static constexpr int pieces_of_a_lane = (tile_rows * vectors * words / 4 + 31) / 32;

  std::uint32_t* begin;  ///< of this warp
  int pieces;            ///< of 16 bytes, of a row
  int to[pieces_of_a_lane];
  int next = 0, current = 0;  ///< slots
  static constexpr int slots_under_way = slots;

  __device__ vector_ring(std::byte* shared, int pieces_of_a_row)
      : begin(reinterpret_cast<std::uint32_t*>(shared)), pieces(pieces_of_a_row) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int k = 0; k < pieces_of_a_lane; ++k) {
      const int row = (lane + 32 * k) / pieces;
      to[k] = row < tile_rows ? row * row_words + (lane + 32 * k - row * pieces) * 4 : -1;
    }
  }
  /// Sets the padding of rows beyond their vectors to zero, once and for all.
  __device__ void clear_beyond(int vectors_of_a_row) {
    for (int k = static_cast<int>(threadIdx.x % 32); k < slots * tile_words; k += 32)
      if (k % row_words >= vectors_of_a_row * words) begin[k] = 0;
  }
  /// Starts to copy a tile. Beyond `rows` it becomes zero.
  __device__ void start(const uint4* from, int rows) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int k = 0; k < pieces_of_a_lane; ++k)
      if (to[k] >= 0)
        start_copy_to_shared(begin + next * tile_words + to[k], from + lane + 32 * k, lane + 32 * k < rows * pieces);
    end_group_of_copies();
    next = next + 1 == slots ? 0 : next + 1;
  }
  /// Returns the oldest tile, when it is there. Each call of `start` must have been a group of copies.
  __device__ const std::uint32_t* wait() {
    wait_for_copies<slots - 1>();
    __syncwarp();
    const std::uint32_t* const tile = begin + current * tile_words;
    current = current + 1 == slots ? 0 : current + 1;
    return tile;
  }
};

/// Rows of a chirality that are staged at a time, at most; eight of a warp at once.
inline constexpr int staged_rows = 96;
/// Columns from row to row.
inline constexpr int staged_columns = 12;
inline constexpr int batch_threads = 256;

/// The largest number of a column so far, as its exponent, and how sums of columns change when it grows.
struct column_scales {
  int exponent[staged_columns];
  float change[staged_columns];
};

/// Fine numbers of a column, already in registers, become pairs of words. Threads of `group` lanes, a power of two,
/// share the column; `largest` is the largest of their own numbers. Returns the scale.
__device__ __forceinline__ float scale_of_column(column_scales& scales, int column, std::uint32_t largest, int group) {
  for (int distance = 1; distance < group; distance *= 2)
    largest = max(largest, __shfl_xor_sync(0xffffffffU, largest, distance));
  const int before = scales.exponent[column], now = max(before, exponent_of(largest));
  __syncwarp();
  if (static_cast<int>(threadIdx.x) % group == 0) {
    scales.exponent[column] = now;
    scales.change[column] = before == 0 ? 1.0F : ldexpf(1.0F, before - now);
  }
  return scale_to_halves(now);
}

/// Sites of a segment that a thread may start to copy while the segment before is multiplied: a column of a site each.
template <class Fine>
struct fine_copies {  // coarse lattices: none, they are loaded when they are staged
  static constexpr int bytes = 0;
  __device__ fine_copies(std::byte*, const Fine&, const site_stretch&) {}
  __device__ void start(const Fine&, const site_stretch&, const site_stretch&) {}
};
template <class T>
struct fine_copies<fine_spinors<T>> {
  static constexpr int group = staged_rows / fine_rows;  // sites
  static_assert(group == 16);
  static constexpr int components = 2 * fine_rows, block = column_bytes<T>(components),
                       bytes = staged_columns * group / lanes * block;

  /// Where they come to lie: as sites of a field, a thread's own each.
  spinor_pointer<T> staged;
  std::int32_t site;  ///< of this thread's next copy

  __device__ fine_copies(std::byte* shared, const fine_spinors<T>&, const site_stretch& first)
      : staged{shared, block, 0}, site(site_of(first)) {}
  /// Starts to copy `what`, and loads the place of `next`, which is copied next.
  __device__ void start(const fine_spinors<T>& fine, const site_stretch& what, const site_stretch& next) {
    if (is_present(what)) {
      constexpr int chunks = chunks_of<T>(components);
      const int task = static_cast<int>(threadIdx.x), column = what.first_column + task / group,
                parity = site >= fine.sites ? 1 : 0;
      const std::int32_t i = site - parity * fine.sites;
#pragma unroll
      for (int c = 0; c < chunks; ++c)
        start_copy_to_shared(staged.site(task, 0) + c * chunk_stride,
                             fine.part[parity].site(i, column) + c * chunk_stride, true);
      if constexpr (is_half<T>)
        start_word_to_shared(staged.scale(task, 0, chunks), fine.part[parity].scale(i, column, chunks));
    }
    site = site_of(next);
  }
  /// Loads the numbers that were copied.
  __device__ void load(complex<float> (&numbers)[components]) const {
    complex<real_of<T>> stored[components];
    const spinor_pointer<const T> from = staged;
    load_site<T>(from, static_cast<int>(threadIdx.x), 0, stored);
#pragma unroll
    for (int k = 0; k < components; ++k) numbers[k] = complex_cast<float>(stored[k]);
    rotate_spin_basis(numbers, colours);
  }
  static __device__ bool is_present(const site_stretch& what) {
    const int task = static_cast<int>(threadIdx.x);
    return task / group < what.columns && task % group < what.sites;
  }

 private:
  static __device__ std::int32_t site_of(const site_stretch& what) {
    return is_present(what) ? what.site[static_cast<int>(threadIdx.x) % group] : 0;
  }
};

/// Fine numbers into shared memory as pairs of words: [chirality][row][column].
template <class T>
__device__ __forceinline__ void stage_words(uint2* to, int chirality_stride, column_scales& scales,
                                            const fine_copies<fine_spinors<T>>& copies, const fine_spinors<T>&,
                                            const site_stretch& what, std::int32_t /*rows*/) {
  constexpr int group = fine_copies<fine_spinors<T>>::group;
  const int task = static_cast<int>(threadIdx.x), c = task / group, i = task - c * group;
  if (task / 32 * 32 >= what.columns * group) return;  // all of a warp
  complex<float> z[2 * fine_rows]{};
  if (copies.is_present(what)) copies.load(z);
  std::uint32_t largest = 0;
#pragma unroll
  for (int r = 0; r < 2 * fine_rows; ++r) largest = larger_bits(larger_bits(largest, z[r].re), z[r].im);
  const float scale = scale_of_column(scales, min(c, staged_columns - 1), largest, group);
  if (c >= what.columns) return;
#pragma unroll
  for (int r = 0; r < 2 * fine_rows; ++r)
    to[r / fine_rows * chirality_stride + row_place<fine_spinors<T>, staged_columns>(i * fine_rows + r % fine_rows) +
       c] = packed_twice(make_float2(scale * z[r].re, scale * z[r].im));
}
__device__ __forceinline__ void stage_words(uint2* to, int chirality_stride, column_scales& scales,
                                            const fine_copies<coarse_sites<float>>&, const coarse_sites<float>& fine,
                                            const site_stretch& what, std::int32_t rows) {
  constexpr int most = 2 * staged_rows / 32;  // numbers of a lane
  const int lane = static_cast<int>(threadIdx.x % 32), warps = static_cast<int>(blockDim.x / 32);
  const int of_site = 2 * rows, all = what.sites * of_site;
  for (int c = static_cast<int>(threadIdx.x / 32); c < what.columns; c += warps) {
    complex<float> z[most];
    std::uint32_t largest = 0;
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const int j = lane + 32 * k, i = j / of_site, number = j - i * of_site;
      z[k] =
          j < all ? fine.number(what.site[i], what.first_column + c, number / rows, number % rows) : complex<float>{};
      largest = larger_bits(larger_bits(largest, z[k].re), z[k].im);
    }
    const float scale = scale_of_column(scales, c, largest, 32);
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const int j = lane + 32 * k, i = j / of_site, number = j - i * of_site, chirality = number / rows;
      if (j < all)
        to[chirality * chirality_stride + (i * rows + number - chirality * rows) * staged_columns + c] =
            packed_twice(make_float2(scale * z[k].re, scale * z[k].im));
    }
  }
}

/// The ring of a warp of the restriction: eight rows at a time, of which a request reads four.
template <coarse_storage storage, int vector_tiles>
using restriction_ring = vector_ring<storage, 8 * vector_tiles, 8, 8, 4>;

/// Shared memory of the restriction.
template <class Fine, coarse_storage storage, int vector_tiles>
struct restriction_memory {
  static constexpr int chirality_stride = staged_rows * staged_columns + staged_rows / fine_rows;
  uint2 numbers[chiralities * chirality_stride];
  std::byte rings[batch_threads / 32][restriction_ring<storage, vector_tiles>::bytes];
  std::byte copies[std::max(fine_copies<Fine>::bytes, 16)];
  column_scales scales;
};

/// A block takes a coarse site and up to 8 * column_tiles columns (12 at most); half of its warps are for each
/// chirality and share the rows, eight at a time. Fine numbers are staged as pairs of words; numbers of the next
/// segment and the next null vectors are on their way meanwhile. A tile of the result has the real parts of 8 columns,
/// then the imaginary ones, for 8 vectors.
template <class Fine, coarse_storage storage, int column_tiles, int vector_tiles>
__global__ void __launch_bounds__(batch_threads, storage == coarse_storage::half && vector_tiles == 3 ? 3 : 2)
    restrict_batch_kernel(const __grid_constant__ Fine fine, const __grid_constant__ vector_pointers v,
                          coarse_pointer<complex<float>> coarse, int all_columns, int columns_at_once, int segment) {
  constexpr int words = words_of_vector<storage>, parts = batch_threads / 32 / chiralities;
  constexpr int steps = staged_rows / 8 / parts;  // of a warp
  using ring_type = restriction_ring<storage, vector_tiles>;
  using memory_type = restriction_memory<Fine, storage, vector_tiles>;
  constexpr int chirality_stride = memory_type::chirality_stride;
  extern __shared__ __align__(16) std::byte shared[];
  memory_type& memory = *reinterpret_cast<memory_type*>(shared);
  uint2* const numbers = memory.numbers;
  column_scales& scales = memory.scales;
  const std::int64_t s = v.site_of_block(blockIdx.x);
  const int first_column = static_cast<int>(blockIdx.y) * columns_at_once,
            columns = min(columns_at_once, all_columns - first_column);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32), t = lane % 4,
            g = lane / 4, chirality = warp / parts, part = warp % parts;
  if (threadIdx.x < staged_columns) scales.exponent[threadIdx.x] = 0;
  // Segments of both parities, one after the other.
  const std::int32_t of_even = fine.has[0] ? (v.blocks.count(s, 0) + segment - 1) / segment : 0,
                     of_odd = fine.has[1] ? (v.blocks.count(s, 1) + segment - 1) / segment : 0;
  struct segment_place {
    std::int64_t row;
    site_stretch what;
  };
  const auto place_of = [&](std::int32_t number) {
    const int parity = number >= of_even ? 1 : 0;
    const std::int32_t first = (number - (parity == 1 ? of_even : 0)) * segment;
    const bool there = number < of_even + of_odd;
    return segment_place{there ? v.blocks.block_begin(s, parity, chirality, v.rows) + std::int64_t{first} * v.rows : 0,
                         {v.blocks.site + (there ? s * v.blocks.volume + v.blocks.first(s, parity) + first : 0),
                          there ? min(segment, v.blocks.count(s, parity) - first) : 0, first_column, columns}};
  };
  // The next tile that is to be copied: of which segment and step.
  const int pieces = v.vectors / numbers_of_16_bytes<storage>;
  ring_type ring(memory.rings[warp], pieces);
  std::int32_t copied = 0;
  int copied_step = 0;
  segment_place copied_from = place_of(0);
  const auto start_tile = [&] {
    const std::int32_t row = (copied_step * parts + part) * 8;
    ring.start(reinterpret_cast<const uint4*>(v.begin) + (copied_from.row + row) * pieces,
               copied_from.what.sites * v.rows - row);
    if (++copied_step == steps) {
      copied_step = 0;
      copied_from = place_of(++copied);
    }
  };
#pragma unroll
  for (int k = 0; k < ring_type::slots_under_way; ++k) start_tile();
  segment_place here = place_of(0);
  fine_copies<Fine> copies(memory.copies, fine, here.what);
  trigger_dependent_launch();
  wait_for_previous_kernel();
  segment_place next = place_of(1);
  copies.start(fine, here.what, next.what);
  end_group_of_copies();
  wait_for_copies<0>();
  float sums[column_tiles][vector_tiles][4] = {};
  for (std::int32_t number = 0; number < of_even + of_odd; ++number) {
    // This segment's copies were started before as many groups of tiles as a segment has.
    wait_for_copies<steps - 1>();
    __syncthreads();
    stage_words(numbers, chirality_stride, scales, copies, fine, here.what, v.rows);
    __syncthreads();
    const segment_place after_next = place_of(number + 2);
    copies.start(fine, next.what, after_next.what);
#pragma unroll
    for (int m = 0; m < column_tiles; ++m) {
      const float change = scales.change[min(8 * m + g, columns - 1)];
#pragma unroll
      for (int x = 0; x < vector_tiles; ++x)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[m][x][e] *= change;
    }
    const std::int32_t all = here.what.sites * v.rows;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      const std::uint32_t* const tile = ring.wait() + t * ring_type::row_words + g * words;
      // Beyond the end vectors are zero, and rows are the end's.
      const int first = (i * parts + part) * 8 + t;
      if (first - t < all) {
        std::uint32_t b[2][vector_tiles][words];
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int x = 0; x < vector_tiles; ++x) {
            const std::uint32_t* const at = tile + 4 * h * ring_type::row_words + 8 * x * words;
            if constexpr (storage == coarse_storage::single) {
              const float2 z = *reinterpret_cast<const float2*>(at);
              const uint2 pair = packed_twice(make_float2(v.scale * z.x, v.scale * z.y));
              b[h][x][0] = pair.x;
              b[h][x][1] = pair.y;
            } else {
              b[h][x][0] = *at;
            }
          }
        const uint2* const upper =
            numbers + chirality * chirality_stride + row_place<Fine, staged_columns>(min(first, all - 1));
        const uint2* const lower =
            numbers + chirality * chirality_stride + row_place<Fine, staged_columns>(min(first + 4, all - 1));
#pragma unroll
        for (int m = 0; m < column_tiles; ++m) {
          const int column = min(8 * m + g, columns - 1);
          const uint2 one = upper[column], other = lower[column];
          const std::uint32_t high[4] = {one.x, conjugated(swapped(one.x)), other.x, conjugated(swapped(other.x))};
          const std::uint32_t low[4] = {one.y, conjugated(swapped(one.y)), other.y, conjugated(swapped(other.y))};
#pragma unroll
          for (int x = 0; x < vector_tiles; ++x) {
            if constexpr (words == 2) multiply_tiles(sums[m][x], high, b[0][x][1], b[1][x][1]);
            multiply_tiles(sums[m][x], low, b[0][x][0], b[1][x][0]);
          }
#pragma unroll
          for (int x = 0; x < vector_tiles; ++x) multiply_tiles(sums[m][x], high, b[0][x][0], b[1][x][0]);
        }
      }
      __syncwarp();
      start_tile();
    }
    here = next;
    next = after_next;
  }
  wait_for_copies<0>();
  // Warps of a chirality add up: [part][tile][number][lane], a chirality at a time.
  constexpr int of_a_warp = column_tiles * vector_tiles * 4 * 32;
  // All copies have come, and no thread reads the rings any more.
  static_assert(parts * of_a_warp * sizeof(float) <= sizeof memory.numbers + sizeof memory.rings);
  float* const partial = reinterpret_cast<float*>(shared);
  for (int of = 0; of < chiralities; ++of) {
    __syncthreads();
    if (chirality == of)
#pragma unroll
      for (int m = 0; m < column_tiles; ++m)
#pragma unroll
        for (int x = 0; x < vector_tiles; ++x)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            partial[part * of_a_warp + ((m * vector_tiles + x) * 4 + e) * 32 + lane] = sums[m][x][e];
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < of_a_warp / 2; k += static_cast<int>(blockDim.x)) {
      // Number e is a real part, e + 2 the imaginary one.
      const int l = k % 32, e = k / 32 % 2, tile = k / 64, m = tile / vector_tiles, x = tile - m * vector_tiles;
      const int column = 8 * m + l / 4, vector = 8 * x + 2 * (l % 4) + e;
      if (column >= columns || vector >= v.vectors) continue;
      complex<float> total{};
      for (int w = 0; w < parts; ++w) {
        const float* const at = partial + w * of_a_warp + (tile * 4 + e) * 32 + l;
        total += complex<float>{at[0], at[64]};
      }
      const int exponent = scales.exponent[column];
      coarse.at(s, first_column + column)[of * v.vectors + vector] =
          exponent == 0 ? complex<float>{} : v.back * scale_back(exponent) * total;
    }
  }
}

/// The ring of a warp of the prolongation: 16 rows at a time, of which a request reads eight, or two a quarter. As many
/// slots as let two blocks have a multiprocessor.
template <coarse_storage storage, int vector_steps>
using prolongation_ring =
    vector_ring<storage, 8 * vector_steps, 16, storage == coarse_storage::single && vector_steps == 3 ? 16 : 8,
                (storage == coarse_storage::single ? 6 : 10) / (vector_steps - 1)>;

/// A block takes one parity of an aggregate, `segment` sites at a time, and up to 4 * column_tiles columns. Half of its
/// warps are for each chirality and take 16 rows at a time. A warp has its coarse numbers in registers, as pairs of
/// words. Null vectors are on their way while results go out.
/// \tparam vector_steps  of 8 vectors
template <class Fine, coarse_storage storage, int column_tiles, int vector_steps>
__global__ void __launch_bounds__(batch_threads, 2)
    prolong_batch_kernel(const __grid_constant__ Fine fine, const __grid_constant__ vector_pointers v,
                         coarse_pointer<const complex<float>> coarse, int all_columns, int segment, bool add) {
  constexpr int width = 4 * column_tiles, words = words_of_vector<storage>, parts = batch_threads / 32 / chiralities;
  using ring_type = prolongation_ring<storage, vector_steps>;
  extern __shared__ __align__(16) float2 results[];
  const std::int64_t s = v.site_of_block(blockIdx.x / 2);
  const int parity = static_cast<int>(blockIdx.x % 2);
  const std::int32_t all_sites = fine.has[parity] ? v.blocks.count(s, parity) : 0, all = all_sites * v.rows;
  const int first_column = static_cast<int>(blockIdx.y) * width, columns = min(width, all_columns - first_column);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32), t = lane % 4,
            g = lane / 4, chirality = warp / parts, part = warp % parts;
  const int chirality_stride = row_place<Fine, width>(segment * v.rows);
  const int pieces = v.vectors / numbers_of_16_bytes<storage>;
  ring_type ring(reinterpret_cast<std::byte*>(results + chiralities * chirality_stride) + warp * ring_type::bytes,
                 pieces);
  const uint4* const from =
      reinterpret_cast<const uint4*>(v.begin) + v.blocks.block_begin(s, parity, chirality, v.rows) * pieces;
  // The next tile that is to be copied: where its segment begins, and its first row there.
  const std::int32_t rows_of_segment = segment * v.rows;
  std::int32_t copied = 0, copied_row = 16 * part;
  const auto start_tile = [&] {
    const std::int32_t row = copied + copied_row, end = min(copied + rows_of_segment, all);
    ring.start(from + std::int64_t{row} * pieces, end - row);
    copied_row += 16 * parts;
    if (copied_row >= (rows_of_segment + 16 * parts - 1) / (16 * parts) * (16 * parts)) {
      copied_row = 16 * part;
      copied += rows_of_segment;
    }
  };
  if (all > 0) {
    if (v.vectors < 8 * vector_steps) ring.clear_beyond(v.vectors);
#pragma unroll
    for (int k = 0; k < ring_type::slots_under_way; ++k) start_tile();
  }
  trigger_dependent_launch();
  wait_for_previous_kernel();
  if (all == 0) return;
  // Column 4 c + g / 2 of the right factor: (re, -im) if g is even, (im, re) if it is odd.
  uint2 b[column_tiles][vector_steps][2];
  float back[column_tiles];
  const std::uint32_t order = g % 2 == 0 ? 0x3210U : 0x1032U, sign = g % 2 == 0 ? 0x80000000U : 0U;
#pragma unroll
  for (int c = 0; c < column_tiles; ++c) {
    const complex<float>* const x =
        coarse.at(s, first_column + min(4 * c + g / 2, columns - 1)) + chirality * v.vectors + 2 * t;
    float4 z[vector_steps];
    std::uint32_t largest = 0;
#pragma unroll
    for (int k = 0; k < vector_steps; ++k) {
      z[k] = 8 * k + 2 * t < v.vectors ? *reinterpret_cast<const float4*>(x + 8 * k) : make_float4(0, 0, 0, 0);
      largest = larger_bits(larger_bits(largest, make_float2(z[k].x, z[k].y)), make_float2(z[k].z, z[k].w));
    }
    for (int distance = 1; distance < 4; distance *= 2)
      largest = max(largest, __shfl_xor_sync(0xffffffffU, largest, distance));
    const int exponent = exponent_of(largest);
    const float scale = scale_to_halves(exponent);
#pragma unroll
    for (int k = 0; k < vector_steps; ++k) {
      const uint2 one = packed_twice(make_float2(scale * z[k].x, scale * z[k].y)),
                  other = packed_twice(make_float2(scale * z[k].z, scale * z[k].w));
      b[c][k][0] = make_uint2(__byte_perm(one.x, 0, order) ^ sign, __byte_perm(one.y, 0, order) ^ sign);
      b[c][k][1] = make_uint2(__byte_perm(other.x, 0, order) ^ sign, __byte_perm(other.y, 0, order) ^ sign);
    }
    // Results of this thread are of column 4 c + t.
    back[c] = v.back * scale_back(__shfl_sync(0xffffffffU, exponent, 8 * t));
  }
  const std::int64_t place = s * v.blocks.volume + v.blocks.first(s, parity);
  for (std::int32_t first = 0; first < all_sites; first += segment) {
    const std::int32_t sites = min(segment, all_sites - first), rows = sites * v.rows;
    for (std::int32_t turn = 0; turn < rows_of_segment; turn += 16 * parts) {
      const std::int32_t begin = turn + 16 * part;
      const std::uint32_t* const tile = ring.wait() + g * ring_type::row_words + 2 * t * words;
      if (begin < rows) {
        float sums[column_tiles][4] = {};
#pragma unroll
        for (int k = 0; k < vector_steps; ++k) {
          // Vectors 8 k + 2 t and the next, of rows g and g + 8.
          std::uint32_t a[words][4];
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const std::uint32_t* const at = tile + 8 * h * ring_type::row_words + 8 * k * words;
            if constexpr (storage == coarse_storage::single) {
              const float4 z = *reinterpret_cast<const float4*>(at);
              const uint2 one = packed_twice(make_float2(v.scale * z.x, v.scale * z.y)),
                          other = packed_twice(make_float2(v.scale * z.z, v.scale * z.w));
              a[0][h] = one.x;
              a[0][h + 2] = other.x;
              a[1][h] = one.y;
              a[1][h + 2] = other.y;
            } else {
              const uint2 z = *reinterpret_cast<const uint2*>(at);
              a[0][h] = z.x;
              a[0][h + 2] = z.y;
            }
          }
#pragma unroll
          for (int c = 0; c < column_tiles; ++c) {
            if constexpr (words == 2) multiply_tiles(sums[c], a[1], b[c][k][0].x, b[c][k][1].x);
            multiply_tiles(sums[c], a[0], b[c][k][0].y, b[c][k][1].y);
          }
#pragma unroll
          for (int c = 0; c < column_tiles; ++c) multiply_tiles(sums[c], a[0], b[c][k][0].x, b[c][k][1].x);
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int r = begin + 8 * h + g;
          if (r >= rows) continue;
          float2* const to = results + chirality * chirality_stride + row_place<Fine, width>(r) + t;
#pragma unroll
          for (int c = 0; c < column_tiles; ++c)
            to[4 * c] = make_float2(back[c] * sums[c][2 * h], back[c] * sums[c][2 * h + 1]);
        }
      }
      __syncwarp();
      start_tile();
    }
    __syncthreads();
    unstage(fine, {v.blocks.site + place + first, sites, first_column, columns}, v.rows, add,
            [&](int chi, int i, int r, int c) {
              return results[chi * chirality_stride + row_place<Fine, width>(i * v.rows + r) + c];
            });
    __syncthreads();
  }
  wait_for_copies<0>();
}

/// The numbers of a kernel (one_kernel.hpp): storage; bytes of a real of the fine field, 0 for a coarse one; 0 for
/// restriction, 1 for prolongation; tiles of columns (0: one column) and of vectors.
template <class Fine>
inline constexpr int bytes_of_fine = 0;
template <class T>
inline constexpr int bytes_of_fine<fine_spinors<T>> = is_half<T> ? 2 : static_cast<int>(sizeof(real_of<T>));
template <class Fine, coarse_storage storage, int... choice>
constexpr bool is_compiled_transfer() {
  return is_compiled<static_cast<int>(storage), bytes_of_fine<Fine>, choice...>();
}
template <class Fine, coarse_storage storage, int... choice>
[[noreturn]] void refuse_transfer() {
  refuse_kernel<static_cast<int>(storage), bytes_of_fine<Fine>, choice...>();
}

/// Returns which kernels serve: all read rows by 16 bytes.
template <class Fine>
bool takes_single_columns(const vector_pointers& v) {
  return v.vectors % (v.storage == coarse_storage::single ? 2 : 4) == 0 && v.vectors <= 64 && v.rows <= 48;
}
template <class Fine>
bool takes_batches(const vector_pointers& v) {
  return !std::is_same_v<Fine, fine_spinors<double>> && v.vectors <= 48 && takes_single_columns<Fine>(v);
}

/// Calls launch<tiles>() with the tiles of 8 vectors that kernels of batches have for this number of vectors.
template <class Launch>
void with_vector_tiles(std::int32_t vectors, const Launch& launch) {
  if (vectors <= 24)
    launch.template operator()<3>();
  else if (vectors <= 32)
    launch.template operator()<4>();
  else
    launch.template operator()<6>();
}

/// Computes coarse = P^+ fine; false if no fast kernel serves.
template <coarse_storage storage, class Fine>
bool queue_restriction(const queue& q, const Fine& fine, const vector_pointers& v, std::int64_t sites,
                       const coarse_pointer<complex<float>>& coarse, int columns) {
  const bool single_columns = takes_single_columns<Fine>(v);
  if (takes_batches<Fine>(v) && (columns > 1 || !single_columns)) {
    if constexpr (!std::is_same_v<Fine, fine_spinors<double>>) {
      const auto launch = [&]<int column_tiles, int vector_tiles>() {
        if constexpr (!is_compiled_transfer<Fine, storage, 0, column_tiles, vector_tiles>()) {
          refuse_transfer<Fine, storage, 0, column_tiles, vector_tiles>();
        } else {
          constexpr auto kernel = restrict_batch_kernel<Fine, storage, column_tiles, vector_tiles>;
          constexpr int bytes = sizeof(restriction_memory<Fine, storage, vector_tiles>);
          const int at_once = std::min(8 * column_tiles, staged_columns);
          allow_shared(kernel, bytes);
          launch_kernel(q, dim3(static_cast<unsigned>(sites), static_cast<unsigned>((columns + at_once - 1) / at_once)),
                        dim3(batch_threads), bytes, true, kernel, fine, v, coarse, columns, at_once,
                        std::max(1, staged_rows / v.rows));
        }
      };
      with_vector_tiles(v.vectors, [&]<int vector_tiles>() {
        columns <= 8 ? launch.template operator()<1, vector_tiles>() : launch.template operator()<2, vector_tiles>();
      });
      return true;
    }
  }
  if (!single_columns) return false;
  const int lanes_of_row = v.vectors / numbers_of_16_bytes<storage>, threads = 2 * (128 / lanes_of_row * lanes_of_row);
  const int segment = std::max(1, 768 / v.rows), bytes = 2 * segment * v.rows * static_cast<int>(sizeof(float2));
  if constexpr (!is_compiled_transfer<Fine, storage, 0, 0, 0>())
    refuse_transfer<Fine, storage, 0, 0, 0>();
  else
    launch_kernel(q, dim3(static_cast<unsigned>(sites), static_cast<unsigned>(columns)),
                  dim3(static_cast<unsigned>(threads)), bytes, true, restrict_kernel<Fine, storage>, fine, v, coarse,
                  segment);
  return true;
}

/// Computes fine = P coarse, or fine += P coarse; false if no fast kernel serves.
template <coarse_storage storage, class Fine>
bool queue_prolongation(const queue& q, const Fine& fine, const vector_pointers& v, std::int64_t sites,
                        const coarse_pointer<const complex<float>>& coarse, int columns, bool add) {
  const int most = (v.blocks.volume + 1) / 2;  // sites of a parity: half, whatever the shape
  const bool single_columns = takes_single_columns<Fine>(v);
  if (takes_batches<Fine>(v) && (columns > 1 || !single_columns)) {
    if constexpr (!std::is_same_v<Fine, fine_spinors<double>>) {
      const auto launch = [&]<int column_tiles, int vector_steps>() {
        if constexpr (!is_compiled_transfer<Fine, storage, 1, column_tiles, vector_steps>()) {
          refuse_transfer<Fine, storage, 1, column_tiles, vector_steps>();
        } else {
          constexpr auto kernel = prolong_batch_kernel<Fine, storage, column_tiles, vector_steps>;
          constexpr int width = 4 * column_tiles;
          const int segment = std::min(most, std::max(1, 192 / v.rows));
          const int bytes = 2 * row_place<Fine, width>(segment * v.rows) * static_cast<int>(sizeof(float2)) +
                            batch_threads / 32 * prolongation_ring<storage, vector_steps>::bytes;
          allow_shared(kernel, bytes);
          launch_kernel(q, dim3(static_cast<unsigned>(sites * 2), static_cast<unsigned>((columns + width - 1) / width)),
                        dim3(batch_threads), bytes, true, kernel, fine, v, coarse, columns, segment, add);
        }
      };
      with_vector_tiles(v.vectors, [&]<int vector_steps>() {
        columns <= 4 ? launch.template operator()<1, vector_steps>() : launch.template operator()<3, vector_steps>();
      });
      return true;
    }
  }
  if (!single_columns) return false;
  const int pieces = v.vectors / numbers_of_16_bytes<storage>;
  int doublings = 0;
  while (pieces_of_a_lane << doublings < pieces) ++doublings;
  const int segment = std::min(most, std::max(1, 384 / v.rows));
  const int segments = (most + segment - 1) / segment;
  const int bytes = (2 * segment * v.rows + 256 * 2 * pieces_of_a_lane) * static_cast<int>(sizeof(float2));
  if constexpr (!is_compiled_transfer<Fine, storage, 1, 0, 0>())
    refuse_transfer<Fine, storage, 1, 0, 0>();
  else
    launch_kernel(q, dim3(static_cast<unsigned>(sites * 2 * segments), static_cast<unsigned>(columns)), dim3(256),
                  bytes, true, prolong_kernel<Fine, storage>, fine, v, coarse, segments, segment, doublings, add);
  return true;
}

#endif

}  // namespace plaquette::gpu
