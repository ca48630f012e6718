// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/coarse_products.hpp"

#include <algorithm>

#include "gpu/device/launch.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

namespace {

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
      const complex<T>* const x = p.input(site, m) + std::int64_t{column} * n;
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

/// 16 bytes of matrices, which nothing reads again soon.
__device__ __forceinline__ uint4 load_matrix(const uint4* at) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at));
  return v;
}

/// The two halves of a word as floats.
__device__ __forceinline__ float2 unpacked(std::uint32_t word) {
  float2 z;
  asm("{.reg .b16 l, h;\n mov.b32 {l, h}, %2;\n cvt.f32.f16 %0, l;\n cvt.f32.f16 %1, h;}"
      : "=f"(z.x), "=f"(z.y)
      : "r"(word));
  return z;
}

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

/// Pointers to what a site's matrices are multiplied with, in shared memory.
using input_pointers = const complex<float>* [coarse_matrices_of_a_site];
__device__ __forceinline__ void find_inputs(input_pointers& inputs, const coarse_products<float>& p, std::int64_t site,
                                            int column) {
  if (static_cast<std::int32_t>(threadIdx.x) < p.matrices.order.matrices)
    inputs[threadIdx.x] = p.input(site, static_cast<std::int32_t>(threadIdx.x)) + std::int64_t{column} * p.in.n;
  __syncthreads();
}

/// One right-hand side: a block takes 16 rows of a site, its warps share the columns of all matrices. A thread has
/// `ahead` chunks of matrices under way, the first before it waits for the kernel before; vectors are staged in shared
/// memory.
/// \tparam rolling  more chunks are loaded as the first are used; where not, a thread has `ahead` at most
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
  const auto load = [&](std::int32_t q) { return q < all ? load_matrix(from + q * stride) : make_uint4(0, 0, 0, 0); };
  uint4 chunks[ahead];
#pragma unroll
  for (int k = 0; k < ahead; ++k) chunks[k] = load(warp + k * warps);
  find_inputs(inputs, p, site, column);
  let_next_kernel_start();
  wait_for_previous_kernel();
  const std::int32_t padded = steps * columns_of_step<storage>;
  for (std::int32_t m = warp; m < p.matrices.order.matrices; m += warps)
    for (std::int32_t j = 2 * lane; j < padded; j += 64)
      *reinterpret_cast<float4*>(x + m * padded + j) =
          j < n ? *reinterpret_cast<const float4*>(inputs[m] + j) : make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  __syncthreads();
  float2 sum[2] = {};
  for (std::int32_t first = warp; first < all; first += warps * ahead) {
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const std::int32_t q = min(first + k * warps, all - 1);  // beyond the end matrices are zero
      const chunk_numbers<storage> numbers(chunks[k]);
      if constexpr (rolling) chunks[k] = load(first + (k + ahead) * warps);
#pragma unroll
      for (int c = 0; c < numbers.columns; ++c) {
        const float2 b = x[q * columns_of_step<storage> + t + 4 * c];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float2 a = numbers.a[c][r];
          sum[r].x = fmaf(a.x, b.x, sum[r].x);
          sum[r].y = fmaf(a.x, b.y, sum[r].y);
          sum[r].x = fmaf(-a.y, b.y, sum[r].x);
          sum[r].y = fmaf(a.y, b.x, sum[r].y);
        }
      }
    }
  }
  __shared__ float2 of_warps[most_warps][tile_rows];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) {
      sum[r].x += __shfl_xor_sync(0xffffffffU, sum[r].x, distance);
      sum[r].y += __shfl_xor_sync(0xffffffffU, sum[r].y, distance);
    }
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
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) {
      total.x += __shfl_xor_sync(0xffffffffU, total.x, distance);
      total.y += __shfl_xor_sync(0xffffffffU, total.y, distance);
    }
    const std::int32_t row = tile * tile_rows + 8 * r + lane / 4;
    if (t != 0 || row >= n) continue;
    complex<float> z{p.factor * total.x, p.factor * total.y};
    if (p.start.begin != nullptr) z += p.start.at(s, column)[row];
    p.out.at(s, column)[row] = z;
  }
}

