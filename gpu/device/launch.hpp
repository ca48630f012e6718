// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Launches. A kernel body is a trivially copyable struct of arguments. Its `operator()` does the work of one index: a
/// pure gather, which reads anything and writes only data that belongs to that index. nvcc makes a kernel of it. In the
/// host build it is called in a loop. For .cu files only.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/algebra/complex.hpp"
#include "gpu/device/check.hpp"
#include "gpu/device/rank_sum.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/device/unroll.hpp"

namespace plaquette::gpu {

/// Threads of a block where sums are made, and so the width of the tree in which they are added.
inline constexpr int sum_threads = 256;

/// Returns the fewest sites that a thread of a body takes where the lattice has enough of them. Otherwise a body that
/// reads few bytes for each number that it sums is done before its block has paid for its end.
template <class Body>
constexpr int least_sites_of_a_thread() {
  if constexpr (requires { Body::least_sites_of_a_thread; })
    return Body::least_sites_of_a_thread;
  else
    return 1;
}

/// Returns the sites that a thread of a sum takes: a function of their number and the body alone, so that the order of
/// additions is too. Large lattices take several, which keeps the sums of blocks few; a thousand blocks and more keep
/// every multiprocessor busy to the end.
template <class Body>
constexpr int sites_of_a_thread(std::int64_t sites) {
  constexpr std::int64_t fewest_blocks = 1024;
  int count = sites <= (1 << 20) ? 1 : sites <= (1 << 21) ? 2 : sites <= (1 << 22) ? 4 : 8;
  while (count < least_sites_of_a_thread<Body>() && sites >= 2 * count * sum_threads * fewest_blocks) count *= 2;
  return count;
}
template <class Body>
constexpr std::int64_t blocks_of_a_sum(std::int64_t sites) {
  const std::int64_t tile = std::int64_t{sum_threads} * sites_of_a_thread<Body>(sites);
  return (sites + tile - 1) / tile;
}

/// Returns whether every launch of a body goes from the first index on. Others reverse their order every other time,
/// and find in the cache the data that the kernel before has touched last.
template <class Body>
constexpr bool goes_forwards() {
  if constexpr (requires { Body::goes_forwards; })
    return Body::goes_forwards;
  else
    return false;
}

/// A body whose work on a site needs numbers of its column, at most `most_numbers`, that a block computes before:
/// `number(k, column, first)` for k < `number_count()`; `first` in one block of each column.
template <class Body>
concept computes_numbers = requires(const Body& body) {
  { body.number(0, 0, true) } -> std::same_as<complex<double>>;
  { body.number_count() } -> std::same_as<int>;
};
template <class Body>
constexpr int most_numbers_of() {
  if constexpr (computes_numbers<Body>)
    return Body::most_numbers;
  else
    return 1;
}

/// The use that a kernel makes of its sums at its end, column by column: `count` tasks, one a warp.
struct nothing_at_the_end {
  static constexpr std::int32_t count = 0;
  PLAQUETTE_HOST_DEVICE void operator()(int /*task*/, int /*column*/) const {}
};

#ifdef __CUDACC__

inline cudaStream_t stream_of(const queue& q) { return static_cast<cudaStream_t>(q.native()); }

// A kernel may be launched to start while the one before still runs (programmatic dependent launch, compute capability
// 9.0). Between two short kernels that saves much of the time in which nothing runs. It waits itself before it touches
// anything that earlier work writes or reads. On older devices both functions are empty.

/// Lets the next kernel of the queue start, if it was launched to.
__device__ __forceinline__ void trigger_dependent_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/// Waits until the kernel before has ended and its results are there. (And the one before that, since the kernel before
/// has waited for it: so every kernel that is launched to start early calls this.)
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// \param early  may start before the kernel before has ended; nothing on devices that cannot do that
template <class... Parameters, class... Arguments>
void launch_kernel(const queue& q, dim3 blocks, dim3 threads, int shared_bytes, bool early,
                   void (*kernel)(Parameters...), const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  config.stream = stream_of(q);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = early && q.starts_kernels_early() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, arguments...));
}

