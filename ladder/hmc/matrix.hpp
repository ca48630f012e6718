// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Matrices of three rows and columns, as the formulas of molecular dynamics have them.
#pragma once

#include <array>
#include <complex>

namespace ladder::hmc {

using number = std::complex<double>;
using matrix = std::array<number, 9>;  ///< [row][column]

inline matrix operator*(const matrix& a, const matrix& b) {
  matrix c{};
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k)
      for (int j = 0; j < 3; ++j) c[3 * i + j] += a[3 * i + k] * b[3 * k + j];
  return c;
}
inline matrix adjoint(const matrix& a) {
  matrix c{};
  for (int i = 0; i < 9; ++i) c[i] = std::conj(a[3 * (i % 3) + i / 3]);
  return c;
}
/// a += factor b.
inline void add_to(matrix& a, double factor, const matrix& b) {
  for (int i = 0; i < 9; ++i) a[i] += factor * b[i];
}
inline double real_trace(const matrix& a) { return (a[0] + a[4] + a[8]).real(); }

/// Returns the traceless anti-Hermitian part: (a - a^+) / 2 less a third of its trace.
inline matrix traceless_antihermitian(const matrix& a) {
  matrix c{};
  add_to(c, 0.5, a), add_to(c, -0.5, adjoint(a));
  const number third = (c[0] + c[4] + c[8]) / 3.0;
  for (int i : {0, 4, 8}) c[i] -= third;
  return c;
}
/// Returns exp(step a), by its series: 24 terms are exact for the steps here.
inline matrix exponential(double step, const matrix& a) {
  const matrix one{1, 0, 0, 0, 1, 0, 0, 0, 1};
  matrix sum = one;
  for (int n = 24; n > 0; --n) {
    matrix next = one;
    add_to(next, step / n, a * sum);
    sum = next;
  }
  return sum;
}

}  // namespace ladder::hmc
