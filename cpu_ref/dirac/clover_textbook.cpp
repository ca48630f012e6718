// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/clover_textbook.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "cpu_ref/dirac/wilson_textbook.hpp"

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

/// The sum over sites of all ranks: site by site in a fixed order, then over ranks.
double global_sum(const std::vector<double>& of_sites, const communicator& comm) {
  double sum[1] = {0.0};
  for (double s : of_sites) sum[0] += s;
  comm.sum(std::span<double>(sum));
  return sum[0];
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
  exchange_ghosts(in, comm);
  const std::int64_t sites = in.geometry().local_volume();
#pragma omp parallel for
  for (std::int64_t site = 0; site < sites; ++site)
    out.at_site(site) = at_site(in.geometry().local_coordinate(site), in, links, action, dagger);
}

double relative_residual(const spinor_configuration& b, spinor_configuration& x, const gauge_configuration& links,
                         const fermion_action& action, const communicator& comm) {
  spinor_configuration mx(x.geometry());
  apply(mx, x, links, action, comm);
  const std::int64_t sites = x.geometry().local_volume();
  std::vector<double> of_residual(static_cast<std::size_t>(sites)), of_source(static_cast<std::size_t>(sites));
#pragma omp parallel for
  for (std::int64_t site = 0; site < sites; ++site) {
    of_residual[site] = norm2(b.at_site(site) + -1.0 * mx.at_site(site));
    of_source[site] = norm2(b.at_site(site));
  }
  const double residual = std::sqrt(global_sum(of_residual, comm)), source = std::sqrt(global_sum(of_source, comm));
  return residual == 0.0 && source == 0.0 ? 0.0 : residual / source;
}

}  // namespace plaquette::cpu::textbook
