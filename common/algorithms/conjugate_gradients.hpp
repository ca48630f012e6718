// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Conjugate gradients: for a Hermitian positive operator, and on the two normal equations of any other.
#pragma once

#include "common/algorithms/convergence_watch.hpp"

namespace plaquette {

/// A x = b, A Hermitian and positive, for all columns at once. (Hestenes, Stiefel, J. Res. NBS 49 (1952) 409)
/// \param x  the initial guess, and the solution
template <field_batch F, linear_operator<F> A>
solve_report conjugate_gradients(const A& a, F& x, const F& b, const stopping_rule& rule) {
  convergence_watch<F> watch("cg", x, b, rule);
  const auto op = watch.counted(a);
  F y = like(b), r = like(b);  // y: the iterated solution of the columns still in the batch
  copy(y, x);
  auto rr = residual_of_guess(rule, r, op, y, b, watch.b2());
  watch.begin(rr, y, r, rr);
  if (!watch.running()) return watch.report();

  F p = like(r), ap = like(r);
  copy(p, r);
  auto pp = rr;  // |p|^2
  while (watch.running()) {
    op.apply(ap, p);
    const auto pap = dot(p, ap);
    const auto alpha = ratio(watch.unconverged(rr) * rr, pap);
    const auto rr_new = cg_update(y, r, alpha, p, ap);
    watch.record(rr_new, {watch.curvature("<p, A p>", pap, pp)});
    const auto beta = ratio(rr_new, rr);
    xpay(p, r, beta);
    pp = rr_new + beta * beta * pp;  // since r is orthogonal to p
    rr = rr_new;
    watch.look(y, r, p, ap, rr, pp);
  }
  return watch.report();
}

/// A x = b by A^+ A x = A^+ b: minimises |b - A x| over the Krylov space, and the residual falls monotonically.
/// The residual of A x = b itself is iterated, so that its size is never squared. (Hestenes, Stiefel 1952, sec. 10)
/// \param x  the initial guess, and the solution
template <field_batch F, linear_operator<F> A>
solve_report cgnr(const A& a, F& x, const F& b, const stopping_rule& rule) {
  convergence_watch<F> watch("cgnr", x, b, rule);
  const auto op = watch.counted(a);
  F y = like(b), r = like(b);
  copy(y, x);
  auto rr = residual_of_guess(rule, r, op, y, b, watch.b2());
  watch.begin(rr, y, r, rr);
  if (!watch.running()) return watch.report();

  F s = like(r), p = like(r), ap = like(r);
  op.apply_dagger(s, r);
  auto ss = norm2(s);
  copy(p, s);
  while (watch.running()) {
    op.apply(ap, p);
    const auto apap = norm2(ap);
    const auto alpha = ratio(watch.unconverged(rr) * ss, apap);
    rr = cg_update(y, r, alpha, p, ap);
    op.apply_dagger(s, r);
    const auto ss_new = norm2(s);
    xpay(p, s, ratio(ss_new, ss));
    ss = ss_new;
    watch.record(rr, {watch.positive("|A p|", apap)});
    watch.look(y, r, s, p, ap, rr, ss);
  }
  return watch.report();
}

/// A x = b by A A^+ z = b, x = A^+ z: minimises the error |x - A^-1 b| over the Krylov space. The residual may rise on
/// the way. z itself is not needed. (Craig, J. Math. and Phys. 34 (1955) 64)
/// \param x  the initial guess, and the solution
template <field_batch F, linear_operator<F> A>
solve_report cgne(const A& a, F& x, const F& b, const stopping_rule& rule) {
  convergence_watch<F> watch("cgne", x, b, rule);
  const auto op = watch.counted(a);
  F y = like(b), r = like(b);
  copy(y, x);
  auto rr = residual_of_guess(rule, r, op, y, b, watch.b2());
  watch.begin(rr, y, r, rr);
  if (!watch.running()) return watch.report();

  F s = like(r), p = like(r), ap = like(r);
  op.apply_dagger(p, r);
  while (watch.running()) {
    op.apply(ap, p);
    const auto pp = norm2(p);
    const auto alpha = ratio(watch.unconverged(rr) * rr, pp);
    const auto rr_new = cg_update(y, r, alpha, p, ap);
    op.apply_dagger(s, r);
    xpay(p, s, ratio(rr_new, rr));
    rr = rr_new;
    watch.record(rr, {watch.positive("|A^+ r + beta p|", pp)});
    watch.look(y, r, s, p, ap, rr);
  }
  return watch.report();
}

}  // namespace plaquette
