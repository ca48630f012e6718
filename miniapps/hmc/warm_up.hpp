// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trajectories before a chain: they bring links of a quenched heat bath to the quarks, by heavier quarks first.
/// Quenched links may be exceptional, so that light quarks have no solution on them.
#pragma once

#include <vector>

#include "miniapps/hmc/hmc_trials.hpp"
#include "miniapps/hmc/trajectory_recorder.hpp"

namespace plaquette {

/// One trajectory of a warm-up.
struct warm_up_record {
  double kappa = 0.0, dh = 0.0, plaquette = 0.0, seconds = 0.0;
};

/// Links after a warm-up, the records of its trajectories, and the plaquette before it.
struct warmed_links {
  gauge_configuration links;
  std::vector<warm_up_record> records;
  double plaquette_before = 0.0;
};

/// Makes molecular dynamics of an action on given links. Collective.
using dynamics_on =
    std::function<std::unique_ptr<molecular_dynamics>(const gauge_configuration&, const hybrid_action&)>;

/// Makes the trajectories of options.warm_up, one after the other, with the integrator and the factors of the chain.
/// All are accepted. Their random numbers are of no trajectory of the chain. Prints a line a trajectory. Throws
/// input_error if steps are too long, and the error of a stopped run. Collective.
/// \param recorder  keeps one of them, for the judge
warmed_links warm_up(app_run& run, const hmc_options& options, gauge_configuration links, const dynamics_on& make,
                     trajectory_recorder& recorder);

/// Returns the action of a trajectory of the warm-up.
/// \param number  of its random numbers, as the recorder has it
hybrid_action action_of_warm_up(const hmc_options& options, std::uint64_t number);

/// Checks that the warm-up made the trajectories of the options, none of them twice, and that each moved the links. The
/// links have the plaquette of the last one, by the CPU library. Collective.
void check_warm_up(app_run& run, const hmc_options& options, const warmed_links& warmed);

/// Notes the trajectories of the warm-up, and the plaquette of the links before it.
void note_warm_up(report& result, const warmed_links& warmed);

}  // namespace plaquette
