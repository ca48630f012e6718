// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parameters of the Wilson gauge action, of the updates that make its configurations, and what is measured of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "common/error.hpp"
#include "common/number_text.hpp"

namespace plaquette {

/// S = beta [ (1/xi_g) sum_{spatial planes} (1 - Re tr P / 3) + xi_g sum_{planes with time} (1 - Re tr P / 3) ].
struct gauge_action {
  double beta;              ///< 6 / g^2
  double anisotropy = 1.0;  ///< xi_g, the bare gauge anisotropy

  /// Returns what multiplies beta in the plane (mu, nu).
  double plane_weight(int mu, int nu) const { return mu == 3 || nu == 3 ? anisotropy : 1.0 / anisotropy; }
};

/// Throws input_error for an action that has no updates.
inline void require_usable(const gauge_action& action) {
  if (!(action.beta >= 0.0 && std::isfinite(action.beta)))
    throw input_error("beta must be a finite number that is not negative, found " + number_text(action.beta));
  if (!(action.anisotropy > 0.0 && std::isfinite(action.anisotropy)))
    throw input_error("the gauge anisotropy must be a finite positive number, found " + number_text(action.anisotropy));
}

/// A combined sweep: a number of heat baths, then a number of over-relaxations.
struct sweep_plan {
  int heatbath = 1;
  int overrelaxation = 4;
};

/// Averages of Re tr P_munu(x) / 3 over all sites and, of the six planes, those named; 1 on the unit field. P_munu(x) =
/// U_mu(x) U_nu(x+mu) U_mu(x+nu)^+ U_nu(x)^+.
struct plaquettes {
  double spatial;   ///< the planes xy, xz, yz
  double temporal;  ///< the planes xt, yt, zt
  double average;   ///< all six
};

/// Returns the gauge action of a configuration with these plaquettes.
inline double action_value(const plaquettes& average, const gauge_action& action, std::int64_t global_volume) {
  const double planes = 3.0 * static_cast<double>(global_volume);
  return action.beta * planes *
         ((1.0 - average.spatial) / action.anisotropy + action.anisotropy * (1.0 - average.temporal));
}

/// How an abelian phase exp(i theta) stands in a link.
enum class abelian_embedding {
  all_colours,  ///< exp(i theta) times the identity: U(1), not in SU(3) (the fermion operators do not mind)
  su3           ///< diag(exp(i theta), exp(-i theta), 1)
};

}  // namespace plaquette
