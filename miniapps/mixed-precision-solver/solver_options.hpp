// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Options of the mixed-precision-solver's command line.
#pragma once

#include <optional>
#include <string>

#include "common/algebra/gamma.hpp"
#include "common/algebra/reconstruct.hpp"
#include "common/app/options.hpp"
#include "common/app/report.hpp"
#include "common/krylov/mixed_solve.hpp"
#include "common/solvers/propagator_solver.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "miniapps/shared/run_class.hpp"

namespace plaquette {

struct solver_options {
  shared_options shared;
  std::string size;                         ///< of the ladder; empty if none was named
  std::optional<official_class> run_class;  ///< if `size` names one

  source_description source;
  solver_kind solver = solver_kind::automatic;
  solver_parameters parameters;
  precision outer = precision::double_;  ///< of the solution and of its residual
  precision inner = precision::double_;  ///< of the Krylov space
  mixed_scheme scheme = mixed_scheme::reliable;
  reliable_updates updates;
  reconstruct links = reconstruct::none, inner_links = reconstruct::none;  ///< of the two operators
  double default_tolerance = 1e-14;
  schur_kind preconditioning = schur_kind::symmetric;
  int iteration_limit = 10000;
  int expected_iterations = 0;  ///< for a dry run; 0: not known
  int repeat = 3;               ///< timed solves after the first, which is the warm-up and the answer
  int batch = 0;                ///< right-hand sides that are solved at once; 0: all

  std::string write_propagator;  ///< path; empty: none
  std::string read_propagator;   ///< path; empty: solve
  gamma_basis basis = gamma_basis::degrand_rossi;

  std::string checkpoint;    ///< path of the solved columns to keep and to continue from; empty: none
  int checkpoint_every = 4;  ///< columns solved as one batch between two checkpoints

  std::string command;  ///< as typed

  /// The relative residual that is requested.
  double tolerance() const { return shared.tolerance > 0.0 ? shared.tolerance : default_tolerance; }
  /// Right-hand sides that are solved at once.
  int batch_size() const { return batch > 0 ? batch : shared.rhs; }
  /// Returns the settings of the libraries' solver.
  propagator_settings solver_settings() const;
  /// See propagator_settings.
  bool plain() const { return solver_settings().plain(); }
};

/// Throws input_error for arguments that cannot be used, help_requested for --help.
solver_options parse_solver_options(int argc, const char* const* argv);

/// Returns "reliable updates", "defect correction", "none" if the solver recomputes no residual.
std::string scheme_text(const solver_options& options);

/// "symmetric", "asymmetric"
std::string name(schur_kind kind);

/// Returns parameters for the report.
json_document parameters_of(const solver_options& options, const lattice_geometry& geometry);

}  // namespace plaquette
