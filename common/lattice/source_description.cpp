// SPDX-License-Identifier: BSD-3-Clause
#include "common/lattice/source_description.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "common/error.hpp"

namespace plaquette {
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

}  // namespace plaquette
