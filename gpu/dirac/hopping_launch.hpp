// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the hopping term is launched: data, chosen by a table or by the tuner. No choice changes a result.
#pragma once

#include <string>
#include <vector>

#include "common/algebra/reconstruct.hpp"
#include "common/lattice/extents.hpp"

namespace plaquette::gpu {

/// The properties of a problem that the choice depends on.
struct hopping_problem {
  extents local;
  int columns = 1;
  int number_bytes = 8;  ///< 8, 4, 2: double, single, half
  reconstruct stored = reconstruct::none;
  bool with_clover = false;
  std::size_t cache_bytes = 0;   ///< level 2
  int shared_bytes = 227 << 10;  ///< shared memory of a multiprocessor
  bool starts_early = true;      ///< a kernel may start before the one before has ended (compute capability 9.0)
  unsigned cut = 0;              ///< bit mu: neighbours along mu are other ranks, and tiles at the ends wait for them
};

enum class hopping_variant {
  gather = 1,  ///< a thread a site and column, each on its own: the one that also runs on the host
  tiles = 2,   ///< a thread a site; blocks are tiles of the lattice; all loads in flight
  batch = 3    ///< the same for several columns: the links of a tile are loaded once, to shared memory
};

struct hopping_launch {
  hopping_variant variant = hopping_variant::gather;
  /// Sites of a tile in x/2, y, z, t; that in z is a power of two. Extents need not be multiples.
  int tile[dimensions] = {1, 1, 1, 1};
  /// Tiles are gone through along y, along z in slabs of this number of tiles, along t, slab by slab. 0: all of z is
  /// one slab.
  int slab = 0;
  /// Links bypass the first-level cache, and output the second: for lattices that do not stay there.
  bool links_once = false, past_caches = false;
  /// Every other launch of the queue goes through the tiles backwards: it begins where the one before has ended, and
  /// finds that in the second-level cache.
  bool alternates = false;
  /// Of a batch: groups of threads that share the links of the tile and divide the columns; a power of two.
  int groups = 1;
  /// Blocks of a tile of a batch, each with its share of the columns. If there would be few blocks, the last ones are
  /// then shorter, and leave less of the machine without work.
  int parts = 1;
  /// Of a batch in groups, in half precision: links are made whole once, for all columns.
  bool whole_links = false;
  /// Starts while the kernel before ends, and fetches links meanwhile (programmatic dependent launch).
  bool dependent = false;

  /// Warps that registers leave room for on a multiprocessor: 16 (8 in double); of `tiles` in half precision with
  /// links_once also 20 in blocks of up to 128 threads, and without clover 24.
  int warps = 16;

  int sites() const { return tile[0] * tile[1] * tile[2] * tile[3]; }
  /// Returns the name in the tuner's file: "tiles 16.4.2.1 slab 0 once past dependent".
  std::string name() const;
  bool operator==(const hopping_launch&) const = default;
};

/// Returns " cut zt", for the tuner's file; empty if no direction is cut.
std::string text_of_cut(unsigned cut);

/// Returns the table's choice.
hopping_launch default_launch(const hopping_problem& problem);
/// Returns the number of columns whose choice is taken for this one. So a batch that loses its columns one after the
/// other during a solve is not tuned again each time.
constexpr int columns_tuned_for(int columns) {
  int tuned = 1;
  for (const int n : {2, 4, 8, 12, 16})
    if (n <= columns) tuned = n;
  return tuned;
}
/// Returns the launches that the tuner may try, the most promising first: that is the table's choice.
/// \param most a tuner tries
std::vector<hopping_launch> candidates(const hopping_problem& problem, int most = 64);

/// Returns the columns that a thread of the batch kernel has in registers.
constexpr int batch_columns_at_once(int number_bytes) { return number_bytes == 2 ? 2 : 1; }
/// Returns the most threads of a block of `tiles` and `batch`.
constexpr int most_threads(int number_bytes) { return number_bytes == 8 ? 128 : 256; }
/// A block's third dimension, where z, t and the groups are, has no more (CUDA C++ Programming Guide, technical
/// specifications).
constexpr int most_threads_in_z = 64;

}  // namespace plaquette::gpu
