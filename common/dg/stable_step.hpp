// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The largest stable time step, measured with the solver and the mesh of the run.
#pragma once

#include <functional>

#include "common/dg/dg_solver.hpp"

namespace plaquette {

/// What a step is multiplied with in length, for the default.
inline constexpr double step_safety = 0.9;

/// Returns the largest stable step of LSERK4. Steps that are too long let the eigenvector grow whose eigenvalue lambda
/// is the largest; from |R(dt lambda)|, the growth of a step, follows |lambda|. It is real where fluxes are upwind,
/// imaginary where they are central, mostly: there R has the modulus 1 at 4.66 and at 3.34. Steps near the limit then
/// correct it, and steps from random numbers find eigenvectors that are the first to grow though others grow faster
/// beyond. Where nothing grows (a solver that does nothing), returns the step that is known without a measurement.
/// Leaves the solver with another state. Collective.
/// \param between  is called after each step, and may throw
double largest_stable_step(dg_solver& solver, const dg_domain& domain, const std::function<void()>& between = {});

/// Returns the step to take: step_safety times the largest, less what a third digit holds, so that it is the same on
/// any number of ranks.
double step_below(double largest);

}  // namespace plaquette
