// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which cycles a tuner tries, and which of them it takes.
#pragma once

#include <vector>

#include "common/solvers/multigrid_solver.hpp"

namespace plaquette {

/// A cycle that leaves more than this of the residual is improved: 46 iterations for ten digits.
inline constexpr double slow_rate = 0.6;

/// Returns whether one more improvement of the null vectors is worth its time, from what cycles have left so far.
bool is_worth_improving(const std::vector<double>& rates, int most_improvements);

/// Returns the shapes to try: more work on coarse lattices, with less relaxation a visit; and less work, unless cycles
/// converge slowly.
/// \param rate  what a cycle leaves of the residual
std::vector<cycle_shape> shapes_to_try(double rate, smoother_kind smoother);

/// Returns the shape with the relaxation that polynomials stand for, where they save less than they cost: at most six
/// steps.
cycle_shape by_ca_gcr(cycle_shape shape);

/// Returns the trial with which solves are fastest, the first of equals. There is one at least.
const cycle_trial& fastest(const std::vector<cycle_trial>& tried);

}  // namespace plaquette
