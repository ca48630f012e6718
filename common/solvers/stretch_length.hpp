// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How many applications of an operator are timed in a row.
#pragma once

#include <algorithm>

namespace plaquette {

inline constexpr int shortest_stretch = 5;  ///< of several applications

/// Returns the number of applications in a timed stretch, near `wanted`: 1, or 5, 11, 17, ... Applications that
/// alternate between two inputs then end with the first one, and applications that go through three states do not end
/// in the first. A kernel that skips calls which it has seen leaves another output than the last call's.
inline int stretch_length(double wanted, int most) {
  const int n = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(most)));
  return n < shortest_stretch ? 1 : n - (n - shortest_stretch) % 6;
}

}  // namespace plaquette
