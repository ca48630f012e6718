// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks of a whole chain by the numbers of its trajectories, including the trajectories of earlier runs.
#pragma once

#include <span>
#include <string>

#include "miniapps/hmc/chain_store.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Returns the largest error of the mean over lengths of blocks that leave at least ten of them; NaN of fewer than two
/// values. plots/blocked_errors.py does the same.
double blocked_error(std::span<const double> values);

/// Adds the checks of a history: accept steps, links that changed if and only if they were accepted, and from 50
/// trajectories on <exp(-dH)>, <dH> and acceptance. If the plaquette of this action and lattice is known, adds the
/// check of the average. Returns a line that names the averages that were not judged, or an empty one.
std::string check_history(verification& checks, const chain_state& state, const hmc_options& options,
                          const extents& lattice);

/// Adds the check that lists and averages of the report, and the table, agree with the history.
/// \param table  as history_table returns it
void check_reported(report& result, const chain_state& state, const std::string& table);

}  // namespace plaquette
