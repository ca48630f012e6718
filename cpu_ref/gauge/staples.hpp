// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The staples of a link in the canonical field.
#pragma once

#include "common/algebra/staple.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Returns the sum, over the planes (mu, nu), of weight(nu) times the two staples that close U_mu(x) to plaquettes.
/// \param links  ghosts filled
template <class Weight>
su3<double> closing_staples(const gauge_configuration& links, const coordinate& x, int mu, Weight&& weight) {
  su3<double> sum;
  for (int nu = 0; nu < dimensions; ++nu) {
    if (nu == mu) continue;
    const double w = weight(nu);
    if (w == 0.0) continue;
    const coordinate ahead = shifted(x, mu, +1), below = shifted(x, nu, -1);
    const su3<double> up = staple_above(links(ahead)[nu], links(shifted(x, nu, +1))[mu], links(x)[nu]);
    const su3<double> down = staple_below(links(below)[mu], links(shifted(ahead, nu, -1))[nu], links(below)[nu]);
    sum += w * (up + down);
  }
  return sum;
}

/// Returns (i/2) (a^+ - a) without its trace: Hermitian. For a = 1 + i h it is h, to first order.
inline su3<double> traceless_hermitian_part(const su3<double>& a) {
  su3<double> h = complex<double>{0.0, 0.5} * (adjoint(a) - a);
  const double third = trace(h).re / 3.0;
  for (int i = 0; i < colours; ++i) h(i, i).re -= third;
  return h;
}

}  // namespace plaquette::cpu
