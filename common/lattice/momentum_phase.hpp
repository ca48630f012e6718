// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plane waves of momenta that a lattice has, on host and device.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "common/algebra/complex.hpp"

namespace plaquette {

/// A momentum n: p = 2 pi n / L in x, y and z.
using lattice_momentum = std::array<int, 3>;

constexpr bool is_zero(const lattice_momentum& n) { return n[0] == 0 && n[1] == 0 && n[2] == 0; }

/// Returns e^(i p x).
/// \param x, length  global coordinate and extents of the lattice, which [] indexes
template <class Coordinate, class Extents>
PLAQUETTE_HOST_DEVICE inline complex<double> momentum_phase(const lattice_momentum& n, const Coordinate& x,
                                                            const Extents& length) {
  double angle = 0.0;
  for (int i = 0; i < 3; ++i)
    angle += 2.0 * std::numbers::pi * static_cast<double>((std::int64_t{n[i]} * x[i]) % length[i]) / length[i];
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace plaquette
