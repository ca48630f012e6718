// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meshes of boxes.
#pragma once

#include <array>
#include <cstdint>

#include "common/mesh/simplex_mesh.hpp"

namespace plaquette {

/// A box of cells, each cut into six tetrahedra (Kuhn's), or a rectangle of cells, each cut into two triangles.
struct box_shape {
  int dimension = 3;
  std::array<int, 3> cells{4, 4, 4};
  std::array<double, 3> low{-1.0, -1.0, -1.0}, high{1.0, 1.0, 1.0};
  std::array<bool, 3> periodic{};
  /// Moves vertices inside by up to this share of a cell, so that no two elements have the same shape. Below 0.25.
  double shaking = 0.0;
  std::uint64_t seed = 1;
};

/// The sides of the box have the tags 1, 2 (x low, high), 3, 4 (y), 5, 6 (z).
simplex_mesh box_mesh(const box_shape& shape, const stop_check& stop = {});

}  // namespace plaquette
