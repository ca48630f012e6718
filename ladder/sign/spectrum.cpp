// SPDX-License-Identifier: BSD-3-Clause
#include "ladder/sign/spectrum.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace ladder::sign {

spectrum diagonalise(const std::vector<std::complex<double>>& matrix) {
  const long n = std::lround(std::sqrt(double(matrix.size())));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXcd> solver(Eigen::Map<const Eigen::MatrixXcd>(matrix.data(), n, n));
  spectrum s;
  for (long k = 0; k < n; ++k) {
    s.values.push_back(solver.eigenvalues()[k]);
    const std::complex<double>* first = &solver.eigenvectors()(0, k);
    s.vectors.emplace_back(first, first + n);
  }
  return s;
}

}  // namespace ladder::sign
