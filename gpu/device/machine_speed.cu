// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/machine_speed.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gpu/device/chunk.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/device/unroll.hpp"

namespace plaquette::gpu {

namespace {

constexpr int samples = 5;
constexpr double sample_seconds = 0.004;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double median_seconds(const queue& q, const std::function<void()>& launch) {
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) seconds.push_back(seconds_a_launch_over(q, sample_seconds, launch));
  return median(std::move(seconds));
}

/// Chunk k of thread i, so that the threads of a block touch neighbours: a block of 2^log2_threads threads goes through
/// of_a_thread times as many chunks.
template <int of_a_thread>
struct chunk_order {
  int log2_threads;
  PLAQUETTE_HOST_DEVICE std::int64_t place(std::int64_t i, int k) const {
    const std::int64_t block = i >> log2_threads, thread = i - (block << log2_threads);
    return ((block * of_a_thread + k) << log2_threads) + thread;
  }
};

PLAQUETTE_HOST_DEVICE inline chunk load_streaming(const chunk* at) {
#ifdef __CUDA_ARCH__
  const uint4 v = __ldcs(reinterpret_cast<const uint4*>(at));
  return {{v.x, v.y, v.z, v.w}};
#else
  return *at;
#endif
}
PLAQUETTE_HOST_DEVICE inline void store_streaming(chunk* at, const chunk& c) {
#ifdef __CUDA_ARCH__
  __stcs(reinterpret_cast<uint4*>(at), make_uint4(c.word[0], c.word[1], c.word[2], c.word[3]));
#else
  *at = c;
#endif
}

template <int of_a_thread>
struct copy_chunks {
  static constexpr bool goes_forwards = true;  ///< a bandwidth of memory, not of the cache
  chunk* to;
  const chunk* from;
  chunk_order<of_a_thread> order;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i) const {
    chunk c[of_a_thread];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < of_a_thread; ++k) c[k] = load_streaming(from + order.place(i, k));
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < of_a_thread; ++k) store_streaming(to + order.place(i, k), c[k]);
  }
};

/// Numbers that are read must be used, or the compiler leaves the reads out: they are compared with a number that never
/// occurs.
constexpr std::uint32_t never = 0x9e3779b9U;

template <int of_a_thread>
struct read_chunks {
  static constexpr bool goes_forwards = true;
  const chunk* from;
  std::uint32_t* sink;
  chunk_order<of_a_thread> order;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i) const {
    chunk c[of_a_thread];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < of_a_thread; ++k) c[k] = load_streaming(from + order.place(i, k));
    std::uint32_t all = 0;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < of_a_thread; ++k) all ^= c[k].word[0] ^ c[k].word[1] ^ c[k].word[2] ^ c[k].word[3];
    if (all == never) *sink = all;
  }
};

constexpr int chains = 16;  ///< independent numbers of a thread: more than the latency of a multiply-add needs

template <class T>
struct multiply_add_chains {
  T factor, summand;
  int steps;
  T* sink;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i) const {
    T x[chains];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < chains; ++k) x[k] = static_cast<T>(i % 7 + k);
    for (int step = 0; step < steps; ++step) {
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < chains; ++k) x[k] = std::fma(x[k], factor, summand);
    }
    T all = 0;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < chains; ++k) all += x[k];
    if (all == T(-1)) *sink = all;
  }
};

struct nothing {
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t) const {}
};

/// Bytes filled so that words differ: memory of one value may be compressed on its way.
struct fill_words {
  chunk* to;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto n = static_cast<std::uint32_t>(i);
    to[i] = {{n * 2654435761U, n * 2246822519U + 1U, n * 3266489917U + 2U, n * 668265263U + 3U}};
  }
};

constexpr int most_of_a_thread = 4;
constexpr int log2_largest_block = 10, largest_block = 1 << log2_largest_block;

/// Chunks that every way of going through them divides.
std::int64_t chunks_in(double bytes) {
  constexpr std::int64_t unit = std::int64_t{most_of_a_thread} * largest_block;
  return std::max<std::int64_t>(static_cast<std::int64_t>(bytes / chunk_bytes) / unit, 1) * unit;
}

