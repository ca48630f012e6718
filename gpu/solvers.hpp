// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The solvers of the CUDA library. common/solvers has their interfaces. The twin of cpu_ref/solvers.hpp.
#pragma once

#include <memory>
#include <utility>

#include "common/hmc/molecular_dynamics.hpp"
#include "common/lattice/site_field.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "common/solvers/propagator_solver.hpp"
#include "common/solvers/timed_operator.hpp"
#include "common/solvers/vector_operator.hpp"
#include "common/solvers/vectors.hpp"
#include "gpu/context.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Returns a Krylov solver in the precisions of the settings. Collective. Throws input_error if these do not go
/// together, and if links are not in SU(3) but are to be stored in fewer numbers.
/// \param links  of the host, whose ghosts do not matter; copied to the device
std::unique_ptr<propagator_solver> make_propagator_solver(const context& ctx,
                                                          std::shared_ptr<const plaquette::gauge_configuration> links,
                                                          const propagator_settings& settings);

/// Returns a solver by adaptive multigrid. Collective.
/// \param links  of the host, whose ghosts do not matter; copied to the device
std::unique_ptr<multigrid_solver> make_multigrid_solver(const context& ctx,
                                                        std::shared_ptr<const plaquette::gauge_configuration> links,
                                                        const multigrid_settings& settings);

/// The same for links that are there already.
std::unique_ptr<multigrid_solver> make_multigrid_solver(const context& ctx, const gauge_configuration& links,
                                                        const multigrid_settings& settings);

/// Returns a solver for the overlap operator on links. Throws input_error if rho cannot be used. Collective.
/// \param links  of the host, whose ghosts do not matter; copied to the device
std::unique_ptr<overlap_solver> make_overlap_solver(const context& ctx,
                                                    std::shared_ptr<const plaquette::gauge_configuration> links,
                                                    const overlap_settings& settings = {});

/// Returns links that move, with momenta and pseudofermions. Throws input_error for an action without forces.
/// Collective.
/// \param links  of the host, whose ghosts do not matter
std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const context& ctx,
                                                            const plaquette::gauge_configuration& links,
                                                            const hybrid_action& action);

/// Returns a maker of single operators and vector operations to be timed.
std::unique_ptr<scaling::operator_maker> make_timed_operators(const context& ctx, const scaling::timed_action& of);

/// Returns the numbers of `vectors`, undefined. Throws input_error for a shape that is none.
std::unique_ptr<vectors_body> make_vectors(const context& ctx, const vectors_shape& shape);
/// Returns a copy of vectors that a solver of this library made. Throws input_error for others.
std::pair<vectors_shape, std::unique_ptr<vectors_body>> copy_vectors(const context& ctx, const vectors_handle& of);

/// Returns the Wilson-clover operator on vectors. Collective. Throws input_error as make_propagator_solver does.
/// \param links  of the host, whose ghosts do not matter; copied to the device
std::unique_ptr<vector_operator> make_vector_operator(const context& ctx,
                                                      std::shared_ptr<const plaquette::gauge_configuration> links,
                                                      const vector_operator_settings& settings);

}  // namespace plaquette::gpu
