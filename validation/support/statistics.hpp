// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Statistics for tests of random numbers. Seeds are fixed in tests, so that one that has passed stays passed.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace plaquette {

/// Returns the largest distance between the empirical distribution of `sample` and the function `cumulative`, times
/// sqrt(n).
template <class Cumulative>
double kolmogorov_smirnov(std::vector<double> sample, Cumulative&& cumulative) {
  std::ranges::sort(sample);
  const double n = static_cast<double>(sample.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = cumulative(sample[i]);
    worst = std::max({worst, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  return worst * std::sqrt(n);
}

/// What `kolmogorov_smirnov` exceeds with probability 2 exp(-2 * 2.2^2) = 1.3e-4 for the right distribution.
inline constexpr double kolmogorov_bound = 2.2;

}  // namespace plaquette
