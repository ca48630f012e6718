// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums of many numbers a site, of one rank: the inner products of a few fields with each other. Sums over ranks in the
/// kernel itself, and the ends of kernels with few sums, are in launch.hpp. For .cu files only.
#pragma once

#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

#ifdef __CUDACC__

/// The last block of a column adds the sums of all blocks, in their order.
template <int Count, class Body, class End>
__global__ void __launch_bounds__(sum_threads)
    many_sums_kernel(std::int64_t sites, int columns, std::int64_t blocks, int of_a_thread, double* all_partial,
                     unsigned* counters, double* all_results, bool backwards, const __grid_constant__ Body body,
                     const __grid_constant__ End end) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const auto [block, column] = this_block(columns, backwards);
  double sums[Count] = {};
  std::int64_t i = block * of_a_thread * sum_threads + threadIdx.x;
  for (int s = 0; s < of_a_thread; ++s, i += sum_threads)
    if (i < sites) body(i, column, sums);

  double* const partial = all_partial + column * blocks * Count;
  double* const result = all_results + std::int64_t{column} * Count;
  __shared__ double of_warps[sum_threads / 32][Count];
  __shared__ bool last;
  add_over_block(sums, of_warps);
  if (threadIdx.x == 0) {
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < Count; ++k) __stcg(partial + block * Count + k, sums[k]);
    last = is_last_block(counters + column, static_cast<unsigned>(blocks - 1));
  }
  __syncthreads();
  if (!last) return;
  // Warps share the sums; the lanes of one share the blocks.
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  for (int k = warp; k < Count; k += sum_threads / 32) {
    double sum = 0.0;
    for (std::int64_t b = lane; b < blocks; b += 32) sum += __ldcg(partial + b * Count + k);
    PLAQUETTE_GPU_UNROLL
    for (int distance = 16; distance > 0; distance /= 2)
      sum += __shfl_down_sync(0xffffffffU, sum, static_cast<unsigned>(distance));
    if (lane == 0) result[k] = sum;
  }
  if (end.count > 0) do_at_the_end(end, column);
}

#endif

/// Computes result[column][k], the sum over 0 <= i < sites of the terms that body(i, column, sums) adds to sums[k], k <
/// Count, on this rank. Double, in a fixed order: the same bits whenever it runs.
/// \param end  the use that the kernel makes of the sums of a column before it ends: end.count tasks, one a warp
template <int Count, class Body, class End>
void sum_many_over(const queue& q, std::int64_t sites, int columns, double* result, const Body& body, const End& end) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (columns <= 0) return;
  const std::int64_t blocks = std::max<std::int64_t>(blocks_of_a_sum<Body>(sites), 1);
  const int of_a_thread = sites_of_a_thread<Body>(sites);
#ifdef __CUDACC__
  q.launch_held_back();  // it may need more scratch memory and counters than this one
  auto* const partial =
      reinterpret_cast<double*>(q.scratch(static_cast<std::size_t>(blocks * columns * Count) * sizeof(double)));
  launch_kernel(q, dim3(static_cast<unsigned>(blocks * columns)), dim3(sum_threads), 0, true,
                many_sums_kernel<Count, Body, End>, sites, columns, blocks, of_a_thread, partial,
                q.counters(static_cast<std::size_t>(columns)), result, !goes_forwards<Body>() && q.next_is_reversed(),
                body, end);
#else
  (void)q;
  const std::int64_t of_a_block = std::int64_t{of_a_thread} * sum_threads;
  for (int column = 0; column < columns; ++column) {
    std::vector<std::array<double, Count> > partial(static_cast<std::size_t>(blocks));
#pragma omp parallel for schedule(static)
    for (std::int64_t block = 0; block < blocks; ++block) {
      double sums[Count] = {};
      for (std::int64_t i = block * of_a_block; i < std::min(sites, (block + 1) * of_a_block); ++i)
        body(i, column, sums);
      std::copy_n(sums, Count, partial[static_cast<std::size_t>(block)].begin());
    }
    double* const of_column = result + static_cast<std::int64_t>(column) * Count;
    std::fill_n(of_column, Count, 0.0);
    for (const auto& sums : partial)
      for (int k = 0; k < Count; ++k) of_column[k] += sums[static_cast<std::size_t>(k)];
    for (int task = 0; task < end.count; ++task) end(task, column);
  }
#endif
}

}  // namespace plaquette::gpu
