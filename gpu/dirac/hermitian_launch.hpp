// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the Hermitian Wilson operator is launched: data, chosen by a table or by the tuner. No choice changes a result.
#pragma once

#include <string>
#include <vector>

#include "gpu/dirac/hopping_launch.hpp"

namespace plaquette::gpu {

/// Most threads of a block of the kernel with fewer registers.
inline constexpr int most_small_threads = 192;
/// Returns the most threads of a block of a batch in one group. One above most_threads is alone on its multiprocessor:
/// its tile is larger, so that a smaller part of the reads of a site lies outside. (In single precision that gains
/// nothing.)
constexpr int most_wide_threads(int number_bytes) { return number_bytes == 8 ? 192 : most_threads(number_bytes); }

/// A block of threads takes a tile of the lattice with both its parities. Two sites read a link, and nine read a
/// spinor. For most of them it is in the first-level cache.
struct hermitian_launch {
  bool gather = true;  ///< variant 1: a thread a site and column, the one that also runs on the host
  /// Sites of one parity of a tile in x/2, y, z, t; that in z is a power of two. Extents need not be multiples.
  int tile[dimensions] = {1, 1, 1, 1};
  /// Of one column: tiles along t that a block goes through one after the other. A spinor is then in the cache already
  /// if it is the neighbour in time.
  int steps = 1;
  /// Tiles of a slab along z. The order of tiles is along y, then z within the slab, then t, then the next slab. 0: all
  /// of z is one slab.
  int slab = 0;
  /// Of a batch: groups of threads that share the links of the tile and divide the columns; a power of two.
  int groups = 1;
  /// Of one column in double precision: a kernel with fewer registers, of which a multiprocessor holds 384 threads in
  /// place of 256.
  bool small = false;
  /// Of a batch: a block takes a tile of the share of the lattice that is its half's of the second-level cache
  /// (gpu/device/cache_halves.hpp).
  bool halves = false;
  /// See `hopping_launch`.
  bool past_caches = false, alternates = false, dependent = false;

  int positions() const { return tile[0] * tile[1] * tile[2] * tile[3]; }
  int threads() const { return 2 * positions() * groups; }
  /// Whether this is a batch's block that is alone on its multiprocessor.
  bool wide(int number_bytes) const { return steps == 1 && !small && threads() > most_threads(number_bytes); }
  /// Returns the name in the tuner's file: "12.4.2.1 steps 4 past turns dependent".
  std::string name() const;
  bool operator==(const hermitian_launch&) const = default;
};

/// Returns all launches with tiles that the problem allows, in the order in which candidates of equal rank stay. It may
/// be empty.
std::vector<hermitian_launch> possible_launches(const hopping_problem& problem);
/// Returns the launches that the tuner may try, the most promising first: that is the table's choice.
std::vector<hermitian_launch> hermitian_candidates(const hopping_problem& problem, int most = 24);

}  // namespace plaquette::gpu
