// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Correlators as lists of numbers, one a time of the whole lattice.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace plaquette {

/// Returns C(t - source_time): the source at time 0.
inline std::vector<double> relative_to_source(std::span<const double> correlator, int source_time) {
  std::vector<double> shifted(correlator.begin(), correlator.end());
  std::ranges::rotate(shifted, shifted.begin() + source_time);
  return shifted;
}

}  // namespace plaquette
