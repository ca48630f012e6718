// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A second stream of a queue, and marks in streams that others wait for. In the host build, where work is done when
/// queued, copies are made at once and marks have always been passed. For the library's own sources only.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include "gpu/comms/rank_options.hpp"
#include "gpu/device/check.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

#ifdef PLAQUETTE_CUDA_RUNTIME

/// A point in a stream's work; the last `mark_on` counts.
class stream_mark {
 public:
  /// \param wait  how a host that waits for it spends its time
  stream_mark(int device, wait_mode wait) {
    check(cudaSetDevice(device));
    check(cudaEventCreateWithFlags(&event_,
                                   cudaEventDisableTiming | (wait == wait_mode::block ? cudaEventBlockingSync : 0U)));
  }
  stream_mark(stream_mark&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  stream_mark& operator=(stream_mark&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~stream_mark() {
    if (event_ != nullptr) (void)cudaEventDestroy(event_);
  }

  void mark_on(void* stream) { check(cudaEventRecord(event_, static_cast<cudaStream_t>(stream))); }
  /// Lets later work on `stream` start when the mark is passed.
  void hold_back(void* stream) const { check(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), event_, 0)); }
  /// Whether it has been passed; true if nothing was marked.
  bool is_passed() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    check(status);
    return true;
  }
  void wait() const { check(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Its kernels go before kernels of queues if both have some ready.
class side_stream {
 public:
  explicit side_stream(int device) {
    check(cudaSetDevice(device));
    int lowest = 0, highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest));
  }
  side_stream(side_stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  side_stream& operator=(side_stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~side_stream() {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  void* native() const { return stream_; }
  /// Either may be of the device or page-locked memory of the host.
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_));
  }

 private:
  cudaStream_t stream_ = nullptr;
};

#else

class stream_mark {
 public:
  stream_mark(int /*device*/, wait_mode /*wait*/) {}
  void mark_on(void* /*stream*/) {}
  void hold_back(void* /*stream*/) const {}
  bool is_passed() const { return true; }
  void wait() const {}
};

class side_stream {
 public:
  explicit side_stream(int /*device*/) {}
  void* native() const { return nullptr; }
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
};

#endif

}  // namespace plaquette::gpu
