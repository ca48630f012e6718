// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/coarse_products.hpp"

#include <algorithm>

#include "gpu/coarse/tensor_cores.hpp"
#include "gpu/device/copy_to_shared.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/device/one_kernel.hpp"
#include "gpu/halo/message_wait.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

namespace {

/// Waits for the message with the vector for matrix m of a site, and returns the vector.
template <class T>
PLAQUETTE_HOST_DEVICE const complex<T>* awaited_input(const coarse_products<T>& p, std::int64_t site, std::int32_t m) {
  const std::int32_t d = m - (p.has_own() ? 1 : 0), y = p.neighbours[site * hop_directions + d];
  const std::uint32_t application = *static_cast<const volatile std::uint32_t*>(p.ghosts.current);
  wait_for_message(p.ghosts, d, application);
  return reinterpret_cast<const complex<T>*>(p.ghosts.ghost[application & 1U][d]) +
         std::int64_t{-1 - y - p.first_ghosts[d]} * p.columns * p.in.n;
}

/// Variant 1: one row of a site and column, the formula.
template <class T>
struct gather_row {
  coarse_products<T> p;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int32_t n = p.out.n;
    const std::int64_t rest = index / n, s = rest / p.columns, site = p.first_site + s;
    const auto row = static_cast<std::int32_t>(index - rest * n),
               column = static_cast<std::int32_t>(rest - s * p.columns);
    complex<T> sum{};
    for (std::int32_t m = 0; m < p.matrices.order.matrices; ++m) {
      const complex<T>* const here = p.input(site, m);
      const complex<T>* const x = (here != nullptr ? here : awaited_input(p, site, m)) + std::int64_t{column} * n;
      for (std::int32_t k = 0; k < n; ++k) {
        const complex<T> a = complex_cast<T>(p.matrices.number(site, m, row, k));
        sum.re += a.re * x[k].re - a.im * x[k].im;
        sum.im += a.re * x[k].im + a.im * x[k].re;
      }
    }
    sum = p.factor * sum;
    if (p.start.begin != nullptr) sum += p.start.at(s, column)[row];
    p.out.at(s, column)[row] = sum;
  }
};

#ifdef __CUDACC__

constexpr int tile_rows = tile_order::tile_rows;

/// Numbers of a chunk: rows g and g + 8 of column t, and in half of column t + 4.
template <coarse_storage storage>
struct chunk_numbers {
  static constexpr int columns = storage == coarse_storage::single ? 1 : 2;
  float2 a[columns][2];

  __device__ __forceinline__ explicit chunk_numbers(const uint4& c) {
    if constexpr (storage == coarse_storage::single) {
      a[0][0] = make_float2(__uint_as_float(c.x), __uint_as_float(c.y));
      a[0][1] = make_float2(__uint_as_float(c.z), __uint_as_float(c.w));
    } else {
      a[0][0] = unpacked(c.x);
      a[0][1] = unpacked(c.y);
      a[1][0] = unpacked(c.z);
      a[1][1] = unpacked(c.w);
    }
  }
};

template <coarse_storage storage>
constexpr int columns_of_step = storage == coarse_storage::single ? 4 : 8;

/// Pointers to the vectors that a site's matrices are multiplied with, in shared memory.
using input_pointers = const complex<float>* [coarse_matrices_of_a_site];
__device__ __forceinline__ void find_inputs(input_pointers& inputs, const coarse_products<float>& p, std::int64_t site,
                                            int column) {
  if (static_cast<std::int32_t>(threadIdx.x) < p.matrices.order.matrices)
    inputs[threadIdx.x] = p.input(site, static_cast<std::int32_t>(threadIdx.x)) + std::int64_t{column} * p.in.n;
  __syncthreads();
}
/// Waits for the messages that a site needs, after the kernel before has ended, which packed the messages for other
/// ranks.
__device__ __forceinline__ void await_inputs(input_pointers& inputs, const coarse_products<float>& p, std::int64_t site,
                                             int column) {
  if (p.ghosts.cut == 0) return;
  const auto m = static_cast<std::int32_t>(threadIdx.x);
  if (m < p.matrices.order.matrices && p.input(site, m) == nullptr)
    inputs[m] = awaited_input(p, site, m) + std::int64_t{column} * p.in.n;
  __syncthreads();
}

