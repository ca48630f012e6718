// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Arrays and launches of GPU rungs. Compiled by nvcc, a launch is a kernel with one thread an index. Compiled as plain
/// C++ it is a loop: the same body, so that indices and arithmetic are tested where there is no GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef __CUDACC__
#define LADDER_BOTH __host__ __device__
#define LADDER_PLACE on_device
#else
#define LADDER_BOTH
#define LADDER_PLACE on_host
#endif

/// Rungs of the library are plain C++ and are linked with the kernels: what differs between both has a name of its own.
namespace ladder::inline LADDER_PLACE {

#ifdef __CUDACC__
inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}
template <class Body>
__global__ void call(Body body, int count) {
  const int index = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) body(index);
}
#endif

/// Calls body(index) for 0 <= index < count, and waits.
template <class Body>
void for_each_index(int count, const Body& body) {
#ifdef __CUDACC__
  call<<<(count + 127) / 128, 128>>>(body, count);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
#else
  for (int index = 0; index < count; ++index) body(index);
#endif
}

#ifdef __CUDACC__
template <class Body>
__global__ void call_steps(Body body) {
  __shared__ typename Body::memory shared;
  for (int step = 0; step < Body::steps; ++step) {
    body(step, int(blockIdx.x), int(threadIdx.x), shared);
    __syncthreads();
  }
}
#endif

/// Calls body(step, block, thread, shared) for all threads of all blocks, and waits. A step begins when all threads of
/// the block have done the one before. What they share, a Body::memory, is not initialised.
template <class Body>
void for_each_block(int blocks, const Body& body) {
#ifdef __CUDACC__
  call_steps<<<blocks, Body::threads>>>(body);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
#else
  const auto shared = std::make_unique<typename Body::memory>();
  for (int block = 0; block < blocks; ++block)
    for (int step = 0; step < Body::steps; ++step)
      for (int thread = 0; thread < Body::threads; ++thread) body(step, block, thread, *shared);
#endif
}

/// Numbers in the memory of the device.
template <class T>
class device_array {
 public:
  explicit device_array(const std::vector<T>& from) : size_(from.size()) {
#ifdef __CUDACC__
    check(cudaMalloc(&data_, size_ * sizeof(T)));
    check(cudaMemcpy(data_, from.data(), size_ * sizeof(T), cudaMemcpyDefault));
#else
    host_ = from;
    data_ = host_.data();
#endif
  }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() {
#ifdef __CUDACC__
    cudaFree(data_);
#endif
  }
  T* data() const { return data_; }
  double bytes() const { return double(size_ * sizeof(T)); }
  std::vector<T> numbers() const {
    std::vector<T> to(size_);
#ifdef __CUDACC__
    check(cudaMemcpy(to.data(), data_, size_ * sizeof(T), cudaMemcpyDefault));
#else
    to = host_;
#endif
    return to;
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
#ifndef __CUDACC__
  std::vector<T> host_;
#endif
};

}  // namespace ladder::inline LADDER_PLACE
