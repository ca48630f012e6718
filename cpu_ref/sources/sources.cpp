// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/sources/sources.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "common/error.hpp"
#include "cpu_ref/gauge/gaussian_smearing.hpp"

namespace plaquette::cpu {
namespace {

constexpr std::array<std::pair<source_kind, std::string_view>, 3> source_names{
    {{source_kind::point, "point"}, {source_kind::wall, "wall"}, {source_kind::gaussian, "gaussian"}}};

}  // namespace

source_kind parse_source_kind(std::string_view text) {
  for (const auto& [kind, known] : source_names)
    if (known == text) return kind;
  throw input_error("source: expected one of point, wall, gaussian, found '" + std::string(text) + "'");
}

std::string name(source_kind kind) { return std::string(source_names[static_cast<std::size_t>(kind)].second); }

void require_source_on(const source_description& source, const extents& lattice) {
  for (int mu = 0; mu < dimensions; ++mu)
    if (source.position[mu] < 0 || source.position[mu] >= lattice[mu])
      throw input_error("source position " + std::to_string(source.position[0]) + ',' +
                        std::to_string(source.position[1]) + ',' + std::to_string(source.position[2]) + ',' +
                        std::to_string(source.position[3]) + " is outside lattice " + to_string(lattice));
  if (source.kind == source_kind::gaussian &&
      (!(source.smearing_radius >= 0.0) || !std::isfinite(source.smearing_radius) || source.smearing_steps < 1))
    throw input_error("a Gaussian source needs a radius that is not negative and at least one step");
}

spinor_configuration point_source(const lattice_geometry& geometry, const coordinate& position, int spin, int colour) {
  spinor_configuration source(geometry);
  if (coordinate local; geometry.holds(position, local)) source(local)(spin, colour) = {1.0, 0.0};
  return source;
}

spinor_configuration wall_source(const lattice_geometry& geometry, int time, int spin, int colour) {
  spinor_configuration source(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    if (geometry.to_global(geometry.local_coordinate(site))[3] == time) source.at_site(site)(spin, colour) = {1.0, 0.0};
  return source;
}

spinor_configuration make_source(const source_description& source, int spin, int colour,
                                 const gauge_configuration& links, const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  require_source_on(source, geometry.global());
  if (source.kind == source_kind::wall) return wall_source(geometry, source.position[3], spin, colour);
  spinor_configuration point = point_source(geometry, source.position, spin, colour);
  if (source.kind == source_kind::point) return point;
  return gaussian_smeared(point, links, source.smearing_radius, source.smearing_steps, comm);
}

}  // namespace plaquette::cpu
