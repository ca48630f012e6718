// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The two staples that close a link U_mu(x) to plaquettes of the plane (mu, nu), on host and device. T is a real
/// number, or a vector of them with the same operators.
#pragma once

#include "common/algebra/su3.hpp"

namespace plaquette {

/// Returns U_nu(x+mu) U_mu(x+nu)^+ U_nu(x)^+
template <class T>
PLAQUETTE_HOST_DEVICE constexpr su3<T> staple_above(const su3<T>& nu_ahead, const su3<T>& mu_above,
                                                    const su3<T>& nu_here) {
  return nu_ahead * adjoint(mu_above) * adjoint(nu_here);
}

/// Returns (U_mu(x-nu) U_nu(x+mu-nu))^+ U_nu(x-nu)
template <class T>
PLAQUETTE_HOST_DEVICE constexpr su3<T> staple_below(const su3<T>& mu_below, const su3<T>& nu_ahead_below,
                                                    const su3<T>& nu_below) {
  return adjoint(mu_below * nu_ahead_below) * nu_below;
}

}  // namespace plaquette