/// Numbers of the vector for the columns of a chunk: that at `x` and the fourth after it.
template <int columns>
struct numbers_at {
  float2 z[columns];
  __device__ __forceinline__ explicit numbers_at(const float2* x) {
#pragma unroll
    for (int c = 0; c < columns; ++c) z[c] = x[4 * c];
  }
};
/// sum += a chunk of matrices times their numbers of the vector.
template <coarse_storage storage>
__device__ __forceinline__ void add_chunk(float2 (&sum)[2], const chunk_numbers<storage>& numbers,
                                          const float2 (&b)[chunk_numbers<storage>::columns]) {
#pragma unroll
  for (int c = 0; c < numbers.columns; ++c)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float2 a = numbers.a[c][r];
      sum[r].x = fmaf(a.x, b[c].x, sum[r].x);
      sum[r].y = fmaf(a.x, b[c].y, sum[r].y);
      sum[r].x = fmaf(-a.y, b[c].y, sum[r].x);
      sum[r].y = fmaf(a.y, b[c].x, sum[r].y);
    }
}
/// Adds over the four lanes of a row.
__device__ __forceinline__ void add_over_lanes(float2& sum) {
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    sum.x += __shfl_xor_sync(0xffffffffU, sum.x, distance);
    sum.y += __shfl_xor_sync(0xffffffffU, sum.y, distance);
  }
}
/// Warps add up their sums of the 16 rows of a tile of site s, and the result goes out.
__device__ __forceinline__ void store_rows(float2 (*of_warps)[tile_rows], float2 (&sum)[2],
                                           const coarse_products<float>& p, std::int32_t s, std::int32_t tile,
                                           int column) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32),
            warps = static_cast<int>(blockDim.x / 32), t = lane % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    add_over_lanes(sum[r]);
    if (t == 0) of_warps[warp][lane / 4 + 8 * r] = sum[r];
  }
  __syncthreads();
  // A warp takes eight rows, four threads a row.
  for (int r = warp; r < 2; r += warps) {
    float2 total{};
#pragma unroll 4
    for (int w = t; w < warps; w += 4) {
      total.x += of_warps[w][8 * r + lane / 4].x;
      total.y += of_warps[w][8 * r + lane / 4].y;
    }
    add_over_lanes(total);
    const std::int32_t row = tile * tile_rows + 8 * r + lane / 4;
    if (t != 0 || row >= p.in.n) continue;
    complex<float> z{p.factor * total.x, p.factor * total.y};
    if (p.start.begin != nullptr) z += p.start.at(s, column)[row];
    p.out.at(s, column)[row] = z;
  }
}

/// One right-hand side: a block takes 16 rows of a site, its warps share the columns of all matrices. A thread has
/// `ahead` chunks of matrices under way, the first before it waits for the kernel before. Vectors are staged in shared
/// memory. Where matrices have 16 bits and a thread has few chunks, it takes their numbers straight from the cache.
/// \tparam rolling  more chunks are loaded as the first are used; otherwise a thread has `ahead` at most
template <coarse_storage storage, int ahead, int most_warps, int resident, bool rolling>
__global__ void __launch_bounds__(32 * most_warps, resident)
    one_column_kernel(const __grid_constant__ coarse_products<float> p, divisor row_tiles, std::int32_t steps,
                      int column) {
  extern __shared__ __align__(16) float2 x[];  // [matrix][padded]
  __shared__ input_pointers inputs;
  const auto block = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t s = row_tiles.quotient(block), tile = block - s * row_tiles.value;
  const std::int64_t site = p.first_site + s;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32),
            warps = static_cast<int>(blockDim.x / 32), t = lane % 4;
  const std::int32_t all = p.matrices.order.matrices * steps, n = p.in.n;
  const std::int64_t stride = std::int64_t{row_tiles.value} * 32;
  const uint4* const from = reinterpret_cast<const uint4*>(p.matrices.begin) + site * all * stride + tile * 32 + lane;
  const auto load = [&](std::int32_t q) { return q < all ? load_once(from + q * stride) : make_uint4(0, 0, 0, 0); };
  uint4 chunks[ahead];
