// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Eigenvalues and eigenvectors of a dense Hermitian matrix.
#pragma once

#include <complex>
#include <vector>

namespace ladder::sign {

struct spectrum {
  std::vector<double> values;                              ///< ascending
  std::vector<std::vector<std::complex<double>>> vectors;  ///< orthonormal
};

/// \param matrix  n columns of n numbers
spectrum diagonalise(const std::vector<std::complex<double>>& matrix);

}  // namespace ladder::sign
