// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plane waves in the three directions across a correlator's, on host and device.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "common/algebra/complex.hpp"
#include "common/lattice/momentum_phase.hpp"

namespace plaquette {

/// Returns exp(-i p x) over the three directions other than `direction`, in ascending order: p_i = 2 pi n[i] / L_i.
/// \param x, length  global coordinate and extents of the lattice, which [] indexes
template <class Coordinate, class Extents>
PLAQUETTE_HOST_DEVICE inline complex<double> conjugate_wave(const lattice_momentum& n, const Coordinate& x,
                                                            const Extents& length, int direction) {
  double angle = 0.0;
  for (int i = 0; i < 3; ++i) {
    const int mu = i < direction ? i : i + 1;
    angle -= 2.0 * std::numbers::pi * static_cast<double>((std::int64_t{n[i]} * x[mu]) % length[mu]) / length[mu];
  }
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace plaquette
