// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How sites are numbered and grouped on the device. A site is (parity, i): i is the checkerboard index
/// x/2 + X/2 (y + Y (z + Z t)) of its local coordinate. Sites i of a parity lie in blocks of 32, the last one padded.
#pragma once

#include <cstdint>

#include "common/algebra/complex.hpp"
#include "common/lattice/extents.hpp"

namespace plaquette::gpu {

/// Sites side by side in memory: as many as threads of a warp.
inline constexpr int lanes = 32;
/// Returns where site i of a parity lies.
PLAQUETTE_HOST_DEVICE constexpr std::int32_t block_of(std::int32_t i) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(i) / lanes);
}
PLAQUETTE_HOST_DEVICE constexpr std::int32_t lane_of(std::int32_t i) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(i) % lanes);
}

/// Division by a number that is known when the kernel is launched. (Granlund, Montgomery 1994: with k = ceil(log2 d)
/// and m = ceil(2^(31 + k) / d), n / d is m n >> (31 + k) for 0 <= n < 2^31, and m has 32 bits.)
struct divisor {
  std::int32_t value = 1;
  std::uint32_t multiplier = 1U << 31;
  int shift = 31;

  divisor() = default;
  explicit divisor(std::int32_t d) : value(d) {
    int bits = 0;
    while ((std::int64_t{1} << bits) < d) ++bits;
    shift = 31 + bits;
    multiplier = static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + static_cast<std::uint64_t>(d) - 1) /
                                            static_cast<std::uint64_t>(d));
  }
  /// Returns n / value, for 0 <= n < 2^31.
  PLAQUETTE_HOST_DEVICE std::int32_t quotient(std::int32_t n) const {
    return static_cast<std::int32_t>((static_cast<std::uint64_t>(n) * multiplier) >> shift);
  }
};

/// A site's local coordinate on the device.
struct site_coordinate {
  std::int32_t x[dimensions];
};

/// Numbers of sites are 32 bits wide: a rank has fewer than 2^31 sites of a parity.
struct site_order {
  std::int32_t length[dimensions] = {2, 2, 2, 2};  ///< local extents
  std::int32_t sites = 8;                          ///< of one parity
  divisor half_x, y, z;

  site_order() = default;
  explicit site_order(const extents& local)
      : length{local[0], local[1], local[2], local[3]},
        sites(static_cast<std::int32_t>(volume(local) / 2)),
        half_x(local[0] / 2),
        y(local[1]),
        z(local[2]) {}

  /// Returns the blocks of 32 sites of one parity, the padded one counted.
  PLAQUETTE_HOST_DEVICE std::int32_t blocks() const { return (sites + lanes - 1) / lanes; }

  PLAQUETTE_HOST_DEVICE std::int32_t index(const site_coordinate& at) const {
    return at.x[0] / 2 + half_x.value * (at.x[1] + length[1] * (at.x[2] + length[2] * at.x[3]));
  }
  std::int32_t index(const coordinate& at) const { return index(site_coordinate{{at[0], at[1], at[2], at[3]}}); }

  PLAQUETTE_HOST_DEVICE site_coordinate coordinate_of(int parity, std::int32_t i) const {
    const std::int32_t row = half_x.quotient(i), plane = y.quotient(row), t = z.quotient(plane);
    site_coordinate at{{0, row - plane * length[1], plane - t * length[2], t}};
    at.x[0] = 2 * (i - row * half_x.value) + ((at.x[1] + at.x[2] + at.x[3] + parity) & 1);
    return at;
  }

  /// Returns the neighbour's index i (its parity is the other one), one step along mu; sign is +1 or -1. Periodic in
  /// the box.
  PLAQUETTE_HOST_DEVICE std::int32_t neighbour(site_coordinate at, int mu, int sign) const {
    const std::int32_t moved = at.x[mu] + sign;
    at.x[mu] = moved < 0 ? length[mu] - 1 : moved == length[mu] ? 0 : moved;
    return index(at);
  }
  /// True if that step leaves the box.
  PLAQUETTE_HOST_DEVICE bool leaves(const site_coordinate& at, int mu, int sign) const {
    return sign > 0 ? at.x[mu] == length[mu] - 1 : at.x[mu] == 0;
  }
};

}  // namespace plaquette::gpu
