// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meshes of Gmsh: .msh of version 2.x and 4.x, text and binary.
#pragma once

#include <string>

#include "common/io/byte_source.hpp"
#include "common/mesh/simplex_mesh.hpp"

namespace plaquette {

/// Reads the elements of the highest dimension (tetrahedra, else triangles), their physical groups as materials, the
/// groups of the dimension below as boundaries, and `$Periodic`. An element may be in several groups. Node numbers may
/// have gaps. Throws input_error, with one line that names the file, what was expected and what was found. So it does
/// where the mesh is one part of several, overlaps itself, or has parts that touch without common nodes.
/// \param only_dimension  2 or 3: refuse another; 0: take what is there
simplex_mesh read_gmsh(const byte_source& source, int only_dimension = 0, const stop_check& stop = {});
simplex_mesh read_gmsh(const std::string& path, int only_dimension = 0, const stop_check& stop = {});

/// Writes text of version 2.2, elements with positive volume.
std::string gmsh_text(const simplex_mesh& mesh);

}  // namespace plaquette
