// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A coarse lattice of multigrid: one site an aggregate of the lattice below, cut into the same boxes of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/lattice/dirac_operator.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette {

/// The sites of a coarse lattice on this rank, their neighbours and the faces that ranks exchange. Extents may be odd,
/// and 1. Sites of even global parity come first, then the odd ones, each in lexicographic order, where every global
/// extent is even (`red_black`). Elsewhere sites are in lexicographic order, and all count as even.
class coarse_geometry {
 public:
  /// Throws input_error where the grid does not divide the lattice.
  coarse_geometry(const extents& global, const extents& grid, int rank);

  const extents& global() const { return global_; }
  const extents& local() const { return local_; }
  const extents& grid() const { return grid_; }
  int rank() const { return rank_; }
  const coordinate& origin() const { return origin_; }

  /// True where the lattice falls into even and odd sites without an edge inside either.
  bool red_black() const { return red_black_; }
  std::int64_t sites() const { return static_cast<std::int64_t>(lexicographic_of_.size()); }
  std::int64_t even_sites() const { return even_sites_; }
  /// Returns the sites of a parity, and the first of them.
  std::int64_t sites_of(int parity) const { return parity == 0 ? even_sites_ : sites() - even_sites_; }
  std::int64_t first_of(int parity) const { return parity == 0 ? 0 : even_sites_; }

  /// Returns the number of a site given by its local coordinate.
  std::int64_t site(const coordinate& local) const {
    return site_of_[static_cast<std::size_t>(lexicographic(local, local_))];
  }
  coordinate local_coordinate(std::int64_t site) const {
    return coordinate_of(lexicographic_of_[static_cast<std::size_t>(site)], local_);
  }
  int parity(std::int64_t site) const { return site < even_sites_ ? 0 : 1; }
  /// Returns the lexicographic index of a site in the whole lattice.
  std::int64_t global_index(std::int64_t site) const;

  /// Returns the site one hop away in direction d (2 mu forwards, 2 mu + 1 backwards); -1 - g where it is ghost g.
  std::int64_t neighbour(std::int64_t site, int d) const {
    return neighbours_[static_cast<std::size_t>(site * hop_directions + d)];
  }
  const std::vector<std::int32_t>& neighbours() const { return neighbours_; }
  /// Returns the sites of other ranks one hop away, all directions together. They are numbered face after face, even
  /// ones of a face before odd ones. A message of a face, or of one parity of it, fills numbers that follow each other.
  std::int64_t ghosts() const { return ghosts_; }

  /// What one direction of hops needs from another rank.
  struct face {
    int direction;                              ///< of the hop at the receiving site
    int send_to, receive_from;                  ///< ranks
    std::vector<std::int32_t> send[2];          ///< sites sent, by their parity
    std::vector<std::int32_t> receive_into[2];  ///< ghosts received, by their parity, in the sender's order
  };
  /// None where no direction is cut.
  const std::vector<face>& faces() const { return faces_; }

  bool operator==(const coarse_geometry& other) const {
    return global_ == other.global_ && grid_ == other.grid_ && rank_ == other.rank_;
  }

 private:
  int global_parity(const coordinate& local) const;
  void number_sites();
  void make_neighbours();

  extents global_, grid_, local_;
  int rank_;
  coordinate origin_;
  bool red_black_ = false;
  std::int64_t even_sites_ = 0, ghosts_ = 0;
  std::vector<std::int32_t> site_of_, lexicographic_of_, neighbours_;
  std::vector<face> faces_;
};

/// Returns the extents of a coarse lattice of `global` sites, of which a rank holds `local`. Throws input_error where
/// aggregates do not divide these.
extents coarse_extents(const extents& global, const extents& local, const extents& aggregate);
/// Returns the coarse lattice of aggregates of this shape. Throws input_error, naming the direction, where the shape
/// does not divide what a rank holds.
coarse_geometry coarsened(const lattice_geometry& fine, const extents& aggregate);
coarse_geometry coarsened(const coarse_geometry& fine, const extents& aggregate);

}  // namespace plaquette
