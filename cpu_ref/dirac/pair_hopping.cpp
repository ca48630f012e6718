// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/pair_hopping.hpp"

#include "common/algebra/projector.hpp"

namespace plaquette::cpu {

namespace {

complex<float_pair> pair_of(const complex<double>& z) { return {float_pair(z.re), float_pair(z.im)}; }

/// Calls visit(x) for all sites of the box, ghosts included.
template <class Visit>
void visit_with_ghosts(const lattice_geometry& geometry, Visit&& visit) {
  const extents& local = geometry.local();
  coordinate x;
  for (x[3] = -1; x[3] <= local[3]; ++x[3])
    for (x[2] = -1; x[2] <= local[2]; ++x[2])
      for (x[1] = -1; x[1] <= local[1]; ++x[1])
        for (x[0] = -1; x[0] <= local[0]; ++x[0]) visit(x);
}

using half_spinor = std::array<colour_vector<float_pair>, 2>;

/// The two upper spins of (1 + sign gamma_mu) psi in the DeGrand-Rossi basis, where gamma_mu links each of them with
/// one lower spin.
template <int mu, int sign>
half_spinor projected(const spinor<float_pair>& psi) {
  constexpr chiral_links g = links_of_gamma(mu);
  constexpr int turn = sign > 0 ? 0 : 2;
  half_spinor h;
  for (int c = 0; c < colours; ++c) {
    h[0][c] = add_rotated<g.power[0] + turn>(psi(0, c), psi(g.lower[0], c));
    h[1][c] = add_rotated<g.power[1] + turn>(psi(1, c), psi(g.lower[1], c));
  }
  return h;
}

/// Adds (1 + sign gamma_mu) of two upper spins to all four.
template <int mu, int sign>
void add(spinor<float_pair>& sum, const half_spinor& h) {
  constexpr chiral_links g = links_of_gamma(mu);
  constexpr int turn = sign > 0 ? 0 : 2;
  for (int c = 0; c < colours; ++c) {
    sum(0, c) += h[0][c];
    sum(1, c) += h[1][c];
    sum(g.lower[0], c) = add_rotated<4 - g.power[0] + turn>(sum(g.lower[0], c), h[0][c]);
    sum(g.lower[1], c) = add_rotated<4 - g.power[1] + turn>(sum(g.lower[1], c), h[1][c]);
  }
}

/// \param sign  of gamma_mu
template <int mu, int sign>
void add_hop(spinor<float_pair>& sum, const su3<float_pair>& u, const spinor<float_pair>& psi) {
  half_spinor h = projected<mu, sign>(psi);
  for (colour_vector<float_pair>& v : h) v = u * v;
  add<mu, sign>(sum, h);
}

template <int mu>
void add_hops(spinor<float_pair>& sum, const coordinate& x, const pair_spinors& psi, const pair_links& links,
              bool dagger) {
  const coordinate before = shifted(x, mu, -1), behind = shifted(x, mu, +1);
  const su3<float_pair>& forward = links(x)[mu];
  const su3<float_pair> backward = adjoint(links(before)[mu]);
  if (dagger) {
    add_hop<mu, +1>(sum, forward, psi(behind));
    add_hop<mu, -1>(sum, backward, psi(before));
  } else {
    add_hop<mu, -1>(sum, forward, psi(behind));
    add_hop<mu, +1>(sum, backward, psi(before));
  }
}

}  // namespace

pair_links pairs_of(const gauge_configuration& links, const fermion_action& action) {
  const lattice_geometry& geometry = links.geometry();
  pair_links pairs(geometry);
  visit_with_ghosts(geometry, [&](const coordinate& x) {
    const coordinate global = geometry.to_global(x);
    for (int mu = 0; mu < dimensions; ++mu) {
      const bool is_last = global[mu] == geometry.global()[mu] - 1;
      const complex<double> factor =
          action.hop_coefficient(mu) * (is_last ? action.boundary_phase[mu] : complex<double>{1.0, 0.0});
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) pairs(x)[mu](i, j) = pair_of(factor * links(x)[mu](i, j));
    }
  });
  return pairs;
}

pair_spinors pairs_of(const spinor_configuration& psi) {
  pair_spinors pairs(psi.geometry());
  visit_with_ghosts(psi.geometry(), [&](const coordinate& x) {
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) pairs(x)(s, c) = pair_of(psi(x)(s, c));
  });
  return pairs;
}

spinor<float_pair> hopping_at_site(const coordinate& x, const pair_spinors& psi, const pair_links& links, bool dagger) {
  spinor<float_pair> sum;
  add_hops<0>(sum, x, psi, links, dagger);
  add_hops<1>(sum, x, psi, links, dagger);
  add_hops<2>(sum, x, psi, links, dagger);
  add_hops<3>(sum, x, psi, links, dagger);
  return sum;
}

spinor<double> to_double(const spinor<float_pair>& psi) {
  spinor<double> result;
  for (int s = 0; s < spins; ++s)
    for (int c = 0; c < colours; ++c)
      result(s, c) = {static_cast<double>(psi(s, c).re), static_cast<double>(psi(s, c).im)};
  return result;
}

}  // namespace plaquette::cpu
