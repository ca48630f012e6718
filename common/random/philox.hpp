// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Philox 4x32-10, a random number generator without state: 128 random bits are a function of a 128-bit counter and a
/// 64-bit key. J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.
#pragma once

#include <cstdint>

#include "common/algebra/complex.hpp"

namespace plaquette {

struct philox_counter {
  std::uint32_t words[4];
  PLAQUETTE_HOST_DEVICE constexpr std::uint32_t& operator[](int i) { return words[i]; }
  PLAQUETTE_HOST_DEVICE constexpr const std::uint32_t& operator[](int i) const { return words[i]; }
  PLAQUETTE_HOST_DEVICE friend constexpr bool operator==(const philox_counter&, const philox_counter&) = default;
};

struct philox_key {
  std::uint32_t words[2];
  PLAQUETTE_HOST_DEVICE constexpr std::uint32_t& operator[](int i) { return words[i]; }
  PLAQUETTE_HOST_DEVICE constexpr const std::uint32_t& operator[](int i) const { return words[i]; }
};

/// Returns the 128 random bits of `counter` under `key`: ten rounds of two 32x32 -> 64 bit products and a permutation.
PLAQUETTE_HOST_DEVICE constexpr philox_counter philox(philox_counter counter, philox_key key) {
  constexpr int rounds = 10;
  constexpr std::uint64_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;  // of the paper
  constexpr std::uint32_t key_step_0 = 0x9E3779B9, key_step_1 = 0xBB67AE85;      // the golden ratio, and sqrt(3) - 1
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t product_0 = multiplier_0 * counter[0], product_1 = multiplier_1 * counter[2];
    counter = {static_cast<std::uint32_t>(product_1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product_1),
               static_cast<std::uint32_t>(product_0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product_0)};
    key[0] += key_step_0;
    key[1] += key_step_1;
  }
  return counter;
}

}  // namespace plaquette