/// The shortest time of all ways to launch; `launch(of_a_thread, log2_threads)` queues one.
template <class Launch>
double fastest(const queue& q, Launch&& launch) {
  double best = std::numeric_limits<double>::infinity();
  const auto try_with = [&](auto of_a_thread) {
    for (const int log2_threads : {8, 9, log2_largest_block})
      best = std::min(best, median_seconds(q, [&] { launch(of_a_thread, log2_threads); }));
  };
  try_with(std::integral_constant<int, 1>());
  try_with(std::integral_constant<int, 2>());
  try_with(std::integral_constant<int, most_of_a_thread>());
  return best;
}

}  // namespace

double copy_gbytes_per_s(const queue& q, double bytes) {
  return copy_gbytes_per_s(q, *std::make_shared<memory_pool>(q.device()), bytes);
}
double copy_gbytes_per_s(const queue& q, memory_pool& workspace, double bytes) {
  const std::int64_t chunks = chunks_in(0.5 * bytes);
  const auto size = static_cast<std::size_t>(chunks) * chunk_bytes;
  const auto from = workspace.take(size), to = workspace.take(size);
  const auto* const in = reinterpret_cast<const chunk*>(from.get());
  auto* const out = reinterpret_cast<chunk*>(to.get());
  for_each_index(q, chunks, fill_words{reinterpret_cast<chunk*>(from.get())});
  for_each_index(q, chunks, fill_words{out});
  const double seconds = fastest(q, [&]<int n>(std::integral_constant<int, n>, int log2_threads) {
    for_each_index(q, chunks / n, copy_chunks<n>{out, in, {log2_threads}}, 1 << log2_threads);
  });
  return 2e-9 * static_cast<double>(size) / seconds;
}

double read_gbytes_per_s(const queue& q, double bytes) {
  const std::int64_t chunks = chunks_in(bytes);
  const auto size = static_cast<std::size_t>(chunks) * chunk_bytes;
  const auto memory = allocate_on_device(q.device(), size), sink = allocate_on_device(q.device(), sizeof(chunk));
  auto* const in = reinterpret_cast<chunk*>(memory.get());
  for_each_index(q, chunks, fill_words{in});
  const double seconds = fastest(q, [&]<int n>(std::integral_constant<int, n>, int log2_threads) {
    for_each_index(q, chunks / n, read_chunks<n>{in, reinterpret_cast<std::uint32_t*>(sink.get()), {log2_threads}},
                   1 << log2_threads);
  });
  return 1e-9 * static_cast<double>(size) / seconds;
}

template <class T>
double fma_gflops(const queue& q, int multiply_adds) {
  constexpr int waves = 4, threads_of_a_multiprocessor = 2048;
  const std::int64_t threads = std::int64_t{std::max(describe_device(q.device()).multiprocessors, 1)} *
                               (kernels_run_on_host() ? 1 : waves * threads_of_a_multiprocessor);
  const auto sink = allocate_on_device(q.device(), sizeof(T));
  // The numbers stay in the normal range: x -> x / 2 + 1 goes to 2.
  const multiply_add_chains<T> body{T(0.5), T(1), multiply_adds, reinterpret_cast<T*>(sink.get())};
  const double seconds = median_seconds(q, [&] { for_each_index(q, threads, body); });
  return 2e-9 * static_cast<double>(threads) * chains * multiply_adds / seconds;
}
template double fma_gflops<float>(const queue&, int);
template double fma_gflops<double>(const queue&, int);

launch_cost measured_launch_cost(const queue& q) {
  constexpr int launches = 200;
  const auto launch = [&] { for_each_index(q, 1, nothing{}, 32); };
  launch_cost cost;
  cost.in_queue = median_seconds(q, launch);
  const work_graph graph(q, launches, launch);
  cost.in_graph = median_seconds(q, [&] { graph.launch(); }) / launches;
  std::vector<double> seconds;
  for (int i = 0; i < launches; ++i) {
    q.synchronize();
    const auto start = std::chrono::steady_clock::now();
    launch();
    q.synchronize();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  cost.waited_for = median(std::move(seconds));
  return cost;
}

}  // namespace plaquette::gpu