// --- Many right-hand sides -------------------------------------------------------------------------------------------

/// c += a b on the tensor cores, 16 x 8 x 8, of which a and b count to 11 bits.
__device__ __forceinline__ void multiply_tiles(float (&c)[4], const float (&a)[4], float b0, float b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}
/// The leading 11 bits of a number; the rest is the number less these.
__device__ __forceinline__ float leading(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000U); }

__device__ __forceinline__ void copy_to_shared(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}
/// Numbers from one column to the next in shared memory: threads of a warp, which read four columns and four numbers of
/// each, find them in banks of their own.
__host__ __device__ constexpr std::int32_t panel_stride(std::int32_t padded) { return (2 * padded + 31) / 32 * 16 + 4; }

constexpr int panels_of_phase = 3;

/// A block takes `row_tiles` tiles of rows of a site and up to 4 * column_tiles right-hand sides, whose numbers at all
/// neighbours it stages in shared memory; its warps share the columns of the matrices. As real numbers: (Re A, Im A)
/// times (re b, im b; -im b, re b), so that a tile of the result holds re and im of four right-hand sides side by side.
/// Vectors are split into two parts of 11 bits, matrices of single precision too: three products, good to 2^-21 or so.
template <coarse_storage storage, int row_tiles, int column_tiles, int most_warps, int resident, int ahead>
__global__ void __launch_bounds__(32 * most_warps, resident)
    batch_kernel(const __grid_constant__ coarse_products<float> p, std::int32_t all_tiles, divisor steps,
                 int first_column, int columns) {
  extern __shared__ __align__(16) float2 panels[];
  __shared__ input_pointers inputs;
  const auto s = static_cast<std::int32_t>(blockIdx.x), first_tile = static_cast<std::int32_t>(blockIdx.y) * row_tiles;
  const std::int64_t site = p.first_site + s;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32), t = lane % 4,
            g = lane / 4, batch_warps = static_cast<int>(blockDim.x / 32);
  const std::int32_t matrices = p.matrices.order.matrices, all = matrices * steps.value, n = p.in.n;
  const std::int32_t padded = steps.value * columns_of_step<storage>, stride = panel_stride(padded);
  const std::int64_t step_chunks = std::int64_t{all_tiles} * 32;
  const uint4* const from =
      reinterpret_cast<const uint4*>(p.matrices.begin) + site * all * step_chunks + first_tile * 32 + lane;
  uint4 chunks[ahead][row_tiles];
  const auto load = [&](uint4(&to)[row_tiles], std::int32_t q) {
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
      to[r] = q < all ? load_matrix(from + q * step_chunks + r * 32) : make_uint4(0, 0, 0, 0);
  };
