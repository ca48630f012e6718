// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// 16 bytes of the device's memory, the most that a thread moves at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/algebra/complex.hpp"

namespace plaquette::gpu {

inline constexpr int chunk_bytes = 16;

/// 16 bytes, moved at once.
struct alignas(16) chunk {
  std::uint32_t word[4];
};
PLAQUETTE_HOST_DEVICE inline chunk load_chunk(const std::byte* at) {
#ifdef __CUDA_ARCH__
  const uint4 v = *reinterpret_cast<const uint4*>(at);
  return {{v.x, v.y, v.z, v.w}};
#else
  return *reinterpret_cast<const chunk*>(at);
#endif
}
PLAQUETTE_HOST_DEVICE inline void store_chunk(std::byte* at, const chunk& c) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<uint4*>(at) = make_uint4(c.word[0], c.word[1], c.word[2], c.word[3]);
#else
  *reinterpret_cast<chunk*>(at) = c;
#endif
}

}  // namespace plaquette::gpu