/// Returns the number of a block, in the order in which blocks are to start.
__device__ __forceinline__ unsigned block_number(bool backwards) {
  return backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
}

template <class Body>
__global__ void index_kernel(std::int64_t count, bool backwards, const Body body) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const std::int64_t i = std::int64_t{block_number(backwards)} * blockDim.x + threadIdx.x;
  if (i < count) body(i);
}

/// Calls body(i) for 0 <= i < count, in any order.
template <class Body>
void for_each_index(const queue& q, std::int64_t count, const Body& body, int threads = 256) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (count <= 0) return;
  const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
  launch_kernel(q, dim3(blocks), dim3(static_cast<unsigned>(threads)), 0, true, index_kernel<Body>, count,
                !goes_forwards<Body>() && q.next_is_reversed(), body);
}

/// Adds over the threads of a block of sum_threads, in a fixed order; thread 0 gets the result. `shared` is for this
/// call alone.
template <int Count>
__device__ inline void add_over_block(double (&sums)[Count], double (&shared)[sum_threads / 32][Count]) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  PLAQUETTE_GPU_UNROLL
  for (int k = 0; k < Count; ++k) {
    PLAQUETTE_GPU_UNROLL
    for (int distance = 16; distance > 0; distance /= 2)
      sums[k] += __shfl_down_sync(0xffffffffU, sums[k], static_cast<unsigned>(distance));
  }
  if (lane == 0) {
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < Count; ++k) shared[warp][k] = sums[k];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < Count; ++k)
      for (int w = 1; w < sum_threads / 32; ++w) sums[k] += shared[w][k];
  }
}

/// Counts one block more: returns how many came before, and goes back to zero after the last. The last one sees
/// everything that all have written before they counted.
__device__ inline unsigned count_block(unsigned* counter, unsigned last) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(last) : "memory");
  return before;
}

