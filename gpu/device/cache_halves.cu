// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/cache_halves.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

constexpr int lines = 64, line_distance = 4096, rounds = 5, chain = 8;

#ifdef __CUDACC__

/// cycles[multiprocessor][line]: the shortest time that an atomic operation on a line takes, of a chain of them. They
/// are done where the line belongs, from any multiprocessor.
__global__ void time_lines(unsigned* memory, unsigned* cycles) {
  if (threadIdx.x != 0) return;
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  for (int round = 0; round < rounds; ++round)
    for (int k = 0; k < lines; ++k) {
      const int line = (k + 7 * static_cast<int>(blockIdx.x)) % lines;  // not all the same at a time
      unsigned* at = memory + static_cast<std::size_t>(line) * (line_distance / sizeof(unsigned));
      const long long start = clock64();
      for (int i = 0; i < chain; ++i) at += atomicAdd(at, 0U);  // 0: it stays there
      const auto taken = static_cast<unsigned>(clock64() - start) + (at == nullptr ? 1U : 0U);
      unsigned& least = cycles[multiprocessor * lines + line];
      least = round == 0 ? taken : min(least, taken);
    }
}

/// Multiprocessors with the same near and far lines as number 0 are in its half.
std::vector<std::uint8_t> halves_by_cycles(const std::vector<unsigned>& cycles, int multiprocessors) {
  std::vector<double> mean(lines, 0.0);
  const auto at = [&](int s, int k) { return static_cast<double>(cycles[static_cast<std::size_t>(s * lines + k)]); };
  for (int s = 0; s < multiprocessors; ++s)
    for (int k = 0; k < lines; ++k) mean[static_cast<std::size_t>(k)] += at(s, k) / multiprocessors;
  std::vector<std::vector<double>> profile;
  for (int s = 0; s < multiprocessors; ++s) {
    std::vector<double> p;
    double own_mean = 0.0;
    for (int k = 0; k < lines; ++k) own_mean += (at(s, k) - mean[static_cast<std::size_t>(k)]) / lines;
    for (int k = 0; k < lines; ++k) p.push_back(at(s, k) - mean[static_cast<std::size_t>(k)] - own_mean);
    profile.push_back(p);
  }
  std::vector<std::uint8_t> half_of;
  int clear = 0;
  for (const auto& p : profile) {
    double with_first = 0.0, first = 0.0, own = 0.0;
    for (std::size_t k = 0; k < lines; ++k) {
      with_first += p[k] * profile[0][k];
      first += profile[0][k] * profile[0][k];
      own += p[k] * p[k];
    }
    const double correlation = with_first / std::sqrt(first * own);
    if (std::abs(correlation) > 0.5) ++clear;
    half_of.push_back(correlation < 0.0 ? 1 : 0);
  }
  if (10 * clear < 9 * multiprocessors) std::ranges::fill(half_of, std::uint8_t{0});  // no two kinds
  return half_of;
}

#endif

cache_halves find_halves([[maybe_unused]] const queue& q) {
  cache_halves found;
#ifdef __CUDACC__
  const int multiprocessors = describe_device(q.device()).multiprocessors;
  const std::size_t bytes = sizeof(unsigned) * static_cast<std::size_t>(multiprocessors * lines);
  const auto memory = allocate_on_device(q.device(), std::size_t{lines} * line_distance);
  const auto cycles = allocate_on_device(q.device(), bytes);
  fill_bytes(q, memory.get(), 0, std::size_t{lines} * line_distance);
  fill_bytes(q, cycles.get(), 0, bytes);
  // Each takes so much shared memory that a multiprocessor holds one.
  int shared = 0;
  check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, q.device()));
  check(cudaFuncSetAttribute(time_lines, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  launch_kernel(q, dim3(static_cast<unsigned>(multiprocessors)), dim3(32), shared, false, time_lines,
                reinterpret_cast<unsigned*>(memory.get()), reinterpret_cast<unsigned*>(cycles.get()));
  std::vector<unsigned> counted(bytes / sizeof(unsigned));
  copy_to_host(q, counted.data(), cycles.get(), bytes);
  std::vector<std::uint8_t> half_of(static_cast<std::size_t>(multiprocessors), 0);
  if (std::ranges::find(counted, 0U) == counted.end()) half_of = halves_by_cycles(counted, multiprocessors);
  for (const std::uint8_t half : half_of) ++found.multiprocessors[half];
  const auto on_device = allocate_on_device(q.device(), half_of.size());
  copy_to_device(q, on_device.get(), half_of.data(), half_of.size());
  found.half_of = on_device;
#endif
  return found;
}

}  // namespace

const cache_halves& cache_halves_of(const queue& q) {
  static std::mutex mutex;
  static std::map<int, cache_halves> of_devices;
  const std::lock_guard lock(mutex);
  const auto found = of_devices.find(q.device());
  if (found != of_devices.end()) return found->second;
  return of_devices[q.device()] = find_halves(q);
}

}  // namespace plaquette::gpu
