// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dense matrices of complex numbers, for first rungs: products and an inverse, as a page of linear algebra has them.
#pragma once

#include <cmath>
#include <complex>
#include <utility>
#include <vector>

namespace ladder::dense {

using number = std::complex<double>;
using vector = std::vector<number>;

struct matrix {
  std::size_t rows = 0;
  std::vector<vector> columns;

  /// Returns A x.
  vector operator*(const vector& x) const {
    vector y(rows);
    for (std::size_t j = 0; j < columns.size(); ++j)
      for (std::size_t i = 0; i < rows; ++i) y[i] += columns[j][i] * x[j];
    return y;
  }
  /// Returns A^+ x.
  vector adjoint_times(const vector& x) const {
    vector y(columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j)
      for (std::size_t i = 0; i < rows; ++i) y[j] += std::conj(columns[j][i]) * x[i];
    return y;
  }
};

/// Returns the matrix of a linear map: its columns are the images of unit vectors.
template <class Map>
matrix matrix_of(const Map& map, std::size_t columns) {
  matrix m;
  vector unit(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    unit[j] = 1;
    m.columns.push_back(map(unit));
    unit[j] = 0;
  }
  m.rows = m.columns[0].size();
  return m;
}

/// Returns A^-1 of a square matrix: Gauss and Jordan's elimination by columns, with pivots.
inline matrix inverse(matrix a) {
  const std::size_t n = a.rows;
  matrix b = matrix_of([](const vector& x) { return x; }, n);
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t j = k; j < n; ++j)
      if (std::norm(a.columns[j][k]) > std::norm(a.columns[pivot][k])) pivot = j;
    std::swap(a.columns[k], a.columns[pivot]), std::swap(b.columns[k], b.columns[pivot]);
    const number scale = 1.0 / a.columns[k][k];
    for (std::size_t i = 0; i < n; ++i) a.columns[k][i] *= scale, b.columns[k][i] *= scale;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == k) continue;
      const number factor = a.columns[j][k];
      for (std::size_t i = 0; i < n; ++i) {
        a.columns[j][i] -= factor * a.columns[k][i];
        b.columns[j][i] -= factor * b.columns[k][i];
      }
    }
  }
  return b;
}

}  // namespace ladder::dense
