// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Landau and Coulomb gauge: which, by which rule, and how near. (Giusti et al., hep-lat/0104012, section 3, reviews
/// the methods.)
#pragma once

#include <cmath>
#include <string>

#include "common/error.hpp"
#include "common/number_text.hpp"

namespace plaquette {

enum class gauge_condition {
  landau,  ///< all four directions
  coulomb  ///< x, y and z: each time slice by itself
};

constexpr int directions_of(gauge_condition condition) { return condition == gauge_condition::landau ? 4 : 3; }

struct gauge_fixing_rule {
  double tolerance = 1e-12;  ///< of theta
  int sweep_limit = 10000;
  double overrelaxation = 1.7;  ///< omega, from 1 (steepest) to below 2
};

/// Throws input_error for a rule that makes no sense.
inline void require_usable(const gauge_fixing_rule& rule) {
  if (rule.tolerance > 0.0 && std::isfinite(rule.tolerance) && rule.sweep_limit >= 0 && rule.overrelaxation >= 1.0 &&
      rule.overrelaxation < 2.0)
    return;
  throw input_error(
      "gauge fixing: expected a tolerance above 0, sweeps from 0 and an overrelaxation from 1 to below 2, found " +
      number_text(rule.tolerance) + ", " + std::to_string(rule.sweep_limit) + " and " +
      number_text(rule.overrelaxation));
}

/// How far links are from a gauge. With A_mu = (U_mu - U_mu^+) / (2i) without its trace, and Delta(x) = sum_mu
/// [A_mu(x-mu) - A_mu(x)], mu over the directions of the condition:
struct gauge_quality {
  double functional = 0.0;  ///< average of Re tr U_mu / 3; 1 on the unit field, a maximum in the gauge
  double theta = 0.0;       ///< average over all sites of tr Delta^2 / 3; 0 in the gauge
};

}  // namespace plaquette
