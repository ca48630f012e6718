// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Launches of blocks whose threads share memory. The work of a block is two phases with a barrier between them, each a
/// function of the thread's number: the host build runs them as loops. For .cu files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/device/launch.hpp"

namespace plaquette::gpu::dg {

#ifdef __CUDACC__

template <class Body>
__global__ void two_phase_kernel(const __grid_constant__ Body body) {
  extern __shared__ __align__(16) std::byte shared[];
  body.first(std::int64_t{blockIdx.x}, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), shared);
  __syncthreads();
  body.second(std::int64_t{blockIdx.x}, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), shared);
}

/// \param shared_bytes  below 48 KB
template <class Body>
void launch_two_phases(const queue& q, std::int64_t blocks, int threads, int shared_bytes, const Body& body) {
  if (blocks <= 0) return;
  two_phase_kernel<Body><<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                           static_cast<std::size_t>(shared_bytes), stream_of(q)>>>(body);
  check(cudaGetLastError());
}

#else

template <class Body>
void launch_two_phases(const queue&, std::int64_t blocks, int threads, int shared_bytes, const Body& body) {
#pragma omp parallel
  {
    std::vector<double> shared(static_cast<std::size_t>(shared_bytes) / sizeof(double) + 2);
    auto* const begin = reinterpret_cast<std::byte*>(shared.data());
    auto* const aligned = begin + (16 - reinterpret_cast<std::uintptr_t>(begin) % 16) % 16;
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (int thread = 0; thread < threads; ++thread) body.first(block, thread, threads, aligned);
      for (int thread = 0; thread < threads; ++thread) body.second(block, thread, threads, aligned);
    }
  }
}

#endif

}  // namespace plaquette::gpu::dg
