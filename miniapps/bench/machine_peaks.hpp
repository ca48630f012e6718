// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the machine can do at best, measured beside what is compared with it.
#pragma once

#include "cpu_ref/context.hpp"

namespace plaquette::bench {

/// Flops a second of one core in fused multiply-adds of its widest registers, in the precision of T. Takes about 5 ms.
template <class T>
double fma_peak(cpu::instruction_set isa);

/// Bytes a second (read and written both count) that `threads` threads copy between two arrays of `bytes` in all, by
/// ordinary stores; best of a few passes.
double copy_bandwidth(const cpu::context& ctx, std::int64_t bytes);

}  // namespace plaquette::bench
