// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flags by which kernels of different ranks wait for each other, in memory that several devices reach (peer_memory). A
/// flag is a 32-bit epoch that only grows. A thread that sees a flag at an epoch sees all earlier writes of its setter,
/// and of the threads that met the setter at a barrier of their block. In the host build the ranks' processes do the
/// same with atomics in shared memory, and yield while they wait. For .cu files only.
#pragma once

#include <cstdint>

#include "common/algebra/complex.hpp"

#ifndef __CUDACC__
#include <sched.h>

#include <atomic>
#endif

namespace plaquette::gpu {

/// Whether a flag is at `epoch` or beyond; right across the wrap, as long as the two are less than 2^31 apart.
PLAQUETTE_HOST_DEVICE constexpr bool has_reached(std::uint32_t flag, std::uint32_t epoch) {
  return static_cast<std::int32_t>(flag - epoch) >= 0;
}

#ifdef __CUDACC__

/// A thread on any device that sees the flag sees all earlier writes of this thread.
__device__ inline void set_flag(std::uint32_t* flag, std::uint32_t epoch) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
}
__device__ inline std::uint32_t read_flag(const std::uint32_t* flag) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
/// Stores one number as a whole, in no order with others.
__device__ inline void store_word(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}
__device__ inline std::uint64_t load_word(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}
/// Orders earlier reads and writes of this thread against its later ones, for all devices.
__device__ inline void order_memory() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

/// Calls `ready` until it is true. Who waits long says so: `word` (a watchdog's, or null) holds `value` meanwhile.
template <class Ready>
__device__ inline void wait_until(const Ready& ready, std::uint64_t* word, std::uint64_t value) {
  constexpr int polls_in_silence = 1 << 16;  // tens of milliseconds
#pragma unroll 1
  for (int poll = 0; poll < polls_in_silence; ++poll)
    if (ready()) return;
  if (word != nullptr) store_word(word, value);
  while (!ready()) __nanosleep(100);
  if (word != nullptr) store_word(word, 0);
}

#else

inline void set_flag(std::uint32_t* flag, std::uint32_t epoch) {
  std::atomic_ref(*flag).store(epoch, std::memory_order_release);
}
inline std::uint32_t read_flag(const std::uint32_t* flag) {
  return std::atomic_ref(*const_cast<std::uint32_t*>(flag)).load(std::memory_order_acquire);
}
inline void store_word(std::uint64_t* to, std::uint64_t value) {
  std::atomic_ref(*to).store(value, std::memory_order_relaxed);
}
inline std::uint64_t load_word(const std::uint64_t* from) {
  return std::atomic_ref(*const_cast<std::uint64_t*>(from)).load(std::memory_order_relaxed);
}
inline void order_memory() { std::atomic_thread_fence(std::memory_order_acq_rel); }

template <class Ready>
void wait_until(const Ready& ready, std::uint64_t* word, std::uint64_t value) {
  constexpr int polls_in_silence = 1000;
  for (int poll = 0; poll < polls_in_silence; ++poll) {
    if (ready()) return;
    sched_yield();
  }
  if (word != nullptr) store_word(word, value);
  while (!ready()) sched_yield();
  if (word != nullptr) store_word(word, 0);
}

#endif

/// Waits until the flag has reached the epoch, and then sees the writes before it was set. `word` and `value`: see
/// `wait_until`.
PLAQUETTE_HOST_DEVICE inline void wait_for_flag([[maybe_unused]] const std::uint32_t* flag,
                                                [[maybe_unused]] std::uint32_t epoch,
                                                [[maybe_unused]] std::uint64_t* word = nullptr,
                                                [[maybe_unused]] std::uint64_t value = 0) {
#if !defined(__CUDACC__) || defined(__CUDA_ARCH__)
  wait_until([=] { return has_reached(read_flag(flag), epoch); }, word, value);
#endif
}

}  // namespace plaquette::gpu
