// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Complex numbers, spinors, and matrices of three rows and columns, as the formulas of forces have them.
#pragma once

#include "ladder/device.hpp"
#include "ladder/dirac-cpu/half_spinor.hpp"

namespace ladder::force {

using complex = dirac::complex<double>;
using vector = complex[3];  ///< one spin of a spinor
struct spinor {
  dirac::spinor<double> spin;
};

LADDER_BOTH inline complex conj(const complex& a) { return {a.re, -a.im}; }
LADDER_BOTH inline complex operator*(double a, const complex& b) { return {a * b.re, a * b.im}; }
LADDER_BOTH inline complex operator+(const complex& a, const complex& b) { return {a.re + b.re, a.im + b.im}; }
LADDER_BOTH inline complex operator-(const complex& a, const complex& b) { return {a.re - b.re, a.im - b.im}; }
LADDER_BOTH inline complex operator*(const complex& a, const complex& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

struct matrix {
  complex at[3][3];  ///< [row][column]
};

/// Returns the matrix of the numbers f(row, column).
template <class F>
LADDER_BOTH matrix matrix_of(const F& f) {
  matrix c;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) c.at[i][j] = f(i, j);
  return c;
}
LADDER_BOTH inline matrix operator*(const matrix& a, const matrix& b) {
  return matrix_of([&](int i, int j) {
    complex sum = a.at[i][0] * b.at[0][j];
    dirac::add_product(sum, a.at[i][1], b.at[1][j]);
    dirac::add_product(sum, a.at[i][2], b.at[2][j]);
    return sum;
  });
}
LADDER_BOTH inline matrix operator*(const complex& a, const matrix& b) {
  return matrix_of([&](int i, int j) { return a * b.at[i][j]; });
}
LADDER_BOTH inline matrix operator*(double a, const matrix& b) {
  return matrix_of([&](int i, int j) { return a * b.at[i][j]; });
}
LADDER_BOTH inline matrix operator+(const matrix& a, const matrix& b) {
  return matrix_of([&](int i, int j) { return a.at[i][j] + b.at[i][j]; });
}
LADDER_BOTH inline matrix operator-(const matrix& a, const matrix& b) {
  return matrix_of([&](int i, int j) { return a.at[i][j] - b.at[i][j]; });
}
LADDER_BOTH inline matrix adjoint(const matrix& a) {
  return matrix_of([&](int i, int j) { return conj(a.at[j][i]); });
}
/// sum += a b^+.
LADDER_BOTH inline void add_outer_product(matrix& sum, const vector& a, const vector& b) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) dirac::add_product(sum.at[i][j], a[i], conj(b[j]));
}
/// Returns the traceless anti-Hermitian part: (a - a^+) / 2 less a third of its trace.
LADDER_BOTH inline matrix traceless_antihermitian(const matrix& a) {
  matrix c = 0.5 * (a - adjoint(a));
  const double third = (c.at[0][0].im + c.at[1][1].im + c.at[2][2].im) / 3;
  for (int i = 0; i < 3; ++i) c.at[i][i].im -= third;
  return c;
}

}  // namespace ladder::force
