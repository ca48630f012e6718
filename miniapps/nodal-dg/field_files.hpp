// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields in files: VTKHDF for ParaView, and a plane of values for a picture.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/dg/dg_solver.hpp"
#include "common/io/atomic_file.hpp"

namespace plaquette::nodal_dg {

/// Returns straight elements between the nodes of one: N^3 tetrahedra (N^2 triangles) by the numbers of their nodes, of
/// positive volume in the reference element.
std::vector<std::array<std::int32_t, 4>> parts_of_element(int dimension, int order);

/// Whether the program was built with HDF5.
bool has_vtkhdf();

/// Writes one state as an unstructured grid of VTK's HDF format (ParaView 5.10 and newer): each element cut into N^3
/// (N^2) straight ones between its nodes, not joined to its neighbours; single precision. Collective.
void write_vtkhdf(const std::string& path, const dg_domain& domain, std::span<const double> state,
                  existing_file existing);

/// Values on a plane, pixels x pixels, in the middle of pixels, by the elements' polynomials. NaN outside the mesh.
struct plane_of_values {
  int axis = 2;  ///< the plane is where this coordinate is `at`
  double at = 0.0;
  int pixels = 256;
};
/// Writes text: a line "x y fields..." a pixel inside the mesh, after a line of names. Collective.
void write_plane(const std::string& path, const plane_of_values& plane, const dg_domain& domain,
                 std::span<const double> state, existing_file existing);

}  // namespace plaquette::nodal_dg
