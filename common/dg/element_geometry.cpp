// SPDX-License-Identifier: BSD-3-Clause
#include "common/dg/element_geometry.hpp"

#include <cmath>
#include <limits>

#include "common/mesh/vector3.hpp"

namespace plaquette {

namespace {

const vector3& corner(const simplex_mesh& mesh, std::int64_t element, int c) {
  const std::int32_t vertex = mesh.elements[static_cast<std::size_t>(element)][static_cast<std::size_t>(c)];
  return mesh.vertices[static_cast<std::size_t>(vertex)];
}

/// Edges from corner 0: the columns of the affine map. A triangle's third is the unit normal of its plane.
std::array<vector3, 3> edges_of(const simplex_mesh& mesh, std::int64_t element) {
  std::array<vector3, 3> edges{vector3{}, vector3{}, vector3{0.0, 0.0, 1.0}};
  for (int c = 1; c <= mesh.dimension; ++c)
    for (std::size_t i = 0; i < 3; ++i)
      edges[static_cast<std::size_t>(c - 1)][i] = corner(mesh, element, c)[i] - corner(mesh, element, 0)[i];
  return edges;
}

/// Gradients of the barycentric coordinates of corners 1, 2, 3.
std::array<vector3, 3> gradients_of(const std::array<vector3, 3>& edges) {
  std::array<vector3, 3> gradients{cross(edges[1], edges[2]), cross(edges[2], edges[0]), cross(edges[0], edges[1])};
  const double determinant = dot(edges[0], gradients[0]);
  for (auto& g : gradients)
    for (double& x : g) x /= determinant;
  return gradients;
}

}  // namespace

element_geometry geometry_of(const simplex_mesh& mesh, std::int64_t element) {
  const auto edges = edges_of(mesh, element);
  const auto gradients = gradients_of(edges);
  element_geometry g;
  // r = 2 lambda_1 - 1, s = 2 lambda_2 - 1, t = 2 lambda_3 - 1
  for (std::size_t a = 0; a < static_cast<std::size_t>(mesh.dimension); ++a)
    for (std::size_t i = 0; i < 3; ++i) g.metric[a][i] = 2.0 * gradients[a][i];
  g.jacobian = std::abs(dot(edges[0], cross(edges[1], edges[2]))) / (mesh.dimension == 3 ? 8.0 : 4.0);
  for (std::size_t face = 0; face < static_cast<std::size_t>(mesh.faces()); ++face) {
    vector3 inward{};
    for (std::size_t a = 0; a < static_cast<std::size_t>(mesh.dimension); ++a)
      for (std::size_t i = 0; i < 3; ++i) {
        if (face == 0) inward[i] -= gradients[a][i];
        if (face == a + 1) inward[i] += gradients[a][i];
      }
    const double length = std::sqrt(dot(inward, inward));
    for (std::size_t i = 0; i < 3; ++i) g.normal[face][i] = -inward[i] / length;
    g.face_scale[face] = 2.0 * length;
  }
  return g;
}

std::vector<element_geometry> geometry_of(const simplex_mesh& mesh) {
  std::vector<element_geometry> all(mesh.elements.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t e = 0; e < mesh.size(); ++e) all[static_cast<std::size_t>(e)] = geometry_of(mesh, e);
  return all;
}

std::array<double, 3> position(const simplex_mesh& mesh, std::int64_t element, const reference_point& r) {
  const auto edges = edges_of(mesh, element);
  vector3 x = corner(mesh, element, 0);
  for (std::size_t a = 0; a < static_cast<std::size_t>(mesh.dimension); ++a)
    for (std::size_t i = 0; i < 3; ++i) x[i] += 0.5 * (1.0 + r[a]) * edges[a][i];
  return x;
}

point_location locate(const simplex_mesh& mesh, const std::array<double, 3>& x, std::span<const std::int32_t> numbers) {
  constexpr double rounding = 1e-12, outside = 1e-8;
  point_location best;
  double depth = -outside;  // of the best: its smallest barycentric coordinate, all above -rounding alike
  for (std::int64_t e = 0; e < mesh.size(); ++e) {
    const vector3& origin = corner(mesh, e, 0);
    const auto gradients = gradients_of(edges_of(mesh, e));
    double lowest = 1.0, rest = 1.0;
    point_location found{e, {}};
    for (std::size_t a = 0; a < static_cast<std::size_t>(mesh.dimension); ++a) {
      const double lambda = dot(gradients[a], {x[0] - origin[0], x[1] - origin[1], x[2] - origin[2]});
      found.at[a] = 2.0 * lambda - 1.0;
      lowest = std::fmin(lowest, lambda);
      rest -= lambda;
    }
    const double here = std::fmin(std::fmin(lowest, rest), -rounding);
    const bool comes_first = best.element >= 0 && !numbers.empty() &&
                             numbers[static_cast<std::size_t>(e)] < numbers[static_cast<std::size_t>(best.element)];
    if (!(here > depth || (here == depth && comes_first))) continue;
    best = found;
    depth = here;
    if (numbers.empty() && depth == -rounding) break;
  }
  return best;
}

}  // namespace plaquette
