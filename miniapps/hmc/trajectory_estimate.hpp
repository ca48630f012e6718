// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Seconds of a trajectory on a machine that need not be here, for --dryrun.
#pragma once

#include <vector>

#include "common/lattice/geometry.hpp"
#include "miniapps/hmc/hmc_options.hpp"
#include "miniapps/shared/machine_model.hpp"

namespace plaquette {

/// Seconds of a trajectory, part by part.
struct trajectory_times {
  std::vector<double> factors;  ///< solves of each factor of the determinant, light to heavy
  double forces = 0.0, moves = 0.0;
  double total() const;
};

/// Returns how many iterations a system of a factor takes, to 1e-6 or 1e-7.
/// \param lightest  iterations of BiCGstab for the factor with mu = 0; both of its systems together
/// \param mu        twisted mass of the factor, in the normalisation of M. CG of mu > 0 takes 36 / mu^0.9 iterations:
///                  fitted to 275, 160, 65 and 49 at mu = 0.1, 0.2, 0.5 and 0.7 (32^3x64, beta 5.3, validation/results)
double iterations_of_system(double lightest, double mu);

/// Returns the seconds of a trajectory. The iterations come from iterations_of_system with
/// `options.expected_iterations`, and krylov_clock times them. Forces and moves of links are bound by products of 3x3
/// matrices. They take a number of flops a site, measured on an H200, at the machine's peak.
trajectory_times times_of_trajectory(const hmc_options& options, const lattice_geometry& geometry,
                                     const machine_figures& machine);

}  // namespace plaquette
