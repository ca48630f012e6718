// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// 16-bit fixed point, the `half` precision of Clark et al., arXiv:0911.3191, section 5.1: an integer q in [-32767,
/// 32767] stands for q / 32767 times a scale. The scale is stored with it (spinors: one float a site; clover: one a
/// chiral block) or is 1 (links).
///
/// A complex number is one 32-bit word. Its lower half is the real part. The imaginary part is the WHOLE word, read as
/// an integer of steps of 2^-16. The lower bits shift it by less than a step. The upper half is chosen so that the
/// whole comes nearest to what is stored. So nothing is masked off in reading, and both parts are good to half a step.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "common/algebra/complex.hpp"

namespace plaquette {

/// Names the precision where a type is needed, as in field<half>. Arithmetic is done in float.
struct half {};

inline constexpr float fixed_point_one = 32767.0F;

/// Returns the larger magnitude; NaN counts as the largest, so that it is never lost from a scale.
inline double larger_magnitude(double largest, double x) {
  return std::abs(x) > largest || std::isnan(x) ? std::abs(x) : largest;
}

/// Parts of magnitude at most 1. NaN has no image: the packing function keeps it in the scale.
inline std::uint32_t pack_fixed_point(const complex<float>& z) {
  if (std::isnan(z.re) || std::isnan(z.im)) return 0;
  const auto re = static_cast<std::int32_t>(std::lrint(z.re * fixed_point_one));
  const auto im = static_cast<std::int64_t>(std::llrint(static_cast<double>(z.im) * fixed_point_one * 65536.0));
  const std::int64_t low = re & 0xffff;
  const std::int64_t nearest = (im - low + 0x8000) & ~std::int64_t{0xffff};
  return static_cast<std::uint32_t>(nearest | low);
}

inline complex<float> unpack_fixed_point(std::uint32_t word) {
  return {static_cast<float>(static_cast<std::int16_t>(word & 0xffffU)) * (1.0F / fixed_point_one),
          static_cast<float>(static_cast<std::int32_t>(word)) * (1.0F / (65536.0F * fixed_point_one))};
}

}  // namespace plaquette
