// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/machine_speed.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "common/comms/host_name.hpp"
#include "common/host_memory.hpp"
#include "common/stopwatch.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"
#include "cpu_ref/simd/kernels.hpp"

namespace plaquette::cpu {

namespace {

/// The rate of work done by all ranks between two barriers; the best of `passes` passes.
template <class Work>
double best_rate(int passes, double amount_a_rank, const communicator& world, Work&& work) {
  double best = 0.0;
  for (int pass = 0; pass <= passes; ++pass) {  // the first one touches memory and wakes the threads
    world.barrier();
    const stopwatch watch;
    work();
    std::array<double, 1> seconds{watch.seconds()};
    world.maximum(std::span(seconds));
    if (pass > 0 && seconds[0] > 0.0) best = std::max(best, amount_a_rank * world.size() / seconds[0]);
  }
  return best;
}

}  // namespace

double bytes_of_copy(const communicator& world) {
  constexpr double mebibyte = 1 << 20;
  double largest = 256.0 * mebibyte;  // beyond the caches of most
  if (const char* const of_tests = std::getenv("PLAQUETTE_COPY_MIB")) largest = std::atof(of_tests) * mebibyte;
  return std::min(largest, 0.05 * available_memory()) / ranks_on_this_host(world);
}

double copy_gbytes_per_s(const context& ctx) { return copy_gbytes_per_s(ctx, bytes_of_copy(ctx.comm())); }

double copy_gbytes_per_s(const context& ctx, double bytes) {
  constexpr std::int64_t line = 64 / sizeof(float);
  constexpr double stream_above_bytes = 32 << 20;  // like the kernels: data that leaves the caches is stored past them
  constexpr double least_bytes_a_pass = 2e7;       // so that a pass is long against the clock
  const std::int64_t lines = std::max<std::int64_t>(static_cast<std::int64_t>(bytes) / (2 * 64), ctx.threads());
  const auto repeats = static_cast<std::int64_t>(std::max(1.0, least_bytes_a_pass / bytes));
  aligned_buffer<float> from(static_cast<std::size_t>(lines * line)), to(static_cast<std::size_t>(lines * line));
  const auto copy = tables_of<float>(kernels_of(ctx.isa()))[0].copy;
  const auto part_of_each_thread = [&](auto&& work) {
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
    for (int thread = 0; thread < ctx.threads(); ++thread) {
      const std::int64_t first = lines * thread / ctx.threads() * line,
                         last = lines * (thread + 1) / ctx.threads() * line;
      work(first, last - first);
    }
  };
  // Memory that was never written may all be one page of zeros; it lies near the thread that writes it first.
  part_of_each_thread([&](std::int64_t first, std::int64_t count) {
    std::fill_n(from.data() + first, count, 1.0F);
    std::fill_n(to.data() + first, count, 0.0F);
  });
  return 1e-9 * best_rate(4, 2.0 * 64.0 * static_cast<double>(lines * repeats), ctx.comm(), [&] {
           part_of_each_thread([&](std::int64_t first, std::int64_t count) {
             for (std::int64_t i = 0; i < repeats; ++i)
               copy(to.data() + first, from.data() + first, count, bytes > stream_above_bytes);
           });
         });
}

template <class T>
double fma_gflops(const context& ctx, int passes) {
  constexpr std::int64_t iterations = 400'000;
  const auto& table = tables_of<T>(kernels_of(ctx.isa()))[0];
  const double flops = 2.0 * static_cast<double>(iterations) * fma_chains * table.width * ctx.threads();
  return 1e-9 * best_rate(passes, flops, ctx.comm(), [&] {
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
           for (int thread = 0; thread < ctx.threads(); ++thread) {
             volatile T sink = table.multiply_add(iterations);  // keeps the compiler from leaving it out
             (void)sink;
           }
         });
}

template <class T>
double fma_gflops_of_threads(const context& ctx, int passes) {
  constexpr std::int64_t iterations = 20'000;
  const auto& table = tables_of<T>(kernels_of(ctx.isa()))[0];
  const double flops = 2.0 * static_cast<double>(iterations) * fma_chains * table.width;
  std::array<double, 1> sum{0.0};
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (int thread = 0; thread < ctx.threads(); ++thread) {
    double best = 0.0;
    for (int pass = 0; pass < passes; ++pass) {
      const stopwatch watch;
      volatile T sink = table.multiply_add(iterations);  // keeps the compiler from leaving it out
      (void)sink;
      if (const double seconds = watch.seconds(); seconds > 0.0) best = std::max(best, flops / seconds);
    }
#pragma omp critical
    sum[0] += best;
  }
  ctx.comm().sum(std::span(sum));
  return 1e-9 * sum[0];
}

template double fma_gflops<float>(const context&, int);
template double fma_gflops<double>(const context&, int);
template double fma_gflops_of_threads<float>(const context&, int);
template double fma_gflops_of_threads<double>(const context&, int);

}  // namespace plaquette::cpu
