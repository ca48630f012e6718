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

}  // namespace plaquette
