// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sites of the whole lattice as kernels over it number and name them.
#pragma once

#include <cstdint>

#include "common/lattice/geometry.hpp"
#include "gpu/device/unroll.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

/// A site as the device numbers it.
struct site_number {
  int parity;
  std::int32_t index;
};

/// Returns the site of number n of a loop over the whole lattice: first the even sites, then the odd ones.
PLAQUETTE_HOST_DEVICE inline site_number site_of_loop(const site_order& order, std::int64_t n) {
  const bool odd = n >= order.sites;
  return {odd ? 1 : 0, static_cast<std::int32_t>(odd ? n - order.sites : n)};
}

/// A site of a column of a batch.
struct batch_site {
  std::int32_t part, index;
  int column;
};

/// Numbers the sites of all columns so that the columns of 32 sites follow each other: links that they share are near.
struct batch_order {
  std::int32_t sites, blocks, parts;  ///< of one part; parts
  divisor columns;

  batch_order(const site_order& order, int parts_, int columns_)
      : sites(order.sites), blocks(order.blocks()), parts(parts_), columns(columns_) {}
  /// Returns indices of a loop, with the padding.
  std::int64_t count() const { return std::int64_t{lanes} * blocks * parts * columns.value; }
  PLAQUETTE_HOST_DEVICE batch_site site(std::int64_t n) const {
    const auto column_of_block = static_cast<std::int32_t>(n / lanes);
    const std::int32_t block = columns.quotient(column_of_block), part = block >= blocks ? 1 : 0;
    return {part, (block - part * blocks) * lanes + static_cast<std::int32_t>(n % lanes),
            column_of_block - block * columns.value};
  }
  PLAQUETTE_HOST_DEVICE bool is_padding(const batch_site& s) const { return s.index >= sites; }
};

/// Returns `site_order::neighbour` for a direction that is not known when the kernel is compiled: x[mu] would put x
/// into memory.
PLAQUETTE_HOST_DEVICE inline site_coordinate moved(const site_order& order, site_coordinate at, int mu, int steps) {
  PLAQUETTE_GPU_UNROLL
  for (int k = 0; k < dimensions; ++k) {
    const std::int32_t to = at.x[k] + (k == mu ? steps : 0);
    at.x[k] = to < 0 ? to + order.length[k] : to >= order.length[k] ? to - order.length[k] : to;
  }
  return at;
}

/// From a local coordinate to the one in the whole lattice, for random numbers, which depend on the latter.
struct global_order {
  std::int32_t origin[dimensions];
  std::int32_t length[dimensions];

  explicit global_order(const lattice_geometry& geometry) {
    for (int mu = 0; mu < dimensions; ++mu) {
      origin[mu] = geometry.origin()[mu];
      length[mu] = geometry.global()[mu];
    }
  }
  PLAQUETTE_HOST_DEVICE site_coordinate coordinate_of(const site_coordinate& local) const {
    return {{origin[0] + local.x[0], origin[1] + local.x[1], origin[2] + local.x[2], origin[3] + local.x[3]}};
  }
  /// Returns the lexicographic, x fastest: `lattice_geometry::global_index`.
  PLAQUETTE_HOST_DEVICE std::uint64_t index(const site_coordinate& local) const {
    const site_coordinate at = coordinate_of(local);
    std::uint64_t index = static_cast<std::uint64_t>(at.x[3]);
    PLAQUETTE_GPU_UNROLL
    for (int mu = 2; mu >= 0; --mu)
      index = index * static_cast<std::uint64_t>(length[mu]) + static_cast<std::uint64_t>(at.x[mu]);
    return index;
  }
};

}  // namespace plaquette::gpu
