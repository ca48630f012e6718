// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the multigrid mini-app is told.
#pragma once

#include <string>
#include <vector>

#include "common/algorithms/multigrid_parameters.hpp"
#include "common/app/options.hpp"
#include "common/lattice/source_description.hpp"

namespace plaquette {

struct multigrid_options {
  shared_options shared;
  std::string command;  ///< as typed

  int most_levels = 3;
  std::string aggregates;          ///< empty: from the lattice
  std::vector<int> vectors;        ///< null vectors of each chirality, a coarse lattice each; empty: 24
  multigrid_parameters multigrid;  ///< completed by `choose_parameters`
  std::string cycle_precision;     ///< on the finest lattice: "single", "half"
  std::string save_setup, load_setup;
  int refresh = 0;  ///< inverse iterations on vectors that were loaded
  int trials = 4;   ///< at most so often a slow cycle's null vectors are improved

  source_description source;
  int iteration_limit = 200;              ///< of the outer solver
  int restart_length = 16;                ///< of the outer solver
  std::vector<int> batches;               ///< right-hand sides solved at once, a series of solves each
  std::string reference = "double-half";  ///< precisions of BiCGstab; "none": not run
  int reference_limit = 20000;            ///< iterations of BiCGstab

  double tolerance() const { return shared.tolerance > 0.0 ? shared.tolerance : 1e-10; }
  bool has_reference() const { return reference != "none"; }
};

/// Throws input_error, or help_requested.
multigrid_options parse_multigrid_options(int argc, const char* const* argv);

/// Aggregates, levels and vectors where the options leave them open. Throws input_error where aggregates do not divide.
void choose_parameters(multigrid_options& options, const lattice_geometry& geometry);

json_document parameters_of(const multigrid_options& options, const lattice_geometry& geometry);

/// The lattices, finest first: extents of all ranks together.
std::vector<extents> lattices_of(const multigrid_parameters& parameters, const lattice_geometry& geometry);

/// Memory of a rank, in bytes: operators and vectors of the solve with the widest batch, the hierarchy, the setup.
struct multigrid_memory {
  double solver = 0.0, hierarchy = 0.0, setup = 0.0, canonical = 0.0;
  double device() const { return solver + hierarchy + setup; }
};
multigrid_memory memory_of(const multigrid_options& options, const lattice_geometry& geometry);

}  // namespace plaquette
