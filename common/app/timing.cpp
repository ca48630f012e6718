// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/timing.hpp"

#include <algorithm>

namespace plaquette {

sample_statistics statistics(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  const std::size_t n = samples.size();
  return {samples.front(), 0.5 * (samples[(n - 1) / 2] + samples[n / 2]), samples.back(), static_cast<int>(n)};
}

}  // namespace plaquette
