// SPDX-License-Identifier: BSD-3-Clause
#include "common/multigrid/multigrid_parameters.hpp"

#include <algorithm>
#include <sstream>

#include "common/error.hpp"

namespace plaquette {

cycle_kind parse_cycle_kind(const std::string& text) {
  for (const cycle_kind kind : {cycle_kind::v, cycle_kind::w, cycle_kind::k})
    if (text == name(kind)) return kind;
  throw input_error("cycle: expected one of v, w, k, found '" + text + "'");
}

const char* name(cycle_kind kind) { return kind == cycle_kind::v ? "v" : kind == cycle_kind::w ? "w" : "k"; }
const char* name(smoother_kind kind) {
  switch (kind) {
    case smoother_kind::mr:
      return "mr";
    case smoother_kind::gcr:
      return "gcr";
    case smoother_kind::ca_gcr:
      return "ca-gcr";
    case smoother_kind::polynomial:
      return "polynomial";
    case smoother_kind::additive_schwarz:
      return "additive-schwarz";
    default:
      return "multiplicative-schwarz";
  }
}
const char* name(coarsest_kind kind) { return kind == coarsest_kind::gcr ? "gcr" : "ca-gcr"; }
const char* name(null_vector_solver kind) {
  using enum null_vector_solver;
  return kind == bicgstab ? "bicgstab" : kind == cgnr ? "cgnr" : "chebyshev";
}
const char* name(null_space_kind kind) { return kind == null_space_kind::stages ? "stages" : "last"; }

namespace {

/// Returns the length of aggregates in a direction: near the wanted one, and a divisor of a rank's extent. The coarse
/// lattice gets an even extent, so that it falls into two parities, or an odd extent if no divisor gives an even one.
int aggregate_length(int global, int local, int wanted) {
  for (const bool even : {true, false})
    for (const int difference : {0, -1, 1, 2, -2, 3}) {
      const int length = wanted + difference;
      if (length < 2 || local % length != 0 || global / length < 2) continue;
      if (!even || global / length % 2 == 0) return length;
    }
  return 1;
}

}  // namespace

multigrid_parameters default_multigrid_parameters(const extents& global, const extents& local, int most_levels) {
  // A lattice of so few sites is solved by Krylov steps as it is.
  constexpr std::int64_t few_sites = 64;
  multigrid_parameters parameters;
  extents g = global, l = local;
  int rows = 6;
  for (int level = 1; level < most_levels; ++level) {
    if (level > 1 && volume(g) <= few_sites) break;
    coarsening c;
    for (int mu = 0; mu < dimensions; ++mu) {
      c.aggregate[mu] = aggregate_length(g[mu], l[mu], level == 1 ? 4 : 2);
      g[mu] /= c.aggregate[mu];
      l[mu] /= c.aggregate[mu];
    }
    if (volume(c.aggregate) == 1) break;
    // A coarse lattice must be much smaller than the one above, or it costs more than it saves.
    const std::int64_t numbers = rows * volume(c.aggregate);
    c.vectors = static_cast<int>(std::clamp<std::int64_t>(numbers / 4, 1, 24));
    rows = c.vectors;
    parameters.coarsenings.push_back(c);
  }
  if (parameters.coarsenings.empty())
    throw input_error(
        "multigrid: lattice " + to_string(global) +
        " has no coarser one by default on this process grid: give its aggregates, or take another solver");
  return parameters;
}

void set_device_defaults(multigrid_parameters& parameters, bool on_gpu) {
  if (!on_gpu) return;
  parameters.k_steps = 1;
  parameters.coarsest = coarsest_kind::ca_gcr;
  parameters.coarsest_steps = 12;
  parameters.smoother = smoother_kind::polynomial;
  parameters.steps_after = {7, 6};
}

std::vector<coarsening> parse_coarsenings(const std::string& aggregates, const std::vector<int>& vectors) {
  std::vector<coarsening> list;
  std::istringstream stream(aggregates);
  for (std::string text; std::getline(stream, text, ',');) {
    const std::size_t level = list.size();
    if (!vectors.empty() && level >= vectors.size() && vectors.size() != 1)
      throw input_error("multigrid: " + std::to_string(vectors.size()) +
                        " numbers of null vectors for more aggregates");
    const int count = vectors.empty() ? 24 : vectors.size() == 1 ? vectors.front() : vectors[level];
    if (count < 1)
      throw input_error("multigrid: the number of null vectors must be at least 1, found " + std::to_string(count));
    list.push_back({parse_extents(text, "aggregate"), count});
  }
  if (list.empty()) throw input_error("multigrid: no aggregate is given; expected, say, 4x4x4x4,2x2x2x2");
  if (vectors.size() > 1 && vectors.size() != list.size())
    throw input_error("multigrid: " + std::to_string(vectors.size()) + " numbers of null vectors for " +
                      std::to_string(list.size()) + " aggregates");
  return list;
}

}  // namespace plaquette
