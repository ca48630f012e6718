// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dirac spinors: 4 spins x 3 colours, on host and device.
#pragma once

#include "common/algebra/su3.hpp"

namespace plaquette {

inline constexpr int spins = 4;
/// Real numbers of a Dirac spinor.
inline constexpr int spinor_reals = 2 * spins * colours;

template <class T>
struct spinor {
  colour_vector<T> s[spins]{};

  PLAQUETTE_HOST_DEVICE constexpr complex<T>& operator()(int spin, int colour) { return s[spin][colour]; }
  PLAQUETTE_HOST_DEVICE constexpr const complex<T>& operator()(int spin, int colour) const { return s[spin][colour]; }
  PLAQUETTE_HOST_DEVICE constexpr colour_vector<T>& operator[](int spin) { return s[spin]; }
  PLAQUETTE_HOST_DEVICE constexpr const colour_vector<T>& operator[](int spin) const { return s[spin]; }

  PLAQUETTE_HOST_DEVICE constexpr spinor& operator+=(const spinor& b) {
    for (int a = 0; a < spins; ++a)
      for (int c = 0; c < colours; ++c) s[a][c] += b(a, c);
    return *this;
  }
  PLAQUETTE_HOST_DEVICE constexpr spinor& operator-=(const spinor& b) {
    for (int a = 0; a < spins; ++a)
      for (int c = 0; c < colours; ++c) s[a][c] -= b(a, c);
    return *this;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr spinor operator+(spinor a, const spinor& b) { return a += b; }
  PLAQUETTE_HOST_DEVICE friend constexpr spinor operator-(spinor a, const spinor& b) { return a -= b; }
  PLAQUETTE_HOST_DEVICE friend constexpr spinor operator*(T f, spinor a) {
    for (int i = 0; i < spins; ++i)
      for (int c = 0; c < colours; ++c) a(i, c) = f * a(i, c);
    return a;
  }
  PLAQUETTE_HOST_DEVICE friend constexpr spinor operator*(const complex<T>& f, spinor a) {
    for (int i = 0; i < spins; ++i)
      for (int c = 0; c < colours; ++c) a(i, c) = f * a(i, c);
    return a;
  }
  /// Applies a colour matrix to every spin.
  PLAQUETTE_HOST_DEVICE friend constexpr spinor operator*(const su3<T>& u, const spinor& a) {
    spinor r;
    for (int i = 0; i < spins; ++i) r[i] = u * a[i];
    return r;
  }
};

/// Returns <a, b>: the first argument conjugated.
template <class T>
PLAQUETTE_HOST_DEVICE constexpr complex<T> dot(const spinor<T>& a, const spinor<T>& b) {
  complex<T> sum;
  for (int i = 0; i < spins; ++i)
    for (int c = 0; c < colours; ++c) sum += conj(a(i, c)) * b(i, c);
  return sum;
}

template <class T>
PLAQUETTE_HOST_DEVICE constexpr T norm2(const spinor<T>& a) {
  return dot(a, a).re;
}

}  // namespace plaquette
