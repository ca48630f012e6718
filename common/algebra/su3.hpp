// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// 3x3 complex matrices and colour vectors on host and device.
#pragma once

#include "common/algebra/complex.hpp"

namespace plaquette {

inline constexpr int colours = 3;

template <class T>
struct colour_vector {
  complex<T> c[colours]{};

  PLAQUETTE_HOST_DEVICE constexpr complex<T>& operator[](int i) { return c[i]; }
  PLAQUETTE_HOST_DEVICE constexpr const complex<T>& operator[](int i) const { return c[i]; }
  PLAQUETTE_HOST_DEVICE friend constexpr bool operator==(const colour_vector&, const colour_vector&) = default;
};

/// A 3x3 complex matrix, row-major: element (i, j) maps colour j to colour i. Named for its usual content; nothing
/// keeps it in the group.
template <class T>
struct su3 {
  complex<T> e[colours][colours]{};

  PLAQUETTE_HOST_DEVICE constexpr complex<T>& operator()(int i, int j) { return e[i][j]; }
  PLAQUETTE_HOST_DEVICE constexpr const complex<T>& operator()(int i, int j) const { return e[i][j]; }

  PLAQUETTE_HOST_DEVICE static constexpr su3 identity() {
    su3 u;
    for (int i = 0; i < colours; ++i) u(i, i) = {T(1), T(0)};
    return u;
  }

  PLAQUETTE_HOST_DEVICE constexpr su3& operator+=(const su3& b) {
    for (int i = 0; i < colours; ++i)
      for (int j = 0; j < colours; ++j) e[i][j] += b(i, j);
    return *this;
  }
  PLAQUETTE_HOST_DEVICE constexpr su3& operator-=(const su3& b) {
    for (int i = 0; i < colours; ++i)
      for (int j = 0; j < colours; ++j) e[i][j] -= b(i, j);
    return *this;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr su3 operator+(su3 a, const su3& b) { return a += b; }
  PLAQUETTE_HOST_DEVICE friend constexpr su3 operator-(su3 a, const su3& b) { return a -= b; }
  PLAQUETTE_HOST_DEVICE friend constexpr su3 operator*(const su3& a, const su3& b) {
    su3 r;
    for (int i = 0; i < colours; ++i)
      for (int j = 0; j < colours; ++j) r(i, j) = a(i, 0) * b(0, j) + a(i, 1) * b(1, j) + a(i, 2) * b(2, j);
    return r;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr su3 operator*(const complex<T>& s, su3 a) {
    for (int i = 0; i < colours; ++i)
      for (int j = 0; j < colours; ++j) a(i, j) = s * a(i, j);
    return a;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr su3 operator*(T s, su3 a) {
    for (int i = 0; i < colours; ++i)
      for (int j = 0; j < colours; ++j) a(i, j) = s * a(i, j);
    return a;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr colour_vector<T> operator*(const su3& a, const colour_vector<T>& v) {
    colour_vector<T> r;
    for (int i = 0; i < colours; ++i) r[i] = a(i, 0) * v[0] + a(i, 1) * v[1] + a(i, 2) * v[2];
    return r;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr bool operator==(const su3&, const su3&) = default;
};

template <class T>
PLAQUETTE_HOST_DEVICE constexpr su3<T> adjoint(const su3<T>& a) {
  su3<T> r;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) r(i, j) = conj(a(j, i));
  return r;
}

template <class T>
PLAQUETTE_HOST_DEVICE constexpr complex<T> trace(const su3<T>& a) {
  return a(0, 0) + a(1, 1) + a(2, 2);
}

template <class T>
PLAQUETTE_HOST_DEVICE constexpr complex<T> determinant(const su3<T>& a) {
  return a(0, 0) * (a(1, 1) * a(2, 2) - a(1, 2) * a(2, 1)) - a(0, 1) * (a(1, 0) * a(2, 2) - a(1, 2) * a(2, 0)) +
         a(0, 2) * (a(1, 0) * a(2, 1) - a(1, 1) * a(2, 0));
}

/// Computes the third row of a matrix in SU(3) from the first two: conj(row1 x row2).
template <class T>
PLAQUETTE_HOST_DEVICE constexpr void complete_third_row(su3<T>& u) {
  for (int j = 0; j < colours; ++j) {
    const int k = (j + 1) % colours, l = (j + 2) % colours;
    u(2, j) = conj(u(0, k) * u(1, l) - u(0, l) * u(1, k));
  }
}

/// Returns the largest absolute value of a real or imaginary part in U U^+ - 1 and of |det U - 1|; NaN where U holds
/// one.
template <class T>
PLAQUETTE_HOST_DEVICE constexpr T distance_from_su3(const su3<T>& u) {
  const su3<T> d = u * adjoint(u) - su3<T>::identity();
  T worst = 0;
  const auto look = [&](T v) {
    const T a = v < 0 ? -v : v;
    if (!(a <= worst)) worst = a;  // written so that a NaN is kept, once seen
  };
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) {
      look(d(i, j).re);
      look(d(i, j).im);
      if (worst != worst) return worst;
    }
  const complex<T> det = determinant(u);
  look(det.re - T(1));
  if (worst != worst) return worst;
  look(det.im);
  return worst;
}

/// Applies Gram-Schmidt to the first two rows, the third from them: the nearest such matrix in SU(3) for a U close to
/// it.
/// \param square_root  std::sqrt or the device's
template <class T, class SquareRoot>
PLAQUETTE_HOST_DEVICE constexpr su3<T> reunitarised(su3<T> u, SquareRoot&& square_root) {
  const auto normalise = [&](int i) {
    const T scale = T(1) / square_root(norm2(u(i, 0)) + norm2(u(i, 1)) + norm2(u(i, 2)));
    for (int j = 0; j < colours; ++j) u(i, j) = scale * u(i, j);
  };
  normalise(0);
  const complex<T> overlap = conj(u(0, 0)) * u(1, 0) + conj(u(0, 1)) * u(1, 1) + conj(u(0, 2)) * u(1, 2);
  for (int j = 0; j < colours; ++j) u(1, j) -= overlap * u(0, j);
  normalise(1);
  complete_third_row(u);
  return u;
}

}  // namespace plaquette