#pragma unroll
  for (int k = 0; k < ahead; ++k) chunks[k] = load(warp + k * warps);
  find_inputs(inputs, p, site, column);
  constexpr int of_chunk = chunk_numbers<storage>::columns;
  __shared__ float2 of_warps[most_warps][tile_rows];
  float2 sum[2] = {};
  if constexpr (!rolling && storage == coarse_storage::half) {
    const float2* numbers_of[ahead];
    std::int32_t first_number[ahead];
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const std::int32_t q = min(warp + k * warps, all - 1), m = q / steps;  // beyond the end matrices are zero
      first_number[k] = (q - m * steps) * columns_of_step<storage> + t;
      numbers_of[k] = reinterpret_cast<const float2*>(inputs[m]) + first_number[k];
    }
    trigger_dependent_launch();
    wait_for_previous_kernel();
    if (p.ghosts.cut != 0) {
      await_inputs(inputs, p, site, column);
#pragma unroll
      for (int k = 0; k < ahead; ++k)
        numbers_of[k] =
            reinterpret_cast<const float2*>(inputs[min(warp + k * warps, all - 1) / steps]) + first_number[k];
    }
    float2 b[ahead][of_chunk];
#pragma unroll
    for (int k = 0; k < ahead; ++k)
#pragma unroll
      for (int c = 0; c < of_chunk; ++c) b[k][c] = first_number[k] + 4 * c < n ? numbers_of[k][4 * c] : float2{};
#pragma unroll
    for (int k = 0; k < ahead; ++k) add_chunk(sum, chunk_numbers<storage>(chunks[k]), b[k]);
    return store_rows(of_warps, sum, p, s, tile, column);
  }
  trigger_dependent_launch();
  wait_for_previous_kernel();
  await_inputs(inputs, p, site, column);
  const std::int32_t padded = steps * columns_of_step<storage>;
  for (std::int32_t m = warp; m < p.matrices.order.matrices; m += warps)
    for (std::int32_t j = 2 * lane; j < padded; j += 64)
      *reinterpret_cast<float4*>(x + m * padded + j) =
          j < n ? *reinterpret_cast<const float4*>(inputs[m] + j) : make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  __syncthreads();
  for (std::int32_t first = warp; first < all; first += warps * ahead) {
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const std::int32_t q = min(first + k * warps, all - 1);  // beyond the end matrices are zero
      const chunk_numbers<storage> numbers(chunks[k]);
      if constexpr (rolling) chunks[k] = load(first + (k + ahead) * warps);
      add_chunk(sum, numbers, numbers_at<of_chunk>(x + q * columns_of_step<storage> + t).z);
    }
  }
  store_rows(of_warps, sum, p, s, tile, column);
}

/// The same for lattices of many sites: a block takes 16 rows of several sites, one after the other. While it
/// multiplies matrices of one site, matrices of the next come to registers and its vector to shared memory, so that
/// loads never pause. A site has whole rounds of `ahead` chunks a warp, so that a chunk's registers are known.
template <coarse_storage storage, int ahead, int warps, int resident>
__global__ void __launch_bounds__(32 * warps, resident)
    column_stream_kernel(const __grid_constant__ coarse_products<float> p, divisor row_tiles, std::int32_t steps,
                         int column, std::int32_t sites_of_block) {
  constexpr int inputs_of_a_warp = (coarse_matrices_of_a_site + warps - 1) / warps;
  extern __shared__ __align__(16) float2 x[];  // [2][matrix][padded]
  __shared__ float2 of_warps[warps][tile_rows];
  const auto block = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t group = row_tiles.quotient(block), tile = block - group * row_tiles.value,
                     first_site = group * sites_of_block, sites = min(sites_of_block, p.sites - first_site);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32), t = lane % 4;
  const std::int32_t matrices = p.matrices.order.matrices, all = matrices * steps, n = p.in.n,
                     padded = steps * columns_of_step<storage>;
  constexpr std::int32_t of_round = ahead * warps;
  const std::int64_t stride = std::int64_t{row_tiles.value} * 32;
  const uint4* const from =
      reinterpret_cast<const uint4*>(p.matrices.begin) + (p.first_site + first_site) * all * stride + tile * 32 + lane;
  const auto load = [&](std::int32_t s, std::int32_t q) {
    if (q >= all) q -= all, ++s;
    return s < sites ? load_once(from + (std::int64_t{s} * all + q) * stride) : make_uint4(0, 0, 0, 0);
  };
  uint4 chunks[ahead];
