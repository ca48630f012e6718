// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/clover_textbook.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "common/algebra/gamma.hpp"
#include "common/lattice/ghosts.hpp"
#include "cpu_ref/dirac/wilson_textbook.hpp"
#include "cpu_ref/fields/spinor_norm.hpp"
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
  su3<double> product;
  for (int k = 0; k < length; ++k) {
    const auto [mu, sign] = steps[k];
    const coordinate next = shifted(x, mu, sign);
    const su3<double> link = sign > 0 ? links(x)[mu] : adjoint(links(next)[mu]);
    product = k == 0 ? link : product * link;
    x = next;
  }
  return product;
}

constexpr spin_matrix sigma(int mu, int nu) {
  const spin_matrix commutator = gamma_matrix(mu) * gamma_matrix(nu) - gamma_matrix(nu) * gamma_matrix(mu);
  return (0.5 * i) * commutator;
}

constexpr std::array<spin_matrix, planes.size()> sigma_of_planes = [] {
  std::array<spin_matrix, planes.size()> all;
  for (std::size_t k = 0; k < planes.size(); ++k) all[k] = sigma(planes[k][0], planes[k][1]);
  return all;
}();

/// Of how many columns a site's clover leaves are computed once.
constexpr std::size_t columns_at_once = 4;

/// |b - M x| / |b| from their squares.
double relative(double residual, double source) {
  return residual == 0.0 && source == 0.0 ? 0.0 : std::sqrt(residual / source);
}

}  // namespace

su3<double> field_strength(const coordinate& x, int mu, int nu, const gauge_configuration& links) {
  const su3<double> q = path(x, {{mu, +1}, {nu, +1}, {mu, -1}, {nu, -1}}, links) +
                        path(x, {{nu, +1}, {mu, -1}, {nu, -1}, {mu, +1}}, links) +
                        path(x, {{mu, -1}, {nu, -1}, {mu, +1}, {nu, +1}}, links) +
                        path(x, {{nu, -1}, {mu, +1}, {nu, +1}, {mu, -1}}, links);
  return 0.125 * (q - adjoint(q));
}

field_strengths field_strengths_at(const coordinate& x, const gauge_configuration& links) {
  field_strengths f;
  for (std::size_t k = 0; k < planes.size(); ++k) f[k] = field_strength(x, planes[k][0], planes[k][1], links);
  return f;
}

spinor<double> clover_at_site(const spinor<double>& psi, const field_strengths& f, const fermion_action& action) {
  spinor<double> result;
  for (std::size_t k = 0; k < planes.size(); ++k) {
    const complex<double> c = (-0.5 * action.clover_coefficient(planes[k][0], planes[k][1])) * -i;
    result += c * (sigma_of_planes[k] * (f[k] * psi));
  }
  return result;
}

spinor<double> clover_at_site(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links,
                              const fermion_action& action) {
  return clover_at_site(psi(x), field_strengths_at(x, links), action);
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

std::vector<double> relative_residuals(std::span<const spinor_configuration> b, std::span<spinor_configuration> x,
                                       const gauge_configuration& links, const fermion_action& action,
                                       const communicator& comm) {
  require_current_ghosts(links, comm, "textbook::relative_residuals");
  if (b.size() != x.size()) throw std::logic_error("textbook::relative_residuals: as many sources as solutions");
  std::vector<double> residuals;
  for (std::size_t first = 0; first < x.size(); first += columns_at_once) {
    const std::size_t count = std::min(columns_at_once, x.size() - first);
    for (std::size_t n = first; n < first + count; ++n) exchange_ghosts(x[n], comm);
    std::array<double, columns_at_once> factors{};
    for (std::size_t n = 0; n < count; ++n) factors[n] = factor_to_one(b[first + n], comm);
    const auto squares = sum_over_sites_stoppably<2 * columns_at_once>(
        x[first].geometry(), comm,
        [&](const coordinate& at) {
          std::array<double, 2 * columns_at_once> of_site{};
          field_strengths f;
          if (action.has_clover()) f = field_strengths_at(at, links);
          for (std::size_t n = 0; n < count; ++n) {
            const spinor<double>& source = b[first + n](at);
            spinor<double> image = wilson_at_site(at, x[first + n], links, action);
            if (action.has_clover()) image += clover_at_site(x[first + n](at), f, action);
            of_site[2 * n] = norm2(factors[n] * source - factors[n] * image);
            of_site[2 * n + 1] = norm2(factors[n] * source);
          }
          return of_site;
        },
        sites_between_stops / 16);
    for (std::size_t n = 0; n < count; ++n) residuals.push_back(relative(squares[2 * n], squares[2 * n + 1]));
  }
  return residuals;
}

double relative_residual(const spinor_configuration& b, spinor_configuration& x, const gauge_configuration& links,
                         const fermion_action& action, const communicator& comm) {
  return relative_residuals(std::span(&b, 1), std::span(&x, 1), links, action, comm).front();
}

}  // namespace plaquette::cpu::textbook
