// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parameters of a gauge action of plaquettes and rectangles, whose links a molecular dynamics moves.
#pragma once

#include <cmath>
#include <string>

#include "common/error.hpp"
#include "common/lattice/gauge_action.hpp"
#include "common/number_text.hpp"

namespace plaquette {

/// S = beta [c0 sum (1 - Re tr P / 3) + c1 sum (1 - Re tr R / 3)], R the rectangles of two by one links, c0 = 1 - 8 c1.
/// c1 is 0 for Wilson's action, -1/12 for Symanzik's at tree level, -0.331 for Iwasaki's, -1.4088 for DBW2. The planes
/// have the weights of gauge_action.
struct loop_action {
  double beta;  ///< 6 / g^2
  double c1 = 0.0;
  double anisotropy = 1.0;  ///< 1 where c1 is not 0

  /// Returns what multiplies beta and the plaquettes of the plane (mu, nu).
  double plaquette_weight(int mu, int nu) const {
    return (1.0 - 8.0 * c1) * gauge_action{beta, anisotropy}.plane_weight(mu, nu);
  }
};

/// Throws input_error for an action that has no force.
inline void require_usable(const loop_action& action) {
  require_usable(gauge_action{action.beta, action.anisotropy});
  if (!std::isfinite(action.c1))
    throw input_error("the weight c1 of rectangles must be a finite number, found " + number_text(action.c1));
  if (action.c1 != 0.0 && action.anisotropy != 1.0)
    throw input_error("an action with rectangles must be isotropic, found the anisotropy " +
                      number_text(action.anisotropy));
}

}  // namespace plaquette
