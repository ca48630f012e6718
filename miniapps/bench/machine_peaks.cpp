// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/machine_peaks.hpp"

#include <algorithm>

#include "common/app/timing.hpp"

namespace plaquette::bench {

template <class T>
double fma_peak(cpu::instruction_set isa) {
  const auto& table = cpu::tables_of<T>(cpu::kernels_of(isa))[0];
  constexpr std::int64_t iterations = 400'000;
  const stopwatch watch;
  volatile T sink = table.multiply_add(iterations);
  (void)sink;
  return 2.0 * static_cast<double>(iterations) * cpu::fma_chains * table.width / watch.seconds();
}

template double fma_peak<float>(cpu::instruction_set);
template double fma_peak<double>(cpu::instruction_set);

double copy_bandwidth(const cpu::context& ctx, std::int64_t bytes) {
  constexpr std::int64_t line = 64 / sizeof(float);
  const int threads = ctx.threads();
  const std::int64_t lines = std::max<std::int64_t>(bytes / 2 / 64, threads);
  const auto count = static_cast<std::size_t>(lines * line);
  cpu::aligned_buffer<float> from(count), to(count);
  const auto copy = cpu::tables_of<float>(cpu::kernels_of(ctx.isa()))[0].copy;
  const std::int64_t passes = std::max<std::int64_t>(1, 20'000'000 / bytes);
  const auto copy_all = [&](std::int64_t times) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; ++t) {
      const std::int64_t first = lines * t / threads * line, last = lines * (t + 1) / threads * line;
      for (std::int64_t pass = 0; pass < times; ++pass) copy(to.data() + first, from.data() + first, last - first);
    }
  };
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < lines * line; ++i) from.data()[i] = to.data()[i] = 1.0F;
  copy_all(1);
  double best = 0.0;
  for (int sample = 0; sample < 5; ++sample) {
    const stopwatch watch;
    copy_all(passes);
    best = std::max(best, static_cast<double>(2 * 64 * lines * passes) / watch.seconds());
  }
  return best;
}

}  // namespace plaquette::bench
