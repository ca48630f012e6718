// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Conjugate gradients: for a Hermitian positive operator, and on the two normal equations of any other. Each
/// recurrence is written once, for one precision or two: if the monitor replaces r, it goes on from the new one.
///
/// beta makes the new direction conjugate to the last one as it is (Polak, Ribiere, Rev. Fr. Inform. Rech. Oper. 16
/// (1969) 35). In exact arithmetic that is the ratio of two squared norms (Fletcher, Reeves). With rounding, and after
/// r was replaced, it keeps the directions apart.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "common/krylov/convergence_watch.hpp"

namespace plaquette {

namespace detail {

/// Returns, in each column, `conjugate` if |conjugate| <= |norms|, else the real number `norms`. If the step length
/// comes from |r|^2, an error would grow with a larger beta. (Gilbert, Nocedal, SIAM J. Optim. 2 (1992) 21)
template <class S>
S bounded_beta(const S& conjugate, const S& norms) {
  const std::vector<double> none(static_cast<std::size_t>(norms.columns()), 0.0);
  const S is_larger = where_above(conjugate * conj(conjugate) - norms * norms, std::span<const double>(none));
  return conjugate + is_larger * (norms - conjugate);
}

/// alpha = |r|^2 / <p, A p>     x += alpha p     r -= alpha A p     p <- r - (<A p, r> / <p, A p>) p
template <class Watch, class A>
solve_report conjugate_gradients_under(Watch& watch, const A& a) {
  const auto op = watch.counted(a);
  auto [x, r, rr] = watch.start(op);
  if (!watch.running()) return watch.report();
  using Field = decltype(like(r));

  Field p = like(r), ap = like(r);
  copy(p, r);
  auto pp = rr;  // |p|^2
  while (watch.running()) {
    op.apply(ap, p);
    auto pap = dot(p, ap), active = watch.unconverged(rr);
    const auto alpha = ratio(active * rr, pap);
    axpy(x, alpha, p);
    auto [ap_r, rr_new] = axpy_dot_norm2(r, -alpha, ap, ap);
    watch.record(rr_new, {watch.curvature("<p, A p>", pap, pp)}, {pap * pap, pp * pp});
    if (!watch.check_convergence(x, r, rr_new, p, ap, rr, ap_r, pap, pp, active)) break;
    watch.correct_product(ap_r, ap, r);
    watch.restart_direction(p);
    const auto beta = active * bounded_beta(-ratio(ap_r, pap), ratio(rr_new, rr));
    xpay(p, r, beta);
    pp = rr_new + beta * conj(beta) * pp;  // since r is orthogonal to p
    rr = rr_new;
  }
  return watch.report();
}

/// alpha = <A p, r> / |A p|^2     x += alpha p     r -= alpha A p     s = A^+ r     p <- s + beta p,
/// beta = <s - s_, s> / |s_|^2, s_ of the iteration before
template <class Watch, class A>
solve_report cgnr_under(Watch& watch, const A& a) {
  const auto op = watch.counted(a);
  auto [x, r, rr] = watch.start(op);
  if (!watch.running()) return watch.report();
  using Field = decltype(like(r));

  Field s = like(r), s_before = like(r), p = like(r), ap = like(r);
  op.apply_dagger(s, r);
  auto ss = norm2(s);
  copy(p, s);
  while (watch.running()) {
    auto active = watch.unconverged(rr);
    const auto [ap_r, apap] = apply_dot_norm2(op, ap, p, r);
    const auto rr_before = rr;
    rr = cg_update(x, r, ratio(active * ap_r, apap), p, ap);
    watch.record(rr, {watch.positive("|A p|", apap)}, {ss, rr_before});
    if (!watch.check_convergence(x, r, rr, s, s_before, p, ap, ss, active)) break;
    std::swap(s, s_before);
    op.apply_dagger(s, r);
    const auto [s_s_before, ss_new] = dot_norm2(s, s_before);
    watch.restart_direction(p);
    xpay(p, s, ratio(active * (ss_new - conj(s_s_before)), ss));
    ss = ss_new;
  }
  return watch.report();
}

/// alpha = |r|^2 / |p|^2     x += alpha p     r -= alpha A p     p <- A^+ r - (<A p, r> / |p|^2) p
template <class Watch, class A>
solve_report cgne_under(Watch& watch, const A& a) {
  const auto op = watch.counted(a);
  auto [x, r, rr] = watch.start(op);
  if (!watch.running()) return watch.report();
  using Field = decltype(like(r));

  // An error in r that the recurrence does not know of makes the residual grow: that is seen, not waited for. And p
  // stands for a direction of z that does not fit an r far from the old one: alpha would be wrong from there on.
  constexpr double suspicious_growth = 4.0;
  watch.guard_against_drift(suspicious_growth);
  Field s = like(r), p = like(r), ap = like(r);
  op.apply_dagger(p, r);
  while (watch.running()) {
    auto active = watch.unconverged(rr);
    const auto apap = apply_dot_norm2(op, ap, p, p).second;
    auto pp = norm2(p);
    const auto alpha = ratio(active * rr, pp);
    axpy(x, alpha, p);
    auto [ap_r, rr_new] = axpy_dot_norm2(r, -alpha, ap, ap);
    watch.record(rr_new, {watch.positive("|A^+ r + beta p|", pp)}, {apap, pp});
    if (!watch.check_convergence(x, r, rr_new, s, p, ap, rr, ap_r, pp, active)) break;
    watch.correct_product(ap_r, ap, r);
    watch.restart_direction(p);
    op.apply_dagger(s, r);
    const auto beta = bounded_beta(-ratio(ap_r, pp), ratio(rr_new, rr));
    xpay(p, s, active * beta);
    rr = rr_new;
  }
  return watch.report();
}

}  // namespace detail

/// A x = b, A Hermitian and positive, for all columns at once. (Hestenes, Stiefel, J. Res. NBS 49 (1952) 409)
/// \param x  the initial guess, and the solution
template <field_batch Field, linear_operator<Field> A>
solve_report conjugate_gradients(const A& a, Field& x, const Field& b, const stopping_rule& rule) {
  convergence_watch<Field> watch("cg", x, b, rule);
  return detail::conjugate_gradients_under(watch, a);
}

/// A x = b by A^+ A x = A^+ b: minimises |b - A x| over the Krylov space, and the residual falls monotonically.
/// The residual of A x = b itself is iterated, so that its size is never squared. (Hestenes, Stiefel 1952, sec. 10)
/// \param x  the initial guess, and the solution
template <field_batch Field, linear_operator<Field> A>
solve_report cgnr(const A& a, Field& x, const Field& b, const stopping_rule& rule) {
  convergence_watch<Field> watch("cgnr", x, b, rule);
  return detail::cgnr_under(watch, a);
}

/// A x = b by A A^+ z = b, x = A^+ z: minimises the error |x - A^-1 b| over the Krylov space. The residual may rise on
/// the way. z itself is not needed. (Craig, J. Math. and Phys. 34 (1955) 64)
/// \param x  the initial guess, and the solution
template <field_batch Field, linear_operator<Field> A>
solve_report cgne(const A& a, Field& x, const Field& b, const stopping_rule& rule) {
  convergence_watch<Field> watch("cgne", x, b, rule);
  return detail::cgne_under(watch, a);
}

}  // namespace plaquette
