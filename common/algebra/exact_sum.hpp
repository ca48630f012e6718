// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums of doubles without rounding: the same bits in any order. (Kulisch's long accumulator.)
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plaquette {

/// A sum as digits of 32 bits: sum_k digit[k] 2^(32 k - 1088). Every double is a sum of three of them.
class exact_sum {
 public:
  static constexpr std::size_t numbers = 69;  ///< of digits_to

  void add(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff) {
      not_finite_ += x;
      return;
    }
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const std::uint64_t integer = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    const int place = (exponent == 0 ? 1 : exponent) + lowest_place - 1075;  // x = integer 2^(place - 1088)
    const auto k = static_cast<std::size_t>(place / 32);
    const int shift = place % 32;
    const std::uint64_t low = (integer & mask) << shift, high = (integer >> 32) << shift;
    const auto a = static_cast<std::int64_t>(low & mask), b = static_cast<std::int64_t>((low >> 32) + (high & mask)),
               c = static_cast<std::int64_t>(high >> 32);
    const std::int64_t sign = (bits >> 63) != 0 ? -1 : 1;
    digits_[k] += sign * a;
    digits_[k + 1] += sign * b;
    digits_[k + 2] += sign * c;
    if (++added_ == most_added) carry();
  }
  exact_sum& operator+=(const exact_sum& other) {
    exact_sum carried = other;
    carried.carry();
    for (std::size_t k = 0; k < digits_.size(); ++k) digits_[k] += carried.digits_[k];
    not_finite_ += other.not_finite_;
    if (++added_ == most_added) carry();
    return *this;
  }
  /// Returns the sum, rounded; NaN or infinite where a number was.
  double value() const {
    exact_sum carried = *this;
    carried.carry();
    const bool is_negative = carried.digits_.back() < 0;
    if (is_negative) {
      for (std::int64_t& digit : carried.digits_) digit = -digit;
      carried.carry();
    }
    double sum = 0.0;  // from the lowest: digits that a double holds no more leave what rounds
    for (std::size_t k = 0; k < digits_.size(); ++k)
      sum += std::ldexp(static_cast<double>(carried.digits_[k]), 32 * static_cast<int>(k) - lowest_place);
    return not_finite_ == 0.0 ? (is_negative ? -sum : sum) : not_finite_;
  }

  /// Puts digits as doubles, of which sums over up to 2^20 ranks are exact.
  void digits_to(std::span<double, numbers> to) const {
    exact_sum carried = *this;
    carried.carry();
    for (std::size_t k = 0; k < digits_.size(); ++k) to[k] = static_cast<double>(carried.digits_[k]);
    to[numbers - 1] = not_finite_;
  }
  static exact_sum of_digits(std::span<const double, numbers> from) {
    exact_sum sum;
    for (std::size_t k = 0; k < sum.digits_.size(); ++k) sum.digits_[k] = static_cast<std::int64_t>(from[k]);
    sum.not_finite_ = from[numbers - 1];
    return sum;
  }

 private:
  static constexpr std::uint64_t mask = 0xffffffff;
  static constexpr int lowest_place = 1088;
  static constexpr std::int64_t most_added = std::int64_t{1} << 28;

  /// Makes every digit but the last from 0 to 2^32 - 1.
  void carry() {
    std::int64_t over = 0;
    for (std::size_t k = 0; k + 1 < digits_.size(); ++k) {
      const std::int64_t digit = digits_[k] + over;
      over = digit >> 32;
      digits_[k] = digit & static_cast<std::int64_t>(mask);
    }
    digits_.back() += over;
    added_ = 0;
  }

  std::array<std::int64_t, numbers - 1> digits_{};
  std::int64_t added_ = 0;
  double not_finite_ = 0.0;
};

}  // namespace plaquette
