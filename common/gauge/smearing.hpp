// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What stout smearing and gradient flow make of one link, for both libraries, on host and device. Links are read as
/// staples.hpp has them.
#pragma once

#include "common/algebra/su3_exponential.hpp"
#include "common/gauge/staples.hpp"
#include "common/random/random_matrix.hpp"

namespace plaquette {

/// Returns exp(i Q) U, put back into SU(3).
PLAQUETTE_HOST_DEVICE inline su3<double> link_moved_along(const su3<double>& q, const su3<double>& u) {
  return put_into_su3(exponential_of_i_times(q) * u);
}

/// Returns Q = (i/2)(Omega^+ - Omega) without its trace, and Omega = C U^+: Hermitian. (Morningstar, Peardon,
/// hep-lat/0311018, equations 1 to 3)
/// \param weight  weight(nu) of the plane (mu, nu) in C
template <class Links, class Site, class Weight>
PLAQUETTE_HOST_DEVICE su3<double> stout_exponent(const Links& links, const Site& x, int mu, const Weight& weight) {
  return traceless_hermitian_part(adjoint(links(x, mu) * closing_staples(links, x, mu, weight)));
}

/// Returns U_mu(x) after a step of stout smearing, put back into SU(3).
template <class Links, class Site, class Weight>
PLAQUETTE_HOST_DEVICE su3<double> stout_smeared_link(const Links& links, const Site& x, int mu, const Weight& weight) {
  return link_moved_along(stout_exponent(links, x, mu, weight), links(x, mu));
}

/// A stage of the gradient flow's Runge-Kutta scheme of third order. (Luescher, arXiv:1006.4518, equation C.2)
/// With W_0 = V(t) and Z_i = step Z(W_i):
///   W_1 = exp(1/4 Z_0) W_0,   W_2 = exp(8/9 Z_1 - 17/36 Z_0) W_1,   V(t + step) = exp(3/4 Z_2 - 8/9 Z_1 + 17/36 Z_0)
///   W_2:
/// each exponent is the one before it, times a number, plus the new Z.
struct flow_stage {
  double new_part, old_part;
};
inline constexpr flow_stage flow_stages[] = {{1.0 / 4.0, 0.0}, {8.0 / 9.0, -17.0 / 9.0}, {3.0 / 4.0, -1.0}};

/// Returns Z of the link U_mu(x): i times it is anti-Hermitian. Z = -(anti-Hermitian, traceless part of U times its
/// staples).
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE su3<double> flow_direction(const Links& links, const Site& x, int mu) {
  return stout_exponent(links, x, mu, [](int) { return 1.0; });
}

/// Returns the exponent of a stage.
/// \param before  the exponent of the stage before
PLAQUETTE_HOST_DEVICE inline su3<double> flow_exponent(const su3<double>& z, double step, const flow_stage& stage,
                                                       const su3<double>& before) {
  return step * stage.new_part * z + stage.old_part * before;
}

}  // namespace plaquette
