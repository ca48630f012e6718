// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Output and report of hmc on a chain.
#pragma once

#include "miniapps/hmc/chain_store.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Prints the head of the table of trajectories, and a line of it.
void print_history_head();
void print_trajectory(int number, const trajectory_record& t);
/// Prints the averages of the report, forces by term and solves by factor.
void print_chain(const report& result, const chain_state& state, const hmc_options& options);

/// Returns a line a trajectory, with its head.
std::string history_table(const chain_state& state, const hmc_options& options);

/// Notes gauge, observables and the figure of merit: units of molecular dynamics time an hour, at the median trajectory
/// of this run. Errors of averages are by blocks.
/// \param first  trajectory of this run
void note_chain(report& result, const chain_state& state, const hmc_options& options, int first);

}  // namespace plaquette
