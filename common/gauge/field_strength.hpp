// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Energy and topological charge of a site from the clover field strength, for both libraries, on host and device.
/// Links are read as staples.hpp has them.
#pragma once

#include "common/algebra/field_strength.hpp"
#include "common/gauge/staples.hpp"

namespace plaquette {

/// Returns W = U_mu(x) D(x) + D(x - mu) U_mu(x - mu), D the staple above U_mu less the staple below. With Q the sum of
/// the four leaves around x, W - W^+ = Q - Q^+. It takes 10 products; `sum_of_leaves` takes 12.
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE su3<double> leaves_by_staples(const Links& links, const Site& x, int mu, int nu) {
  su3<double> sum;
  PLAQUETTE_ROLLED
  for (int behind = 0; behind < 2; ++behind) {
    const Site here = behind == 0 ? x : links.moved(x, mu, -1), ahead = behind == 0 ? links.moved(x, mu, +1) : x;
    const Site below = links.moved(here, nu, -1);
    const su3<double> difference =
        staple_above(links(ahead, nu), links(links.moved(here, nu, +1), mu), links(here, nu)) -
        staple_below(links(below, mu), links(links.moved(ahead, nu, -1), nu), links(below, nu));
    if (behind == 0)
      sum += links(here, mu) * difference;
    else
      sum += difference * links(here, mu);
  }
  return sum;
}

/// Returns i F_munu(x) of the clover, traceless: a Hermitian matrix.
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE su3<double> clover_at(const Links& links, const Site& x, int mu, int nu) {
  const auto link = [&](int a, int b, int direction) {
    Site at = x;
    if (a != 0) at = links.moved(at, mu, a);
    if (b != 0) at = links.moved(at, nu, b);
    return links(at, direction);
  };
  su3<double> h = i_field_strength(sum_of_leaves(link, mu, nu));
  const double third = trace(h).re / 3.0;
  for (int i = 0; i < colours; ++i) h(i, i).re -= third;
  return h;
}

/// Adds F^a_munu F^a_munu / 4 to sums[0], and epsilon_munurhosigma tr F_munu F_rhosigma / 8 to sums[1]: the latter is
/// up tr (F_xy F_zt - F_xz F_yt + F_xt F_yz).
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE void add_field_strength(const Links& links, const Site& x, double (&sums)[2]) {
  double energy = 0.0, charge = 0.0, energy_zt = 0.0, energy_yt = 0.0;
  PLAQUETTE_ROLLED
  for (int nu = 1; nu < dimensions; ++nu) {  // planes (x, nu) and (rho, sigma), the other two directions
    const int rho = nu == 1 ? 2 : 1, sigma = nu == 3 ? 2 : 3;
    const su3<double> first = clover_at(links, x, 0, nu), second = clover_at(links, x, rho, sigma);
    const double product = real_trace_with_adjoint(first, second), square = real_trace_with_adjoint(second, second);
    energy += real_trace_with_adjoint(first, first);
    charge = nu == 2 ? charge - product : charge + product;
    energy_zt = nu == 1 ? square : energy_zt;
    energy_yt = nu == 2 ? square : energy_yt;
    if (nu == 3) energy = energy + square + energy_yt + energy_zt;
  }
  sums[0] += energy;
  sums[1] += charge;
}

}  // namespace plaquette
