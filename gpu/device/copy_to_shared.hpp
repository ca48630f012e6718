// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Copies from global to shared memory that pass the registers and that a thread does not wait for until it says so;
/// and room there. For .cu files only.
#pragma once

#include <cstdint>

#include "gpu/device/check.hpp"

namespace plaquette::gpu {

#ifdef __CUDACC__

/// Lets blocks of a kernel have this much dynamic shared memory. Without it they have 48 KB, together with the kernel's
/// own declarations, which are some hundred bytes or a few KB (CUDA C++ Programming Guide, technical specifications).
template <class Kernel>
void allow_shared(Kernel kernel, int bytes) {
  constexpr int surely_allowed = 40 << 10;
  if (bytes > surely_allowed) check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/// Starts a copy of 16 bytes; zeros if they are not `there`, and nothing is read then.
__device__ __forceinline__ void start_copy_to_shared(void* to, const void* from, bool there) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(there ? 16 : 0)
      : "memory");
}
/// Starts a copy of 4 bytes.
__device__ __forceinline__ void start_word_to_shared(void* to, const void* from) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
      "l"(from)
      : "memory");
}
/// Makes the copies that this thread has started since the last call a group.
__device__ __forceinline__ void end_group_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until all but the last `under_way` groups of this thread are there. Other threads see them after a barrier.
template <int under_way>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(under_way) : "memory");
}

#endif

}  // namespace plaquette::gpu
