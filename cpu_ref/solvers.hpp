// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Makes the solvers of the CPU library. What they do is in common/solvers/.
#pragma once

#include <memory>

#include "common/lattice/site_field.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "cpu_ref/context.hpp"

namespace plaquette::cpu {

/// Returns a solver for the overlap operator on links. Throws input_error where rho cannot be used. Collective.
/// \param links  with ghosts filled; they must outlive the solver
std::unique_ptr<overlap_solver> make_overlap_solver(const context& ctx, const gauge_configuration& links,
                                                    const overlap_settings& settings = {});

}  // namespace plaquette::cpu
