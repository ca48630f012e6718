// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The sites of one parity on a face of a rank's box, numbered: messages to a neighbour, and from one, lie in blocks of
/// 32 such sites.
#pragma once

#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

/// A face is where coordinate mu has one value, 0 or the last. Its sites of one parity have numbers that do not depend
/// on which of the two faces it is. A site and the one beyond the opposite face's end have the same number.
struct face_order {
  site_order box;

  /// Returns the sites of one parity on a face of direction mu.
  PLAQUETTE_HOST_DEVICE std::int32_t sites(int mu) const {
    // Not length[mu]: an index that is not known when the kernel is compiled would put the box into memory.
    const std::int32_t length = mu == 0   ? box.length[0]
                                : mu == 1 ? box.length[1]
                                : mu == 2 ? box.length[2]
                                          : box.length[3];
    return box.sites / length;
  }
  /// Returns the blocks of 32 of them, the padded one counted.
  PLAQUETTE_HOST_DEVICE std::int32_t blocks(int mu) const { return (sites(mu) + lanes - 1) / lanes; }

  /// Returns the number of a site: lexicographic in the coordinates but mu, in halves of the first of them.
  template <int mu>
  PLAQUETTE_HOST_DEVICE std::int32_t index(std::int32_t half_x, std::int32_t y, std::int32_t z, std::int32_t t) const {
    if constexpr (mu == 0) return (y + box.length[1] * (z + box.length[2] * t)) / 2;
    if constexpr (mu == 1) return half_x + box.half_x.value * (z + box.length[2] * t);
    if constexpr (mu == 2) return half_x + box.half_x.value * (y + box.length[1] * t);
    return half_x + box.half_x.value * (y + box.length[1] * z);
  }

  /// Returns the inverse: the coordinates of the site of this number and parity where coordinate mu is `at`.
  PLAQUETTE_HOST_DEVICE site_coordinate coordinate_of(int mu, std::int32_t at, int parity, std::int32_t f) const {
    const std::int32_t* const length = box.length;
    if (mu == 0) {
      const std::int32_t yz = 2 * f, row = box.y.quotient(yz), t = box.z.quotient(row);
      site_coordinate x{{at, yz - row * length[1], row - t * length[2], t}};
      x.x[1] += (at + x.x[1] + x.x[2] + x.x[3] + parity) & 1;
      return x;
    }
    const std::int32_t row = box.half_x.quotient(f), half_x = f - row * box.half_x.value;
    site_coordinate x{};
    if (mu == 1) {
      const std::int32_t t = box.z.quotient(row);
      x = {{0, at, row - t * length[2], t}};
    } else {
      const std::int32_t above = box.y.quotient(row), y = row - above * length[1];
      x = mu == 2 ? site_coordinate{{0, y, at, above}} : site_coordinate{{0, y, above, at}};
    }
    x.x[0] = 2 * half_x + ((x.x[1] + x.x[2] + x.x[3] + parity) & 1);
    return x;
  }
};

}  // namespace plaquette::gpu
