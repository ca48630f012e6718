// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How an element with straight edges lies in space.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/dg/reference_element.hpp"
#include "common/mesh/simplex_mesh.hpp"

namespace plaquette {

/// The affine map from the reference element, constant on an element.
struct element_geometry {
  /// d(r, s, t) / d(x, y, z): metric[a][i] = d r_a / d x_i (rx, ry, rz; sx, ...). Zero where a dimension is not there.
  std::array<std::array<double, 3>, 3> metric{};
  double jacobian = 0.0;  ///< |J| = volume here / volume of the reference element (4/3; 2 of a triangle)
  std::array<std::array<double, 3>, most_faces> normal{};  ///< outward, of length one
  std::array<double, most_faces> face_scale{};             ///< Fscale = sJ / J = 2 / (height above the face)
};

/// Returns (n Fscale)_i = -2 d lambda_f / d x_i, with lambda_f the barycentric coordinate of the corner opposite the
/// face.
element_geometry geometry_of(const simplex_mesh& mesh, std::int64_t element);
std::vector<element_geometry> geometry_of(const simplex_mesh& mesh);

/// Returns where a reference point of an element lies.
std::array<double, 3> position(const simplex_mesh& mesh, std::int64_t element, const reference_point& r);

/// The element that holds a point (-1 where none does), and where in it.
struct point_location {
  std::int64_t element = -1;
  reference_point at{};
};
/// Where several elements hold the point, takes the lowest of `numbers` (one an element), or of the elements' own
/// numbers without them. A point outside by less than 1e-8 of the element's size still counts: files round coordinates.
point_location locate(const simplex_mesh& mesh, const std::array<double, 3>& x,
                      std::span<const std::int32_t> numbers = {});

}  // namespace plaquette
