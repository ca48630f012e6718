// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How sites are grouped into blocks of W lanes, so that one instruction works on W sites.
///
/// A block is an orbit of a group G of W translations of the local torus, all of even length, so that a block has one
/// parity. If x + mu lies in the orbit of y, say x + mu = y + g, then for every h in G the neighbour of x + h is y + (g
/// + h). So the neighbour of a whole block is ONE block, its lanes permuted by the group element g. No gather, no
/// blend, no padding. The usual split of a direction into W / 2, say, equal parts is the special case of a cyclic G.
///
/// G exists for W = 8 on every lattice of even extents and for W = 16 where an extent is divisible by 4: with
/// L_mu = 2^a_mu times odd, the even elements of prod Z_{2^a_mu} are 2^(sum a - 1).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/lattice/geometry.hpp"
#include "cpu_ref/simd/kernels.hpp"

namespace plaquette::cpu {

/// A site within the blocks of its parity.
struct block_site {
  std::int32_t block;
  std::int32_t lane;
};

/// The part of a halo that one direction of hops needs, for output sites of one parity.
struct halo_face {
  int direction;                 ///< of the hop at the receiving site
  int send_to, receive_from;     ///< ranks
  std::vector<block_site> send;  ///< sites of the opposite parity whose half-spinors go out, in the receiver's order
  std::int64_t receive_count;    ///< number of half-spinors that come in
  std::int64_t receive_offset;   ///< where they begin among all that come in for this parity
};

/// The contents of one lane of a halo slot.
struct slot_lane {
  std::int64_t message;  ///< index among the half-spinors that come in, or -1
  block_site local;      ///< where message is -1: a site of this rank, of the opposite parity
};

/// Tables of one local lattice for one number of lanes.
class block_layout {
 public:
  /// \param width  lanes W, a power of two; throws std::invalid_argument if the lattice has no such group
  block_layout(const lattice_geometry& geometry, int width);

  /// Returns the largest power of two, at most `widest`, that the local lattice allows.
  static int possible_width(const lattice_geometry& geometry, int widest);

  const lattice_geometry& geometry() const { return geometry_; }
  int width() const { return width_; }
  /// Returns the blocks of one parity.
  std::int64_t blocks() const { return blocks_; }

  /// Returns the local lexicographic index of the site in a lane of a block.
  std::int64_t site(int parity, std::int64_t block, int lane) const {
    return sites_[parity][static_cast<std::size_t>(block * width_ + lane)];
  }
  /// Returns where a site lies; its parity is its coordinates'.
  block_site place(const coordinate& local) const {
    return places_[static_cast<std::size_t>(geometry_.local_index(local))];
  }

  /// For the 8 hops of each block of output parity p: [block][8] the neighbouring block of parity 1 - p, or -1 - slot
  /// where at least one lane's neighbour is another rank's.
  const std::int32_t* neighbours(int p) const { return neighbours_[p].data(); }
  /// Returns [block][8] the permutation (a group element, 0 the identity) from neighbour's lanes to the block's.
  const std::uint8_t* permutations(int p) const { return permutations_[p].data(); }
  /// Returns [element][W]: lane k of the output is lane table[element][k] of the neighbour.
  const std::vector<std::int32_t>& permutation_table() const { return table_; }

  /// For each block of output parity p the neighbours on this rank that none of the blocks walked shortly before it has
  /// touched. Number i for i from newly_needed_from(p)[block] to newly_needed_from(p)[block + 1].
  const std::vector<std::int32_t>& newly_needed(int p) const { return newly_needed_[p]; }
  const std::vector<std::int32_t>& newly_needed_from(int p) const { return newly_needed_from_[p]; }

  /// Returns the blocks without and with a slot among their 8 hops.
  const std::vector<std::int32_t>& interior(int p) const { return interior_[p]; }
  const std::vector<std::int32_t>& boundary(int p) const { return boundary_[p]; }
  bool has_halo() const { return !faces_[0].empty(); }
  /// At most 8 faces, in the order of directions.
  const std::vector<halo_face>& faces(int p) const { return faces_[p]; }
  /// Returns [slot][W] and the direction of each slot.
  const std::vector<slot_lane>& slot_lanes(int p) const { return slot_lanes_[p]; }
  const std::vector<int>& slot_directions(int p) const { return slot_directions_[p]; }
  std::int64_t incoming(int p) const { return incoming_[p]; }

 private:
  void make_group();
  void make_blocks();
  void make_neighbours(int p);
  void make_halo(int p);
  void find_newly_needed(int p);

  lattice_geometry geometry_;
  int width_;
  std::int64_t blocks_;
  std::vector<std::pair<int, int>> folds_;  ///< (direction, lanes along it)
  std::vector<coordinate> group_;           // element k as a translation
  std::vector<std::int32_t> table_;         // [g][h] -> index of g + h
  std::vector<std::int64_t> sites_[2];      // [block][lane]
  std::vector<block_site> places_;          // [site]
  std::vector<std::int32_t> neighbours_[2];
  std::vector<std::uint8_t> permutations_[2];
  std::vector<std::int32_t> newly_needed_[2], newly_needed_from_[2];
  std::vector<std::int32_t> interior_[2], boundary_[2];
  std::vector<halo_face> faces_[2];
  std::vector<slot_lane> slot_lanes_[2];
  std::vector<int> slot_directions_[2];
  std::int64_t incoming_[2] = {0, 0};
};

}  // namespace plaquette::cpu