/// Counts one block more that has left its sums: true for the last to come, which then sees everything that all have
/// written before they counted. The counter goes back to zero. (Others have nothing to see, and are spared the cost of
/// forgetting the cache.)
__device__ inline bool is_last_block(unsigned* counter, unsigned last) {
  unsigned before;
  asm volatile("atom.release.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(last) : "memory");
  if (before != last) return false;
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  return true;
}

/// Returns the blocks of sum_threads threads of a body that a multiprocessor is to hold, where the body says so.
template <class Body>
constexpr int resident_blocks() {
  if constexpr (requires { Body::resident_blocks; })
    return Body::resident_blocks;
  else
    return 0;
}

/// Adds over ranks: `own` numbers of a column of the kernel's sums to `result`, and the carried numbers in place. All
/// threads of the block call this. (Not inlined: its registers are nothing to the kernel's loop over sites.)
/// \param of_ranks  shared memory; this rank's numbers are in their row, the carried ones behind the others
/// \param epoch     of this sum: one more than the last of this column
__device__ __noinline__ inline void add_over_ranks(double (*of_ranks)[rank_sum::most_numbers], int own,
                                                   const rank_sum& ranks, int column, std::uint32_t epoch,
                                                   double* result) {
  constexpr int most = rank_sum::most_numbers;
  static_assert(rank_sum::most_ranks * most <= sum_threads);
  const int thread = static_cast<int>(threadIdx.x), rank = thread / most, k = thread % most;
  const int count = own + ranks.carried_numbers;
  __syncthreads();
  if (rank < ranks.ranks && rank != ranks.rank && k < count) {
    ranks.send(column, epoch, rank, k, of_ranks[ranks.rank][k]);
    of_ranks[rank][k] = ranks.receive(column, epoch, rank, k);
  }
  __syncthreads();
  if (thread < count) {
    double sum = of_ranks[0][thread];
    for (int r = 1; r < ranks.ranks; ++r) sum += of_ranks[r][thread];
    *(thread < own ? result + thread : ranks.carried_number(column, thread - own)) = sum;
  }
  if (thread == 0) *ranks.last_epoch(column) = epoch;
}

/// All threads of the block that wrote the sums call this. (Not inlined: see add_over_ranks.)
template <class End>
__device__ __noinline__ void do_at_the_end(const End& end, int column) {
  static_assert(std::is_trivially_copyable_v<End>);
  __syncthreads();
  const int task = static_cast<int>(threadIdx.x / 32);
  if (threadIdx.x % 32 == 0 && task < end.count) end(task, column);
}

/// The end of a kernel that sums: every block of `blocks` leaves its sums, and the last to come adds them all up, in
/// their order, and over ranks. All of its sum_threads threads call this.
/// \param partial  [blocks][Count], of this column
/// \param counter  of this column; zero before and after
/// \param result   [Count], of this column
/// \param end      the use of the sums
template <int Count, class End>
__device__ inline void finish_sum(double (&sums)[Count], std::int64_t block, std::int64_t blocks, int column,
                                  const rank_sum& ranks, double* partial, unsigned* counter, double* result,
                                  const End& end) {
  __shared__ double shared[2][sum_threads / 32][Count];
  __shared__ bool last;
  add_over_block(sums, shared[0]);
  if (threadIdx.x == 0) {
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < Count; ++k) __stcg(partial + block * Count + k, sums[k]);
    last = is_last_block(counter, static_cast<unsigned>(blocks - 1));
  }
  __syncthreads();
  if (!last) return;
  // The numbers of the sum over ranks are loaded from memory early. (The epoch lives there, since the launch may be a
  // node of a graph that runs again and again.)
  const std::uint32_t epoch = ranks.ranks > 1 ? *ranks.last_epoch(column) + 1 : 0;
  static_assert(Count <= rank_sum::most_numbers);  // and with the carried numbers: context::sums_of_next_kernel
  __shared__ double of_ranks[rank_sum::most_ranks][rank_sum::most_numbers];
  if (static_cast<int>(threadIdx.x) < ranks.carried_numbers)
    of_ranks[ranks.rank][Count + threadIdx.x] = *ranks.carried_number(column, static_cast<int>(threadIdx.x));
  PLAQUETTE_GPU_UNROLL
  for (int k = 0; k < Count; ++k) sums[k] = 0.0;
#pragma unroll 4
  for (std::int64_t b = threadIdx.x; b < blocks; b += sum_threads) {
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < Count; ++k) sums[k] += __ldcg(partial + b * Count + k);
  }
  add_over_block(sums, shared[1]);
  if (threadIdx.x == 0) {
    double* const to = ranks.ranks > 1 ? of_ranks[ranks.rank] : result;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < Count; ++k) to[k] = sums[k];
  }
  if (ranks.ranks > 1) add_over_ranks(of_ranks, Count, ranks, column, epoch, result);
  if (end.count > 0) do_at_the_end(end, column);
}

/// Computes the numbers that a body needs of a column, one a warp. All threads of the block call this.
template <class Body, int Most>
__device__ inline void compute_numbers(const Body& body, int column, bool first, complex<double> (&numbers)[Most]) {
  static_assert(Most <= sum_threads / 32);
  const int k = static_cast<int>(threadIdx.x / 32);
  if (threadIdx.x % 32 == 0 && k < body.number_count()) numbers[k] = body.number(k, column, first);
  __syncthreads();
}

/// A block of a launch over blocks of sites times columns, columns side by side.
struct block_of_column {
  std::int64_t block;
  int column;
};
__device__ inline block_of_column this_block(int columns, bool backwards) {
  const unsigned number = block_number(backwards);
  const std::int64_t block = columns == 1 ? number : number / static_cast<unsigned>(columns);
  return {block, static_cast<int>(number - block * columns)};
}

