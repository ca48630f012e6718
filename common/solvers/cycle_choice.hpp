// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which cycles a tuner tries, and which of them it takes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "common/solvers/multigrid_solver.hpp"

namespace plaquette {

/// A cycle that leaves more than this of the residual is improved: 46 iterations for ten digits.
inline constexpr double slow_rate = 0.6;

/// Returns whether one more improvement of the null vectors is worth its time. `rates` are the residual reductions of a
/// cycle so far.
bool is_worth_improving(const std::vector<double>& rates, int most_improvements);

/// Returns the next shape to try, after others with the same relaxation: with more work on coarse lattices and less
/// relaxation a visit, and with still more work if that was faster. If it was not, the next shape has less work, unless
/// cycles converge slowly.
std::optional<cycle_shape> next_shape(const std::vector<cycle_trial>& tried);

/// Returns the shape with CA-GCR, which polynomials stand for: at most six steps. They may save less than they cost.
cycle_shape by_ca_gcr(cycle_shape shape);

/// Returns the first of the lattices that every rank may hold whole, for each division that is worth a trial. Only
/// lattices with few sites are. 0, the first, divides all.
std::vector<std::size_t> whole_lattices_to_try(const std::vector<extents>& coarse_lattices);

/// Returns the trial with the fastest iterations, the first if others are faster by noise only. There is one at least.
const cycle_trial& fastest_iteration(const std::vector<cycle_trial>& tried);

/// Returns the trial with which solves are fastest, the first of equals. There is one at least.
const cycle_trial& fastest(const std::vector<cycle_trial>& tried);

}  // namespace plaquette