#pragma unroll
  for (int k = 0; k < ahead; ++k) load(chunks[k], warp + k * batch_warps);
  find_inputs(inputs, p, site, first_column);
  let_next_kernel_start();
  wait_for_previous_kernel();
  // Three matrices at a time; their vectors arrive while those before are multiplied. A warp takes a column of each.
  const std::int32_t phases = (matrices + panels_of_phase - 1) / panels_of_phase,
                     phase_size = panels_of_phase * columns * stride;
  const auto stage = [&](std::int32_t phase) {
    const std::int32_t first = phase * panels_of_phase;
    float2* const to_phase = panels + phase % 2 * phase_size;
    for (std::int32_t c = warp; c < columns; c += batch_warps)
      for (std::int32_t j = 2 * lane; j < padded; j += 64)
#pragma unroll
        for (std::int32_t m = 0; m < panels_of_phase; ++m) {
          if (first + m >= matrices) break;
          float2* const to = to_phase + (m * columns + c) * stride + j;
          if (j < n)
            copy_to_shared(to, inputs[first + m] + std::int64_t{c} * n + j);
          else
            to[0] = to[1] = make_float2(0.0F, 0.0F);
        }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  stage(0);
  if (phases > 1) stage(1);
  float sums[row_tiles][column_tiles][4] = {};
  std::int32_t column_of_tile[column_tiles];
#pragma unroll
  for (int c = 0; c < column_tiles; ++c) column_of_tile[c] = min(4 * c + g / 2, columns - 1) * stride;
  const bool imaginary = g % 2 == 1;
  std::int32_t phase = -1, end = 0;  // the first step beyond those staged
  for (std::int32_t first = warp; first < all + batch_warps; first += ahead * batch_warps) {
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const std::int32_t q = first + k * batch_warps;
      while (q >= end && phase + 1 < phases) {
        if (phase >= 0) {
          __syncthreads();
          if (phase + 2 < phases) stage(phase + 2);
        }
        ++phase;
        end += panels_of_phase * steps.value;
        if (phase + 1 < phases)
          asm volatile("cp.async.wait_group 1;" ::: "memory");
        else
          asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
      }
      if (q >= all) break;
      const std::int32_t m = steps.quotient(q), j = (q - m * steps.value) * columns_of_step<storage> + t;
      const float2* const panel =
          panels + phase % 2 * phase_size + (m - phase * panels_of_phase) * columns * stride + j;
      uint4 now[row_tiles];
#pragma unroll
      for (int r = 0; r < row_tiles; ++r) now[r] = chunks[k][r];
      load(chunks[k], q + ahead * batch_warps);
#pragma unroll
      for (int h = 0; h < columns_of_step<storage> / 4; ++h) {
        float high[column_tiles][2], low[column_tiles][2];
#pragma unroll
        for (int c = 0; c < column_tiles; ++c) {
          const float2 b = panel[column_of_tile[c] + 4 * h];
          const float b0 = imaginary ? b.y : b.x, b1 = imaginary ? b.x : -b.y;
          high[c][0] = leading(b0);
          high[c][1] = leading(b1);
          low[c][0] = b0 - high[c][0];
          low[c][1] = b1 - high[c][1];
        }
#pragma unroll
        for (int r = 0; r < row_tiles; ++r) {
          const chunk_numbers<storage> numbers(now[r]);
          const float a[4] = {numbers.a[h][0].x, numbers.a[h][1].x, numbers.a[h][0].y, numbers.a[h][1].y};
          if constexpr (storage == coarse_storage::single) {
            float upper[4], lower[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              upper[i] = leading(a[i]);
              lower[i] = a[i] - upper[i];
            }
#pragma unroll
            for (int c = 0; c < column_tiles; ++c) {
              multiply_tiles(sums[r][c], lower, high[c][0], high[c][1]);
              multiply_tiles(sums[r][c], upper, low[c][0], low[c][1]);
              multiply_tiles(sums[r][c], upper, high[c][0], high[c][1]);
            }
          } else {
#pragma unroll
            for (int c = 0; c < column_tiles; ++c) {
              multiply_tiles(sums[r][c], a, low[c][0], low[c][1]);
              multiply_tiles(sums[r][c], a, high[c][0], high[c][1]);
            }
          }
        }
      }
    }
  }
  // Warps add up: [warp][tile of the result][half][lane], numbers of re and im together.
  constexpr int halves = row_tiles * column_tiles * 2;
  __syncthreads();
#pragma unroll
  for (int r = 0; r < row_tiles; ++r)
#pragma unroll
    for (int c = 0; c < column_tiles; ++c)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        panels[(warp * halves + (r * column_tiles + c) * 2 + h) * 32 + lane] =
            make_float2(sums[r][c][2 * h], sums[r][c][2 * h + 1]);
  __syncthreads();
  for (int k = warp; k < halves; k += batch_warps) {
    complex<float> total{};
    for (int w = 0; w < batch_warps; ++w) {
      const float2 z = panels[(w * halves + k) * 32 + lane];
      total += complex<float>{z.x, z.y};
    }
    const int r = k / (2 * column_tiles), c = k / 2 % column_tiles, h = k % 2;
    const std::int32_t row = (first_tile + r) * tile_rows + 8 * h + g, column = 4 * c + t;
    if (row >= n || column >= columns) continue;
    total = p.factor * total;
    if (p.start.begin != nullptr) total += p.start.at(s, first_column + column)[row];
    p.out.at(s, first_column + column)[row] = total;
  }
}

