// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The sum of the nine products of a site, which the threads of a block have left in the memory that they share.
#pragma once

#include "ladder/coarse-gpu/problem.hpp"

namespace ladder::coarse_gpu {

/// W numbers of a column of a matrix, moved by one instruction.
template <int W>
struct alignas(W * sizeof(number)) group {
  number z[W];
};

/// Adds the nine products of a row and column of the batch, and stores the result.
LADDER_BOTH inline void add_nine(const arrays& of, int site, int batch, int row,
                                 const number (&products)[matrices][columns][n]) {
  number sum{};
  for (int k = 0; k < matrices; ++k) sum = dirac::add_rotated<0>(sum, products[k][batch][row]);
  of.result(batch, site, row) = sum;
}

}  // namespace ladder::coarse_gpu
