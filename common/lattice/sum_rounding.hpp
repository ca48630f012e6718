// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How far two sums over a lattice may differ that add the same terms in different orders.
#pragma once

#include <cmath>

#include "common/lattice/extents.hpp"

namespace plaquette {

/// Bounds |s - s'| / s of two sums in double of one positive number a site. The canonical order adds the sites of a row
/// along x, then the rows one by one; every other order here adds fewer partial sums in a row. The sum of n equal terms
/// added one by one errs by 0.24 u sqrt(n) of itself (standard deviation; u = 2^-53; each addition errs by up to u of
/// the partial sum, 0.41 u on average). The bound is eight of these, and a few u for the terms themselves.
inline double sum_rounding(const extents& lattice) {
  const double rows = static_cast<double>(volume(lattice)) / lattice[0];
  return 0x1p-53 * (4.0 + 2.0 * std::sqrt(rows + lattice[0]));
}

}  // namespace plaquette