template <int Count, class Body, class End>
__global__ void __launch_bounds__(sum_threads, resident_blocks<Body>())
    sum_kernel(std::int64_t sites, int columns, std::int64_t blocks, int of_a_thread, double* partial,
               unsigned* counters, double* result, const __grid_constant__ rank_sum ranks, bool backwards,
               const Body body, const __grid_constant__ End end) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const auto [block, column] = this_block(columns, backwards);
  double sums[Count] = {};
  std::int64_t i = block * of_a_thread * sum_threads + threadIdx.x;
  if constexpr (computes_numbers<Body>) {
    __shared__ complex<double> numbers[most_numbers_of<Body>()];
    compute_numbers(body, column, block == 0, numbers);
    for (int s = 0; s < of_a_thread; ++s, i += sum_threads)
      if (i < sites) body(i, column, numbers, sums);
  } else {
    for (int s = 0; s < of_a_thread; ++s, i += sum_threads)
      if (i < sites) body(i, column, sums);
  }
  finish_sum(sums, block, blocks, column, ranks, partial + column * blocks * Count, counters + column,
             result + std::int64_t{column} * Count, end);
}

template <class Body>
__global__ void __launch_bounds__(sum_threads)
    site_kernel(std::int64_t sites, int columns, bool backwards, const Body body) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const auto [block, column] = this_block(columns, backwards);
  __shared__ complex<double> numbers[most_numbers_of<Body>()];
  compute_numbers(body, column, block == 0, numbers);
  const std::int64_t i = block * sum_threads + threadIdx.x;
  double none[1];
  if (i < sites) body(i, column, numbers, none);
}

/// Calls body(i, column, numbers, {}) for 0 <= i < sites and all columns, in any order; for bodies that compute
/// numbers.
template <computes_numbers Body>
void for_each_site(const queue& q, std::int64_t sites, int columns, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (columns <= 0) return;
  const std::int64_t blocks = (sites + sum_threads - 1) / sum_threads;
  launch_kernel(q, dim3(static_cast<unsigned>(blocks * columns)), dim3(sum_threads), 0, true, site_kernel<Body>, sites,
                columns, q.next_is_reversed(), body);
}

/// Computes result[column][k], the sum over 0 <= i < sites of the terms that body(i, column, sums) adds to sums[k], k <
/// Count. Double, in a fixed order: the same bits whenever it runs, and on the host too where the body gives the same
/// bits.
/// \param result  of the device
/// \param ranks   over which the sums are added too, in their order; null for none
/// \param end     the use that the kernel makes of the sums of a column before it ends (see `nothing_at_the_end`)
template <int Count, class Body, class End = nothing_at_the_end>
void sum_over(const queue& q, std::int64_t sites, int columns, double* result, const Body& body,
              const rank_sum* ranks = nullptr, const End& end = {}) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (columns <= 0) return;
  q.launch_held_back();  // it may need more scratch memory and counters than this one
  const std::int64_t blocks = std::max<std::int64_t>(blocks_of_a_sum<Body>(sites), 1);
  auto* const partial =
      reinterpret_cast<double*>(q.scratch(static_cast<std::size_t>(blocks * columns * Count) * sizeof(double)));
  launch_kernel(q, dim3(static_cast<unsigned>(blocks * columns)), dim3(sum_threads), 0, true,
                sum_kernel<Count, Body, End>, sites, columns, blocks, sites_of_a_thread<Body>(sites), partial,
                q.counters(static_cast<std::size_t>(columns)), result, ranks != nullptr ? *ranks : rank_sum{},
                !goes_forwards<Body>() && q.next_is_reversed(), body, end);
}

#else

