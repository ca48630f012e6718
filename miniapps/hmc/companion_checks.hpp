// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks of a run's action and integrator on small lattices, where all of it can be computed by the textbook.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "common/hmc/molecular_dynamics.hpp"
#include "miniapps/hmc/hmc_options.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Makes molecular dynamics on the lattice of links that these ranks share, on the device of the run.
using dynamics_of_lattice = std::function<std::unique_ptr<molecular_dynamics>(
    const communicator& comm, const gauge_configuration& links, const hybrid_action& action)>;

/// Returns the root mean square of |U - V| of the links at some sites of all ranks. Collective.
double rms_distance_at_sites(std::span<const site_links> u, std::span<const site_links> v, const communicator& comm);

/// Does an operation, and returns the distance of links and momenta from the expected ones: the larger one of two root
/// mean squares. The host computes the expected ones from links, momenta and forces before the operation. A displaced
/// kick is made of a kick, a drift and a force. Collective in `comm`.
/// \param at  sites of this rank that are compared
double error_of_operation(molecular_dynamics& state, const md_plan& plan, const md_operation& operation,
                          std::span<const coordinate> at, const communicator& comm);

/// Adds checks on 4^3x8 with links and momenta drawn now: every force against differences of the action, every
/// operation of a trajectory, the order of the integrator, and the way back. Each rank makes them by itself.
/// Collective.
void check_companion(app_run& run, const hmc_options& options, const dynamics_of_lattice& make);

/// Adds the same checks, but for single operations, on links of the run if they are at most 8^4. Collective.
void check_own_links(app_run& run, const hmc_options& options, const gauge_configuration& links,
                     const dynamics_of_lattice& make);

}  // namespace plaquette
