// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// BiCGstab(l) (Sleijpen, Fokkema, Electron. Trans. Numer. Anal. 1 (1993) 11), batched. After l steps of BiCG the
/// residual is minimised over l powers of A at once. BiCGstab minimises after each step over one power. BiCGstab(l)
/// converges in cases in which BiCGstab stalls, since a polynomial of degree l can have complex roots.
#pragma once

#include <string>
#include <vector>

#include "common/krylov/convergence_watch.hpp"

namespace plaquette {

namespace detail {

/// The coefficients of the minimisation: x += sum gamma_x[j] r_j, r -= sum gamma_r[j] r_j, u -= sum gamma_u[j] u_j.
template <class S>
struct bicgstab_l_coefficients {
  std::vector<S> x, r, u;
};

/// From tau[j][i] = <r_i, r_j> / |r_i|^2, i < j, and gamma'_j = <r_j, r> / |r_j|^2 of vectors made orthogonal to each
/// other; numbers from 0 for the powers from 1.
template <class S>
bicgstab_l_coefficients<S> minimise(const std::vector<std::vector<S>>& tau, const std::vector<S>& gamma_prime) {
  const std::size_t l = gamma_prime.size();
  bicgstab_l_coefficients<S> c;
  std::vector<S> gamma = gamma_prime;
  for (std::size_t j = l - 1; j-- > 0;)
    for (std::size_t i = j + 1; i < l; ++i) gamma[j] = gamma[j] - tau[i][j] * gamma[i];
  // r_j of the recurrence is orthogonalised: x takes gamma''_j of it, and gamma_1 of r itself.
  for (std::size_t j = 0; j + 1 < l; ++j) {
    S sum = gamma[j + 1];
    for (std::size_t i = j + 1; i + 1 < l; ++i) sum = sum + tau[i][j] * gamma[i + 1];
    c.x.push_back(sum);
  }
  c.r = gamma_prime;
  c.u = gamma;
  return c;
}

/// r0 = r if the monitor finds that the Krylov space is used up.
template <class Watch, field_batch Field, class S>
void restart_shadow(Watch& watch, Field& r0, S& r0r0, const Field& r) {
  if constexpr (Watch::replaces_residuals) {
    const std::vector<int>& list = watch.exhausted_columns();
    if (list.empty()) return;
    scatter_columns(r0, list, gather_columns(r, list));
    watch.correct_product(r0r0, r0, r0);
  }
}

/// One run of the recurrence under a monitor, for one precision or two. 2 l applications and l recorded iterations a
/// cycle; convergence is checked between cycles. 2 l + 4 fields. Ends if rho, <r0, A u> or omega vanish. If the monitor
/// replaces r nothing else changes: rho is summed from r in every iteration.
template <class Watch, class A>
solve_report bicgstab_l_under(Watch& watch, const A& a, int l) {
  const auto op = watch.counted(a);
  auto start = watch.start(op);
  if (!watch.running()) return watch.report();
  using Field = decltype(start.r);
  using S = decltype(start.rr);

  const auto length = static_cast<std::size_t>(l);
  Field x = start.x, residual = start.r, r0 = like(residual);
  S rr = start.rr;
  copy(r0, residual);
  std::vector<Field> powers, u;  // A^j r from j = 1, A^j u from j = 0
  for (std::size_t j = 0; j < length; ++j) powers.push_back(like(residual)), u.push_back(like(residual));
  u.push_back(like(residual));
  zero(u[0]);
  S r0r0 = rr, rho = uniform_scalars(residual, 1.0), alpha = uniform_scalars(residual, 0.0);
  const auto r = [&](std::size_t j) -> Field& { return j == 0 ? residual : powers[j - 1]; };
  while (watch.running()) {
    for (std::size_t j = 0; j < length; ++j) {  // BiCG
      const S active = watch.unconverged(rr), rho_new = dot(r0, r(j));
      const S beta = ratio(alpha * rho_new, rho);
      rho = rho_new;
      for (std::size_t i = 0; i <= j; ++i) xpay(u[i], r(i), -beta);
      const auto [u_r0, uu] = apply_dot_norm2(op, u[j + 1], u[j], r0);
      alpha = ratio(active * rho, conj(u_r0));
      axpy(x, alpha, u[0]);
      const S rr_before = rr;
      rr = axpy_norm2(r(0), -alpha, u[1]);
      for (std::size_t i = 1; i <= j; ++i) axpy(r(i), -alpha, u[i + 1]);
      op.apply(r(j + 1), r(j));
      const auto of_rho = watch.inner_product("rho = <r0, A^j r>", rho, r0r0, j == 0 ? rr_before : norm2(r(j)));
      const auto of_u = watch.inner_product("<r0, A u>", u_r0, uu, r0r0);
      if (j + 1 < length) {
        watch.record(rr, {of_rho, of_u, of_u}, {uu, norm2(u[j])});
        continue;
      }
      // The minimisation, in the columns that have not converged by now.
      const S going = watch.unconverged(rr);
      std::vector<std::vector<S>> tau(length);
      std::vector<S> sigma, gamma_prime;
      S r_last = rr;
      for (std::size_t k = 1; k <= length; ++k) {
        for (std::size_t i = 1; i < k; ++i) {
          tau[k - 1].push_back(ratio(dot(r(i), r(k)), sigma[i - 1]));
          axpy(r(k), -tau[k - 1].back(), r(i));
        }
        const auto [r_k_r, r_k_r_k] = dot_norm2(r(k), r(0));
        sigma.push_back(r_k_r_k);
        r_last = r_k_r;
        gamma_prime.push_back(going * ratio(r_k_r, r_k_r_k));
      }
      const auto c = minimise(tau, gamma_prime);
      axpy(x, c.u[0], r(0));
      for (std::size_t k = 1; k < length; ++k) axpy(x, c.x[k - 1], r(k));
      const S rr_before_last = rr;
      for (std::size_t k = 1; k < length; ++k) axpy(r(0), -c.r[k - 1], r(k));
      rr = axpy_norm2(r(0), -c.r[length - 1], r(length));
      for (std::size_t k = 1; k <= length; ++k) axpy(u[0], -c.u[k - 1], u[k]);
      rho = -(c.u[length - 1] * rho);
      watch.record(rr, {of_rho, of_u, watch.inner_product("omega", r_last, sigma.back(), rr_before_last)},
                   {uu, norm2(u[j])});
    }
    if (!watch.check_convergence(x, residual, rr, powers, u, r0, r0r0, rho, alpha)) break;
    watch.restart_direction(u[0]);
    restart_shadow(watch, r0, r0r0, r(0));
  }
  return watch.report();
}

}  // namespace detail

/// A x = b for all columns at once by BiCGstab(l).
/// \param x  the initial guess, and the solution
/// \param l  2 or 4; 1 is BiCGstab in its textbook form
template <field_batch Field, linear_operator<Field> A>
solve_report bicgstab_l(const A& a, Field& x, const Field& b, const stopping_rule& rule, int l) {
  if (l < 1) throw input_error("bicgstab(l): l must be at least 1, found " + std::to_string(l));
  convergence_watch<Field> watch("bicgstab(" + std::to_string(l) + ")", x, b, rule);
  return detail::bicgstab_l_under(watch, a, l);
}

}  // namespace plaquette
