// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Options of dslash-scaling's command line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/app/options.hpp"
#include "common/app/placement.hpp"
#include "common/app/report.hpp"
#include "common/comms/communicator.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "miniapps/shared/operator_case.hpp"
#include "miniapps/shared/run_class.hpp"

namespace plaquette::scaling {

struct scaling_options {
  shared_options shared;
  std::string size;                         ///< of the ladder; empty if none was named
  std::optional<official_class> run_class;  ///< if `size` names one
  bool weak = false;                        ///< the lattice is each rank's, not all ranks'
  std::optional<extents> local_lattice;     ///< of each rank; none: shared.lattice is cut
  std::vector<operator_case> cases;
  operator_case headline;  ///< whose GFLOP/s are the figure of merit
  schur_kind preconditioning = schur_kind::symmetric;
  int samples = 11;
  bool latency = false;  ///< messages and launches are timed, and no operators
  std::size_t largest_message = std::size_t{256} << 20;
  double seconds_each_message = 0.03;  ///< about: of the transfers of one kind and size
  placement_policy placement = placement_policy::none;
  std::string command;  ///< as typed
};

/// Throws input_error for arguments that cannot be used, help_requested for --help.
scaling_options parse_scaling_options(int argc, const char* const* argv);

/// Returns the part of this rank, of a local lattice times the grid if one was given. Throws input_error if lattice,
/// grid and ranks do not fit.
lattice_geometry geometry_of(scaling_options& options, const communicator& world);

/// Returns parameters for the report.
json_document parameters_of(const scaling_options& options, const lattice_geometry& geometry);

}  // namespace plaquette::scaling
