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

#include "common/krylov/bicgstab.hpp"
#include "common/krylov/bicgstab_l.hpp"
#include "common/krylov/conjugate_gradients.hpp"
#include "common/krylov/gcr.hpp"

namespace plaquette {

/// `automatic` is BiCGstab, with other solvers for the columns that it does not serve: detail::solve_in_turn. In half
/// precision CGNE takes the place of CGNR (README.md, "Two precisions").
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

/// Parameters of some solvers, in addition to the stopping rule.
struct solver_parameters {
  int restart_length = 16;  ///< directions of gcr
  double relaxation = 1.0;  ///< of mr
};

namespace detail {

/// One solver of `automatic`: it is left for the next one by a column that it does not serve.
struct solver_turn {
  solver_kind solver;
  std::vector<early_check> early_checks{};
  int patience = 0;  ///< iterations without progress after which a column leaves; 0: it stays
};

/// Plateaus of BiCGstab at light mass last some hundreds of iterations: it is left after more than the longest.
inline constexpr int iterations_of_a_stall = 1000;
/// BiCGstab on a spectrum on both sides of zero does not get anywhere from the first iterations on, or falls for some
/// fifteen and then rises again. At light mass it falls on, as CG on the normal equations does.
inline const std::vector<early_check> early_checks_of_bicgstab{{0, 8, 0.15}, {16, 64, 0.6}};

/// Returns the kind of CG on the normal equations that serves iterations in a precision.
inline constexpr solver_kind normal_equations(precision p) {
  return p == precision::half ? solver_kind::cgne : solver_kind::cgnr;
}

/// Solves by BiCGstab, and by other solvers for the columns that it does not serve, each from the best solution so far;
/// `why` says so. A column that fails an early check tries CG on the normal equations, which depends on the singular
/// values alone; if that does no better, it goes back to BiCGstab. A column on which BiCGstab stalls or breaks down
/// later goes on with BiCGstab(4) and then with CG on the normal equations. BiCGstab comes last, for as long as the
/// rule allows: in half precision it solves some systems that CG does not.
/// \param p    of the iteration
/// \param run  solve_report (Field& x, const Field& b, const stopping_rule&, const solver_turn&)
template <field_batch Field, class Run>
solve_report solve_in_turn(precision p, Field& x, const Field& b, const stopping_rule& rule, Run&& run) {
  const solver_turn first{solver_kind::bicgstab, early_checks_of_bicgstab, iterations_of_a_stall};
  const std::array<solver_turn, 5> later{{{normal_equations(p), {{0, 64, 0.25}, {64, 256, 0.1}}, iterations_of_a_stall},
                                          {solver_kind::bicgstab, {}, iterations_of_a_stall},
                                          {solver_kind::bicgstab4, {}, iterations_of_a_stall},
                                          {normal_equations(p), {}, 2 * iterations_of_a_stall},
                                          {solver_kind::bicgstab}}};
  solve_report report = run(x, b, rule, first);
  report.solver = "auto";
  const std::size_t columns = report.columns.size();
  std::vector<std::string> told(columns);  ///< of each column: which solvers gave way, and why
  std::vector<solver_kind> latest(columns, first.solver);
  constexpr int late = 32;  // iterations by which a check may come after its iteration
  std::vector<bool> is_early(columns);
  for (std::size_t n = 0; n < columns; ++n)
    is_early[n] = report.columns[n].iterations < early_checks_of_bicgstab.back().at + late;
  for (std::size_t k = 0; k < later.size(); ++k) {
    const solver_turn& turn = later[k];
    stopping_rule rest = rule;
    rest.guess_is_zero = false;
    rest.column_tolerances.clear();
    std::vector<int> failed;
    for (int n = 0; n < std::ssize(report.columns); ++n) {
      const column_report& c = report.columns[static_cast<std::size_t>(n)];
      const bool goes_on = c.status == solve_status::stagnation || c.status == solve_status::breakdown ||
                           c.status == solve_status::inconsistent || c.status == solve_status::not_finite;
      if (!goes_on || c.iterations == 0 || c.iterations >= rule.limit) continue;
      if (k < 2 && !is_early[static_cast<std::size_t>(n)]) continue;
      failed.push_back(n);
      rest.limit = std::min(rest.limit, rule.limit - c.iterations);
      rest.column_tolerances.push_back(rule.tolerance_of(n));
    }
    if (failed.empty()) continue;
    if (rule.interrupted && rule.interrupted()) break;
    for (const int n : failed) {
      const auto at = static_cast<std::size_t>(n);
      const column_report& c = report.columns[at];
      told[at] += (told[at].empty() ? "" : ", ") + name(latest[at]) + " gave way to " + name(turn.solver) + " after " +
                  std::to_string(c.iterations) + " iterations in all (" + c.why + ")";
      latest[at] = turn.solver;
    }
    Field x_failed = gather_columns(x, failed);
    const solve_report again = run(x_failed, gather_columns(b, failed), rest, turn);
    scatter_columns(x, failed, x_failed);
    report.add_work(again);
    for (std::size_t i = 0; i < failed.size(); ++i) {
      report.continue_column(failed[i], again.columns[i], again.history[i]);
      report.columns[static_cast<std::size_t>(failed[i])].why = again.columns[i].why;  // the earlier ones are in `told`
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
      return detail::solve_in_turn(precision_of<Field>, x, b, rule,
                                   [&](Field& y, const Field& c, stopping_rule rest, const detail::solver_turn& turn) {
                                     rest.stagnation_window = std::min(rest.stagnation_window, turn.patience);
                                     rest.early_checks = turn.early_checks;
                                     return solve(turn.solver, a, y, c, rest, parameters);
                                   });
  }
  throw error(exit_status::internal_error, "solve: a solver without a name was requested");
}

}  // namespace plaquette
