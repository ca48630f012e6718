// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vectors of three dimensions, for geometry.
#pragma once

#include <array>

namespace plaquette {

using vector3 = std::array<double, 3>;

constexpr double dot(const vector3& a, const vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
constexpr vector3 difference(const vector3& a, const vector3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
constexpr vector3 cross(const vector3& a, const vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

}  // namespace plaquette
