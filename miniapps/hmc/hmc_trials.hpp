// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Choices by trials before the first trajectory of a chain. By counts, never by seconds: the same command chooses the
/// same on every run.
#pragma once

#include <functional>
#include <memory>

#include "common/hmc/trajectory.hpp"
#include "miniapps/hmc/hmc_options.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Makes molecular dynamics of an action on the links of the start. Collective.
using dynamics_maker = std::function<std::unique_ptr<molecular_dynamics>(const hybrid_action&)>;

/// Sets, for each factor, the solver whose forces cost least: the applications of Mhat times the price of one in the
/// precision of the iteration. Prints and reports the choice. Collective.
void choose_solvers(app_run& run, hmc_options& options, const dynamics_maker& make);

/// Sets the steps of the outermost level such that |dH| is about 0.3. A trajectory that no chain has gives |dH|, and
/// the order of the integrator the steps; both again if |dH| is far off. Prints and reports the choice. Collective.
void choose_steps(app_run& run, hmc_options& options, molecular_dynamics& md);

/// Returns the plan with the steps of its outermost level that make |dH| about 0.3, by the order of the integrator:
/// from half to twice as many.
/// \param size  |dH| of a trajectory of the plan; NaN if it has none
md_plan with_better_steps(const hybrid_action& action, const md_plan& plan, double size);

/// Returns whether links have left SU(3), or are NaN: steps were longer than the exponential's series can follow.
bool have_links_left_su3(molecular_dynamics& md);

}  // namespace plaquette
