// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sides of a mesh that touch, or lie inside it: there waves would meet a wall that is not drawn.
#pragma once

#include <cstdint>

#include "common/mesh/simplex_mesh.hpp"

namespace plaquette {

/// Throws input_error where two sides of a connected mesh coincide in place, in whole or in part: there parts touch
/// without common nodes. Also where a side lies in an element: there elements overlap. Sides that are nearer to each
/// other than 1e-3 of their edges and 2e-6 of the mesh's extent coincide.
void require_apart(const simplex_mesh& mesh, const mesh_naming& naming, const stop_check& stop = {});

/// Returns the number of closed surfaces inside the parts of a mesh that is not periodic: holes that reach no outer
/// side.
std::int64_t cavities_of(const simplex_mesh& mesh);

}  // namespace plaquette