template <class Body>
void for_each_index(const queue&, std::int64_t count, const Body& body, int /*threads*/ = 256) {
  static_assert(std::is_trivially_copyable_v<Body>);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

/// Adds as the threads of a block do (add_over_block).
template <int Count>
void add_over_block(double (&sums)[sum_threads][Count]) {
  for (int k = 0; k < Count; ++k) {
    for (int warp = 0; warp < sum_threads; warp += 32)
      for (int distance = 16; distance > 0; distance /= 2)
        for (int lane = 0; lane < distance; ++lane) sums[warp + lane][k] += sums[warp + lane + distance][k];
    for (int warp = 32; warp < sum_threads; warp += 32) sums[0][k] += sums[warp][k];
  }
}

/// Adds over ranks: `sums` to `result`, and the carried numbers in place.
template <int Count>
void add_over_ranks(const double (&sums)[Count], const rank_sum& ranks, int column, double* result) {
  static_assert(Count <= rank_sum::most_numbers);
  const std::uint32_t epoch = *ranks.last_epoch(column) + 1;
  const int count = Count + ranks.carried_numbers;
  const auto number = [&](int k) { return k < Count ? result + k : ranks.carried_number(column, k - Count); };
  std::copy_n(sums, Count, result);
  order_memory();
  for (int to = 0; to < ranks.ranks; ++to)
    for (int k = 0; k < count; ++k) ranks.send(column, epoch, to, k, *number(k));
  for (int k = 0; k < count; ++k) {
    double sum = ranks.receive(column, epoch, 0, k);
    for (int from = 1; from < ranks.ranks; ++from) sum += ranks.receive(column, epoch, from, k);
    *number(k) = sum;
  }
  order_memory();
  *ranks.last_epoch(column) = epoch;
}

template <class Body>
auto numbers_of_column(const Body& body, int column) {
  std::array<complex<double>, static_cast<std::size_t>(most_numbers_of<Body>())> numbers{};
  if constexpr (computes_numbers<Body>)
    for (int k = 0; k < body.number_count(); ++k) numbers[static_cast<std::size_t>(k)] = body.number(k, column, true);
  return numbers;
}

template <computes_numbers Body>
void for_each_site(const queue&, std::int64_t sites, int columns, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  for (int column = 0; column < columns; ++column) {
    const auto numbers = numbers_of_column(body, column);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < sites; ++i) {
      double none[1];
      body(i, column, numbers.data(), none);
    }
  }
}

template <int Count, class Body, class End = nothing_at_the_end>
void sum_over(const queue&, std::int64_t sites, int columns, double* result, const Body& body,
              const rank_sum* ranks = nullptr, const End& end = {}) {
  static_assert(std::is_trivially_copyable_v<Body>);
  const std::int64_t blocks = std::max<std::int64_t>(blocks_of_a_sum<Body>(sites), 1);
  const int of_a_thread = sites_of_a_thread<Body>(sites);
  for (int column = 0; column < columns; ++column) {
    [[maybe_unused]] const auto numbers = numbers_of_column(body, column);
    std::vector<double> partial(static_cast<std::size_t>(blocks * Count));
#pragma omp parallel for schedule(static)
    for (std::int64_t block = 0; block < blocks; ++block) {
      double sums[sum_threads][Count] = {};
      for (int thread = 0; thread < sum_threads; ++thread)
        for (int s = 0; s < of_a_thread; ++s) {
          const std::int64_t i = (block * of_a_thread + s) * sum_threads + thread;
          if (i >= sites) continue;
          if constexpr (computes_numbers<Body>)
            body(i, column, numbers.data(), sums[thread]);
          else
            body(i, column, sums[thread]);
        }
      add_over_block(sums);
      for (int k = 0; k < Count; ++k) partial[static_cast<std::size_t>(block * Count + k)] = sums[0][k];
    }
    double sums[sum_threads][Count] = {};
    for (std::int64_t b = 0; b < blocks; ++b)
      for (int k = 0; k < Count; ++k) sums[b % sum_threads][k] += partial[static_cast<std::size_t>(b * Count + k)];
    add_over_block(sums);
    double* const of_column = result + static_cast<std::int64_t>(column) * Count;
    if (ranks != nullptr)
      add_over_ranks(sums[0], *ranks, column, of_column);
    else
      std::copy_n(sums[0], Count, of_column);
    for (int task = 0; task < end.count; ++task) end(task, column);
  }
}

#endif

}  // namespace plaquette::gpu
