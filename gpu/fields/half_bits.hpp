// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Floating-point numbers of 16 bits (IEEE binary16), without the words of CUDA: the same on host and device.
#pragma once

#include <bit>
#include <cstdint>

#include "common/algebra/complex.hpp"

namespace plaquette::gpu {

/// Returns a number in 16 bits, rounded to nearest.
PLAQUETTE_HOST_DEVICE inline std::uint16_t half_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000U, magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);   // NaN
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65520 and more
  if (magnitude < 0x38800000U) {  // below 2^-14: multiples of 2^-24, by the rounding of a sum
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}
/// Exact.
PLAQUETTE_HOST_DEVICE inline float float_of_half(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
  // 2^112 times the number whose bits these are, where exponents count from another zero.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

}  // namespace plaquette::gpu
