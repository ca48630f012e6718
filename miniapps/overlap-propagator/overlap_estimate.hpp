// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Estimates of a run: memory before it starts, and the time of its stages.
#pragma once

#include "common/krylov/precision.hpp"
#include "miniapps/overlap-propagator/overlap_options.hpp"
#include "miniapps/shared/machine_model.hpp"

namespace plaquette {

/// The memory that a run needs, by its purpose.
struct overlap_memory {
  double kernel_basis = 0.0;   ///< the search space of H
  double kernel_modes = 0.0;   ///< other fields of that search
  double overlap_basis = 0.0;  ///< the search space of D
  double overlap_modes = 0.0;  ///< other fields of that search, and modes of H
  double solves = 0.0;         ///< modes of both and the vectors of the solves
  double solve_spaces = 0.0;   ///< of these the search spaces of the preconditioned scheme, as large as is expected
  double links = 0.0;
  /// Returns the largest need of a stage, with or without search spaces, which may lie in other memory.
  double largest(bool without_kernel_basis, bool without_overlap_basis) const;
  double largest() const { return largest(false, false); }
};
overlap_memory memory_of(const overlap_options& options, const lattice_geometry& geometry);

/// Seconds of an application of H, a column, by the batches that stages have.
struct kernel_speed {
  double one = 1.0, block = 1.0, many = 1.0;       ///< in double: alone, a block of the search for modes, twelve
  double single_one = 0.5, single_many = 0.5;      ///< in single precision
  double of_search = 1.0, single_of_search = 0.5;  ///< in blocks of the search for modes of D
  double many_of_twelve = 1.0, single_many_of_twelve = 0.5;  ///< twelve at once, even if one alone is faster
};

/// Seconds that the stages are expected to take. With the speeds of kernel_speed{} the unit is an application in
/// double.
struct overlap_times {
  double kernel_modes = 0.0, sign = 0.0, overlap_modes = 0.0, propagators = 0.0;
  double total() const { return kernel_modes + sign + overlap_modes + propagators; }
};
/// \param volume           sites of the lattice
/// \param lowest, highest  of the range of the sign function
/// \param gap              e of D^+ D where the modes of D end
overlap_times times_of(const overlap_options& options, double volume, double lowest, double highest, double gap,
                       const kernel_speed& speed);

/// The expected choice of --scheme auto: the scheme that takes less by the model.
struct expected_choice {
  overlap_options options;                   ///< with that scheme
  double preconditioned = 0.0, other = 0.0;  ///< modes of D and propagators of both; other: relaxed
  double trial = 0.0;                        ///< of a column, before; all as times_of has them
};
expected_choice choice_of(const overlap_options& options, double volume, double lowest, double highest,
                          const kernel_speed& speed);

/// Returns the same for a machine that need not be here.
kernel_speed speed_on(const machine_figures& machine, const overlap_options& options, const lattice_geometry& geometry);
/// Returns an application of H to some columns.
kernel_time time_of_kernel(const machine_figures& machine, const overlap_options& options,
                           const lattice_geometry& geometry, int columns, precision numbers);
/// Returns seconds of the verification: the sign function of the judge, and columns that are brought to the host and
/// summed there.
double seconds_of_verification(const overlap_options& options, const lattice_geometry& geometry, double lowest,
                               double highest, const kernel_speed& speed);
/// Numbers of random vectors for the error of a sign function in mixed precision, for its error in double against a
/// more accurate one, and for a calibration and the relations of D. On large lattices random vectors err alike.
struct measured_columns {
  int mixed = 4, as_double = 4, calibration = 2;
};
measured_columns measured_columns_of(double volume);
/// Returns columns of a block of the search for modes of H.
int block_of_search(const overlap_options& options);

/// Residual that the trial of --scheme auto ends with, and its share of the solves of twelve columns.
constexpr double trial_tolerance = 1e-3;
double share_of_trial(double tolerance);

/// Returns the share that a column in a batch takes of the directions of a column alone.
double share_of_directions_in_batch(const overlap_preconditioner& preconditioner);
/// Directions of a column that the preconditioned scheme is expected to take, to a tolerance.
double expected_directions(const overlap_options& options, double volume, double tolerance);
/// Returns whether a column alone would take 35 or more with four inner steps. Then eight are less work.
bool takes_many_directions(const overlap_options& options, double volume);
/// Returns the seconds of the preconditioned scheme for twelve columns, to the tolerance of the options.
/// \param directions            of a column
/// \param clover_applications   of M in a solve of M x = b
double time_of_preconditioned(const overlap_options& options, double lowest, double highest, double directions,
                              double clover_applications, const kernel_speed& speed);

/// |lambda_l| of H and the largest at beta = 6.0 and rho = 1.4, measured: for estimates before a run.
double expected_mode(int modes, double volume);
double expected_bound(const overlap_options& options);
/// e of the first mode of D beyond the wanted ones, likewise.
double expected_overlap_mode(const overlap_options& options, double volume);

}  // namespace plaquette