#pragma unroll
  for (int k = 0; k < ahead; ++k) chunks[k] = load(0, warp + k * warps);
  // Where the numbers of the next site's vector are that this warp copies.
  const complex<float>* inputs[inputs_of_a_warp];
  const auto find = [&](std::int32_t s) {
#pragma unroll
    for (int k = 0; k < inputs_of_a_warp; ++k)
      if (warp + k * warps < matrices && s < sites)
        inputs[k] = p.input(p.first_site + first_site + s, warp + k * warps) + std::int64_t{column} * n;
  };
  const auto await = [&](std::int32_t s) {
#pragma unroll
    for (int k = 0; k < inputs_of_a_warp; ++k)
      if (warp + k * warps < matrices && p.input(p.first_site + first_site + s, warp + k * warps) == nullptr)
        inputs[k] = awaited_input(p, p.first_site + first_site + s, warp + k * warps) + std::int64_t{column} * n;
  };
  const auto start_copies = [&](std::int32_t s) {
    if (p.ghosts.cut != 0 && s < sites) await(s);
    if (s < sites)
#pragma unroll
      for (int k = 0; k < inputs_of_a_warp; ++k)
        if (warp + k * warps < matrices)
          for (std::int32_t j = 2 * lane; j < n; j += 64)
            start_copy_to_shared(x + (s % 2 * matrices + warp + k * warps) * padded + j, inputs[k] + j, true);
    end_group_of_copies();
    find(s + 1);
  };
  find(0);
  if (n < padded)
    for (int k = static_cast<int>(threadIdx.x); k < 2 * matrices * padded; k += 32 * warps)
      if (k % padded >= n) x[k] = float2{};
  trigger_dependent_launch();
  wait_for_previous_kernel();
  start_copies(0);
  for (std::int32_t s = 0; s < sites; ++s) {
    wait_for_copies<0>();
    __syncthreads();
    start_copies(s + 1);
    const float2* const here = x + s % 2 * matrices * padded + t;
    float2 sum[2] = {};
    for (std::int32_t first = warp; first < all; first += of_round) {
#pragma unroll
      for (int k = 0; k < ahead; ++k) {
        const std::int32_t q = first + k * warps;
        const chunk_numbers<storage> numbers(chunks[k]);
        chunks[k] = load(s, q + of_round);
        add_chunk(sum, numbers, numbers_at<numbers.columns>(here + q * columns_of_step<storage>).z);
      }
    }
    store_rows(of_warps, sum, p, first_site + s, tile, column);
  }
}

// --- Many right-hand sides -------------------------------------------------------------------------------------------

/// Columns of matrices that tensor cores take at a time.
constexpr int octet = 8;
/// Numbers from one column to the next in shared memory. Threads of half a warp, which read two columns and four
/// numbers of each, find them in separate banks.
__host__ __device__ constexpr std::int32_t panel_stride(std::int32_t padded) { return (padded + 15) / 16 * 16 + 4; }

