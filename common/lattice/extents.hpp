// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Four numbers, one a direction: extents of a lattice, of a process grid, coordinates of a site. (x, y, z, t) = (0, 1,
/// 2, 3).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace plaquette {

inline constexpr int dimensions = 4;  ///< x, y, z, t

using coordinate = std::array<int, dimensions>;  ///< of a site or of a rank
using extents = std::array<int, dimensions>;     ///< of a lattice or of a process grid

/// Returns the number of sites (or ranks) of a box.
constexpr std::int64_t volume(const extents& e) {
  std::int64_t v = 1;
  for (int length : e) v *= length;
  return v;
}

/// Returns (x + y + z + t) mod 2; 0 is even.
constexpr int parity(const coordinate& x) { return (x[0] + x[1] + x[2] + x[3]) & 1; }

/// Returns the lexicographic index of x in a box, x fastest.
constexpr std::int64_t lexicographic(const coordinate& x, const extents& box) {
  return x[0] + static_cast<std::int64_t>(box[0]) *
                    (x[1] + static_cast<std::int64_t>(box[1]) * (x[2] + static_cast<std::int64_t>(box[2]) * x[3]));
}

/// Returns the inverse of `lexicographic`.
constexpr coordinate coordinate_of(std::int64_t index, const extents& box) {
  coordinate x{};
  for (int mu = 0; mu < dimensions; ++mu) {
    x[mu] = static_cast<int>(index % box[mu]);
    index /= box[mu];
  }
  return x;
}

/// Parses "16x16x16x32" as four positive integers. Throws input_error, naming `what`, for anything else.
extents parse_extents(std::string_view text, std::string_view what);

/// Returns the inverse of `parse_extents`.
std::string to_string(const extents& e);

}  // namespace plaquette
