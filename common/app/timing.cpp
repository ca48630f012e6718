// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/timing.hpp"

#include <algorithm>
#include <utility>

#include "common/solvers/timed.hpp"

namespace plaquette {

sample_statistics statistics(std::vector<double> samples) {
  if (samples.empty()) return {};
  const auto [least, most] = std::ranges::minmax(samples);
  const int count = static_cast<int>(samples.size());
  return {least, median(std::move(samples)), most, count};
}

}  // namespace plaquette
