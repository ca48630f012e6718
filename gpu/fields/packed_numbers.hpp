// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The numbers of a link or a block of the clover term as the kernels of operators load them. 32 sites stand together:
/// a site has chunks of 16 bytes, then one of 8 and one of 4 bytes for the rest.
#pragma once

#include <bit>
#include <cstdint>

#include "gpu/device/chunk.hpp"
#include "gpu/device/unroll.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

/// Writes `count` numbers of a lane, each a whole chunk at once.
/// \param block   of 32 lanes
/// \param number  number(k), 0 <= k < count, is the stored number: 2, 4 or 8 bytes; k is known to the compiler
template <int count, class Number>
PLAQUETTE_HOST_DEVICE inline void store_packed(std::byte* block, int lane, const Number& number) {
  constexpr int size = sizeof(decltype(number(0))), words = count * size / 4, chunks = words / 4, rest = words % 4;
  static_assert(count * size % 4 == 0);
  std::uint32_t word[words];
  PLAQUETTE_GPU_UNROLL
  for (int k = 0; k < words; ++k) {
    if constexpr (size == 2) {
      word[k] = std::uint32_t{number(2 * k)} | std::uint32_t{number(2 * k + 1)} << 16;
    } else if constexpr (size == 4) {
      word[k] = std::bit_cast<std::uint32_t>(number(k));
    } else if (k % 2 == 0) {
      const auto bits = std::bit_cast<std::uint64_t>(number(k / 2));
      word[k] = static_cast<std::uint32_t>(bits);
      word[k + 1] = static_cast<std::uint32_t>(bits >> 32);
    }
  }
  PLAQUETTE_GPU_UNROLL
  for (int c = 0; c < chunks; ++c)
    store_chunk(block + (c * lanes + lane) * chunk_bytes,
                {{word[4 * c], word[4 * c + 1], word[4 * c + 2], word[4 * c + 3]}});
  std::byte* const after = block + chunks * lanes * chunk_bytes;
  if constexpr (rest >= 2)
    *reinterpret_cast<std::uint64_t*>(after + lane * 8) =
        std::uint64_t{word[4 * chunks]} | std::uint64_t{word[4 * chunks + 1]} << 32;
  if constexpr (rest % 2 == 1)
    *reinterpret_cast<std::uint32_t*>(after + (rest >= 2 ? lanes * 8 : 0) + lane * 4) = word[words - 1];
}

/// Copies the numbers of a lane as they are.
/// \param bytes  of them, a multiple of 4
PLAQUETTE_HOST_DEVICE inline void copy_packed(std::byte* to, int to_lane, const std::byte* from, int from_lane,
                                              int bytes) {
  const int chunks = bytes / chunk_bytes, rest = bytes % chunk_bytes;
  for (int c = 0; c < chunks; ++c)
    store_chunk(to + (c * lanes + to_lane) * chunk_bytes, load_chunk(from + (c * lanes + from_lane) * chunk_bytes));
  std::int32_t after = chunks * lanes * chunk_bytes;
  if (rest >= 8) {
    *reinterpret_cast<std::uint64_t*>(to + after + to_lane * 8) =
        *reinterpret_cast<const std::uint64_t*>(from + after + from_lane * 8);
    after += lanes * 8;
  }
  if (rest % 8 != 0)
    *reinterpret_cast<std::uint32_t*>(to + after + to_lane * 4) =
        *reinterpret_cast<const std::uint32_t*>(from + after + from_lane * 4);
}

}  // namespace plaquette::gpu
