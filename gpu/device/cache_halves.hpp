// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which multiprocessors share a half of the second-level cache. On large devices it has two. A multiprocessor asks its
/// own, which fetches data of the other half over a link that is narrower than the cache. Data that both sides use
/// crosses it; so multiprocessors of one half had better work on neighbouring sites.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

struct cache_halves {
  std::shared_ptr<const std::byte> half_of;  ///< of the device: 0 or 1 for each number of a multiprocessor
  int multiprocessors[2] = {0, 0};           ///< of each half
};

/// Found out by how long atomic operations take, at the first call for a device, in about a millisecond; waits then.
/// All of them are in half 0 if there are no two kinds, and in the host build.
const cache_halves& cache_halves_of(const queue& q);

}  // namespace plaquette::gpu
