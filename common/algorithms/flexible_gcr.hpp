// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flexible GCR(k): generalised conjugate residuals whose directions come from a preconditioner, which may be another
/// solver, in another precision, and differ from call to call. (Eisenstat, Elman, Schultz 1983; van der Vorst, Vuik,
/// Numer. Linear Algebra Appl. 1 (1994) 369, GMRESR)
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/algorithms/convergence_watch.hpp"

namespace plaquette {

/// Of flexible_gcr.
struct flexible_gcr_parameters {
  int restart_length = 16;  ///< directions k; 2 k fields of storage
  /// A column whose iterated residual met the tolerance while its true one did not goes on, at most so often.
  int corrections = 3;
};

namespace detail {

/// One run from the guess in x. At each restart the residual is computed anew as b - A x.
template <field_batch F, forward_operator<F> A, preconditioner<F> P>
solve_report flexible_gcr_once(const A& a, F& x, const F& b, const stopping_rule& rule, const P& inverse, int length) {
  convergence_watch<F> watch("flexible gcr(" + std::to_string(length) + ")", x, b, rule);
  const auto op = watch.counted(a);
  F y = like(b), r = like(b), c = like(b);  // of the columns in the batch: the solution, its residual, the source
  copy(y, x);
  copy(c, b);
  auto rr = residual_of_guess(rule, r, op, y, b, watch.b2());
  watch.begin(rr, y, r, c, rr);

  using scalars = typename F::scalars;
  std::vector<F> p, q;      // directions and their images q = A p, orthogonal to each other
  std::vector<scalars> qq;  // |q|^2 of those in use
  while (watch.running()) {
    if (std::ssize(qq) == length) {
      qq.clear();
      op.apply(q.front(), y);
      rr = subtract_norm2(r, c, q.front());
    }
    const std::size_t m = qq.size();
    if (p.size() == m) p.push_back(like(r)), q.push_back(like(r));

    // A column that has converged stands still until it leaves: it takes nothing out of q, as in gcr.hpp.
    const auto active = watch.unconverged(rr);
    inverse.apply(p[m], r);
    const auto next = [&](std::size_t j) -> const F& { return j < m ? q[j] : r; };
    auto [q_next, norm] = apply_dot_norm2(op, q[m], p[m], next(0));
    const scalars norm_before = norm;
    scalars projection = conj(q_next);
    std::vector<scalars> taken;
    for (std::size_t j = 0; j < m; ++j) {
      taken.push_back(-(active * ratio(projection, qq[j])));
      std::tie(projection, norm) = axpy_dot_norm2(q[m], taken[j], q[j], next(j + 1));
    }
    std::size_t j = 0;
    for (; j + 1 < m; j += 2) axpy_pair(p[m], taken[j], p[j], taken[j + 1], p[j + 1]);
    if (j < m) axpy(p[m], taken[j], p[j]);
    qq.push_back(norm);

    const scalars q_r = conj(projection), rr_before = rr;
    rr = cg_update(y, r, ratio(active * q_r, norm), p[m], q[m]);
    watch.record(rr, {watch.norm("the new direction's image", norm, norm_before),
                      watch.inner_product("the new direction's step <A p, r>", q_r, norm, rr_before)});
    watch.look(y, r, c, p, q, qq, rr);
  }
  return watch.report();
}

}  // namespace detail

/// A x = b for all columns at once; `inverse` approximates A^-1. The residual never rises between restarts, whatever
/// `inverse` does; each iteration takes one application of either. The operator and the residual are those of F; with
/// `bridge` the preconditioner works in another precision. At the end the residual of every column is computed from x
/// (`true_residual`); columns that claimed convergence above their tolerance are solved further.
/// \param x        the initial guess, and the solution
/// \param inverse  serves batches of any width up to that of b, since columns that have converged leave
template <field_batch F, forward_operator<F> A, preconditioner<F> P>
solve_report flexible_gcr(const A& a, F& x, const F& b, const stopping_rule& rule, const P& inverse,
                          const flexible_gcr_parameters& parameters = {}) {
  if (parameters.restart_length < 1)
    throw input_error("flexible gcr: the restart length must be at least 1, found " +
                      std::to_string(parameters.restart_length));
  solve_report report = detail::flexible_gcr_once(a, x, b, rule, inverse, parameters.restart_length);
  for (int pass = 0;; ++pass) {
    F r = like(b);
    const auto r2 = residual(r, counted_operator(a, report, true), x, b);
    ++report.host_reads;
    const auto values = host_values_of(std::vector{r2, norm2(b)});
    std::vector<int> open;
    for (int n = 0; n < b.columns(); ++n) {
      const auto k = static_cast<std::size_t>(n);
      column_report& c = report.columns[k];
      const double b2 = values[1][k].re;
      c.true_residual = b2 > 0.0 ? std::sqrt(values[0][k].re / b2) : c.residual;
      const bool claimed = c.status == solve_status::converged && c.iterations > 0;
      if (!claimed || c.true_residual <= rule.tolerance_of(n)) continue;
      if (pass < parameters.corrections && c.iterations < rule.limit)
        open.push_back(n);
      else {
        c.status = solve_status::stagnation;
        c.why = "the iterated residual met the tolerance, the true one stays above it (corrections: " +
                std::to_string(pass) + ")";
      }
    }
    if (open.empty() || (rule.interrupted && rule.interrupted())) return report;
    stopping_rule rest = rule;
    rest.guess_is_zero = false;
    rest.column_tolerances.clear();
    for (const int n : open) {
      column_report& c = report.columns[static_cast<std::size_t>(n)];
      c.why = "the true residual was above the tolerance";
      rest.limit = std::min(rest.limit, rule.limit - c.iterations);
      rest.column_tolerances.push_back(rule.tolerance_of(n));
    }
    F x_open = gather_columns(x, open);
    const solve_report again =
        detail::flexible_gcr_once(a, x_open, gather_columns(b, open), rest, inverse, parameters.restart_length);
    scatter_columns(x, open, x_open);
    report.add_work(again);
    for (std::size_t k = 0; k < open.size(); ++k) report.continue_column(open[k], again.columns[k], again.history[k]);
  }
}

}  // namespace plaquette
