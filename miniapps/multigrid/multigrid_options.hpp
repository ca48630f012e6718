// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Options of the multigrid mini-app.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "common/app/options.hpp"
#include "common/lattice/source_description.hpp"
#include "common/multigrid/multigrid_parameters.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "miniapps/shared/run_class.hpp"

namespace plaquette {

struct multigrid_options {
  shared_options shared;
  std::string command;  ///< as typed

  int most_levels = 3;
  std::string aggregates;    ///< empty: from the lattice
  std::vector<int> vectors;  ///< null vectors of each chirality, a coarse lattice each; empty: 24
  /// Several lists of these, in place of `vectors`: a setup and solves with each.
  std::vector<std::vector<int>> schedules;
  multigrid_parameters multigrid;       ///< completed by `choose_parameters`
  std::string cycle_precision;          ///< on the finest lattice: "single", "half"
  std::string coarse_device_name = "";  ///< where coarse lattices live: "cpu", "gpu", "auto"
  std::string whole_from = "auto";      ///< the first lattice that every rank holds whole: a number, "auto", "never"
  std::string correction = "";          ///< from there: "multiplicative", "additive"; empty: tried
  std::string save_setup, load_setup;
  int refresh = 0;  ///< inverse iterations on vectors that were loaded
  int trials = 4;   ///< most times that a slow cycle's null vectors are improved

  int modes = 4;                       ///< of gamma_5 M that are estimated; 0: none
  bool explains = false;               ///< the report tells why multigrid works, for a figure
  std::string exceptional = "refuse";  ///< "refuse", "solve": configurations that are exceptional

  source_description source;
  int iteration_limit = 200;                                 ///< of the outer solver
  int expected_iterations = 0;                               ///< for a dry run; 0: not known
  std::string operator_precision = "double";                 ///< of the outer operator: "double", "pairs"
  std::string outer_precision = "single";                    ///< of the outer solver's directions: "single", "double"
  int restart_length = 10;                                   ///< of the outer solver
  bool chose_restart_length = false, chose_vectors = false;  ///< given on the command line: not changed to save memory
  bool chose_cycle = false, chose_coarsest_steps = false;    ///< or by a trial
  std::vector<int> batches;               ///< right-hand sides solved at once, a series of solves each
  std::string reference = "double-half";  ///< precisions of BiCGstab; "none": not run
  int reference_limit = 20000;            ///< iterations of BiCGstab

  std::optional<official_class> run_class;  ///< that --size names

  double tolerance() const { return shared.tolerance > 0.0 ? shared.tolerance : 1e-10; }
  bool has_reference() const { return reference != "none"; }
  /// Returns the precision of BiCGstab's Krylov space.
  precision reference_precision() const;
  /// Returns the settings of a solver.
  multigrid_settings solver_settings() const;
  /// Returns the choices of its tuner.
  tuning_choices open_choices() const;
};

/// Throws input_error, or help_requested.
multigrid_options parse_multigrid_options(int argc, const char* const* argv);

/// Chooses aggregates, levels and vectors if the options leave them open. Throws input_error if aggregates do not
/// divide.
void choose_parameters(multigrid_options& options, const lattice_geometry& geometry);

/// Takes numbers of vectors, a level each; the last one serves all further levels. Throws input_error if an aggregate
/// has fewer numbers.
void choose_vectors(multigrid_options& options, const std::vector<int>& vectors);

/// Returns "24/24", of the coarse lattices.
std::string schedule_of(const multigrid_parameters& parameters);

/// Returns "6,4".
std::string text_of_steps(const std::vector<int>& list);

json_document parameters_of(const multigrid_options& options, const lattice_geometry& geometry);

/// Returns the lattices, finest first: extents of all ranks together.
std::vector<extents> lattices_of(const multigrid_parameters& parameters, const lattice_geometry& geometry);

/// Memory of a rank, in bytes: operators and vectors of the solve with the widest batch, the hierarchy, the setup.
struct multigrid_memory {
  double solver = 0.0, hierarchy = 0.0, setup = 0.0, canonical = 0.0;
  double operators = 0.0;  ///< of the finest lattice, part of `solver`; a setup needs them too
  /// Returns the bytes on the device: the solves reuse the memory of the setup.
  double device() const { return hierarchy + std::max(solver, operators + setup); }
};
multigrid_memory memory_of(const multigrid_options& options, const lattice_geometry& geometry);

/// Takes fewer directions, then narrower batches, then, if one column is too much, fewer null vectors, if a rank's
/// memory would not hold the run otherwise. Of directions and vectors that the command line gives it takes none away.
/// Returns the changes, for a person; empty: none.
/// \param bytes  that a rank may take
std::string fit_into_memory(multigrid_options& options, const lattice_geometry& geometry, double bytes);

}  // namespace plaquette
