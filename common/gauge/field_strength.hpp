// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Energy and topological charge of a site from the clover field strength, for both libraries, on host and device.
/// Links are read as staples.hpp has them.
#pragma once

#include "common/algebra/field_strength.hpp"
#include "common/gauge/staples.hpp"

namespace plaquette {

/// Makes W(x) = U_nu(x) D(x) + D(x - nu) U_nu(x - nu) of a column of sites along nu, D the staple by way of -mu less
/// the one by way of +mu. With Q the sum of the four leaves of (mu, nu) around x, W - W^+ = Q - Q^+. Two sites share D:
/// a site takes 6 products, and a column 4 more; `sum_of_leaves` takes 12 a site.
/// \param length  sites of the column, of which `first` is the first
/// \param take    take(n, W) takes that of site n of the column
template <class Links, class Site, class Take>
PLAQUETTE_HOST_DEVICE void leaves_of_column(const Links& links, const Site& first, int length, int mu, int nu,
                                            const Take& take) {
  su3<double> link_before, difference_before;
  Site here = links.moved(first, nu, -1);
  PLAQUETTE_ROLLED
  for (int n = -1; n < length; ++n) {
    const Site ahead = links.moved(here, nu, +1), below = links.moved(here, mu, -1);
    const su3<double> difference =
        staple_below(links(below, nu), links(links.moved(ahead, mu, -1), mu), links(below, mu)) -
        staple_above(links(ahead, mu), links(links.moved(here, mu, +1), nu), links(here, mu));
    const su3<double> link = links(here, nu);
    if (n >= 0) take(n, link * difference + difference_before * link_before);
    link_before = link;
    difference_before = difference;
    here = ahead;
  }
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
