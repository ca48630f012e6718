// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exponentials of the algebra su(3), on host and device: by a closed form for smearing and flow, by a recurrence for
/// links that move.
#pragma once

#include <cmath>

#include "common/algebra/su3.hpp"

namespace plaquette {

/// Returns exp(i Q) for a Hermitian, traceless Q: f_0 + f_1 Q + f_2 Q^2 by Cayley and Hamilton. (Morningstar, Peardon,
/// hep-lat/0311018, equations 19 to 35)
PLAQUETTE_HOST_DEVICE inline su3<double> exponential_of_i_times(const su3<double>& q) {
  const su3<double> q2 = q * q;
  const double c1 = 0.5 * trace(q2).re;
  if (!(c1 > 1e-6)) {  // the series: what it leaves out is below |Q|^7 / 5040; a NaN stays one
    su3<double> e = su3<double>::identity();
    for (int k = 6; k >= 1; --k) e = su3<double>::identity() + complex<double>{0.0, 1.0 / k} * (q * e);
    return e;
  }
  const double c0 = determinant(q).re, size = sqrt(c1 / 3.0), largest = 2.0 * size * size * size;
  const double ratio = fabs(c0) / largest, theta = acos(ratio < 1.0 ? ratio : 1.0) / 3.0;
  const double u = size * cos(theta), w = sqrt(c1) * sin(theta), u2 = u * u, w2 = w * w;
  const double xi = w > 0.05 ? sin(w) / w : 1.0 - w2 / 6.0 * (1.0 - w2 / 20.0 * (1.0 - w2 / 42.0));  // sin w / w
  const double cos_w = cos(w), denominator = 1.0 / (9.0 * u2 - w2);
  const complex<double> once{cos(u), -sin(u)};  // e^{-iu}
  const complex<double> twice = conj(once * once);
  const complex<double> h0 =
      (u2 - w2) * twice + once * complex<double>{8.0 * u2 * cos_w, 2.0 * u * (3.0 * u2 + w2) * xi};
  const complex<double> h1 = 2.0 * u * twice - once * complex<double>{2.0 * u * cos_w, -(3.0 * u2 - w2) * xi};
  const complex<double> h2 = twice - once * complex<double>{cos_w, 3.0 * u * xi};
  complex<double> f0 = denominator * h0, f1 = denominator * h1, f2 = denominator * h2;
  if (c0 < 0.0) {  // f_j(-c_0) = (-1)^j conj(f_j(c_0))
    f0 = conj(f0);
    f1 = -conj(f1);
    f2 = conj(f2);
  }
  su3<double> e = f1 * q + f2 * q2;
  for (int i = 0; i < colours; ++i) e(i, i) += f0;
  return e;
}

/// Returns c + a b. Sums of products that must have the same bits everywhere are written with std::fma: no compiler
/// changes them.
PLAQUETTE_HOST_DEVICE inline complex<double> fused(const complex<double>& a, const complex<double>& b,
                                                   const complex<double>& c) {
  return {std::fma(a.re, b.re, std::fma(-a.im, b.im, c.re)), std::fma(a.re, b.im, std::fma(a.im, b.re, c.im))};
}

/// Returns a b by std::fma.
PLAQUETTE_HOST_DEVICE inline su3<double> fused_product(const su3<double>& a, const su3<double>& b) {
  su3<double> r;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j)
      r(i, j) = fused(a(i, 2), b(2, j), fused(a(i, 1), b(1, j), fused(a(i, 0), b(0, j), {})));
  return r;
}

/// Returns exp(A) for a traceless, anti-Hermitian A: its series to the 24th power, A^3 = A tr A^2 / 2 + det A by Cayley
/// and Hamilton. The series leaves out |A|^25 / 25!, below 1e-13 for |A| up to 3. The same bits on CPU and GPU, and
/// smooth in A: no case distinctions.
PLAQUETTE_HOST_DEVICE inline su3<double> exponential(const su3<double>& a) {
  const su3<double> a2 = fused_product(a, a);
  const double half_trace = 0.5 * (a2(0, 0).re + a2(1, 1).re + a2(2, 2).re);
  const auto minor = [&](int i, int j) { return fused(-a(1, j), a(2, i), fused(a(1, i), a(2, j), {})); };
  const double det = fused(a(0, 2), minor(0, 1), fused(-a(0, 1), minor(0, 2), fused(a(0, 0), minor(1, 2), {}))).im;
  // E = q0 + q1 A + q2 A^2 becomes 1 + A E / n.
  complex<double> q0{1.0, 0.0}, q1, q2;
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int n = 24; n > 0; --n) {
    const double s = 1.0 / n;
    const complex<double> r1{s * std::fma(half_trace, q2.re, q0.re), s * std::fma(half_trace, q2.im, q0.im)};
    q0 = {std::fma(-det, s * q2.im, 1.0), det * (s * q2.re)};
    q2 = s * q1;
    q1 = r1;
  }
  su3<double> e;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j)
      e(i, j) = fused(q2, a2(i, j), fused(q1, a(i, j), i == j ? q0 : complex<double>{}));
  return e;
}

}  // namespace plaquette