template <coarse_storage storage>
void queue_column(const queue& q, const coarse_products<float>& p, int column) {
  const tile_order& order = p.matrices.order;
  const std::int32_t all = order.matrices * order.steps();
  const std::int64_t blocks = std::int64_t{p.sites} * order.row_tiles();
  const auto launch = [&](auto kernel, int warps) {
    launch_kernel(q, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(32 * warps)),
                  all * order.columns_of_step() * static_cast<int>(sizeof(float2)), true, kernel, p,
                  divisor(order.row_tiles()), order.steps(), column);
  };
  // Many blocks: small ones, several a multiprocessor, that keep loads coming.
  if (blocks >= 512) {
    if constexpr (storage == coarse_storage::single)
      return launch(one_column_kernel<storage, 6, 8, 4, true>, std::min((all + 5) / 6, 8));
    else
      return launch(one_column_kernel<storage, 6, 4, 8, true>, std::min((all + 5) / 6, 4));
  }
  // Few: as many warps as share the work, so that all loads are out at once.
  constexpr int most_warps = 16;
  const int warps = std::min((all + 3) / 4, most_warps), each = (all + warps - 1) / warps;
  if (each <= 4)
    launch(one_column_kernel<storage, 4, most_warps, 1, false>, warps);
  else if (each <= 7)
    launch(one_column_kernel<storage, 7, most_warps, 1, false>, warps);
  else if (each <= 9)
    launch(one_column_kernel<storage, 9, most_warps, 1, false>, warps);
  else
    launch(one_column_kernel<storage, 9, most_warps, 1, true>, warps);
}

/// \tparam row_tiles  of a block
template <coarse_storage storage, int row_tiles, int column_tiles, int warps, int resident,
          int ahead = row_tiles <= 3 ? 3 : 2>
void queue_batch(const queue& q, const coarse_products<float>& p) {
  const tile_order& order = p.matrices.order;
  const std::int32_t stride = panel_stride(order.steps() * order.columns_of_step());
  for (int first = 0; first < p.columns; first += 4 * column_tiles) {
    const int columns = std::min(4 * column_tiles, p.columns - first);
    const int phases = std::min((order.matrices + panels_of_phase - 1) / panels_of_phase, 2);
    const int panels = phases * panels_of_phase * columns * stride, sums = warps * row_tiles * column_tiles * 2 * 32;
    const int bytes = std::max(panels, sums) * static_cast<int>(sizeof(float2));
    const auto kernel = batch_kernel<storage, row_tiles, column_tiles, warps, resident, ahead>;
    if (bytes > (48 << 10)) check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    launch_kernel(q, dim3(static_cast<unsigned>(p.sites), static_cast<unsigned>(order.row_tiles() / row_tiles)),
                  dim3(32 * warps), bytes, true, kernel, p, order.row_tiles(), divisor(order.steps()), first, columns);
  }
}

template <coarse_storage storage, int row_tiles>
void queue_batch_of(const queue& q, const coarse_products<float>& p) {
  constexpr int resident = row_tiles <= 3 ? 4 : row_tiles == 4 ? 3 : 2;
  // Few sites: a block a tile of rows, and more warps to share it.
  if (p.sites <= 132)
    return p.columns <= 4 ? queue_batch<storage, 1, 1, 16, 1>(q, p) : queue_batch<storage, 1, 3, 16, 1>(q, p);
  if (p.columns <= 4)
    queue_batch<storage, row_tiles, 1, 4, resident>(q, p);
  else
    queue_batch<storage, row_tiles, 3, 4, resident>(q, p);
}

template <coarse_storage storage>
void queue_fastest(const queue& q, const coarse_products<float>& p) {
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
