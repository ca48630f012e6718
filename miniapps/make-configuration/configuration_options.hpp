// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Options of make-configuration's command line.
#pragma once

#include <cstdint>
#include <string>

#include "common/app/options.hpp"
#include "common/app/report.hpp"
#include "cpu_ref/gauge/heatbath.hpp"

namespace plaquette {

struct configuration_options {
  shared_options shared;  ///< lattice, grid, threads, seed, files; `gauge` is the start
  gauge_action action{6.0};
  sweep_plan plan;
  int sweeps = 100;       ///< combined ones to do
  int first_sweep = 0;    ///< combined ones done before, by the run that is continued
  int measure_every = 1;  ///< combined sweeps from one line of the history to the next

  std::string output;         ///< path of the configuration; empty: none
  bool ildg = false;          ///< its format, else NERSC
  int precision_bits = 64;    ///< 32 or 64
  bool two_row = false;       ///< NERSC without the third rows
  std::string history;        ///< path of the plaquette history; empty: none
  std::string checkpoint;     ///< path of the state to keep and to continue from; empty: none
  int checkpoint_every = 50;  ///< combined sweeps from one checkpoint to the next
  std::string command;        ///< as typed

  /// Returns the last sweep's number, and the number of the first one of a run that continues this one.
  int end() const { return first_sweep + sweeps; }
  /// Returns "cold", "hot" or the path of a configuration.
  std::string start() const;
};

/// Throws input_error for arguments that cannot be used and help_requested for --help.
configuration_options parse_configuration_options(int argc, const char* const* argv);

/// Returns parameters for the report.
json_document parameters_of(const configuration_options& options, const lattice_geometry& geometry);

}  // namespace plaquette
