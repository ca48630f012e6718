// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// 16-bit fixed point, the `half` precision of Clark et al., arXiv:0911.3191, section 5.1: an integer q in
/// [-32767, 32767] stands for q / 32767 times a scale that is stored beside it (spinors: one float a site; clover: one
/// a chiral block) or is 1 (links). A complex number is one 32-bit word, the real part in its lower half.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "common/algebra/complex.hpp"

namespace plaquette {

/// Names the precision where a type is asked for, as in field<half>. Arithmetic is done in float.
struct half {};

inline constexpr float fixed_point_one = 32767.0F;

/// x, of magnitude at most 1, to the nearest multiple of 1/32767 (ties to even). NaN has no image: whoever packs keeps
/// it in the scale.
inline std::uint32_t to_fixed_point(float x) {
  // Adding 1.5 2^23 leaves the rounded integer in the lowest bits of the sum.
  constexpr float to_integer = 12582912.0F;
  return std::bit_cast<std::uint32_t>(x * fixed_point_one + to_integer) & 0xffffU;
}

inline float from_fixed_point(std::uint32_t bits) {
  return static_cast<float>(static_cast<std::int16_t>(bits & 0xffffU)) * (1.0F / fixed_point_one);
}

/// The larger magnitude; NaN counts as the largest, so that it is never lost from a scale.
inline double larger_magnitude(double largest, double x) {
  return std::abs(x) > largest || std::isnan(x) ? std::abs(x) : largest;
}

inline std::uint32_t pack_fixed_point(const complex<float>& z) {
  return to_fixed_point(z.re) | to_fixed_point(z.im) << 16;
}

inline complex<float> unpack_fixed_point(std::uint32_t word) {
  return {from_fixed_point(word), from_fixed_point(word >> 16)};
}

}  // namespace plaquette
