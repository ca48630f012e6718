// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A full system M x = b solved on the even sites by the Schur complement, to a tolerance that the full system meets.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/algorithms/batch.hpp"
#include "common/algorithms/solve_report.hpp"
#include "common/error.hpp"

namespace plaquette {

struct schur_parameters {
  /// How often a column is solved again for its correction, where the iterated residual has met the tolerance and the
  /// true one has not.
  int corrections = 3;
  /// What |b - M x| / |b| must meet, recomputed in the precision of the fields; 0: the tolerance of the rule. A
  /// precision that cannot reach the rule's tolerance truly needs a larger one here.
  double true_tolerance = 0.0;
};

/// Residuals and histories are those of the full system: the even ones times what the other sites make of them.
struct schur_report : solve_report {
  std::vector<double> true_residuals;  ///< |b - M x| / |b| by the full operator, per column
  std::vector<int> corrections;        ///< solves after the first, per column
};

namespace detail {

/// The numbers of a handle, real parts.
template <column_scalars S>
std::vector<std::vector<double>> real_values(const std::vector<S>& handles, solve_report& report) {
  ++report.host_reads;
  std::vector<std::vector<double>> reals;
  for (const auto& values : host_values_of(handles)) {
    reals.emplace_back();
    for (const auto& value : values) reals.back().push_back(value.re);
  }
  return reals;
}

/// One solve M e = r of some columns through the even sites, and what it takes to read its report as one of the full
/// system.
template <field_batch F>
struct schur_step {
  F correction;                 ///< e
  solve_report report;          ///< of the even system
  std::vector<double> to_full;  ///< even relative residual times this = |r - M e|
};

/// \param targets  what |r - M e| shall meet, per column
template <field_batch F, schur_complement<F> S, linear_operator<F> M, class Solver>
schur_step<F> solve_step(const S& schur, const M& full, const F& r, const std::vector<double>& targets,
                         stopping_rule rule, Solver& solver, solve_report& total) {
  F e = like(r), even_source = schur.even_like(r), even = schur.even_like(r);
  schur.prepare_source(even_source, r);

  // What a residual on the even sites is worth in the full system is seen at e_even = 0, where the residual is the
  // source. It is 1 for the asymmetric complement and about 4 + m for the symmetric one.
  zero(even);
  schur.reconstruct_solution(e, even, r);
  F left = like(r);
  const auto left2 = residual(left, full, e, r);
  ++total.operator_applications;
  total.column_applications += r.columns();
  const auto values = real_values(std::vector{norm2(even_source), left2}, total);

  std::vector<double> to_full;
  rule.column_tolerances.clear();
  for (std::size_t n = 0; n < targets.size(); ++n) {
    to_full.push_back(std::sqrt(values[1][n]));
    const double tolerance = to_full[n] > 0.0 ? targets[n] / to_full[n] : 1.0;
    rule.column_tolerances.push_back(std::isfinite(tolerance) ? tolerance : 1.0);
  }
  solve_report report = solver(schur, even, even_source, rule);
  schur.reconstruct_solution(e, even, r);
  return {e, std::move(report), std::move(to_full)};
}

}  // namespace detail

/// M x = b for all columns at once: the even system is prepared, solved by `solver`, and the solution reconstructed.
/// Then |b - M x| is computed anew with `full`. A column whose iterated residual met the tolerance while the true one
/// did not is solved again for its correction, until it does, or a correction no longer halves the residual (the
/// precision's floor: `stagnation`, and `why` says so), or `parameters.corrections` are spent.
/// \param full    M on the full lattice
/// \param x       the initial guess, and the solution; the better of the two in each column
/// \param solver  solve_report (const S& even_operator, F& x_even, const F& b_even, const stopping_rule&)
template <field_batch F, schur_complement<F> S, linear_operator<F> M, class Solver>
schur_report schur_solve(const S& schur, const M& full, F& x, const F& b, const stopping_rule& rule, Solver&& solver,
                         const schur_parameters& parameters = {}) {
  if (!(x.shape() == b.shape())) throw input_error("schur_solve: x and b differ in shape");
  const auto columns = static_cast<std::size_t>(b.columns());
  schur_report report;
  report.columns.resize(columns);
  report.history.resize(columns);
  report.corrections.assign(columns, 0);
  report.true_residuals.assign(columns, 0.0);
  const auto count_full = [&](int batch) { ++report.operator_applications, report.column_applications += batch; };
  const auto true_tolerance = [&](std::size_t n) {
    return parameters.true_tolerance > 0.0 ? parameters.true_tolerance : rule.tolerance_of(static_cast<int>(n));
  };

  F r = like(b);
  count_full(b.columns());
  const auto start = detail::real_values(std::vector{norm2(b), residual(r, full, x, b)}, report);
  std::vector<double> b_norm(columns);
  std::vector<int> open, without_solution;
  for (std::size_t n = 0; n < columns; ++n) {
    const double b2 = start[0][n], r2 = start[1][n];
    column_report& c = report.columns[n];
    b_norm[n] = std::sqrt(b2);
    if (b2 == 0.0) {
      without_solution.push_back(static_cast<int>(n));
      c.status = solve_status::converged;
      c.why = "the right-hand side is zero, and so is the solution";
      report.history[n].push_back(0.0);
    } else if (!std::isfinite(b2) || !std::isfinite(r2)) {
      without_solution.push_back(static_cast<int>(n));
      c.status = solve_status::not_finite;
      c.residual = report.true_residuals[n] = std::numeric_limits<double>::quiet_NaN();
      c.why = "the right-hand side or the residual of the initial guess is not finite; the solution is set to zero";
    } else {
      c.residual = report.true_residuals[n] = std::sqrt(r2) / b_norm[n];
      if (report.true_residuals[n] <= rule.tolerance_of(static_cast<int>(n))) {
        c.status = solve_status::converged;
        c.why = "the initial guess meets the tolerance";
        report.history[n].push_back(c.residual);
      } else {
        open.push_back(static_cast<int>(n));
      }
    }
  }
  zero_columns(x, without_solution);

  for (int pass = 0; !open.empty(); ++pass) {
    // Below the tolerance by a margin, since the factor to the full residual is an estimate in the symmetric case.
    const double margin = pass == 0 ? 0.8 : 0.4;
    std::vector<double> targets;
    stopping_rule inner = rule;
    for (const int column : open) {
      const auto n = static_cast<std::size_t>(column);
      targets.push_back(margin * (pass == 0 ? rule.tolerance_of(column) : true_tolerance(n)) * b_norm[n]);
      inner.limit = std::min(inner.limit, rule.limit - report.columns[n].iterations);
    }
    const F r_open = gather_columns(r, open), b_open = gather_columns(b, open);
    const auto step = detail::solve_step(schur, full, r_open, targets, inner, solver, report);

    F x_open = gather_columns(x, open), r_new = like(r_open);
    axpy(x_open, uniform_scalars(x_open, 1.0), step.correction);
    count_full(r_new.columns());
    const auto r2 = detail::real_values(std::vector{residual(r_new, full, x_open, b_open)}, report);

    report.solver = step.report.solver;
    report.operator_applications += step.report.operator_applications;
    report.column_applications += step.report.column_applications;
    report.host_reads += step.report.host_reads;
    std::vector<int> better, better_places, still_open;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const auto n = static_cast<std::size_t>(open[k]);
      const column_report& inner_column = step.report.columns[k];
      column_report& c = report.columns[n];
      const double to_relative = step.to_full[k] / b_norm[n];
      const double before = report.true_residuals[n], after = std::sqrt(r2[0][k]) / b_norm[n];
      c.iterations += inner_column.iterations;
      c.restarts += inner_column.restarts;
      c.status = inner_column.status;
      c.why = inner_column.why;
      c.residual = inner_column.residual * to_relative;
      report.corrections[n] = pass;
      for (std::size_t i = pass == 0 ? 0 : 1; i < step.report.history[k].size(); ++i)
        report.history[n].push_back(step.report.history[k][i] * to_relative);
      if (after < before) {
        report.true_residuals[n] = after;
        better.push_back(static_cast<int>(k));
        better_places.push_back(open[k]);
      }
      if (report.true_residuals[n] <= true_tolerance(n)) {
        if (c.status != solve_status::converged) c.why = "the true residual meets its tolerance (" + c.why + ")";
        c.status = solve_status::converged;
      } else if (c.status == solve_status::converged) {
        const bool floor = !(after < 0.5 * before), spent = pass >= parameters.corrections;
        if (!floor && !spent && c.iterations < rule.limit) {
          still_open.push_back(open[k]);
        } else {
          c.status = spent || floor ? solve_status::stagnation : solve_status::iteration_limit;
          c.why = "the iterated residual met the tolerance, the true one stays above it after " + std::to_string(pass) +
                  " corrections";
        }
      }
    }
    if (!better.empty()) {
      scatter_columns(x, better_places, gather_columns(x_open, better));
      scatter_columns(r, better_places, gather_columns(r_new, better));
    }
    open = std::move(still_open);
  }
  return report;
}

}  // namespace plaquette
