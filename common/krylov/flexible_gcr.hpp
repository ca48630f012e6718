// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flexible GCR(k): generalised conjugate residuals whose directions come from a preconditioner, which may be another
/// solver, in another precision, and differ from call to call. (Eisenstat, Elman, Schultz 1983; van der Vorst, Vuik,
/// Numer. Linear Algebra Appl. 1 (1994) 369, GMRESR)
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/krylov/convergence_watch.hpp"
#include "common/krylov/gcr_directions.hpp"
#include "common/krylov/ordinary_columns.hpp"
#include "common/krylov/reliable_solvers.hpp"

namespace plaquette {

/// Of flexible_gcr.
struct flexible_gcr_parameters {
  int restart_length = 16;  ///< directions k; 2 k fields of storage
  /// A column whose iterated residual met the tolerance while its true one did not goes on, at most so often.
  int corrections = 3;
};

namespace detail {

/// If the monitor has replaced r by the true residual, subtracts its parts along the old images: the directions stay in
/// use.
template <class Watch, field_batch Field, class S>
void take_out_images(const Watch& watch, const gcr_directions<Field>& kept, std::vector<S>& steps, Field& r, S& rr) {
  if constexpr (Watch::replaces_residuals) {
    if (!watch.updated()) return;
    const S mask = watch.updated_columns(), others = uniform_scalars(r, 1.0) - mask;
    const std::vector<S> c = coefficients_along(kept.images(), std::span<const S>(kept.qq), std::as_const(r), mask);
    for (std::size_t k = 0; k < steps.size(); ++k) steps[k] = others * steps[k] + c[k];
    subtract_combination(r, std::span<const S>(c), kept.images());
    rr = norm2(r);
  }
}

/// One run of the recurrence under a monitor, for one precision or two. Steps are added to x all at once, before a
/// restart and when the monitor takes a solution.
template <class Watch, class A, class P>
solve_report flexible_gcr_under(Watch& watch, const A& a, const P& inverse, int length) {
  const auto op = watch.counted(a);
  auto [x, r, rr] = watch.start(op);
  using field = std::remove_cvref_t<decltype(r)>;
  using scalars = typename field::scalars;
  gcr_directions<field> kept;
  std::vector<scalars> steps;  // that x lacks
  watch.complete_solutions_by(
      [&](const field& y, const std::vector<int>& list) { return kept.some_with_steps(y, steps, list); });
  while (watch.running()) {
    if (kept.count() == length) {
      kept.add_steps(x, steps);
      kept.clear(), steps.clear();
    }
    const auto m = static_cast<std::size_t>(kept.count());
    if (kept.p.size() == m) kept.p.push_back(like(r)), kept.q.push_back(like(r));

    // A column that has converged stands still until it leaves: it takes nothing out of q, as in gcr.hpp.
    const auto active = watch.unconverged(rr);
    inverse.apply(kept.p[m], r);
    const auto [q_r, norm, norm_before] = kept.add(op, r, active);
    const auto rr_before = rr;
    steps.push_back(ratio(active * q_r, norm));
    rr = axpy_norm2(r, -steps.back(), kept.q[m]);
    watch.record(rr,
                 {watch.norm("the new direction's image", norm, norm_before),
                  watch.inner_product("the new direction's step <A p, r>", q_r, norm, rr_before)},
                 {norm_before, norm_before});
    if (!watch.check_convergence(x, r, rr, kept.p, kept.q, kept.qq, kept.along, steps)) break;
    take_out_images(watch, kept, steps, r, rr);
  }
  return watch.report();
}

/// One run from the guess in x.
/// \param lengths  see convergence_watch::leave_where_scaled; null: b is of ordinary length
template <field_batch Field, forward_operator<Field> A, preconditioner<Field> P>
solve_report flexible_gcr_once(const A& a, Field& x, const Field& b, const stopping_rule& rule, const P& inverse,
                               int length, std::optional<ordinary_columns<Field>>* lengths = nullptr) {
  convergence_watch<Field> watch("flexible gcr(" + std::to_string(length) + ")", x, b, rule);
  if (lengths != nullptr) watch.leave_where_scaled(*lengths);
  return flexible_gcr_under(watch, a, inverse, length);
}

inline void require(const flexible_gcr_parameters& parameters) {
  if (parameters.restart_length < 1)
    throw input_error("flexible gcr: the restart length must be at least 1, found " +
                      std::to_string(parameters.restart_length));
}

}  // namespace detail

/// A x = b for all columns at once; `inverse` approximates A^-1. The residual never rises, whatever `inverse` does;
/// each iteration takes one application of either. The operator and the residual have the precision of Field; with
/// `bridge` the preconditioner works in another precision. At the end the residual of every column is computed from x
/// (`true_residual`); columns that claimed convergence above their tolerance are solved further. b may have any length.
/// \param x        the initial guess, and the solution
/// \param inverse  serves batches of any width up to b's, since columns that have converged leave
template <field_batch Field, forward_operator<Field> A, preconditioner<Field> P>
solve_report flexible_gcr(const A& a, Field& x, const Field& b, const stopping_rule& rule, const P& inverse,
                          const flexible_gcr_parameters& parameters = {}) {
  detail::require(parameters);
  std::optional<ordinary_columns<Field>> lengths;
  solve_report report = detail::flexible_gcr_once(a, x, b, rule, inverse, parameters.restart_length, &lengths);
  if (lengths->are_scaled()) {
    solve_report of_scaled = lengths->solve(
        std::span(&x, 1), [&](const Field& scaled) { return flexible_gcr(a, x, scaled, rule, inverse, parameters); });
    of_scaled.add_work(report);
    return of_scaled;
  }
  for (int pass = 0;; ++pass) {
    Field r = like(b);
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
    Field x_open = gather_columns(x, open);
    const solve_report again =
        detail::flexible_gcr_once(a, x_open, gather_columns(b, open), rest, inverse, parameters.restart_length);
    scatter_columns(x, open, x_open);
    report.add_work(again);
    for (std::size_t k = 0; k < open.size(); ++k) report.continue_column(open[k], again.columns[k], again.history[k]);
  }
}

/// The same with residual and directions in low precision, and reliable updates of the solution in high precision
/// (reliable_solvers.hpp): less memory, and less to read in each iteration. Columns that break down start anew from the
/// best solution.
/// \tparam InnerField    field of the iteration, of the precision of `inner`
/// \param outer   A in the precision of x and b; applied for updates only
/// \param inner   A in low precision
/// \param inverse approximates A^-1 in low precision
template <field_batch InnerField, field_batch OuterField, linear_operator<OuterField> Outer,
          forward_operator<InnerField> Inner, preconditioner<InnerField> P>
solve_report reliable_flexible_gcr(const Outer& outer, const Inner& inner, OuterField& x, const OuterField& b,
                                   const stopping_rule& rule, const reliable_updates& updates, const P& inverse,
                                   const flexible_gcr_parameters& parameters = {}) {
  detail::require(parameters);
  const std::string name = "flexible gcr(" + std::to_string(parameters.restart_length) + ")";
  return detail::reliable_solve<InnerField>(
      name.c_str(), outer, inner, x, b, rule, updates, [&](auto& watch, const Inner& a, int) {
        return detail::flexible_gcr_under(watch, a, inverse, parameters.restart_length);
      });
}

}  // namespace plaquette
