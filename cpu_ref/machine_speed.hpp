// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The speed of the machine, measured in the run that it is compared with: memory bandwidth and arithmetic of all ranks
/// and threads together. The twin of gpu/device/machine_speed.hpp.
#pragma once

#include "cpu_ref/context.hpp"

namespace plaquette::cpu {

/// Returns the bytes read and written per second by a copy between arrays that no cache holds, in 10^9; the best of
/// several passes. Collective.
double copy_gbytes_per_s(const context& ctx);
/// Returns the bytes of its arrays on each rank: 256 MiB of a host, or a twentieth of the host's free memory. Tests
/// that start many programs set fewer MiB (PLAQUETTE_COPY_MIB): then they measure the bandwidth of a cache, and
/// operators are timed for shorter (time_applications). Collective.
double bytes_of_copy(const communicator& world);
/// Returns the same between arrays of `bytes` bytes a rank, both together: the bandwidth of the cache level that holds
/// them.
double copy_gbytes_per_s(const context& ctx, double bytes);

/// Returns 10^9 flops per second of independent fused multiply-adds (two flops each) on the widest vectors of T, float
/// or double; the best of `passes` passes of a millisecond. Collective.
template <class T>
double fma_gflops(const context& ctx, int passes = 20);

/// Returns the sum over threads of the rate that each reaches in its best pass of some 50 microseconds, by its own
/// clock. Unlike `fma_gflops` it needs no moment in which all threads have a core, so it is a limit on a loaded host,
/// too. Threads that share a core count as if each had one. Collective.
template <class T>
double fma_gflops_of_threads(const context& ctx, int passes);

}  // namespace plaquette::cpu
