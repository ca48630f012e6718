// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links with a constant abelian field strength, on host and device.
#pragma once

#include <cmath>

#include "common/algebra/su3.hpp"
#include "common/lattice/gauge_action.hpp"

namespace plaquette {

PLAQUETTE_HOST_DEVICE inline su3<double> abelian_link(double angle, abelian_embedding embedding) {
  const complex<double> phase{std::cos(angle), std::sin(angle)};
  su3<double> u = su3<double>::identity();
  if (embedding == abelian_embedding::all_colours) return phase * u;
  u(0, 0) = phase;
  u(1, 1) = conj(phase);
  return u;
}

/// The two links of one plane of a torus with field strength 2 pi flux / (length_mu length_nu).
struct flux_links {
  su3<double> mu, nu;
};
/// \param x_mu,x_nu  the site's global coordinates in the plane
PLAQUETTE_HOST_DEVICE inline flux_links flux_links_at(int x_mu, int x_nu, int length_mu, int length_nu, int flux,
                                                      abelian_embedding embedding) {
  constexpr double pi = 3.14159265358979323846;
  const double strength = 2.0 * pi * flux / (length_mu * length_nu);
  const bool wraps = x_mu == length_mu - 1;
  return {abelian_link(wraps ? -strength * length_mu * x_nu : 0.0, embedding),
          abelian_link(strength * x_mu, embedding)};
}

}  // namespace plaquette
