// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums that do not lose digits to their length.
#pragma once

#include <cmath>
#include <span>

namespace plaquette {

/// Returns the sum of numbers in their order, and adds up what each addition loses too (A. Neumaier 1974). Its error is
/// 2 roundings of the result and n^2 u^2 of the numbers' moduli: however many there are, and however they cancel.
inline double compensated_sum(std::span<const double> numbers) {
  double sum = 0.0, lost = 0.0;
  for (const double x : numbers) {
    const double next = sum + x;
    lost += std::abs(sum) >= std::abs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  return sum + lost;
}

}  // namespace plaquette
