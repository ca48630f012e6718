// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parameters of stout smearing.
#pragma once

#include <cmath>
#include <string>

#include "common/error.hpp"
#include "common/lattice/extents.hpp"
#include "common/number_text.hpp"

namespace plaquette {

/// The number of steps; staples of the plane (mu, nu) have the weight rho, or 0. (Morningstar, Peardon,
/// hep-lat/0311018)
struct stout_smearing {
  int steps = 0;
  double rho = 0.1;
  bool spatial = false;  ///< only spatial links are smeared, and with spatial staples

  bool smears(int mu) const { return !spatial || mu < 3; }
  double weight(int mu, int nu) const { return spatial && (mu == 3 || nu == 3) ? 0.0 : rho; }
  bool operator==(const stout_smearing&) const = default;
};

/// Throws input_error for parameters that cannot be used.
inline void require_usable(const stout_smearing& smearing) {
  if (smearing.steps < 0)
    throw input_error("stout smearing: expected steps of 0 or more, found " + std::to_string(smearing.steps));
  if (!(std::isfinite(smearing.rho) && smearing.rho >= 0.0))
    throw input_error("stout smearing: expected a finite rho of 0 or more, found " + number_text(smearing.rho));
}

}  // namespace plaquette
