// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Krylov solvers of two precisions with reliable updates: the vectors of the iteration live in a low precision, the
/// solution and now and then its residual in a high one, and one Krylov space lives through the whole solve.
/// (Clark, Babich, Barros, Brower, Rebbi, Comput. Phys. Commun. 181 (2010) 1517, arXiv:0911.3191, section 5)
///
/// Each is a template over the two operators and the two fields. With one field type for both it is the method of
/// uniform precision with reliable updates.
///
///     loop  iterate on A e = r in low precision
///           where |r| < delta max |r| since the last update:    y += e    r = b - A y    e = 0
///
/// The line of the loop that follows an update says how the Krylov space goes on from the new r.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/algorithms/bicgstab.hpp"
#include "common/algorithms/reliable_watch.hpp"

namespace plaquette {

namespace detail {

/// p -= (<r, p> / |r|^2) r in the columns `list`.
template <field_batch F>
void make_orthogonal(F& p, const F& r, const std::vector<int>& list) {
  F some_p = gather_columns(p, list);
  const F some_r = some_columns(r, list);
  axpy(some_p, -ratio(dot(some_r, some_p), norm2(some_r)), some_r);
  scatter_columns(p, list, some_p);
}

/// r0 = r and q0 = A^+ r0 in the columns `list`.
template <field_batch F, linear_operator<F> A>
void begin_anew(F& r0, F& q0, const A& a, const F& r, const std::vector<int>& list) {
  if (list.empty()) return;
  copy_columns(r0, std::span<const int>(list), r, std::span<const int>(list));
  const F some_r0 = gather_columns(r0, list);
  F some_q0 = like(some_r0);
  a.apply_dagger(some_q0, some_r0);
  scatter_columns(q0, list, some_q0);
}

/// Columns that may do better with a new Krylov space: those that failed on the way, or got nowhere.
inline std::vector<int> columns_to_restart(const solve_report& report) {
  std::vector<int> list;
  for (int n = 0; n < std::ssize(report.columns); ++n) {
    const column_report& c = report.columns[static_cast<std::size_t>(n)];
    if (c.iterations > 0 && (c.status == solve_status::breakdown || c.status == solve_status::not_finite ||
                             c.status == solve_status::inconsistent || c.status == solve_status::stagnation))
      list.push_back(n);
  }
  return list;
}

/// Runs a solver, and again for the columns that failed, together, from the best solutions so far; not twice in a row
/// for a column whose true residual did not fall by a tenth in between.
/// \param run  solve_report (High& x, const High& b, const stopping_rule&, int attempt)
template <field_batch High, class Run>
solve_report with_restarts(High& x, const High& b, const stopping_rule& rule, int restarts, Run&& run) {
  solve_report report = run(x, b, rule, 0);
  std::vector<int> failed = columns_to_restart(report);
  for (int attempt = 1; attempt <= restarts && !failed.empty(); ++attempt) {
    if (rule.interrupted && rule.interrupted()) break;
    stopping_rule rest = rule;
    rest.guess_is_zero = false;
    rest.column_tolerances.clear();
    for (const int n : failed) {
      rest.limit = std::min(rest.limit, rule.limit - report.columns[static_cast<std::size_t>(n)].iterations);
      rest.column_tolerances.push_back(rule.tolerance_of(n));
    }
    if (rest.limit < 1) break;
    High x_failed = gather_columns(x, failed);
    const solve_report again = run(x_failed, gather_columns(b, failed), rest, attempt);
    scatter_columns(x, failed, x_failed);
    report.add_work(again);
    const std::vector<int> failed_again = columns_to_restart(again);
    std::vector<int> next;
    for (int k = 0; k < std::ssize(failed); ++k) {
      const auto n = static_cast<std::size_t>(failed[static_cast<std::size_t>(k)]);
      const double before = report.columns[n].true_residual, iterated = report.columns[n].residual;
      report.continue_column(static_cast<int>(n), again.columns[static_cast<std::size_t>(k)],
                             again.history[static_cast<std::size_t>(k)]);
      if (!(report.columns[n].true_residual < before) && !report.columns[n].at_floor)
        report.columns[n].residual = iterated;  // of the same solution
      const bool fell = report.columns[n].true_residual < 0.9 * before;
      if (fell && std::find(failed_again.begin(), failed_again.end(), k) != failed_again.end())
        next.push_back(static_cast<int>(n));
    }
    failed = std::move(next);
  }
  return report;
}

template <field_batch Low, field_batch High, linear_operator<High> Outer, linear_operator<Low> Inner>
solve_report reliable_bicgstab_once(const Outer& outer, const Inner& inner, High& x, const High& b,
                                    const stopping_rule& rule, const reliable_updates& parameters,
                                    shadow_residual shadow) {
  reliable_watch<Low, High, Outer> watch("bicgstab", outer, x, b, rule, parameters);
  const auto op = watch.counted(inner);
  Low r = watch.begin();
  if (!watch.running()) return watch.report();

  Low e = like(r), r0 = like(r), q0 = like(r), p = like(r), v = like(r), t = like(r);
  zero(e);
  copy(r0, r);
  copy(p, r);
  auto rr = norm2(r), rho = rr, r0r0 = rr;
  if (shadow == shadow_residual::mixed) {
    op.apply(t, r);
    r0r0 = axpy_norm2(r0, ratio(rr, norm2(t)), t);
    rho = dot(r0, r);
  }
  op.apply_dagger(q0, r0);
  while (watch.running()) {
    const auto active = watch.unconverged(rr);
    const auto [v_r0, vv] = apply_dot_norm2(op, v, p, r0);
    auto alpha = ratio(active * rho, conj(v_r0));
    Low& s = r;  // s = r - alpha v takes the place of r
    const auto [q0_s, ss] = axpy_dot_norm2(s, -alpha, v, q0);
    const auto [t_s, tt] = apply_dot_norm2(op, t, s, s);
    auto omega = ratio(active * t_s, tt);
    auto rho_new = -(omega * q0_s);
    const auto beta = [&] { return ratio(rho_new, rho) * ratio(alpha, omega); };
    // e += alpha p + omega s; r = s - omega t; p = r + beta (p - omega v), where nothing can come between
    const bool in_one = !watch.looks_after_this_iteration();
    if (in_one) {
      rr = bicgstab_step(e, r, p, alpha, omega, beta(), t, v);
    } else {
      axpy_pair(e, alpha, p, omega, s);
      rr = axpy_norm2(r, -omega, t);
    }
    watch.record(rr,
                 {watch.inner_product("<r0, A p>", v_r0, vv, r0r0),
                  watch.inner_product("omega = <A s, s> / |A s|^2", t_s, tt, ss),
                  watch.inner_product("rho = <r0, r>", rho_new, r0r0, rr)},
                 {tt, ss});
    watch.look(e, r, rr, r0, q0, p, v, t, rho, rho_new, alpha, omega, r0r0);
    if (!watch.running()) break;
    if (watch.updated()) {
      begin_anew(r0, q0, op, r, watch.renewed_columns());
      zero_columns(p, watch.renewed_columns());
      zero_columns(v, watch.renewed_columns());
      rho_new = watch.choose_product(r0, r, rho_new);
      if (!watch.renewed_columns().empty()) r0r0 = watch.choose_product(r0, r0, r0r0);
    }
    if (!in_one) bicgstab_direction(p, r, beta(), omega, v);
    rho = sums_rho_now(watch) ? dot(r0, r) : rho_new;
  }
  return watch.report();
}

template <field_batch Low, field_batch High, linear_operator<High> Outer, linear_operator<Low> Inner>
solve_report reliable_cg_once(const Outer& outer, const Inner& inner, High& x, const High& b, const stopping_rule& rule,
                              const reliable_updates& parameters) {
  reliable_watch<Low, High, Outer> watch("cg", outer, x, b, rule, parameters);
  const auto op = watch.counted(inner);
  Low r = watch.begin();
  if (!watch.running()) return watch.report();

  Low e = like(r), p = like(r), ap = like(r);
  zero(e);
  copy(p, r);
  auto rr = norm2(r), pp = rr;
  while (watch.running()) {
    auto active = watch.unconverged(rr);
    op.apply(ap, p);
    const auto pap = dot(p, ap);
    auto rr_new = cg_update(e, r, ratio(active * rr, pap), p, ap);
    watch.record(rr_new, {watch.curvature("<p, A p>", pap, pp)}, {pap * pap, pp * pp});
    watch.look(e, r, rr_new, p, ap, rr, pp, active);
    if (watch.updated()) {
      make_orthogonal(p, r, watch.updated_columns());
      zero_columns(p, watch.renewed_columns());
    }
    const auto beta = ratio(active * rr_new, rr);
    xpay(p, r, beta);
    pp = rr_new + beta * beta * pp;
    rr = rr_new;
  }
  return watch.report();
}

template <field_batch Low, field_batch High, linear_operator<High> Outer, linear_operator<Low> Inner>
solve_report reliable_cgnr_once(const Outer& outer, const Inner& inner, High& x, const High& b,
                                const stopping_rule& rule, const reliable_updates& parameters) {
  reliable_watch<Low, High, Outer> watch("cgnr", outer, x, b, rule, parameters);
  const auto op = watch.counted(inner);
  Low r = watch.begin();
  if (!watch.running()) return watch.report();

  Low e = like(r), s = like(r), p = like(r), ap = like(r);
  zero(e);
  op.apply_dagger(s, r);
  copy(p, s);
  auto rr = norm2(r), ss = norm2(s);
  while (watch.running()) {
    auto active = watch.unconverged(rr);
    op.apply(ap, p);
    const auto apap = norm2(ap), rr_before = rr;
    rr = cg_update(e, r, ratio(active * ss, apap), p, ap);
    watch.record(rr, {watch.positive("|A p|", apap)}, {ss, rr_before});
    watch.look(e, r, rr, s, p, ap, ss, active);
    if (!watch.running()) break;
    op.apply_dagger(s, r);
    if (watch.updated()) {
      make_orthogonal(p, s, watch.updated_columns());
      zero_columns(p, watch.renewed_columns());
    }
    const auto ss_new = norm2(s);
    xpay(p, s, ratio(active * ss_new, ss));
    ss = ss_new;
  }
  return watch.report();
}

template <field_batch Low, field_batch High, linear_operator<High> Outer, linear_operator<Low> Inner>
solve_report reliable_cgne_once(const Outer& outer, const Inner& inner, High& x, const High& b,
                                const stopping_rule& rule, const reliable_updates& parameters) {
  reliable_watch<Low, High, Outer> watch("cgne", outer, x, b, rule, parameters);
  const auto op = watch.counted(inner);
  Low r = watch.begin();
  if (!watch.running()) return watch.report();

  Low e = like(r), s = like(r), p = like(r), ap = like(r);
  zero(e);
  op.apply_dagger(p, r);
  auto rr = norm2(r);
  while (watch.running()) {
    auto active = watch.unconverged(rr);
    const auto apap = apply_dot_norm2(op, ap, p, p).second, pp = norm2(p);
    auto rr_new = cg_update(e, r, ratio(active * rr, pp), p, ap);
    watch.record(rr_new, {watch.positive("|A^+ r + beta p|", pp)}, {apap, pp});
    watch.look(e, r, rr_new, s, p, ap, rr, active);
    if (!watch.running()) break;
    op.apply_dagger(s, r);
    zero_columns(p, watch.renewed_columns());
    xpay(p, s, ratio(active * rr_new, rr));
    rr = rr_new;
  }
  return watch.report();
}

}  // namespace detail

/// BiCGstab for A x = b. After an update rho = <r0, r> is summed with the new r; p, v and r0 are kept.
/// Columns that break down, turn to NaN, stagnate or show residuals that disagree start anew from the best solution,
/// and `why` says so. What converges meets the tolerance in the true residual, or is at the floor of x's precision
/// (`at_floor`).
/// \tparam Low   field of the iteration, of the precision of `inner`
/// \param outer  A in the precision of x and b; applied for updates only
/// \param inner  A in low precision
/// \param x      the initial guess, and the solution
template <field_batch Low, field_batch High, linear_operator<High> Outer, linear_operator<Low> Inner>
solve_report reliable_bicgstab(const Outer& outer, const Inner& inner, High& x, const High& b,
                               const stopping_rule& rule, const reliable_updates& parameters) {
  return detail::with_restarts(
      x, b, rule, parameters.restarts, [&](High& y, const High& c, const stopping_rule& rest, int attempt) {
        return detail::reliable_bicgstab_once<Low>(outer, inner, y, c, rest, parameters,
                                                   attempt == 0 ? shadow_residual::initial : shadow_residual::mixed);
      });
}

/// Conjugate gradients for A x = b, A Hermitian and positive. After an update p is made orthogonal to the new r,
/// p -= (<r, p> / |r|^2) r, and beta is the ratio of the new |r|^2 to that of the iteration before. Else as
/// reliable_bicgstab.
template <field_batch Low, field_batch High, linear_operator<High> Outer, linear_operator<Low> Inner>
solve_report reliable_conjugate_gradients(const Outer& outer, const Inner& inner, High& x, const High& b,
                                          const stopping_rule& rule, const reliable_updates& parameters) {
  return detail::with_restarts(x, b, rule, parameters.restarts,
                               [&](High& y, const High& c, const stopping_rule& rest, int) {
                                 return detail::reliable_cg_once<Low>(outer, inner, y, c, rest, parameters);
                               });
}

/// CGNR (see conjugate_gradients.hpp). After an update s = A^+ r is made from the new r, and p orthogonal to it.
/// Else as reliable_bicgstab.
template <field_batch Low, field_batch High, linear_operator<High> Outer, linear_operator<Low> Inner>
solve_report reliable_cgnr(const Outer& outer, const Inner& inner, High& x, const High& b, const stopping_rule& rule,
                           const reliable_updates& parameters) {
  return detail::with_restarts(x, b, rule, parameters.restarts,
                               [&](High& y, const High& c, const stopping_rule& rest, int) {
                                 return detail::reliable_cgnr_once<Low>(outer, inner, y, c, rest, parameters);
                               });
}

/// CGNE (see conjugate_gradients.hpp). After an update p is kept as it is: what it would be made orthogonal by lives in
/// the space of z, which is not stored. Else as reliable_bicgstab.
template <field_batch Low, field_batch High, linear_operator<High> Outer, linear_operator<Low> Inner>
solve_report reliable_cgne(const Outer& outer, const Inner& inner, High& x, const High& b, const stopping_rule& rule,
                           const reliable_updates& parameters) {
  return detail::with_restarts(x, b, rule, parameters.restarts,
                               [&](High& y, const High& c, const stopping_rule& rest, int) {
                                 return detail::reliable_cgne_once<Low>(outer, inner, y, c, rest, parameters);
                               });
}

}  // namespace plaquette
