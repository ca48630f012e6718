// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The inverse of a Hermitian 6x6 matrix in the registers of one thread: of a positive one, and of any.
#pragma once

#include <limits>

#include "common/algebra/hermitian_6x6.hpp"

/// On the host the loops stay loops: unrolled they take the compiler minutes, and gain nothing.
#ifdef __CUDACC__
#define PLAQUETTE_UNROLL_ON_DEVICE _Pragma("unroll")
#else
#define PLAQUETTE_UNROLL_ON_DEVICE
#endif

namespace plaquette::gpu {

/// Replaces a positive matrix by its inverse: six sweeps of the lower triangle (Beaton 1964), half the products of an
/// elimination, and no pivots to look for. Returns false if the matrix is not positive (a pivot below 6 epsilon times
/// the largest, or NaN); it is spoilt then.
PLAQUETTE_HOST_DEVICE inline bool invert_positive(hermitian_6x6& a) {
  constexpr int n = chiral_rows;
  constexpr double threshold = n * std::numeric_limits<double>::epsilon();
  const auto at = [](int i, int j) { return i > j ? hermitian_6x6::lower_index(i, j) : 0; };
  double largest = 0.0;
  bool positive = true;
  PLAQUETTE_UNROLL_ON_DEVICE
  for (int k = 0; k < n; ++k) {
    const double pivot = a.diagonal[k];
    largest = pivot > largest ? pivot : largest;
    positive = positive && pivot > threshold * largest;
    const double inverse = 1.0 / pivot;
    complex<double> column[n], scaled[n];  // a_ik, i not k
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      column[i] = i > k ? a.lower[at(i, k)] : conj(a.lower[at(k, i)]);
      scaled[i] = inverse * column[i];
    }
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      a.diagonal[i] -= inverse * norm2(column[i]);
      PLAQUETTE_UNROLL_ON_DEVICE
      for (int j = 0; j < n; ++j)
        if (j < i && j != k) a.lower[at(i, j)] -= scaled[i] * conj(column[j]);
      if (i > k)
        a.lower[at(i, k)] = scaled[i];
      else
        a.lower[at(k, i)] = conj(scaled[i]);
    }
    a.diagonal[k] = -inverse;
  }
  PLAQUETTE_UNROLL_ON_DEVICE
  for (int k = 0; k < n; ++k) a.diagonal[k] = -a.diagonal[k];
  PLAQUETTE_UNROLL_ON_DEVICE
  for (int k = 0; k < hermitian_6x6::lower_size; ++k) a.lower[k] = -a.lower[k];
  return positive;
}

/// Gauss-Jordan elimination in place, with the largest remaining number as pivot. Whatever is indexed is known when it
/// is compiled: rows and columns change places by comparing every index with the pivot's.
class gauss_jordan_6x6 {
 public:
  PLAQUETTE_HOST_DEVICE explicit gauss_jordan_6x6(const hermitian_6x6& block) {
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int i = 0; i < n; ++i) PLAQUETTE_UNROLL_ON_DEVICE
    for (int j = 0; j < n; ++j) a_[i][j] = block(i, j);
  }

  /// Returns false if a pivot is below 6 epsilon times the largest one, and for NaN: the matrix has no inverse.
  PLAQUETTE_HOST_DEVICE bool invert() {
    constexpr double threshold = n * std::numeric_limits<double>::epsilon();
    double largest = 0.0;
    bool regular = true;
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int k = 0; k < n; ++k) {
      const double pivot = bring_pivot(k);
      largest = pivot > largest ? pivot : largest;
      regular = regular && pivot > threshold * threshold * largest;
      eliminate(k);
    }
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int k = n - 1; k >= 0; --k) {
      swap_rows(k, column_of_pivot_[k]);
      swap_columns(k, row_of_pivot_[k]);
    }
    return regular;
  }

  /// Returns the Hermitian part: rounding has left a little of the other.
  PLAQUETTE_HOST_DEVICE hermitian_6x6 result() const {
    hermitian_6x6 block;
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int i = 0; i < n; ++i) {
      block.diagonal[i] = a_[i][i].re;
      PLAQUETTE_UNROLL_ON_DEVICE
      for (int j = 0; j < n; ++j)
        if (j < i) block.lower[hermitian_6x6::lower_index(i, j)] = 0.5 * (a_[i][j] + conj(a_[j][i]));
    }
    return block;
  }

 private:
  static constexpr int n = chiral_rows;

  PLAQUETTE_HOST_DEVICE static void swap_if(bool condition, complex<double>& x, complex<double>& y) {
    const complex<double> old = x;
    x.re = condition ? y.re : x.re;
    x.im = condition ? y.im : x.im;
    y.re = condition ? old.re : y.re;
    y.im = condition ? old.im : y.im;
  }
  /// Swaps rows k and r; r is at least k.
  PLAQUETTE_HOST_DEVICE void swap_rows(int k, int r) {
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int i = 0; i < n; ++i)
      if (i > k) PLAQUETTE_UNROLL_ON_DEVICE
    for (int j = 0; j < n; ++j) swap_if(i == r, a_[k][j], a_[i][j]);
  }
  PLAQUETTE_HOST_DEVICE void swap_columns(int k, int c) {
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int j = 0; j < n; ++j)
      if (j > k) PLAQUETTE_UNROLL_ON_DEVICE
    for (int i = 0; i < n; ++i) swap_if(j == c, a_[i][k], a_[i][j]);
  }
  /// Brings the largest remaining |a_ij|^2 to (k, k), and returns it.
  PLAQUETTE_HOST_DEVICE double bring_pivot(int k) {
    double largest = -1.0;
    int row = k, column = k;
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int i = 0; i < n; ++i) PLAQUETTE_UNROLL_ON_DEVICE
    for (int j = 0; j < n; ++j)
      if (i >= k && j >= k) {
        const double size = norm2(a_[i][j]);
        const bool better = size > largest;
        largest = better ? size : largest;
        row = better ? i : row;
        column = better ? j : column;
      }
    swap_rows(k, row);
    swap_columns(k, column);
    row_of_pivot_[k] = row;
    column_of_pivot_[k] = column;
    return largest;
  }
  PLAQUETTE_HOST_DEVICE void eliminate(int k) {
    const double scale = 1.0 / norm2(a_[k][k]);
    const complex<double> inverse = scale * conj(a_[k][k]);
    a_[k][k] = {1.0, 0.0};
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int j = 0; j < n; ++j) a_[k][j] = inverse * a_[k][j];
    PLAQUETTE_UNROLL_ON_DEVICE
    for (int i = 0; i < n; ++i)
      if (i != k) {
        const complex<double> factor = a_[i][k];
        a_[i][k] = {0.0, 0.0};
        PLAQUETTE_UNROLL_ON_DEVICE
        for (int j = 0; j < n; ++j) a_[i][j] -= factor * a_[k][j];
      }
  }

  complex<double> a_[n][n];
  int row_of_pivot_[n], column_of_pivot_[n];
};

}  // namespace plaquette::gpu

#undef PLAQUETTE_UNROLL_ON_DEVICE
