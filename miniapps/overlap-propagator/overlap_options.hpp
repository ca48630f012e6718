// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Options of the overlap-propagator's command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/app/options.hpp"
#include "common/app/report.hpp"
#include "common/eigen/mode_search.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/overlap_solve_rule.hpp"
#include "common/overlap/sign_options.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "miniapps/shared/run_class.hpp"

namespace plaquette {

/// The last stage that runs.
enum class overlap_stage { modes, sign, overlap_modes, propagators };
std::string name(overlap_stage stage);
std::string name(sign_method method);
std::string name(overlap_scheme scheme);
std::string name(sign_precision precision);
std::string name(clover_method method);
std::string name(mode_method method);

/// Where the bases of searches lie, on a GPU: the vectors that Lanczos makes orthogonal.
enum class basis_place {
  automatic,  ///< on the GPU, except bases that do not fit there
  device,
  host
};

struct overlap_options {
  shared_options shared;
  std::string size;  ///< of the ladder; empty if none was named
  std::optional<official_class> run_class;
  std::string command;  ///< as typed

  double rho = 1.4;

  int modes = 40;  ///< of H
  double mode_tolerance = 1e-10;
  mode_method method = mode_method::lanczos;
  double window = 0.0;
  int filter_degree = 0, block = 0, search_space = 0, mode_cycles = 30;

  sign_options sign;
  double delta = 1e-9;  ///< of the checks of the sign function
  bool delta_given = false;

  int overlap_modes = 8;           ///< of D^+ D in one chirality
  double overlap_tolerance = 0.0;  ///< 0 until it is chosen
  int overlap_search_space = 0, overlap_block = 0;
  bool relaxed_modes = true;
  basis_place basis = basis_place::automatic;
  bool kernel_basis_on_host = false, overlap_basis_on_host = false;  ///< the choice

  std::vector<double> masses{0.02, 0.05, 0.1, 0.3};
  overlap_scheme scheme = overlap_scheme::relaxed;
  bool scheme_is_open = false;            ///< a trial tells whether it is the preconditioned one or this
  overlap_preconditioner preconditioner;  ///< of the preconditioned scheme
  bool inner_steps_given = false, preconditioner_tolerance_given = false;  ///< and not chosen by the size
  /// Modes of D that the other schemes take if their number is not given: the preconditioned one needs none.
  int modes_of_other_schemes = 0;
  source_description source;
  overlap_stage until = overlap_stage::propagators;
  std::string checkpoint;   ///< beginning of the paths of checkpoints; empty: none
  std::string propagators;  ///< beginning of the paths of propagators; empty: none

  /// |b - D(m) x| / |b|
  double tolerance() const { return shared.tolerance > 0.0 ? shared.tolerance : 1e-8; }
  std::string modes_file() const { return checkpoint.empty() ? "" : checkpoint + ".modes.h5"; }
  std::string overlap_file() const { return checkpoint.empty() ? "" : checkpoint + ".overlap.h5"; }
  std::string mode_search_file() const { return checkpoint.empty() ? "" : checkpoint + ".mode-search.h5"; }
  std::string search_file() const { return checkpoint.empty() ? "" : checkpoint + ".search.h5"; }
  std::string scheme_file() const { return checkpoint.empty() ? "" : checkpoint + ".scheme.h5"; }
  std::string solutions_file() const { return checkpoint.empty() ? "" : checkpoint + ".solutions.h5"; }
  /// Says which outputs a stopped run has left.
  std::string stopped_file() const { return checkpoint.empty() ? "" : checkpoint + ".stopped"; }
  std::string propagator_file(int mass) const {
    return propagators.empty() ? "" : propagators + ".m" + std::to_string(mass) + ".h5";
  }
};

/// Returns the options with the scheme that a trial found to be the right one.
overlap_options with_scheme(const overlap_options& options, overlap_scheme scheme);

/// Returns the wanted modes of H, as far as they are known before a run.
mode_search search_of(const overlap_options& options);
/// Whether the search for modes of D is in single precision, if the measured sign function allows it.
bool overlap_search_in_single(const overlap_options& options);
/// The same as search_of for modes of D.
overlap_mode_search overlap_search_of(const overlap_options& options);

/// Throws input_error for arguments that cannot be used, help_requested for --help.
overlap_options parse_overlap_options(int argc, const char* const* argv);

/// Returns all parameters that determine the result, for the report.
json_document parameters_of(const overlap_options& options, const lattice_geometry& geometry);

}  // namespace plaquette
