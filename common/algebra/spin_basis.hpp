// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The spin basis in which production fields hold Dirac spinors, on the processor and on the device, and the way to and
/// from the public one (DeGrand-Rossi).
#pragma once

#include "common/algebra/complex.hpp"

namespace plaquette {

/// The spin basis that a field's numbers are in.
enum class spin_basis {
  as_given,      ///< that of the program that wrote them
  time_diagonal  ///< gamma_t = diag(1, 1, -1, -1): Dirac spinors
};

/// Rotates dirac spinors from the DeGrand-Rossi basis to the time-diagonal one, and back (the transformation is its own
/// inverse): upper = (psi_01 + psi_23) / sqrt 2, lower = (psi_01 - psi_23) / sqrt 2. In it gamma_i has the other sign,
/// off the diagonal, for i = x, y, z, and gamma_5 exchanges upper and lower. Numbers are [spin][colour], 4 spins.
template <class Real>
PLAQUETTE_HOST_DEVICE inline void rotate_spin_basis(complex<Real>* numbers, int colours) {
  const Real factor = static_cast<Real>(0.70710678118654752440);
  for (int k = 0; k < 2 * colours; ++k) {
    const complex<Real> upper = numbers[k], lower = numbers[k + 2 * colours];
    numbers[k] = factor * (upper + lower);
    numbers[k + 2 * colours] = factor * (upper - lower);
  }
}

}  // namespace plaquette
