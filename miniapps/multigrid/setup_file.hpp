// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Null vectors in a file: what a setup has found, for the next run. The coarse operators are made anew from them, in
/// less time than reading them would take, and for another mass if so.
#pragma once

#include <string>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/geometry.hpp"
#include "common/operators/coarse_matrices.hpp"

namespace plaquette {

/// Writes the vectors of all levels. Collective. Throws output_error.
/// \param plaquette  of the links, by which they are known again
void write_setup(const std::string& path, bool force, const std::vector<null_space>& vectors,
                 const fermion_action& action, const lattice_geometry& geometry, double plaquette,
                 const communicator& comm);

/// Reads them, on any process grid that the aggregates allow. Collective. Throws input_error where the file is of
/// another lattice or other links.
std::vector<null_space> read_setup(const std::string& path, const lattice_geometry& geometry, double plaquette,
                                   const communicator& comm);

/// The aggregates and numbers of vectors of a file. Collective.
struct coarsening;
std::vector<coarsening> coarsenings_of_setup(const std::string& path, const communicator& comm);

}  // namespace plaquette
