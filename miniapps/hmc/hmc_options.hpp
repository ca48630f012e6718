// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Options of hmc's command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/app/options.hpp"
#include "common/app/report.hpp"
#include "common/hmc/hybrid_action.hpp"
#include "common/hmc/trajectory.hpp"
#include "miniapps/shared/run_class.hpp"

namespace plaquette {

/// Trajectories of a warm-up at one kappa.
struct warm_up_step {
  double kappa = 0.0;
  int trajectories = 0;
};

struct hmc_options {
  std::optional<official_class> run_class;  ///< that --size names
  shared_options shared;                    ///< `gauge` is the start
  hybrid_action action;
  md_plan plan;
  std::vector<warm_up_step> warm_up;  ///< before the chain, from heavy quarks to light ones
  bool chooses_steps = false;         ///< a trial before the first trajectory sets the steps of the outermost level
  bool chooses_solvers = false;       ///< and one the solvers of the factors
  int trajectories = 10;              ///< of the whole chain
  int expected_iterations = 0;        ///< of BiCGstab for both systems of the light factor, for a dry run; 0: not known
  int save_every = 0;                 ///< trajectories from one configuration that is kept to the next; 0: none
  std::string output;                 ///< configurations are PATH.000010 and so on; empty: none
  bool ildg = false;                  ///< their format, else NERSC
  std::string store;                  ///< path of the state to go on from; empty: none
  int store_every = 1;                ///< trajectories from one state that is kept to the next
  int measure_every = 0;              ///< trajectories from one measurement to the next; 0: none
  double flow_time = 0.0;             ///< to which the gradient flow of a measurement goes; 0: flow_time_of the lattice
  std::string history;                ///< path of a table; empty: none
  std::string command;                ///< as typed

  std::string start() const { return shared.gauge.describe(); }
};

/// Throws input_error for arguments that cannot be used and help_requested for --help.
hmc_options parse_hmc_options(int argc, const char* const* argv);

/// Returns the text of --solvers.
std::string describe(std::span<const factor_solver> solvers);

/// Takes the choices that trials made when the chain was begun, for the options that leave them to trials. Throws
/// input_error, naming the file, if it says nothing of it.
void take_choices(hmc_options& options, const json_document& chain, const std::string& file);

/// Returns parameters for the report.
json_document parameters_of(const hmc_options& options, const lattice_geometry& geometry);

/// Returns the parameters that two runs must have in common for one to continue the chain of the other.
json_document parameters_of_chain(const hmc_options& options);

}  // namespace plaquette
