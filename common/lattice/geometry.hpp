// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The lattice and the part of it that one rank holds.
#pragma once

#include "common/lattice/extents.hpp"

namespace plaquette {

/// A periodic lattice cut into equal boxes, one a rank of a 4-D process grid. Ranks are numbered lexicographically, x
/// fastest. All local extents are even and at least 2, so a site's local parity is its global parity.
class lattice_geometry {
 public:
  /// \param global extents of the whole lattice
  /// \param grid   number of ranks in each direction
  /// \param rank   which of them this is
  /// Throws input_error where the grid does not divide the lattice into boxes of even extents of at least 2.
  explicit lattice_geometry(const extents& global, const extents& grid = {1, 1, 1, 1}, int rank = 0);

  const extents& global() const { return global_; }
  const extents& local() const { return local_; }
  const extents& grid() const { return grid_; }
  int rank() const { return rank_; }
  const coordinate& rank_coordinate() const { return rank_coordinate_; }

  std::int64_t global_volume() const { return volume(global_); }
  std::int64_t local_volume() const { return volume(local_); }

  /// Returns global coordinate of this rank's local site (0, 0, 0, 0).
  const coordinate& origin() const { return origin_; }
  /// Returns global coordinate of a local one; coordinates one step outside the box wrap around the lattice.
  coordinate to_global(const coordinate& local) const;
  /// True, and the local coordinate in `local`, where this rank holds the global site.
  bool holds(const coordinate& global, coordinate& local) const;
  /// Returns the lexicographic index of a local site given by its local coordinate, x fastest.
  std::int64_t local_index(const coordinate& local) const { return lexicographic(local, local_); }
  coordinate local_coordinate(std::int64_t index) const { return coordinate_of(index, local_); }
  /// Returns the lexicographic index, in the whole lattice, of a local coordinate (wrapping as `to_global` does).
  std::int64_t global_index(const coordinate& local) const { return lexicographic(to_global(local), global_); }

  /// Returns the rank one step along `mu`; sign is +1 or -1. Periodic.
  int neighbour_rank(int mu, int sign) const;
  /// True where direction `mu` is cut, so that its faces belong to other ranks.
  bool is_cut(int mu) const { return grid_[mu] > 1; }

  bool operator==(const lattice_geometry&) const = default;

 private:
  extents global_, grid_, local_;
  int rank_;
  coordinate rank_coordinate_, origin_;
};

/// Returns the grid of `ranks` boxes with the smallest surface (sites on cut faces, per rank). Among equals it is the
/// one with the most sites away from it, then the one that cuts t, then z, then y. Throws input_error where no legal
/// grid exists.
extents smallest_surface_grid(const extents& global, int ranks);

}  // namespace plaquette
