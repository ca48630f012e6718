// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <string>

#include "common/dg/dg_solver.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {

void require_sense(const simplex_mesh& mesh, const dg_problem& problem) {
  if (problem.equations == wave_equations::maxwell && mesh.dimension != 3)
    throw input_error("Maxwell's equations of six fields: expected a mesh of tetrahedra, found triangles");
  if (problem.equations == wave_equations::maxwell_tm && mesh.dimension != 2)
    throw input_error("Maxwell's equations, TM: expected a mesh of triangles, found tetrahedra");
  if (problem.media.size() != mesh.material_tags.size())
    throw input_error("materials: expected " + std::to_string(mesh.material_tags.size()) + " (one a tag), found " +
                      std::to_string(problem.media.size()));
  if (problem.boundaries.size() != mesh.boundary_tags.size())
    throw input_error("boundary conditions: expected " + std::to_string(mesh.boundary_tags.size()) +
                      " (one a tag), found " + std::to_string(problem.boundaries.size()));
  for (const medium& m : problem.media)
    if (!(m.first > 0.0 && m.second > 0.0 && std::isfinite(m.first) && std::isfinite(m.second)))
      throw input_error("materials: expected positive constants, found " + std::to_string(m.first) + " and " +
                        std::to_string(m.second));
}

/// (M^-1 l(x0)) / J: what makes the right-hand side of a delta function at x0. M^-1 = V V^T.
std::vector<double> weights_of_source(const reference_element& reference, const reference_point& at, double jacobian) {
  const dense_matrix l = interpolation(reference, std::span(&at, 1));
  const dense_matrix weights = reference.vandermonde * (transposed(reference.vandermonde) * transposed(l));
  std::vector<double> result = weights.values;
  for (double& w : result) w /= jacobian;
  return result;
}

void place_sources(dg_domain& domain, const simplex_mesh& mesh) {
  for (const point_source& source : domain.problem.sources) {
    if (source.field < 0 || source.field >= domain.fields)
      throw input_error("point source: expected a field of 0 to " + std::to_string(domain.fields - 1) + ", found " +
                        std::to_string(source.field));
    const point_location where = locate(mesh, source.position);
    if (where.element < 0) throw input_error("point source: its position lies outside the mesh");
    const auto here = std::ranges::find(domain.part.global, static_cast<std::int32_t>(where.element));
    if (here == domain.part.global.end()) continue;
    const auto element = static_cast<std::int32_t>(here - domain.part.global.begin());
    domain.sources.push_back(
        {element,
         weights_of_source(domain.reference, where.at, domain.geometry[static_cast<std::size_t>(element)].jacobian),
         source});
  }
}

/// Largest stable time steps of LSERK4 with upwind fluxes, by order N, in units of height / (speed (N + 1)^2). Found on
/// regular boxes, on boxes shaken by up to 22% of a cell, periodic or not, and on a mesh of Gmsh. The smallest are
/// taken, less a twentieth. Regular boxes of Kuhn's tetrahedra have the smallest.
constexpr double largest_step_2d[highest_order + 1] = {1.0, 1.8, 2.3, 2.75, 3.05, 3.3, 3.5, 3.7, 3.8, 3.95, 4.0};
constexpr double largest_step_3d[highest_order + 1] = {1.0, 1.02, 1.5, 1.83, 2.03, 2.3, 2.4, 2.6, 2.65, 2.8, 2.85};

}  // namespace

std::array<double, 3> dg_domain::node_position(std::int32_t element, int node) const {
  std::array<double, 3> x{};
  for (std::size_t c = 0; c <= static_cast<std::size_t>(reference.dimension); ++c)
    for (std::size_t i = 0; i < 3; ++i)
      x[i] +=
          reference.barycentric[static_cast<std::size_t>(node)][c] * corners[static_cast<std::size_t>(element)][c][i];
  return x;
}

dg_domain make_domain(const simplex_mesh& mesh, const std::vector<std::int32_t>& partition, int order,
                      const dg_problem& problem, const communicator& comm, const stop_check& stop) {
  paced_stop pace(stop);
  require_sense(mesh, problem);
  dg_domain domain;
  domain.reference = make_reference_element(mesh.dimension, order);
  domain.part = part_of_mesh(mesh, partition, comm.rank(), stop);
  domain.problem = problem;
  domain.fields = fields_of(problem.equations, mesh.dimension);
  domain.global_elements = mesh.size();
  domain.comm = comm;
  const auto medium_of = [&](std::int32_t global) {
    return problem.media[static_cast<std::size_t>(mesh.materials[static_cast<std::size_t>(global)])];
  };
  domain.uniform_media = std::ranges::all_of(
      mesh.materials, [&](std::int16_t m) { return problem.media[static_cast<std::size_t>(m)] == medium{}; });
  for (std::int32_t e = 0; e < domain.elements(); ++e, pace()) {
    const std::int32_t global = domain.part.global[static_cast<std::size_t>(e)];
    domain.geometry.push_back(geometry_of(mesh, global));
    domain.media.push_back(medium_of(global));
    std::array<std::array<double, 3>, 4> corners{};
    for (std::size_t c = 0; c <= static_cast<std::size_t>(mesh.dimension); ++c)
      corners[c] = mesh.vertices[static_cast<std::size_t>(mesh.elements[static_cast<std::size_t>(global)][c])];
    domain.corners.push_back(corners);
    std::array<double, most_faces> behind{};
    for (std::size_t f = 0; f < static_cast<std::size_t>(mesh.faces()); ++f) {
      const face_link& link = mesh.links[static_cast<std::size_t>(global)][f];
      behind[f] = medium_of(link.is_boundary() ? global : link.element).impedance();
    }
    domain.impedance_behind.push_back(behind);
  }
  place_sources(domain, mesh);
  return domain;
}

double stable_time_step(const dg_domain& domain, double safety) {
  const int order = domain.reference.order;
  double fastest = 0.0;  // speed / height
  for (std::int32_t e = 0; e < domain.elements(); ++e) {
    const auto& scale = domain.geometry[static_cast<std::size_t>(e)].face_scale;
    const double speed = domain.media[static_cast<std::size_t>(e)].speed();
    for (std::size_t f = 0; f < static_cast<std::size_t>(domain.reference.faces()); ++f)
      fastest = std::max(fastest, 0.5 * scale[f] * speed);
  }
  domain.comm.maximum(std::span(&fastest, 1));
  const double* table = domain.reference.dimension == 3 ? largest_step_3d : largest_step_2d;
  return safety * table[order] / ((order + 1.0) * (order + 1.0) * fastest);
}

}  // namespace plaquette