/// Columns c of the vectors at all neighbours, in pairs of words, [matrix][column][padded]; each column is scaled. A
/// warp takes a column.
/// \param back  factor that undoes the scale, [column]
__device__ __forceinline__ void stage_columns(uint2* panels, float* back, const coarse_products<float>& p,
                                              const complex<float>* const* inputs, int columns, std::int32_t padded) {
  constexpr int most = coarse_matrices_of_a_site;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32),
            warps = static_cast<int>(blockDim.x / 32);
  const std::int32_t n = p.in.n, matrices = p.matrices.order.matrices, stride = panel_stride(padded);
  for (int c = warp; c < columns; c += warps) {
    const auto load = [&](int m, std::int32_t j) {
      return m < matrices && j < n ? *reinterpret_cast<const float4*>(inputs[m] + std::int64_t{c} * n + j)
                                   : make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    };
    float4 first[most];
#pragma unroll
    for (int m = 0; m < most; ++m) first[m] = load(m, 2 * lane);
    std::uint32_t largest = 0;
    const auto count = [&](const float4& z) {
      largest = larger_bits(larger_bits(largest, make_float2(z.x, z.y)), make_float2(z.z, z.w));
    };
#pragma unroll
    for (int m = 0; m < most; ++m) count(first[m]);
    for (std::int32_t j = 2 * lane + 64; j < n; j += 64)
      for (int m = 0; m < matrices; ++m) count(load(m, j));
    const int exponent = exponent_of(__reduce_max_sync(0xffffffffU, largest));
    const float scale = scale_to_halves(exponent);
    if (lane == 0) back[c] = scale_back(exponent);
    const auto store = [&](int m, std::int32_t j, const float4& z) {
      const uint2 a = packed_twice(make_float2(scale * z.x, scale * z.y)),
                  b = packed_twice(make_float2(scale * z.z, scale * z.w));
      *reinterpret_cast<uint4*>(panels + (m * columns + c) * stride + j) = make_uint4(a.x, a.y, b.x, b.y);
    };
#pragma unroll
    for (int m = 0; m < most; ++m)
      if (m < matrices && 2 * lane < padded) store(m, 2 * lane, first[m]);
    for (std::int32_t j = 2 * lane + 64; j < padded; j += 64)
      for (int m = 0; m < matrices; ++m) store(m, j, load(m, j));
  }
}

/// A block takes `row_tiles` tiles of rows of a site and up to 4 * column_tiles right-hand sides. It stages their
/// numbers at all neighbours in shared memory. Its warps share the columns of the matrices, eight at a time. As real
/// numbers: (Re A, Im A) times (re b, im b; -im b, re b). So a tile of the result holds re and im of four right-hand
/// sides side by side. Vectors are pairs of words, matrices of single precision too (tensor_cores.hpp).
template <coarse_storage storage, int row_tiles, int column_tiles, int most_warps, int resident, int ahead>
__global__ void __launch_bounds__(32 * most_warps, resident)
    batch_kernel(const __grid_constant__ coarse_products<float> p, std::int32_t all_tiles, std::int32_t steps,
                 divisor octets, int first_column, int columns) {
  constexpr int chunks_of_octet = storage == coarse_storage::single ? 2 : 1;
  extern __shared__ __align__(16) uint2 panels[];
  __shared__ input_pointers inputs;
  __shared__ float back[4 * column_tiles];
  const auto s = static_cast<std::int32_t>(blockIdx.x), first_tile = static_cast<std::int32_t>(blockIdx.y) * row_tiles;
  const std::int64_t site = p.first_site + s;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32), t = lane % 4,
            g = lane / 4;
  const std::int32_t matrices = p.matrices.order.matrices, all = matrices * octets.value, n = p.in.n;
  const std::int32_t padded = octets.value * octet, stride = panel_stride(padded);
  const std::int64_t step_chunks = std::int64_t{all_tiles} * 32;
  const uint4* const from =
      reinterpret_cast<const uint4*>(p.matrices.begin) + site * matrices * steps * step_chunks + first_tile * 32 + lane;
  // Octet q of all matrices. In single precision it is two steps, of which the last of a matrix may lack the second.
  uint4 chunks[ahead][chunks_of_octet][row_tiles];
  const auto load = [&](uint4(&to)[chunks_of_octet][row_tiles], std::int32_t q) {
    const std::int32_t m = octets.quotient(q), step = (q - m * octets.value) * chunks_of_octet;
#pragma unroll
    for (int h = 0; h < chunks_of_octet; ++h)
#pragma unroll
      for (int r = 0; r < row_tiles; ++r)
        to[h][r] = q < all && step + h < steps ? load_once(from + (m * steps + step + h) * step_chunks + r * 32)
                                               : make_uint4(0, 0, 0, 0);
  };
