// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every way to cut a lattice.
#pragma once

#include <vector>

#include "common/error.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette::validation {

/// Returns all process grids of `ranks` ranks that cut the lattice into boxes of even extents of at least 2.
inline std::vector<extents> legal_grids(const extents& lattice, int ranks) {
  std::vector<extents> grids;
  extents grid{};
  for (grid[0] = 1; grid[0] <= ranks; ++grid[0])
    for (grid[1] = 1; grid[1] <= ranks; ++grid[1])
      for (grid[2] = 1; grid[2] <= ranks; ++grid[2])
        for (grid[3] = 1; grid[3] <= ranks; ++grid[3]) {
          if (volume(grid) != ranks) continue;
          try {
            lattice_geometry(lattice, grid);
            grids.push_back(grid);
          } catch (const input_error&) {
          }
        }
  return grids;
}

}  // namespace plaquette::validation
