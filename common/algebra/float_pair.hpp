// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Double precision by pairs of floats, for hardware that has few units for double. A number is high + low. Low is
/// below half a unit in the last place of high. A pair has about 48 bits. The range is that of float: magnitudes below
/// about 1e-30 lose bits of low. (Dekker 1971; Joldes, Muller, Popescu, ACM TOMS 44, 2017)
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "common/algebra/complex.hpp"

namespace plaquette {

struct float_pair {
  float high = 0.0f, low = 0.0f;

  constexpr float_pair() = default;
  PLAQUETTE_HOST_DEVICE constexpr float_pair(float h, float l) : high(h), low(l) {}
  /// Rounds to the pair nearest to it, or its neighbour.
  PLAQUETTE_HOST_DEVICE constexpr explicit float_pair(double value)
      : high(static_cast<float>(value)), low(static_cast<float>(value - static_cast<double>(high))) {}
  PLAQUETTE_HOST_DEVICE constexpr explicit float_pair(float value) : high(value) {}
  PLAQUETTE_HOST_DEVICE constexpr explicit float_pair(int value) : float_pair(static_cast<double>(value)) {}
  PLAQUETTE_HOST_DEVICE constexpr explicit operator double() const {
    return static_cast<double>(high) + static_cast<double>(low);
  }
  PLAQUETTE_HOST_DEVICE constexpr explicit operator float() const { return high; }
};

/// Returns a + b without error: the rounded sum, and what rounding took. (Knuth)
PLAQUETTE_HOST_DEVICE constexpr float_pair two_sum(float a, float b) {
  const float sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
/// Returns the same where |a| >= |b|, or a is 0. (Dekker)
PLAQUETTE_HOST_DEVICE constexpr float_pair fast_two_sum(float a, float b) {
  const float sum = a + b;
  return {sum, b - (sum - a)};
}
/// Returns a b without error, where it is above 2^-100 or 0.
PLAQUETTE_HOST_DEVICE inline float_pair two_product(float a, float b) {
  const float product = a * b;
  return {product, fmaf(a, b, -product)};
}

PLAQUETTE_HOST_DEVICE constexpr float_pair operator-(const float_pair& a) { return {-a.high, -a.low}; }
/// Relative error at most 3 2^-48, with any signs.
PLAQUETTE_HOST_DEVICE constexpr float_pair operator+(const float_pair& a, const float_pair& b) {
  const float_pair high = two_sum(a.high, b.high), low = two_sum(a.low, b.low);
  const float_pair sum = fast_two_sum(high.high, high.low + low.high);
  return fast_two_sum(sum.high, low.low + sum.low);
}
PLAQUETTE_HOST_DEVICE constexpr float_pair operator-(const float_pair& a, const float_pair& b) { return a + (-b); }
/// Relative error at most 5 2^-48.
PLAQUETTE_HOST_DEVICE inline float_pair operator*(const float_pair& a, const float_pair& b) {
  const float_pair product = two_product(a.high, b.high);
  const float crossed = fmaf(a.low, b.high, a.high * b.low);
  return fast_two_sum(product.high, product.low + crossed);
}
PLAQUETTE_HOST_DEVICE constexpr float_pair& operator+=(float_pair& a, const float_pair& b) { return a = a + b; }
PLAQUETTE_HOST_DEVICE constexpr float_pair& operator-=(float_pair& a, const float_pair& b) { return a = a - b; }
PLAQUETTE_HOST_DEVICE inline float_pair& operator*=(float_pair& a, const float_pair& b) { return a = a * b; }
PLAQUETTE_HOST_DEVICE constexpr bool operator==(const float_pair& a, const float_pair& b) {
  return a.high == b.high && a.low == b.low;
}

/// Returns the pair of a number by integers and floats alone, for devices that have few units for double. Errs by at
/// most 2^-47 of it.
PLAQUETTE_HOST_DEVICE inline float_pair pair_without_doubles(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<std::uint32_t>(bits >> 52) & 0x7ffU;
  if (exponent < 960 || exponent > 1149) return float_pair(value);  // below 2^-63, above 2^127, no number
  constexpr std::uint32_t one = 1023, one_of_float = 127;           // exponents
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 32) & 0x80000000U;
  const std::uint32_t high =
      ((exponent - (one - one_of_float)) << 23) | (static_cast<std::uint32_t>(bits >> 29) & 0x7fffffU);
  const auto rest = static_cast<float>(static_cast<std::uint32_t>(bits) & 0x1fffffffU);  // in units of 2^(e - 52)
  const auto unit = std::bit_cast<float>(sign | ((exponent - (one + 52 - one_of_float)) << 23));
  return fast_two_sum(std::bit_cast<float>(sign | high), rest * unit);
}

/// Bound on the relative rounding error of a sum or product of two pairs.
inline constexpr double float_pair_roundoff = 5.0 * 0x1p-48;

}  // namespace plaquette
