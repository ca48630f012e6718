// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The mesh, the problem and the exact solution that options name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/dg/exact_solutions.hpp"
#include "common/mesh/simplex_mesh.hpp"
#include "miniapps/nodal-dg/nodal_dg_options.hpp"

namespace plaquette::nodal_dg {

struct wave_case {
  simplex_mesh mesh;                       ///< elements in the order of a space-filling curve
  std::vector<std::int32_t> file_numbers;  ///< of each element: its number in the mesh's file, or in its refinement
  std::array<double, 6> box{};             ///< x low, x high, ...: the sides whose modes the problem means
  dg_problem problem;
  field_function initial;               ///< at any time; of the state at time 0
  std::optional<field_function> exact;  ///< if the solution is known
  std::string why_not_exact;            ///< else: the feature that mesh or options lack; of a pulse nothing
  double frequency = 0.0;               ///< angular, of the exact solution
  bool closed = true;                   ///< nothing comes in: energy cannot grow
  std::vector<std::string> remarks;     ///< on the mesh's file: repairs, and numbers that may be meant otherwise
};

/// Returns the smallest box that holds the mesh: x low, x high, ...
std::array<double, 6> box_around(const simplex_mesh& mesh);

/// A smaller mesh of elements of the same shapes, for estimates of one that takes long to make.
struct mesh_sample {
  nodal_dg_options options;     ///< of the sample
  double elements = 1.0;        ///< of the mesh that is meant, for one of the sample
  double element_length = 1.0;  ///< likewise
};
/// Returns fewer refinements, and of a large box every second cell along each side, or every fourth, ...; else the same
/// mesh. Two refinements stay, one of a file: a refined tetrahedron has other shapes inside, whose own parts have them
/// again.
mesh_sample sample_of_mesh(const nodal_dg_options& options);

/// Throws input_error if mesh and options do not fit each other. Reads the mesh's file on every rank.
/// \param before_refining  is called with the number of elements that a mesh from a file will have
wave_case make_case(const nodal_dg_options& options, const stop_check& stop = {},
                    const std::function<void(double)>& before_refining = {});

}  // namespace plaquette::nodal_dg
