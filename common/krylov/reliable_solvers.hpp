// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Krylov solvers of two precisions with reliable updates. The vectors of the iteration live in a low precision, the
/// solution and now and then its residual in a high one. One Krylov space lives through the whole solve. (Clark,
/// Babich, Barros, Brower, Rebbi, Comput. Phys. Commun. 181 (2010) 1517, arXiv:0911.3191, section 5)
///
///     loop  iterate on A e = r in low precision
///           where |r| < delta max |r| since the last update:    y += e    r = b - A y    e = 0
///
/// The recurrences are the same as in one precision (bicgstab.hpp, conjugate_gradients.hpp), under another monitor.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/krylov/bicgstab.hpp"
#include "common/krylov/bicgstab_l.hpp"
#include "common/krylov/conjugate_gradients.hpp"
#include "common/krylov/reliable_watch.hpp"

namespace plaquette {

namespace detail {

/// Columns that can only go on from their best solution, with a new Krylov space. None that has not come to the last
/// early check.
inline std::vector<int> columns_to_restart(const solve_report& report, const stopping_rule& rule) {
  std::vector<int> list;
  for (int n = 0; n < std::ssize(report.columns); ++n) {
    const column_report& c = report.columns[static_cast<std::size_t>(n)];
    if (c.iterations > rule.last_early_check() &&
        (c.status == solve_status::breakdown || c.status == solve_status::not_finite ||
         c.status == solve_status::inconsistent))
      list.push_back(n);
  }
  return list;
}

/// Runs a solver, and again for the columns that failed, together, from the best solutions so far. Not twice in a row
/// for a column whose true residual did not fall by a tenth in between.
/// \param run  solve_report (OuterField& x, const OuterField& b, const stopping_rule&, int attempt)
template <field_batch OuterField, class Run>
solve_report with_restarts(OuterField& x, const OuterField& b, const stopping_rule& rule, int restarts, Run&& run) {
  solve_report report = run(x, b, rule, 0);
  std::vector<int> failed = columns_to_restart(report, rule);
  for (int attempt = 1; attempt <= restarts && !failed.empty(); ++attempt) {
    if (rule.interrupted && rule.interrupted()) break;
    stopping_rule rest = rule;
    rest.guess_is_zero = false;
    rest.early_checks.clear();
    rest.column_tolerances.clear();
    for (const int n : failed) {
      rest.limit = std::min(rest.limit, rule.limit - report.columns[static_cast<std::size_t>(n)].iterations);
      rest.column_tolerances.push_back(rule.tolerance_of(n));
    }
    if (rest.limit < 1) break;
    OuterField x_failed = gather_columns(x, failed);
    const solve_report again = run(x_failed, gather_columns(b, failed), rest, attempt);
    scatter_columns(x, failed, x_failed);
    report.add_work(again);
    const std::vector<int> failed_again = columns_to_restart(again, rest);
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

/// Runs a recurrence under reliable updates, with restarts.
/// \param recurrence  solve_report (reliable_watch&, const Inner&, int attempt)
template <field_batch InnerField, field_batch OuterField, class Outer, class Inner, class Recurrence>
solve_report reliable_solve(const char* name, const Outer& outer, const Inner& inner, OuterField& x,
                            const OuterField& b, const stopping_rule& rule, const reliable_updates& parameters,
                            Recurrence&& recurrence) {
  return with_restarts(x, b, rule, parameters.restarts,
                       [&](OuterField& y, const OuterField& c, const stopping_rule& rest, int attempt) {
                         reliable_watch<InnerField, OuterField, Outer> watch(name, outer, y, c, rest, parameters);
                         return recurrence(watch, inner, attempt);
                       });
}

}  // namespace detail

/// BiCGstab for A x = b (bicgstab.hpp). Columns that break down, turn to NaN or are thrown far off start again from the
/// best solution, and `why` says so. A converged column meets the tolerance in the true residual, or is at the floor of
/// x's precision (`at_floor`).
/// \tparam InnerField   field of the iteration, of the precision of `inner`
/// \param outer  A in the precision of x and b; applied for updates only
/// \param inner  A in low precision
/// \param x      the initial guess, and the solution
template <field_batch InnerField, field_batch OuterField, linear_operator<OuterField> Outer,
          linear_operator<InnerField> Inner>
solve_report reliable_bicgstab(const Outer& outer, const Inner& inner, OuterField& x, const OuterField& b,
                               const stopping_rule& rule, const reliable_updates& parameters) {
  return detail::reliable_solve<InnerField>(
      "bicgstab", outer, inner, x, b, rule, parameters, [](auto& watch, const Inner& a, int attempt) {
        return detail::bicgstab_under(watch, a, attempt == 0 ? shadow_residual::initial : shadow_residual::mixed);
      });
}

/// BiCGstab(l) (bicgstab_l.hpp). Else as reliable_bicgstab.
template <field_batch InnerField, field_batch OuterField, linear_operator<OuterField> Outer,
          linear_operator<InnerField> Inner>
solve_report reliable_bicgstab_l(const Outer& outer, const Inner& inner, OuterField& x, const OuterField& b,
                                 const stopping_rule& rule, const reliable_updates& parameters, int l) {
  if (l < 1) throw input_error("bicgstab(l): l must be at least 1, found " + std::to_string(l));
  const std::string name = "bicgstab(" + std::to_string(l) + ")";
  return detail::reliable_solve<InnerField>(
      name.c_str(), outer, inner, x, b, rule, parameters,
      [l](auto& watch, const Inner& a, int) { return detail::bicgstab_l_under(watch, a, l); });
}

/// Conjugate gradients for a Hermitian positive A. Else as reliable_bicgstab.
template <field_batch InnerField, field_batch OuterField, linear_operator<OuterField> Outer,
          linear_operator<InnerField> Inner>
solve_report reliable_conjugate_gradients(const Outer& outer, const Inner& inner, OuterField& x, const OuterField& b,
                                          const stopping_rule& rule, const reliable_updates& parameters) {
  return detail::reliable_solve<InnerField>(
      "cg", outer, inner, x, b, rule, parameters,
      [](auto& watch, const Inner& a, int) { return detail::conjugate_gradients_under(watch, a); });
}

/// CGNR (conjugate_gradients.hpp). Else as reliable_bicgstab.
template <field_batch InnerField, field_batch OuterField, linear_operator<OuterField> Outer,
          linear_operator<InnerField> Inner>
solve_report reliable_cgnr(const Outer& outer, const Inner& inner, OuterField& x, const OuterField& b,
                           const stopping_rule& rule, const reliable_updates& parameters) {
  return detail::reliable_solve<InnerField>(
      "cgnr", outer, inner, x, b, rule, parameters,
      [](auto& watch, const Inner& a, int) { return detail::cgnr_under(watch, a); });
}

/// CGNE (conjugate_gradients.hpp). Else as reliable_bicgstab.
template <field_batch InnerField, field_batch OuterField, linear_operator<OuterField> Outer,
          linear_operator<InnerField> Inner>
solve_report reliable_cgne(const Outer& outer, const Inner& inner, OuterField& x, const OuterField& b,
                           const stopping_rule& rule, const reliable_updates& parameters) {
  return detail::reliable_solve<InnerField>(
      "cgne", outer, inner, x, b, rule, parameters,
      [](auto& watch, const Inner& a, int) { return detail::cgne_under(watch, a); });
}

}  // namespace plaquette
