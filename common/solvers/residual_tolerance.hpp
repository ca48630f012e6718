// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tolerance for the residual of a solution, recomputed by an independent operator.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/lattice/fermion_action.hpp"

namespace plaquette {

/// Returns an upper estimate of |M|: the diagonal, all hops, and the clover term of a field whose |Fhat| is at most 1.
inline double operator_norm_estimate(const fermion_action& action) {
  double norm = std::abs(action.diagonal());
  for (int mu = 0; mu < dimensions; ++mu) norm += std::abs(action.hop_coefficient(mu));
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu) norm += 0.5 * std::abs(action.clover_coefficient(mu, nu));
  return norm;
}

/// Returns u |M| |x| / |b|: the change of the relative residual by storing a solution x in a precision of unit roundoff
/// u. It bounds the change by computing M x in that precision, too.
inline double residual_rounding(const fermion_action& action, double unit_roundoff, double solution_norm,
                                double source_norm) {
  return unit_roundoff * operator_norm_estimate(action) * solution_norm / source_norm;
}

/// Returns the relative residual that rounding alone leaves. A solution is a sum of as many updates as there were
/// iterations, each of which rounds it; the errors add up at random: sqrt(iterations + 1) times `residual_rounding`.
/// (Measured in single precision: a third to a half of it.) And 2 u for the numbers that M is stored in and for M x.
/// One number makes up |x| of a heavy quark from a point, so that nothing averages. (Measured in single precision with
/// kappa = 0.005: 3.4 u in all, while the square root alone allows 2.1.)
inline double residual_floor(double rounding, int iterations, double unit_roundoff) {
  return std::sqrt(iterations + 1.0) * rounding + 2.0 * unit_roundoff;
}

/// Returns how many roundings of a solution add up: one for each update of its residual, or one for each iteration if
/// there were no updates. Returns at least 3: the roundings of the solution itself, the residual and the operator.
inline int roundings_of_solution(std::size_t updates, int iterations) {
  return std::max(3, updates == 0 ? iterations : static_cast<int>(updates));
}

}  // namespace plaquette
