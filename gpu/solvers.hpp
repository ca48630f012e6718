// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Makes the solvers of the CUDA library. What they do is in common/solvers/.
#pragma once

#include <memory>

#include "common/lattice/site_field.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "gpu/context.hpp"

namespace plaquette::gpu {

/// Returns a solver for the overlap operator on links. Throws input_error where rho cannot be used. Collective.
/// \param links  of the host; they are copied to the device
std::unique_ptr<overlap_solver> make_overlap_solver(const context& ctx, const plaquette::gauge_configuration& links,
                                                    const overlap_settings& settings = {});

}  // namespace plaquette::gpu
