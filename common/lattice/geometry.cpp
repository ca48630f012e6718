// SPDX-License-Identifier: BSD-3-Clause
#include "common/lattice/geometry.hpp"

#include <limits>
#include <utility>

#include "common/error.hpp"

namespace plaquette {

namespace {

bool divides_legally(const extents& global, const extents& grid) {
  for (int mu = 0; mu < dimensions; ++mu) {
    if (grid[mu] < 1 || global[mu] % grid[mu] != 0) return false;
    const int length = global[mu] / grid[mu];
    if (length < 2 || length % 2 != 0) return false;
  }
  return true;
}

/// How much of one rank's box touches other ranks: sites on cut faces, then sites on any cut face. Less is better.
std::pair<std::int64_t, std::int64_t> surface(const extents& global, const extents& grid) {
  extents local{}, inner{};
  for (int mu = 0; mu < dimensions; ++mu) {
    local[mu] = global[mu] / grid[mu];
    inner[mu] = grid[mu] > 1 ? local[mu] - 2 : local[mu];
  }
  std::int64_t sites = 0;
  for (int mu = 0; mu < dimensions; ++mu)
    if (grid[mu] > 1) sites += 2 * volume(local) / local[mu];
  return {sites, volume(local) - volume(inner)};
}

}  // namespace

lattice_geometry::lattice_geometry(const extents& global, const extents& grid, int rank)
    : global_(global), grid_(grid), local_{}, rank_(rank), rank_coordinate_{}, origin_{} {
  for (int length : global)
    if (length < 2 || length % 2 != 0)
      throw input_error("lattice " + to_string(global) + ": every extent must be even and at least 2");
  // Kept well below 2^31 blocks and faces, so that indices of sites fit where tables store 32 bits.
  if (static_cast<long double>(global[0]) * global[1] * global[2] * global[3] > 1.0e12L)
    throw input_error("lattice " + to_string(global) + " is absurdly large (more than 10^12 sites)");
  if (!divides_legally(global, grid))
    throw input_error("lattice " + to_string(global) + " on process grid " + to_string(grid) +
                      ": every local extent must be even and at least 2");
  if (rank < 0 || rank >= volume(grid))
    throw input_error("rank " + std::to_string(rank) + " is outside process grid " + to_string(grid));
  rank_coordinate_ = coordinate_of(rank, grid);
  for (int mu = 0; mu < dimensions; ++mu) {
    local_[mu] = global[mu] / grid[mu];
    origin_[mu] = local_[mu] * rank_coordinate_[mu];
  }
}

coordinate lattice_geometry::to_global(const coordinate& local) const {
  coordinate x{};
  for (int mu = 0; mu < dimensions; ++mu) x[mu] = (origin_[mu] + local[mu] + global_[mu]) % global_[mu];
  return x;
}

bool lattice_geometry::holds(const coordinate& global, coordinate& local) const {
  for (int mu = 0; mu < dimensions; ++mu) {
    local[mu] = global[mu] - origin_[mu];
    if (local[mu] < 0 || local[mu] >= local_[mu]) return false;
  }
  return true;
}

int lattice_geometry::neighbour_rank(int mu, int sign) const {
  coordinate c = rank_coordinate_;
  c[mu] = (c[mu] + sign + grid_[mu]) % grid_[mu];
  return static_cast<int>(lexicographic(c, grid_));
}

extents smallest_surface_grid(const extents& global, int ranks) {
  extents best{}, grid{};
  std::pair<std::int64_t, std::int64_t> least{std::numeric_limits<std::int64_t>::max(), 0};
  for (grid[0] = 1; grid[0] <= ranks; ++grid[0])
    for (grid[1] = 1; grid[0] * grid[1] <= ranks; ++grid[1])
      for (grid[2] = 1; grid[0] * grid[1] * grid[2] <= ranks; ++grid[2]) {
        grid[3] = ranks / (grid[0] * grid[1] * grid[2]);
        if (volume(grid) != ranks || !divides_legally(global, grid)) continue;
        if (const auto sites = surface(global, grid); sites < least) {
          least = sites;
          best = grid;
        }
      }
  if (volume(best) != ranks)
    throw input_error("no process grid of " + std::to_string(ranks) + " ranks cuts lattice " + to_string(global) +
                      " into boxes of even extents of at least 2");
  return best;
}

}  // namespace plaquette
