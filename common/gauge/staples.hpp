// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Staples and plaquettes of links, written once for both libraries, on host and device.
///
/// All of common/gauge reads links through an accessor. links.moved(x, mu, sign) is the site next to x, by one step
/// along mu, and links(x, mu) is U_mu(x). The accessor chooses the type of a site: a coordinate on the CPU, a number
/// and a coordinate on a GPU. Its links may be those of several sites at once, one in each lane of a vector. They must
/// be there two steps away, in different directions.
#pragma once

#include "common/algebra/matrix_parts.hpp"
#include "common/algebra/staple.hpp"
#include "common/lattice/extents.hpp"

/// Loops over directions are not unrolled on a device: their code would be several times as long, and no faster.
#ifdef __CUDACC__
#define PLAQUETTE_ROLLED _Pragma("unroll 1")
#else
#define PLAQUETTE_ROLLED
#endif

namespace plaquette {

/// The weights of the planes (mu, nu) of a direction mu, as kernels take them.
struct plane_weights {
  double of[dimensions];

  /// \param weight  weight(mu, nu)
  template <class Weight>
  plane_weights(int mu, const Weight& weight) {
    for (int nu = 0; nu < dimensions; ++nu) of[nu] = nu == mu ? 0.0 : weight(mu, nu);
  }
  PLAQUETTE_HOST_DEVICE double operator()(int nu) const { return of[nu]; }
};

/// Returns the sum of the two staples that close U_mu(x) to plaquettes of the plane (mu, nu).
/// \param ahead  moved(x, mu, +1)
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE constexpr auto staples_of_plane(const Links& links, const Site& x, const Site& ahead, int mu,
                                                      int nu) {
  const Site below = links.moved(x, nu, -1);
  const auto up = staple_above(links(ahead, nu), links(links.moved(x, nu, +1), mu), links(x, nu));
  const auto down = staple_below(links(below, mu), links(links.moved(ahead, nu, -1), nu), links(below, nu));
  return up + down;
}

namespace detail {

template <class T>
PLAQUETTE_HOST_DEVICE constexpr su3<T> weighted(double weight, const su3<T>& staples) {
  return T(weight) * staples;
}

}  // namespace detail

/// Returns the sum, over the planes (mu, nu), of weight(nu) times the two staples that close U_mu(x) to plaquettes.
template <class Links, class Site, class Weight>
PLAQUETTE_HOST_DEVICE constexpr auto closing_staples(const Links& links, const Site& x, int mu, const Weight& weight) {
  const Site ahead = links.moved(x, mu, +1);
  decltype(staples_of_plane(links, x, ahead, mu, mu)) sum;
  PLAQUETTE_ROLLED
  for (int nu = 0; nu < dimensions; ++nu) {
    if (nu == mu) continue;
    const double w = weight(nu);
    if (w == 0.0) continue;
    sum += detail::weighted(w, staples_of_plane(links, x, ahead, mu, nu));
  }
  return sum;
}

/// Returns the staple along U_mu(x) by way of +nu: it runs as the link does.
/// \param along   number of the matrix of a site that is U_mu there
/// \param across  of U_nu
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE constexpr auto upper_staple_along(const Links& links, const Site& x, int mu, int nu, int along,
                                                        int across) {
  return links(x, across) * links(links.moved(x, nu, +1), along) * adjoint(links(links.moved(x, mu, +1), across));
}

/// Returns the one by way of -nu.
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE constexpr auto lower_staple_along(const Links& links, const Site& x, int mu, int nu, int along,
                                                        int across) {
  const Site below = links.moved(x, nu, -1);
  return adjoint(links(below, across)) * links(below, along) * links(links.moved(below, mu, +1), across);
}

/// Returns their sum.
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE constexpr auto staples_along(const Links& links, const Site& x, int mu, int nu, int along,
                                                   int across) {
  return upper_staple_along(links, x, mu, nu, along, across) + lower_staple_along(links, x, mu, nu, along, across);
}

/// Adds Re tr P_munu(x) of the planes of space to sums[0], and of those with time to sums[1].
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE constexpr void add_plaquettes(const Links& links, const Site& x, double (&sums)[2]) {
  PLAQUETTE_ROLLED
  for (int mu = 0; mu < dimensions; ++mu) PLAQUETTE_ROLLED
  for (int nu = mu + 1; nu < dimensions; ++nu) {
    const auto there = links(x, mu) * links(links.moved(x, mu, +1), nu);
    const auto here = links(x, nu) * links(links.moved(x, nu, +1), mu);
    const double value = real_trace_with_adjoint(there, here);
    sums[0] += nu == 3 ? 0.0 : value;
    sums[1] += nu == 3 ? value : 0.0;
  }
}

}  // namespace plaquette