#pragma unroll
  for (int k = 0; k < ahead; ++k) load(chunks[k], warp + k * most_warps);
  find_inputs(inputs, p, site, first_column);
  trigger_dependent_launch();
  wait_for_previous_kernel();
  await_inputs(inputs, p, site, first_column);
  stage_columns(panels, back, p, inputs, columns, padded);
  __syncthreads();
  float sums[row_tiles][column_tiles][4] = {};
  std::int32_t column_of_tile[column_tiles];
#pragma unroll
  for (int c = 0; c < column_tiles; ++c) column_of_tile[c] = min(4 * c + g / 2, columns - 1) * stride + t;
  // Threads of even g have columns (re, -im), threads of odd g (im, re).
  const std::uint32_t order = g % 2 == 0 ? 0x3210U : 0x1032U, sign = g % 2 == 0 ? 0x80000000U : 0U;
  const auto oriented = [&](std::uint32_t word) { return __byte_perm(word, 0, order) ^ sign; };
  for (std::int32_t first = warp; first < all; first += ahead * most_warps) {
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const std::int32_t q = first + k * most_warps;
      if (q >= all) break;
      const std::int32_t m = octets.quotient(q);
      const uint2* const panel = panels + m * columns * stride + (q - m * octets.value) * octet;
      uint4 now[chunks_of_octet][row_tiles];
#pragma unroll
      for (int h = 0; h < chunks_of_octet; ++h)
#pragma unroll
        for (int r = 0; r < row_tiles; ++r) now[h][r] = chunks[k][h][r];
      load(chunks[k], q + ahead * most_warps);
      uint2 b[column_tiles][2];
#pragma unroll
      for (int c = 0; c < column_tiles; ++c)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const uint2 word = panel[column_of_tile[c] + 4 * h];
          b[c][h] = make_uint2(oriented(word.x), oriented(word.y));
        }
#pragma unroll
      for (int r = 0; r < row_tiles; ++r) {
        if constexpr (storage == coarse_storage::single) {
          std::uint32_t upper[4], lower[4];
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const uint4 z = now[h][r];
            const uint2 one = packed_twice(make_float2(__uint_as_float(z.x), __uint_as_float(z.y))),
                        other = packed_twice(make_float2(__uint_as_float(z.z), __uint_as_float(z.w)));
            upper[2 * h] = one.x;
            upper[2 * h + 1] = other.x;
            lower[2 * h] = one.y;
            lower[2 * h + 1] = other.y;
          }
#pragma unroll
          for (int c = 0; c < column_tiles; ++c) multiply_tiles(sums[r][c], lower, b[c][0].x, b[c][1].x);
#pragma unroll
          for (int c = 0; c < column_tiles; ++c) multiply_tiles(sums[r][c], upper, b[c][0].y, b[c][1].y);
#pragma unroll
          for (int c = 0; c < column_tiles; ++c) multiply_tiles(sums[r][c], upper, b[c][0].x, b[c][1].x);
        } else {
          const std::uint32_t a[4] = {now[0][r].x, now[0][r].y, now[0][r].z, now[0][r].w};
#pragma unroll
          for (int c = 0; c < column_tiles; ++c) multiply_tiles(sums[r][c], a, b[c][0].y, b[c][1].y);
#pragma unroll
          for (int c = 0; c < column_tiles; ++c) multiply_tiles(sums[r][c], a, b[c][0].x, b[c][1].x);
        }
      }
    }
  }
  // Warps add up: [warp][tile of the result][half][lane], numbers of re and im together.
  constexpr int halves = row_tiles * column_tiles * 2;
  float2* const parts = reinterpret_cast<float2*>(panels);
  __syncthreads();
#pragma unroll
  for (int r = 0; r < row_tiles; ++r)
