// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// In the host build, a kernel as a function that a loop calls for each thread of each block. Here are the words of
/// CUDA that such kernels use, and a barrier as phases. Each thread runs until the barrier, and then all of them again
/// from the start, so their work before it must be the same the second time. For .cu files only; nvcc has no use for
/// it.
#pragma once

#ifndef __CUDACC__

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

namespace plaquette::gpu {

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline thread_local dim3 gridDim, blockIdx, threadIdx;
inline thread_local std::byte* shared_of_host_block = nullptr;
inline thread_local bool before_barrier = false;

inline int min(int a, int b) { return b < a ? b : a; }
inline void trigger_dependent_launch() {}
inline void wait_for_previous_kernel() {}

/// Calls kernel(arguments...) for all threads. The memory of a block is filled with NaN before it begins.
/// \param has_barrier  whether threads meet at one
template <class Kernel, class... Arguments>
void run_blocks(const dim3& blocks, const dim3& threads, int shared_bytes, bool has_barrier, const Kernel& kernel,
                const Arguments&... arguments) {
  const auto all = static_cast<std::int64_t>(blocks.x) * blocks.y * blocks.z;
#pragma omp parallel
  {
    std::vector<double> room(static_cast<std::size_t>(shared_bytes) / sizeof(double) + 3);
    auto* const begin = reinterpret_cast<std::byte*>(room.data());
    shared_of_host_block = begin + (16 - reinterpret_cast<std::uintptr_t>(begin) % 16) % 16;
    gridDim = blocks;
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < all; ++block) {
      std::memset(begin, 0xff, room.size() * sizeof(double));
      const auto b = static_cast<unsigned>(block);
      blockIdx = {b % blocks.x, b / blocks.x % blocks.y, b / blocks.x / blocks.y};
      for (int phase = has_barrier ? 0 : 1; phase < 2; ++phase) {
        before_barrier = phase == 0;
        for (unsigned z = 0; z < threads.z; ++z)
          for (unsigned y = 0; y < threads.y; ++y)
            for (unsigned x = 0; x < threads.x; ++x) {
              threadIdx = {x, y, z};
              kernel(arguments...);
            }
      }
    }
  }
}

}  // namespace plaquette::gpu

#endif
