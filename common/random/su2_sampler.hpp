// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random elements of SU(2) with the weight of the heat bath, on host and device.
#pragma once

#include <cmath>

#include "common/algebra/su2.hpp"
#include "common/random/random_stream.hpp"

namespace plaquette {

/// More attempts than any sampler below needs: each succeeds with probability above 0.7, so that one call in 10^33 ends
/// without a number.
inline constexpr int su2_attempts = 64;

/// Above this strength the method of Kennedy and Pendleton accepts more often than that of Creutz. The acceptances are
/// sqrt(2 pi s) exp(-s) I_1(s) and pi I_1(s) / (2 sinh s); they meet here at 0.71, rise with s, and fall with s from
/// pi/4.
inline constexpr double kennedy_pendleton_threshold = 1.68;

/// Draws a0 in [-1, 1] with a density proportional to sqrt(1 - a0^2) exp(strength * a0), strength >= 0: the real part
/// of an element of SU(2) with the weight exp(strength * Re tr / 2). False, and no number, after `su2_attempts`
/// rejections or for a NaN; this does not depend on the number that would have come, so a caller that then keeps the
/// old element keeps the distribution. Kennedy, Pendleton, Phys. Lett. 156B (1985) 393; Creutz, Phys. Rev. D21 (1980)
/// 2308.
PLAQUETTE_HOST_DEVICE inline bool draw_su2_real_part(double strength, random_stream& random, double& a0) {
  constexpr double two_pi = 6.283185307179586476925286766559;
  for (int attempt = 0; attempt < su2_attempts; ++attempt) {
    const double u = random.uniform_above_zero();
    if (strength > kennedy_pendleton_threshold) {
      const double cosine = std::cos(two_pi * random.uniform());
      const double distance =
          -(std::log(u) + cosine * cosine * std::log(random.uniform_above_zero())) / strength;  // 1 - a0
      const double r = random.uniform();
      a0 = 1.0 - distance;
      if (r * r <= 1.0 - 0.5 * distance) return true;
    } else {
      // a0 with density exp(strength a0) on [-1, 1], accepted with sqrt(1 - a0^2).
      a0 = strength > 0.0 ? 1.0 + std::log1p(u * std::expm1(-2.0 * strength)) / strength : 1.0 - 2.0 * u;
      const double r = random.uniform();
      if (r * r <= (1.0 - a0) * (1.0 + a0)) return strength >= 0.0;
    }
  }
  return false;
}

/// Draws an element of SU(2) with the weight exp(strength * Re tr / 2): a0 as above, the rest in a random direction.
PLAQUETTE_HOST_DEVICE inline bool draw_su2(double strength, random_stream& random, quaternion<double>& g) {
  constexpr double two_pi = 6.283185307179586476925286766559;
  if (!draw_su2_real_part(strength, random, g.r0)) return false;
  const double square = (1.0 - g.r0) * (1.0 + g.r0);
  const double length = square > 0.0 ? std::sqrt(square) : 0.0;  // a0 may round to just above 1
  const double cosine = 1.0 - 2.0 * random.uniform(), angle = two_pi * random.uniform();
  const double across = length * std::sqrt((1.0 - cosine) * (1.0 + cosine));
  g.r1 = across * std::cos(angle);
  g.r2 = across * std::sin(angle);
  g.r3 = length * cosine;
  return true;
}

/// Returns a random g with the weight exp((beta / 3) Re tr(g r)); 1 where the sampler gives up.
PLAQUETTE_HOST_DEVICE inline quaternion<double> heatbath_element(const quaternion<double>& r, double beta,
                                                                 random_stream& random) {
  const double size = std::sqrt(norm2(r));
  quaternion<double> h;  // g r = h |r|
  if (!draw_su2(2.0 / 3.0 * beta * size, random, h)) return {1.0, 0.0, 0.0, 0.0};
  if (size == 0.0) return h;
  const double scale = 1.0 / size;
  return h * quaternion<double>{scale * r.r0, -scale * r.r1, -scale * r.r2, -scale * r.r3};
}

}  // namespace plaquette
