// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How many real numbers of a link are stored; the rest is rebuilt in registers (Clark et al., arXiv:0911.3191, section
/// 4). Twins of one kernel on each device take the same choice.
#pragma once

namespace plaquette {

enum class reconstruct : int {
  none = 18,    ///< the whole matrix
  twelve = 12,  ///< two rows; the third is the conjugate of their cross product
  eight = 8     ///< the eight parameters of SU(3)
};

/// Returns 18, 12 or 8.
constexpr int stored_reals(reconstruct r) { return static_cast<int>(r); }

}  // namespace plaquette
