// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/clover_textbook.hpp"

#include <array>
#include <cmath>

#include "common/algebra/gamma.hpp"
#include "common/lattice/ghosts.hpp"
#include "cpu_ref/dirac/wilson_textbook.hpp"
#include "cpu_ref/fields/stoppable_sites.hpp"

namespace plaquette::cpu::textbook {
namespace {

constexpr complex<double> i{0.0, 1.0};

/// A step along direction `mu`, forwards (+1) or backwards (-1).
struct step {
  int mu;
  int sign;
};

/// The product of links along a path of steps that starts at x.
template <int length>
su3<double> path(coordinate x, const step (&steps)[length], const gauge_configuration& links) {
  su3<double> product = su3<double>::identity();
  for (const auto [mu, sign] : steps) {
    const coordinate next = shifted(x, mu, sign);
    product = product * (sign > 0 ? links(x)[mu] : adjoint(links(next)[mu]));
    x = next;
  }
  return product;
}

spin_matrix sigma(int mu, int nu) {
  const spin_matrix commutator = gamma_matrix(mu) * gamma_matrix(nu) - gamma_matrix(nu) * gamma_matrix(mu);
  return (0.5 * i) * commutator;
}

}  // namespace

su3<double> field_strength(const coordinate& x, int mu, int nu, const gauge_configuration& links) {
  const su3<double> q = path(x, {{mu, +1}, {nu, +1}, {mu, -1}, {nu, -1}}, links) +
                        path(x, {{nu, +1}, {mu, -1}, {nu, -1}, {mu, +1}}, links) +
                        path(x, {{mu, -1}, {nu, -1}, {mu, +1}, {nu, +1}}, links) +
                        path(x, {{nu, -1}, {mu, +1}, {nu, +1}, {mu, -1}}, links);
  return 0.125 * (q - adjoint(q));
}

spinor<double> clover_at_site(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links,
                              const fermion_action& action) {
  spinor<double> result;
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu) {
      const su3<double> f = -i * field_strength(x, mu, nu, links);
      result -= 0.5 * action.clover_coefficient(mu, nu) * (sigma(mu, nu) * (f * psi(x)));
    }
  return result;
}

spinor<double> at_site(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links,
                       const fermion_action& action, bool dagger) {
  spinor<double> result = wilson_at_site(x, psi, links, action, dagger);
  if (action.has_clover()) result += clover_at_site(x, psi, links, action);  // Hermitian: the same for M^+
  return result;
}

void apply(spinor_configuration& out, spinor_configuration& in, const gauge_configuration& links,
           const fermion_action& action, const communicator& comm, bool dagger) {
  require_current_ghosts(links, comm, "textbook::apply");
  exchange_ghosts(in, comm);
  for_each_site_stoppably(in.geometry(), [&](const coordinate& x) { out(x) = at_site(x, in, links, action, dagger); });
}

double relative_residual(const spinor_configuration& b, spinor_configuration& x, const gauge_configuration& links,
                         const fermion_action& action, const communicator& comm) {
  require_current_ghosts(links, comm, "textbook::relative_residual");
  exchange_ghosts(x, comm);
  const auto [residual, source] = sum_over_sites_stoppably<2>(x.geometry(), comm, [&](const coordinate& at) {
    const spinor<double> r = b(at) + -1.0 * at_site(at, x, links, action);
    return std::array{norm2(r), norm2(b(at))};
  });
  return residual == 0.0 && source == 0.0 ? 0.0 : std::sqrt(residual / source);
}

}  // namespace plaquette::cpu::textbook
