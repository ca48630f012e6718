// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Hermitian 6x6 matrices, as the site-diagonal block of the Wilson-clover matrix holds one a chirality; on host and
/// device.
#pragma once

#include "common/algebra/su3.hpp"

namespace plaquette {

/// Rows of the clover term within one chirality: (spin mod 2) * 3 + colour.
inline constexpr int chiral_rows = 2 * colours;

/// A Hermitian 6x6 matrix in 36 real numbers.
struct hermitian_6x6 {
  static constexpr int lower_size = chiral_rows * (chiral_rows - 1) / 2;
  double diagonal[chiral_rows]{};
  complex<double> lower[lower_size]{};  ///< strict lower triangle by rows: (1,0), (2,0), (2,1), (3,0), ...

  PLAQUETTE_HOST_DEVICE static constexpr int lower_index(int row, int column) { return row * (row - 1) / 2 + column; }
  /// Returns element (row, column), whichever triangle it lies in.
  PLAQUETTE_HOST_DEVICE constexpr complex<double> operator()(int row, int column) const {
    if (row == column) return {diagonal[row], 0.0};
    return row > column ? lower[lower_index(row, column)] : conj(lower[lower_index(column, row)]);
  }
};

/// Returns A B of matrices that commute, so that the product is Hermitian too.
PLAQUETTE_HOST_DEVICE constexpr hermitian_6x6 commuting_product(const hermitian_6x6& a, const hermitian_6x6& b) {
  hermitian_6x6 product;
  for (int i = 0; i < chiral_rows; ++i)
    for (int j = 0; j <= i; ++j) {
      complex<double> sum;
      for (int k = 0; k < chiral_rows; ++k) sum += a(i, k) * b(k, j);
      if (i == j)
        product.diagonal[i] = sum.re;
      else
        product.lower[hermitian_6x6::lower_index(i, j)] = sum;
    }
  return product;
}

/// Both chiralities of one site: block 0 acts on spins 0 and 1 (gamma_5 = +1), block 1 on spins 2 and 3.
struct clover_block {
  hermitian_6x6 chirality[2];
};

}  // namespace plaquette
