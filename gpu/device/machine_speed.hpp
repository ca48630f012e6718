// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The best speed of the device, measured in the run that is compared with it. Medians over samples; of several ways
/// (numbers a thread, threads a block) the fastest.
#pragma once

#include <cstddef>

#include "gpu/device/memory_pool.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

/// Bytes of memory for a bandwidth that no cache takes part in.
inline constexpr double bytes_beyond_caches = 2147483648.0;

/// Returns the bytes read and written per second, in 10^9, by a kernel that copies between two arrays of `bytes`
/// together, 16 bytes at a time. It is the ceiling for other kernels. Throws memory_error if there is no room for the
/// arrays.
double copy_gbytes_per_s(const queue& q, double bytes = bytes_beyond_caches);
/// Does the same with arrays of a pool, which may hold most of the device's memory by then.
double copy_gbytes_per_s(const queue& q, memory_pool& workspace, double bytes);
/// Returns the same for a kernel that reads an array of `bytes` and writes nothing.
double read_gbytes_per_s(const queue& q, double bytes = bytes_beyond_caches);

/// Returns 10^9 flops per second of independent fused multiply-adds (two flops each) in registers; T is float or
/// double.
/// \param multiply_adds  of each of a thread's numbers in one launch
template <class T>
double fma_gflops(const queue& q, int multiply_adds = 4096);

/// Seconds that each of many launches of an empty kernel takes: in a row, as nodes of a graph, and one that is waited
/// for.
struct launch_cost {
  double in_queue = 0, in_graph = 0, waited_for = 0;
};
launch_cost measured_launch_cost(const queue& q);

}  // namespace plaquette::gpu
