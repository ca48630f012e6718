// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A solver chosen at run time.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/algorithms/bicgstab.hpp"
#include "common/algorithms/bicgstab_l.hpp"
#include "common/algorithms/conjugate_gradients.hpp"
#include "common/algorithms/gcr.hpp"

namespace plaquette {

/// `automatic` is BiCGstab; a column on which it stalls or breaks down goes on with BiCGstab(4), and then with CGNR. In
/// half precision CGNE takes the place of CGNR (README.md, "Two precisions").
enum class solver_kind { cgne, cgnr, bicgstab, gcr, mr, bicgstab2, bicgstab4, automatic };

inline constexpr std::array<std::pair<solver_kind, std::string_view>, 8> solver_names{
    {{solver_kind::cgne, "cgne"},
     {solver_kind::cgnr, "cgnr"},
     {solver_kind::bicgstab, "bicgstab"},
     {solver_kind::gcr, "gcr"},
     {solver_kind::mr, "mr"},
     {solver_kind::bicgstab2, "bicgstab2"},
     {solver_kind::bicgstab4, "bicgstab4"},
     {solver_kind::automatic, "auto"}}};

inline std::string name(solver_kind kind) {
  for (const auto& [known, text] : solver_names)
    if (known == kind) return std::string(text);
  return "unknown";
}

/// \throws input_error with the list of names
inline solver_kind parse_solver_kind(std::string_view text) {
  std::string names;
  for (const auto& [kind, known] : solver_names) {
    if (known == text) return kind;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  throw input_error("solver: expected one of " + names + ", found '" + std::string(text) + "'");
}

/// What some solvers need in addition to the stopping rule.
struct solver_parameters {
  int restart_length = 16;  ///< directions of gcr
  double relaxation = 1.0;  ///< of mr
};

namespace detail {

/// Returns the solvers of `automatic`, one after the other: the last one never gives up on a plateau.
/// \param p  of the iteration
constexpr std::array<solver_kind, 3> automatic_solvers(precision p) {
  return {solver_kind::bicgstab, solver_kind::bicgstab4, p == precision::half ? solver_kind::cgne : solver_kind::cgnr};
}
/// The iterations without progress after which the next one takes over.
inline constexpr int iterations_of_a_stall = 150;

/// Solves by the first of these solvers, and by the next ones for the columns that failed, from the best solution so
/// far; `why` says so.
/// \param run  solve_report (Field& x, const Field& b, const stopping_rule&, solver_kind, bool is_last)
template <field_batch Field, class Run>
solve_report solve_in_turn(const std::array<solver_kind, 3>& solvers, Field& x, const Field& b,
                           const stopping_rule& rule, Run&& run) {
  solve_report report = run(x, b, rule, solvers[0], false);
  report.solver = "auto";
  std::vector<std::string> told(report.columns.size());  ///< of each column: which solvers gave way, and why
  for (std::size_t stage = 1; stage < solvers.size(); ++stage) {
    stopping_rule rest = rule;
    rest.guess_is_zero = false;
    rest.column_tolerances.clear();
    std::vector<int> failed;
    for (int n = 0; n < std::ssize(report.columns); ++n) {
      const column_report& c = report.columns[static_cast<std::size_t>(n)];
      const bool goes_on = c.status == solve_status::stagnation || c.status == solve_status::breakdown ||
                           c.status == solve_status::inconsistent || c.status == solve_status::not_finite;
      if (!goes_on || c.iterations == 0 || c.iterations >= rule.limit) continue;
      failed.push_back(n);
      rest.limit = std::min(rest.limit, rule.limit - c.iterations);
      rest.column_tolerances.push_back(rule.tolerance_of(n));
    }
    if (failed.empty() || (rule.interrupted && rule.interrupted())) break;
    for (const int n : failed) {
      const column_report& c = report.columns[static_cast<std::size_t>(n)];
      told[static_cast<std::size_t>(n)] += (stage > 1 ? ", " : "") + name(solvers[stage - 1]) + " gave way to " +
                                           name(solvers[stage]) + " after " + std::to_string(c.iterations) +
                                           " iterations in all (" + c.why + ")";
    }
    Field x_failed = gather_columns(x, failed);
    const bool is_last = stage + 1 == solvers.size();
    const solve_report again = run(x_failed, gather_columns(b, failed), rest, solvers[stage], is_last);
    scatter_columns(x, failed, x_failed);
    report.add_work(again);
    for (std::size_t k = 0; k < failed.size(); ++k) {
      report.continue_column(failed[k], again.columns[k], again.history[k]);
      report.columns[static_cast<std::size_t>(failed[k])].why = again.columns[k].why;  // the earlier ones are in `told`
    }
  }
  for (std::size_t n = 0; n < told.size(); ++n)
    if (std::string& why = report.columns[n].why; !told[n].empty())
      why = told[n] + (why.empty() ? "" : ", then " + why);
  return report;
}

}  // namespace detail

/// Solves A x = b by the solver of that kind.
/// \param x  the initial guess, and the solution
template <field_batch Field, linear_operator<Field> A>
solve_report solve(solver_kind kind, const A& a, Field& x, const Field& b, const stopping_rule& rule,
                   const solver_parameters& parameters = {}) {
  switch (kind) {
    case solver_kind::cgne:
      return cgne(a, x, b, rule);
    case solver_kind::cgnr:
      return cgnr(a, x, b, rule);
    case solver_kind::bicgstab:
      return bicgstab(a, x, b, rule);
    case solver_kind::gcr:
      return gcr(a, x, b, rule, parameters.restart_length);
    case solver_kind::mr:
      return minimal_residual(a, x, b, rule, parameters.relaxation);
    case solver_kind::bicgstab2:
      return bicgstab_l(a, x, b, rule, 2);
    case solver_kind::bicgstab4:
      return bicgstab_l(a, x, b, rule, 4);
    case solver_kind::automatic:
      return detail::solve_in_turn(detail::automatic_solvers(precision_of<Field>), x, b, rule,
                                   [&](Field& y, const Field& c, stopping_rule rest, solver_kind one, bool is_last) {
                                     rest.stagnation_window =
                                         is_last ? 0 : std::min(rest.stagnation_window, detail::iterations_of_a_stall);
                                     return solve(one, a, y, c, rest, parameters);
                                   });
  }
  throw error(exit_status::internal_error, "solve: a solver without a name was requested");
}

}  // namespace plaquette
