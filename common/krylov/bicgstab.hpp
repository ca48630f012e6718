// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// BiCGstab (van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631), batched. rho = <r0, r> is known before r is:
/// alpha makes <r0, s> vanish, so that
///
///     <r0, r> = <r0, s - omega A s> = -omega <q0, s>     q0 = A^+ r0,
///
/// and <q0, s> is summed where s is made. (As L. T. Yang and R. P. Brent, ICA3PP 2002, 324, do to have fewer global
/// sums.) So beta is known too, and x, r and p are made in one pass over memory.
#pragma once

#include <algorithm>

#include "common/krylov/convergence_watch.hpp"

namespace plaquette {

/// The vector r0 that the residuals are made orthogonal to.
enum class shadow_residual {
  initial,  ///< r0 = r
  /// r0 = r + (|r|^2 / |A r|^2) A r: if <r, A r> = 0, neither <r0, r> nor <r0, A r> vanish
  mixed
};

namespace detail {

/// -omega <q0, s> lacks <r0, s>, which is rounding, some u |rho| each time. This error stays while rho becomes small
/// with r. So rho is summed from its definition in every so many iterations, and in each of the first ones, after which
/// a solve that converges quickly is over.
inline constexpr int iterations_between_sums_of_rho = 5;

template <class Watch>
bool sums_rho_now(const Watch& watch) {
  return watch.iteration() < iterations_between_sums_of_rho || watch.iteration() % iterations_between_sums_of_rho == 0;
}

}  // namespace detail

namespace detail {

/// r0 = p = r and q0 = A^+ r0 in the columns `list`.
template <field_batch Field, linear_operator<Field> A>
void begin_space(Field& r0, Field& q0, Field& p, const A& a, const Field& r, const std::vector<int>& list) {
  if (list.empty()) return;
  const Field some_r0 = gather_columns(r, list);
  Field some_q0 = like(some_r0);
  a.apply_dagger(some_q0, some_r0);
  scatter_columns(r0, list, some_r0);
  scatter_columns(p, list, some_r0);
  scatter_columns(q0, list, some_q0);
}

/// If the monitor has replaced r by r', rho' = <r0, r'> takes the place of rho in beta too. This makes the image of the
/// new direction orthogonal to r0: p = r + beta (p_ - omega v) becomes p' = r' + (rho' / rho) (p - r). If the Krylov
/// space is used up, a new one begins.
/// \param rho_of_beta  that beta was made with
template <class Watch, field_batch Field, class S, linear_operator<Field> A>
void follow_new_residual(Watch& watch, const A& a, const Field& r, Field& r0, Field& q0, Field& p, S& rho,
                         const S& rho_of_beta, S& r0r0) {
  if constexpr (Watch::replaces_residuals) {
    if (!watch.updated()) return;
    watch.correct_product(rho, r0, r);
    watch.change_direction(p, r, ratio(rho, rho_of_beta));
    begin_space(r0, q0, p, a, r, watch.exhausted_columns());
    if (watch.exhausted_columns().empty()) return;
    watch.correct_product(rho, r0, r);
    watch.correct_product(r0r0, r0, r0);
  }
}

/// One run of the recurrence under a monitor, for one precision or two. Two applications of A and two passes over
/// memory an iteration. Ends if rho, <r0, A p> or omega vanish.
template <class Watch, class A>
solve_report bicgstab_under(Watch& watch, const A& a, shadow_residual shadow) {
  const auto op = watch.counted(a);
  auto [x, r, rr] = watch.start(op);
  if (!watch.running()) return watch.report();
  using Field = decltype(like(r));

  Field r0 = like(r), q0 = like(r), p = like(r), v = like(r), t = like(r);
  copy(r0, r);
  copy(p, r);
  auto rho = rr, r0r0 = rr;
  if (shadow == shadow_residual::mixed) {
    op.apply(t, r);
    r0r0 = axpy_norm2(r0, ratio(rr, norm2(t)), t);
    rho = dot(r0, r);
  }
  op.apply_dagger(q0, r0);
  while (watch.running()) {
    const auto active = watch.unconverged(rr);
    const auto [v_r0, vv] = apply_dot_norm2(op, v, p, r0);
    const auto alpha = ratio(active * rho, conj(v_r0));
    Field& s = r;  // s = r - alpha v takes the place of r
    const auto [q0_s, ss] = axpy_dot_norm2(s, -alpha, v, q0);
    const auto [t_s, tt] = apply_dot_norm2(op, t, s, s);
    const auto omega = ratio(active * t_s, tt);
    const auto rho_new = -(omega * q0_s);
    const auto beta = ratio(rho_new, rho) * ratio(alpha, omega);
    // x += alpha p + omega s; r = s - omega t; p = r + beta (p - omega v)
    rr = bicgstab_step(x, r, p, alpha, omega, beta, t, v);
    watch.record(rr,
                 {watch.inner_product("<r0, A p>", v_r0, vv, r0r0),
                  watch.inner_product("omega = <A s, s> / |A s|^2", t_s, tt, ss),
                  watch.inner_product("rho = <r0, r>", rho_new, r0r0, rr)},
                 {tt, ss});
    rho = sums_rho_now(watch) ? dot(r0, r) : rho_new;
    auto rho_of_beta = rho_new;
    if (!watch.check_convergence(x, r, rr, r0, q0, p, v, t, rho, rho_of_beta, r0r0)) break;
    follow_new_residual(watch, op, r, r0, q0, p, rho, rho_of_beta, r0r0);
  }
  return watch.report();
}

}  // namespace detail

/// One run from the residual of the guess in x.
template <field_batch Field, linear_operator<Field> A>
solve_report bicgstab_without_restart(const A& a, Field& x, const Field& b, const stopping_rule& rule,
                                      shadow_residual shadow) {
  convergence_watch<Field> watch("bicgstab", x, b, rule);
  return detail::bicgstab_under(watch, a, shadow);
}

/// A x = b for all columns at once. Columns that break down are started once more, together, from the true residual of
/// the best solution so far, with another shadow; `column_report::restarts` and `why` say so.
/// \param x  the initial guess, and the solution
template <field_batch Field, linear_operator<Field> A>
solve_report bicgstab(const A& a, Field& x, const Field& b, const stopping_rule& rule) {
  solve_report report = bicgstab_without_restart(a, x, b, rule, shadow_residual::initial);
  std::vector<int> broken = report.columns_with(solve_status::breakdown);
  std::erase_if(
      broken, [&](int n) { return report.columns[static_cast<std::size_t>(n)].iterations < rule.last_early_check(); });
  if (broken.empty() || (rule.interrupted && rule.interrupted())) return report;

  stopping_rule rest = rule;
  rest.guess_is_zero = false;
  rest.early_checks.clear();
  rest.column_tolerances.clear();
  for (const int n : broken) {
    rest.limit = std::min(rest.limit, rule.limit - report.columns[static_cast<std::size_t>(n)].iterations);
    rest.column_tolerances.push_back(rule.tolerance_of(n));
  }
  if (rest.limit < 1) return report;

  Field x_broken = gather_columns(x, broken);
  const solve_report second =
      bicgstab_without_restart(a, x_broken, gather_columns(b, broken), rest, shadow_residual::mixed);
  scatter_columns(x, broken, x_broken);

  report.add_work(second);
  for (std::size_t k = 0; k < broken.size(); ++k)
    report.continue_column(broken[k], second.columns[k], second.history[k]);
  return report;
}

}  // namespace plaquette
