// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sides of a mesh that touch, or lie inside it: there waves would meet a wall that nobody drew.
#pragma once

#include "common/mesh/simplex_mesh.hpp"

namespace plaquette {

/// Throws input_error where two sides of a connected mesh coincide in place, wholly or in part, or where a side lies in
/// an element: parts that touch without common nodes, elements that overlap. Sides that are nearer to each other than
/// 1e-3 of their edges and 2e-6 of the mesh's extent coincide.
void require_apart(const simplex_mesh& mesh, const mesh_naming& naming);

}  // namespace plaquette
