// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Null vectors of a setup in a file, for the next run. The coarse operators are recomputed from them, which takes less
/// time than reading them. The vectors may have been found at another mass.
#pragma once

#include <string>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/geometry.hpp"
#include "common/lattice/site_field.hpp"
#include "common/solvers/multigrid_solver.hpp"

namespace plaquette {

/// The action and the links that null vectors belong to. Another mass may use them.
struct setup_origin {
  fermion_action action;
  double links = 0.0;  ///< `links_checksum`
};

/// Returns a checksum of the numbers of all links: their sum, each times a random number in [-1, 1) of its place, over
/// sqrt(72 V). Links that are moved, transformed or others change it; rounding in their last bits, or another process
/// grid, by 1e-14. Collective.
double links_checksum(const gauge_configuration& links, const communicator& comm);

/// Writes a setup. Collective. Throws output_error.
void write_setup(const std::string& path, bool force, const stored_setup& setup, const setup_origin& origin,
                 const lattice_geometry& geometry, const communicator& comm);

/// Reads it, on any process grid that the aggregates allow. Collective. Throws input_error if the file is of another
/// lattice, other links or another action.
stored_setup read_setup(const std::string& path, const setup_origin& origin, const lattice_geometry& geometry,
                        const communicator& comm);

/// Returns the aggregates and numbers of vectors of a file. Collective.
std::vector<coarsening> coarsenings_of_setup(const std::string& path, const communicator& comm);

/// Throws input_error, naming the file, if aggregates do not divide a rank's sites or hold fewer numbers than there are
/// vectors.
void require_coarsenings_fit(const std::string& path, const std::vector<coarsening>& list,
                             const lattice_geometry& geometry);

}  // namespace plaquette
