// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Right-hand sides of a propagator: one spin and colour at a point, on a time slice, or smeared around a point.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/source_description.hpp"
#include "common/random/noise.hpp"

namespace plaquette::cpu {

using plaquette::component_of_column;
using plaquette::name;
using plaquette::parse_source_kind;
using plaquette::require_source_on;
using plaquette::source_component;
using plaquette::source_description;
using plaquette::source_kind;
using plaquette::spin_colours;

/// Returns a field where spin `spin` and colour `colour` at a global coordinate are 1, everything else 0. Ghosts are
/// not filled.
spinor_configuration point_source(const lattice_geometry& geometry, const coordinate& position, int spin, int colour);

/// Returns the same at every site of time slice `time`.
spinor_configuration wall_source(const lattice_geometry& geometry, int time, int spin, int colour);

/// Returns a point or a wall as described.
spinor_configuration unsmeared_source(const lattice_geometry& geometry, const source_description& source, int spin,
                                      int colour);

/// Returns a field where spin `spin` and colour `colour` of a time slice are noise, everything else 0.
spinor_configuration noise_source(const lattice_geometry& geometry, const noise_description& noise, int spin,
                                  int colour);

/// Returns the source as described. Collective.
/// \param links  with ghosts filled; a smeared source is covariant under their gauge transformations
spinor_configuration make_source(const source_description& source, int spin, int colour,
                                 const gauge_configuration& links, const communicator& comm);

}  // namespace plaquette::cpu