#pragma unroll
    for (int c = 0; c < column_tiles; ++c)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        parts[(warp * halves + (r * column_tiles + c) * 2 + h) * 32 + lane] =
            make_float2(sums[r][c][2 * h], sums[r][c][2 * h + 1]);
  __syncthreads();
  for (int k = warp; k < halves; k += most_warps) {
    complex<float> total{};
    for (int w = 0; w < most_warps; ++w) {
      const float2 z = parts[(w * halves + k) * 32 + lane];
      total += complex<float>{z.x, z.y};
    }
    const int r = k / (2 * column_tiles), c = k / 2 % column_tiles, h = k % 2;
    const std::int32_t row = (first_tile + r) * tile_rows + 8 * h + g, column = 4 * c + t;
    if (row >= n || column >= columns) continue;
    total = p.factor * back[column] * total;
    if (p.start.begin != nullptr) total += p.start.at(s, first_column + column)[row];
    p.out.at(s, first_column + column)[row] = total;
  }
}

std::int64_t multiprocessors(const queue& q) {
  static const int count = describe_device(q.device()).multiprocessors;
  return count;
}

// A kernel's numbers (one_kernel.hpp): storage, form, tiles of rows, tiles of columns; or storage, `of_one_column`,
// form.
enum class product_form { stream, many, few_4, few_7, few_9, few };
constexpr int batch_of_many = 0, batch_of_few = 1, of_one_column = 2;
template <coarse_storage storage, product_form form>
constexpr bool is_compiled_for_column() {
  return is_compiled<static_cast<int>(storage), of_one_column, static_cast<int>(form)>();
}

template <coarse_storage storage>
void queue_column(const queue& q, const coarse_products<float>& p, int column) {
  const tile_order& order = p.matrices.order;
  const std::int32_t all = order.matrices * order.steps();
  const std::int64_t blocks = std::int64_t{p.sites} * order.row_tiles();
  const auto launch = [&]<product_form form, int ahead, int most_warps, int resident, bool repeats>(int warps) {
    if constexpr (is_compiled_for_column<storage, form>())
      launch_kernel(q, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(32 * warps)),
                    all * order.columns_of_step() * static_cast<int>(sizeof(float2)), true,
                    one_column_kernel<storage, ahead, most_warps, resident, repeats>, p, divisor(order.row_tiles()),
                    order.steps(), column);
    else
      refuse_kernel<static_cast<int>(storage), of_one_column, static_cast<int>(form)>();
  };
  using enum product_form;
  if constexpr (storage == coarse_storage::half) {
    // (With four tiles of rows, n = 64, blocks of one site are faster: their loads pause less often.)
    constexpr int ahead = 6, stream_warps = 3, resident = 10;
    const std::int64_t at_once = resident * multiprocessors(q);
    if (blocks >= 4 * at_once && order.row_tiles() <= 3 && all % (ahead * stream_warps) == 0) {
      const auto sites_of_block = static_cast<std::int32_t>((blocks + at_once - 1) / at_once);
      const std::int64_t groups = (p.sites + sites_of_block - 1) / sites_of_block;
      if constexpr (!is_compiled_for_column<storage, stream>())
        refuse_kernel<static_cast<int>(storage), of_one_column, static_cast<int>(stream)>();
      else
        return launch_kernel(q, dim3(static_cast<unsigned>(groups * order.row_tiles())), dim3(32 * stream_warps),
                             2 * all * order.columns_of_step() * static_cast<int>(sizeof(float2)), true,
                             column_stream_kernel<storage, ahead, stream_warps, resident>, p,
                             divisor(order.row_tiles()), order.steps(), column, sites_of_block);
    }
  }
  // Many blocks: small ones, several a multiprocessor, that keep loads coming.
  if (blocks >= 512) {
    if constexpr (storage == coarse_storage::single)
      return launch.template operator()<many, 6, 8, 4, true>(std::min((all + 5) / 6, 8));
    else
      return launch.template operator()<many, 6, 4, 8, true>(std::min((all + 5) / 6, 4));
  }
  // Few: as many warps as share the work, so that all loads are out at once.
  constexpr int most_warps = 16;
  const int warps = std::min((all + 3) / 4, most_warps), each = (all + warps - 1) / warps;
  if (each <= 4)
    launch.template operator()<few_4, 4, most_warps, 1, false>(warps);
  else if (each <= 7)
    launch.template operator()<few_7, 7, most_warps, 1, false>(warps);
  else if (each <= 9)
    launch.template operator()<few_9, 9, most_warps, 1, false>(warps);
  else
    launch.template operator()<few, 9, most_warps, 1, true>(warps);
}

