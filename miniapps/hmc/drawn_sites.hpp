// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sites at which fields of a big lattice are judged: drawn after the work, of the whole lattice alike.
#pragma once

#include <cstdint>
#include <vector>

#include "common/lattice/geometry.hpp"
#include "common/random/random_stream.hpp"

namespace plaquette {

/// Number of sites up to which a lattice is judged everywhere. On a larger one about this number is drawn.
inline constexpr std::int64_t most_judged_sites = std::int64_t{16} * 16 * 16 * 16;

/// Returns local coordinates of this rank's sites that a seed draws. Each site of the lattice has the same chance, on
/// any process grid. All sites of a lattice with at most `most`.
inline std::vector<coordinate> drawn_sites(const lattice_geometry& geometry, std::uint64_t seed,
                                           std::int64_t most = most_judged_sites) {
  const double chance = static_cast<double>(most) / static_cast<double>(geometry.global_volume());
  std::vector<coordinate> sites;
  for (std::int64_t n = 0; n < geometry.local_volume(); ++n) {
    const coordinate x = geometry.local_coordinate(n);
    const auto index = static_cast<std::uint64_t>(geometry.global_index(x));
    if (chance >= 1.0 || random_stream(seed, random_stream_id(random_purpose::test), index).uniform() < chance)
      sites.push_back(x);
  }
  return sites;
}

}  // namespace plaquette
