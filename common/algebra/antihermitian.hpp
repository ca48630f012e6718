// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Anti-Hermitian 3x3 matrices as nine real numbers, on host and device. A unitary matrix carries one for 144 fused
/// multiplications, where two products of full matrices take 216.
#pragma once

#include "common/algebra/su3.hpp"

namespace plaquette {

/// An anti-Hermitian matrix. It may have a trace.
struct antihermitian {
  double diagonal[colours]{};        ///< imaginary parts
  complex<double> lower[colours]{};  ///< numbers (1, 0), (2, 0), (2, 1)

  PLAQUETTE_HOST_DEVICE constexpr complex<double> operator()(int i, int j) const {
    if (i == j) return {0.0, diagonal[i]};
    const complex<double>& z = lower[i + j - 1];
    return i > j ? z : complex<double>{-z.re, z.im};
  }
  PLAQUETTE_HOST_DEVICE constexpr antihermitian& operator+=(const antihermitian& b) {
    for (int k = 0; k < colours; ++k) {
      diagonal[k] += b.diagonal[k];
      lower[k] += b.lower[k];
    }
    return *this;
  }
  PLAQUETTE_HOST_DEVICE constexpr antihermitian& operator-=(const antihermitian& b) {
    for (int k = 0; k < colours; ++k) {
      diagonal[k] -= b.diagonal[k];
      lower[k] -= b.lower[k];
    }
    return *this;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr antihermitian operator+(antihermitian a, const antihermitian& b) {
    return a += b;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr antihermitian operator-(antihermitian a, const antihermitian& b) {
    return a -= b;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr antihermitian operator*(double factor, antihermitian a) {
    for (int k = 0; k < colours; ++k) {
      a.diagonal[k] *= factor;
      a.lower[k] = factor * a.lower[k];
    }
    return a;
  }
};

/// Returns the matrix that the lower triangle of an anti-Hermitian one stands for; the upper one is not read.
PLAQUETTE_HOST_DEVICE constexpr antihermitian antihermitian_of_lower(const su3<double>& a) {
  return {{a(0, 0).im, a(1, 1).im, a(2, 2).im}, {a(1, 0), a(2, 0), a(2, 1)}};
}
PLAQUETTE_HOST_DEVICE constexpr su3<double> full_matrix(const antihermitian& a) {
  su3<double> m;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) m(i, j) = a(i, j);
  return m;
}
/// Returns a without its trace.
PLAQUETTE_HOST_DEVICE constexpr antihermitian traceless(antihermitian a) {
  const double third = (a.diagonal[0] + a.diagonal[1] + a.diagonal[2]) / 3.0;
  for (double& d : a.diagonal) d -= third;
  return a;
}

/// Returns (m - m^+) / 2 of a matrix given by its numbers m(i, j).
template <class Matrix>
PLAQUETTE_HOST_DEVICE constexpr antihermitian antihermitian_part(const Matrix& m) {
  antihermitian a;
  for (int i = 0; i < colours; ++i) a.diagonal[i] = m(i, i).im;
  a.lower[0] = 0.5 * (m(1, 0) - conj(m(0, 1)));
  a.lower[1] = 0.5 * (m(2, 0) - conj(m(0, 2)));
  a.lower[2] = 0.5 * (m(2, 1) - conj(m(1, 2)));
  return a;
}
/// Returns the anti-Hermitian part of a b. The product is not made as a whole.
template <class A, class B>
PLAQUETTE_HOST_DEVICE constexpr antihermitian antihermitian_part_of_product(const A& a, const B& b) {
  return antihermitian_part([&](int i, int j) { return a(i, 0) * b(0, j) + a(i, 1) * b(1, j) + a(i, 2) * b(2, j); });
}
/// Returns [a, b] / 2: b a is the adjoint of a b.
PLAQUETTE_HOST_DEVICE constexpr antihermitian half_commutator(const antihermitian& a, const antihermitian& b) {
  return antihermitian_part_of_product(a, b);
}

/// Returns u z u^+.
PLAQUETTE_HOST_DEVICE constexpr antihermitian carried(const su3<double>& u, const antihermitian& z) {
  su3<double> product;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) product(i, j) = u(i, 0) * z(0, j) + u(i, 1) * z(1, j) + u(i, 2) * z(2, j);
  const auto number = [&](int i, int j) {
    return product(i, 0) * conj(u(j, 0)) + product(i, 1) * conj(u(j, 1)) + product(i, 2) * conj(u(j, 2));
  };
  antihermitian result;
  for (int i = 0; i < colours; ++i) result.diagonal[i] = number(i, i).im;
  result.lower[0] = number(1, 0);
  result.lower[1] = number(2, 0);
  result.lower[2] = number(2, 1);
  return result;
}

}  // namespace plaquette