/// \tparam row_tiles  of a block
template <coarse_storage storage, int row_tiles, int column_tiles, int warps, int resident, int ahead>
void queue_batch(const queue& q, const coarse_products<float>& p) {
  constexpr int number = static_cast<int>(storage), sites = warps == 16 ? batch_of_few : batch_of_many;
  if constexpr (!is_compiled<number, sites, row_tiles, column_tiles>()) {
    refuse_kernel<number, sites, row_tiles, column_tiles>();
  } else {
    const tile_order& order = p.matrices.order;
    const std::int32_t octets = (order.n + octet - 1) / octet, stride = panel_stride(octets * octet);
    for (int first = 0; first < p.columns; first += 4 * column_tiles) {
      const int columns = std::min(4 * column_tiles, p.columns - first);
      const int panels = order.matrices * columns * stride, sums = warps * row_tiles * column_tiles * 2 * 32;
      const int bytes = std::max(panels, sums) * static_cast<int>(sizeof(uint2));
      const auto kernel = batch_kernel<storage, row_tiles, column_tiles, warps, resident, ahead>;
      allow_shared(kernel, bytes);
      launch_kernel(q, dim3(static_cast<unsigned>(p.sites), static_cast<unsigned>(order.row_tiles() / row_tiles)),
                    dim3(32 * warps), bytes, true, kernel, p, order.row_tiles(), order.steps(), divisor(octets), first,
                    columns);
    }
  }
}

template <coarse_storage storage, int row_tiles>
void queue_batch_of(const queue& q, const coarse_products<float>& p) {
  constexpr int warps = row_tiles == 4 ? 8 : 4, resident = row_tiles <= 3 ? 4 : 2;
  constexpr int ahead = storage == coarse_storage::single ? 1 : row_tiles <= 3 ? 3 : 2;
  // Few sites: a block a tile of rows, and more warps to share it.
  if (p.sites <= 132)
    return p.columns <= 4 ? queue_batch<storage, 1, 1, 16, 1, 2>(q, p) : queue_batch<storage, 1, 3, 16, 1, 2>(q, p);
  if (p.columns <= 4)
    queue_batch<storage, row_tiles, 1, warps, resident, ahead>(q, p);
  else
    queue_batch<storage, row_tiles, 3, warps, resident, ahead>(q, p);
}

template <coarse_storage storage>
void queue_fastest(const queue& q, coarse_products<float> p) {
  p.factor *= p.matrices.back;
  if (p.columns == 1) return queue_column<storage>(q, p, 0);
  switch (p.matrices.order.row_tiles()) {
    case 1:
      return queue_batch_of<storage, 1>(q, p);
    case 2:
      return queue_batch_of<storage, 2>(q, p);
    case 3:
      return queue_batch_of<storage, 3>(q, p);
    case 4:
      return queue_batch_of<storage, 4>(q, p);
    case 5:
      return queue_batch_of<storage, 5>(q, p);
    case 6:
      return queue_batch_of<storage, 6>(q, p);
    default:
      for (int c = 0; c < p.columns; ++c) queue_column<storage>(q, p, c);
  }
}

#endif

}  // namespace

template <class T>
void queue_products(const queue& q, const coarse_products<T>& p, product_kernel kernel) {
  if (p.sites == 0 || p.columns == 0) return;
#ifdef __CUDACC__
  if constexpr (std::is_same_v<T, float>)
    if (kernel == product_kernel::fastest)
      return p.matrices.order.storage == coarse_storage::single ? queue_fastest<coarse_storage::single>(q, p)
                                                                : queue_fastest<coarse_storage::half>(q, p);
#else
  (void)kernel;
#endif
  for_each_index(q, std::int64_t{p.sites} * p.columns * p.out.n, gather_row<T>{p});
}

template void queue_products(const queue&, const coarse_products<float>&, product_kernel);
template void queue_products(const queue&, const coarse_products<double>&, product_kernel);

}  // namespace plaquette::gpu
