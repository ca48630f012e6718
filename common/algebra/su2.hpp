// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// SU(2) subgroups of SU(3), on host and device. T is a real number, or a vector of them with the same operators.
#pragma once

#include "common/algebra/su3.hpp"

namespace plaquette {

/// r0 + i (r1 sigma_1 + r2 sigma_2 + r3 sigma_3); in SU(2) where r0^2 + r1^2 + r2^2 + r3^2 = 1.
template <class T>
struct quaternion {
  T r0{}, r1{}, r2{}, r3{};

  PLAQUETTE_HOST_DEVICE friend constexpr quaternion operator*(const quaternion& a, const quaternion& b) {
    return {a.r0 * b.r0 - a.r1 * b.r1 - a.r2 * b.r2 - a.r3 * b.r3,
            a.r0 * b.r1 + a.r1 * b.r0 - (a.r2 * b.r3 - a.r3 * b.r2),
            a.r0 * b.r2 + a.r2 * b.r0 - (a.r3 * b.r1 - a.r1 * b.r3),
            a.r0 * b.r3 + a.r3 * b.r0 - (a.r1 * b.r2 - a.r2 * b.r1)};
  }
};

template <class T>
PLAQUETTE_HOST_DEVICE constexpr quaternion<T> adjoint(const quaternion<T>& a) {
  return {a.r0, -a.r1, -a.r2, -a.r3};
}
template <class T>
PLAQUETTE_HOST_DEVICE constexpr T norm2(const quaternion<T>& a) {
  return a.r0 * a.r0 + a.r1 * a.r1 + a.r2 * a.r2 + a.r3 * a.r3;
}

/// The three SU(2) subgroups that mix two colours. (Cabibbo, Marinari 1982)
struct su2_subgroup {
  int i, j;
};
inline constexpr su2_subgroup su2_subgroups[] = {{0, 1}, {0, 2}, {1, 2}};

/// Returns the quaternion r with Re tr(g w) = Re tr(g r) + (what does not depend on g) for all g of the subgroup.
template <class T>
PLAQUETTE_HOST_DEVICE constexpr quaternion<T> projected(const su3<T>& w, su2_subgroup s) {
  const T half(0.5);
  return {half * (w(s.i, s.i).re + w(s.j, s.j).re), half * (w(s.i, s.j).im + w(s.j, s.i).im),
          half * (w(s.i, s.j).re - w(s.j, s.i).re), half * (w(s.i, s.i).im - w(s.j, s.j).im)};
}

/// Computes u = g u
template <class T>
PLAQUETTE_HOST_DEVICE constexpr void multiply_from_left(su3<T>& u, const quaternion<T>& g, su2_subgroup s) {
  const complex<T> ii{g.r0, g.r3}, ij{g.r2, g.r1}, ji{-g.r2, g.r1}, jj{g.r0, -g.r3};
  for (int c = 0; c < colours; ++c) {
    const complex<T> upper = u(s.i, c), lower = u(s.j, c);
    u(s.i, c) = ii * upper + ij * lower;
    u(s.j, c) = ji * upper + jj * lower;
  }
}

/// Makes (size2, cosine) = (1, 1) where size2 is zero. A vector of numbers brings its own.
PLAQUETTE_HOST_DEVICE constexpr void replace_zero(double& size2, double& cosine) {
  if (size2 == 0.0) size2 = cosine = 1.0;
}

/// Returns the g in SU(2) with g r = r^+: Re tr(g r) is what it was for g = 1. Where r = 0, g = 1.
template <class T>
PLAQUETTE_HOST_DEVICE constexpr quaternion<T> reflection(const quaternion<T>& r) {
  const T along = r.r0 * r.r0, across = r.r1 * r.r1 + r.r2 * r.r2 + r.r3 * r.r3, minus_two(-2.0);
  T size2 = along + across, cosine = along - across;
  replace_zero(size2, cosine);
  const T sine = minus_two * r.r0 / size2;
  return {cosine / size2, sine * r.r1, sine * r.r2, sine * r.r3};
}

}  // namespace plaquette
