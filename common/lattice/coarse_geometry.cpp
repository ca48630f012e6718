// SPDX-License-Identifier: BSD-3-Clause
#include "common/lattice/coarse_geometry.hpp"

#include <algorithm>

#include "common/error.hpp"

namespace plaquette {

extents coarse_extents(const extents& global, const extents& local, const extents& aggregate) {
  extents coarse{};
  for (int mu = 0; mu < dimensions; ++mu) {
    if (aggregate[mu] < 1 || local[mu] % aggregate[mu] != 0)
      throw input_error("aggregates of " + to_string(aggregate) + " sites do not divide the " + to_string(local) +
                        " sites of a rank: direction " + "xyzt"[mu] + " needs a divisor of " +
                        std::to_string(local[mu]));
    coarse[mu] = global[mu] / aggregate[mu];
  }
  return coarse;
}

coarse_geometry::coarse_geometry(const extents& global, const extents& grid, int rank)
    : global_(global), grid_(grid), local_{}, rank_(rank), origin_{} {
  const coordinate place = coordinate_of(rank, grid);
  for (int mu = 0; mu < dimensions; ++mu) {
    if (global[mu] < 1 || grid[mu] < 1 || global[mu] % grid[mu] != 0)
      throw input_error("coarse lattice " + to_string(global) + " cannot be cut by process grid " + to_string(grid));
    local_[mu] = global[mu] / grid[mu];
    origin_[mu] = place[mu] * local_[mu];
  }
  red_black_ = std::ranges::all_of(global, [](int length) { return length % 2 == 0; });
  number_sites();
  make_neighbours();
}

int coarse_geometry::global_parity(const coordinate& local) const {
  return red_black_ ? (plaquette::parity(local) + plaquette::parity(origin_)) & 1 : 0;
}

std::int64_t coarse_geometry::global_index(std::int64_t site) const {
  coordinate x = local_coordinate(site);
  for (int mu = 0; mu < dimensions; ++mu) x[mu] += origin_[mu];
  return lexicographic(x, global_);
}

void coarse_geometry::number_sites() {
  const std::int64_t count = volume(local_);
  site_of_.resize(static_cast<std::size_t>(count));
  for (int p = 0; p < 2; ++p) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (global_parity(coordinate_of(i, local_)) != p) continue;
      site_of_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(lexicographic_of_.size());
      lexicographic_of_.push_back(static_cast<std::int32_t>(i));
    }
    if (p == 0) even_sites_ = static_cast<std::int64_t>(lexicographic_of_.size());
  }
}

void coarse_geometry::make_neighbours() {
  neighbours_.resize(static_cast<std::size_t>(sites() * hop_directions));
  const auto set = [&](const coordinate& x, int d, std::int64_t to) {
    neighbours_[static_cast<std::size_t>(site(x) * hop_directions + d)] = static_cast<std::int32_t>(to);
  };
  for (int d = 0; d < hop_directions; ++d) {
    const int mu = d / 2, sign = d % 2 == 0 ? 1 : -1, length = local_[mu];
    const bool cut = grid_[mu] > 1;
    face f{d, 0, 0, {}, {}};
    if (cut) {
      coordinate above = coordinate_of(rank_, grid_), below = above;
      above[mu] = (above[mu] + sign + grid_[mu]) % grid_[mu];
      below[mu] = (below[mu] - sign + grid_[mu]) % grid_[mu];
      f.receive_from = static_cast<int>(lexicographic(above, grid_));
      f.send_to = static_cast<int>(lexicographic(below, grid_));
    }
    std::vector<coordinate> at_cut[2];  // by the parity of the ghost that the hop leads to
    for (std::int64_t i = 0; i < sites(); ++i) {
      const coordinate x = coordinate_of(i, local_);
      coordinate y = x;
      y[mu] += sign;
      if (y[mu] >= 0 && y[mu] < length) {
        set(x, d, site(y));
        continue;
      }
      y[mu] = (y[mu] + length) % length;
      if (!cut) {
        set(x, d, site(y));
        continue;
      }
      // y is now the site of this rank at the same place of the face as the neighbour's there: what is sent backwards
      // while the neighbour's comes in. Its parity differs from that of the ghost where boxes are of odd length.
      at_cut[red_black_ ? 1 - global_parity(x) : 0].push_back(x);
      f.send[global_parity(y)].push_back(static_cast<std::int32_t>(site(y)));
    }
    for (int p = 0; p < 2; ++p)
      for (const coordinate& x : at_cut[p]) {
        set(x, d, -1 - ghosts_);
        f.receive_into[p].push_back(static_cast<std::int32_t>(ghosts_++));
      }
    if (cut) faces_.push_back(std::move(f));
  }
}

coarse_geometry coarsened(const lattice_geometry& fine, const extents& aggregate) {
  return {coarse_extents(fine.global(), fine.local(), aggregate), fine.grid(), fine.rank()};
}

coarse_geometry coarsened(const coarse_geometry& fine, const extents& aggregate) {
  return {coarse_extents(fine.global(), fine.local(), aggregate), fine.grid(), fine.rank()};
}

}  // namespace plaquette
