// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Defect correction, or iterative refinement: a solve in low precision for each digit or two of the solution.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/krylov/ordinary_columns.hpp"
#include "common/krylov/reliable_watch.hpp"

namespace plaquette {

namespace detail {

/// The state of the columns of a defect correction from solve to solve.
class defect_record {
 public:
  defect_record(const stopping_rule& rule, const reliable_updates& parameters, double unit_roundoff, int columns)
      : rule_(rule), parameters_(parameters), roundoff_(unit_roundoff), states_(static_cast<std::size_t>(columns)) {
    report.columns.resize(states_.size());
    report.history.resize(states_.size());
  }

  solve_report report;

  /// Sets the columns to solve for, and the columns whose solution is set to zero, given |b|^2, |b - A x|^2 and an
  /// estimate of |A|^2.
  void begin(const std::vector<complex<double>>& b2, const std::vector<complex<double>>& r2,
             const std::vector<complex<double>>& gain2, std::vector<int>& open, std::vector<int>& to_zero) {
    for (int n = 0; n < std::ssize(states_); ++n) {
      const auto k = static_cast<std::size_t>(n);
      column_report& c = report.columns[k];
      states_[k].b_norm = std::sqrt(b2[k].re);
      states_[k].norm = parameters_.operator_norm > 0.0 ? parameters_.operator_norm : std::sqrt(gain2[k].re);
      if (!(b2[k].re > 0.0) || !std::isfinite(b2[k].re) || !std::isfinite(r2[k].re)) {
        const bool zero = b2[k].re == 0.0;
        to_zero.push_back(n);
        c.status = zero ? solve_status::converged : solve_status::not_finite;
        c.residual = c.true_residual = zero ? 0.0 : std::numeric_limits<double>::quiet_NaN();
        c.why = zero ? "the right-hand side is zero, and so is the solution"
                     : "the right-hand side or the residual of the initial guess is not finite; the solution is set to "
                       "zero";
        report.history[k].assign(1, c.residual);
        continue;
      }
      c.residual = c.true_residual = std::sqrt(r2[k].re) / states_[k].b_norm;
      report.history[k].assign(1, c.residual);
      c.status = solve_status::converged;
      c.why = "the initial guess meets the tolerance";
      if (c.true_residual <= rule_.tolerance_of(n)) continue;
      c.status = solve_status::iteration_limit;
      c.why = "no iteration was allowed";
      if (rule_.limit > 0) open.push_back(n);
    }
  }

  /// Returns the rule of the next solves: a fraction delta of the residual, and no less than the final tolerance.
  stopping_rule rule_for(const std::vector<int>& open) const {
    stopping_rule rule = rule_;
    rule.guess_is_zero = true;
    rule.column_tolerances.clear();
    for (const int n : open) {
      const column_report& c = report.columns[static_cast<std::size_t>(n)];
      rule.limit = std::min(rule.limit, rule_.limit - c.iterations);
      rule.column_tolerances.push_back(std::max(parameters_.delta, 0.8 * rule_.tolerance_of(n) / c.true_residual));
    }
    return rule;
  }

  /// Notes a solve of the open column n, after which |b - A x|^2 is `r2` and |x|^2 `x2`. Returns true if the column
  /// goes on; `better` says whether its new solution is.
  bool take(int n, const column_report& part, const std::vector<double>& history, double r2, double x2, bool& better) {
    column_report& c = report.columns[static_cast<std::size_t>(n)];
    state& s = states_[static_cast<std::size_t>(n)];
    const double before = c.true_residual, truth = std::sqrt(r2) / s.b_norm, iterated = part.residual * before;
    auto& all = report.history[static_cast<std::size_t>(n)];
    for (std::size_t i = 1; i < history.size(); ++i) all.push_back(history[i] * before);
    c.iterations += part.iterations;
    c.restarts += part.restarts;
    c.stopped = c.stopped || part.stopped;
    c.updates.push_back({c.iterations, iterated, truth});
    better = truth < before;
    if (better) c.true_residual = truth;
    c.residual = iterated;
    const auto ends = [&c](solve_status status, std::string why) {
      c.status = status;
      c.why = std::move(why);
      return false;
    };
    if (truth <= rule_.tolerance_of(n)) return ends(solve_status::converged, "");
    if (part.status == solve_status::interrupted) return ends(part.status, part.why);
    if (c.iterations >= rule_.limit)
      return ends(solve_status::iteration_limit, "not converged within " + std::to_string(rule_.limit) + " iterations");
    if (truth < 0.5 * before) return true;
    if (c.true_residual <= residual_floor(roundoff_, s.norm, std::sqrt(x2), s.b_norm)) {
      c.at_floor = true;
      return ends(solve_status::converged, "the true residual is at the floor of the solution's precision");
    }
    s.idle = truth < 0.9 * before ? 0 : s.idle + 1;
    if (s.idle < idle_solves) return true;
    if (part.status != solve_status::converged) return ends(part.status, part.why);
    return ends(solve_status::stagnation, "no progress over " + std::to_string(idle_solves) + " corrections");
  }

 private:
  static constexpr int idle_solves = 3;
  struct state {
    double b_norm = 0.0, norm = 0.0;  ///< |b|, |A|
    int idle = 0;
  };
  const stopping_rule& rule_;
  const reliable_updates& parameters_;
  double roundoff_;
  std::vector<state> states_;
};

}  // namespace detail

/// Solves A x = b for all columns at once by corrections x += e. A e = b - A x is solved in low precision, from zero
/// and with a new Krylov space each time, until its residual has fallen by `parameters.delta`. Each correction loses
/// the Krylov space of the last one; solvers with reliable updates keep it. (Same arguments and report as theirs;
/// `parameters.longest_interval`, `idle_updates` and `restarts` do not count here.) b may have any length.
/// \param solver  solve_report (const Inner&, InnerField& e, const InnerField& r, const stopping_rule&)
/// \throws input_error if x and b differ in shape or delta is not between 0 and 1
template <field_batch InnerField, field_batch OuterField, linear_operator<OuterField> Outer,
          linear_operator<InnerField> Inner, class Solver>
  requires precisions_of_one_field<OuterField, InnerField>
solve_report defect_correction(const Outer& outer, const Inner& inner, OuterField& x, const OuterField& b,
                               const stopping_rule& rule, const reliable_updates& parameters, Solver&& solver) {
  if (!(x.shape() == b.shape())) throw input_error("defect correction: x and b differ in shape");
  if (!(parameters.delta > 0.0 && parameters.delta < 1.0))
    throw input_error("defect correction: delta must be above 0 and below 1, found " +
                      std::to_string(parameters.delta));
  detail::defect_record record(rule, parameters, unit_roundoff(precision_of<OuterField>), b.columns());
  solve_report& total = record.report;
  const auto true_residual = [&](OuterField& r, const OuterField& y, const OuterField& c) {
    return residual(r, counted_operator(outer, total, true), y, c);
  };
  const auto read = [&](const std::vector<typename OuterField::scalars>& handles) {
    ++total.host_reads;
    return host_values_of(handles);
  };

  OuterField r = like(b);
  const auto r2 = true_residual(r, x, b);
  const auto start = read({norm2(b), r2, gain2(counted_operator(outer, total, true), r)});
  const ordinary_columns lengths(b, start[0]);
  total.host_reads += lengths.host_reads();
  if (lengths.are_scaled()) {
    solve_report report = lengths.solve(std::span(&x, 1), [&](const OuterField& scaled) {
      return defect_correction<InnerField>(outer, inner, x, scaled, rule, parameters, solver);
    });
    report.add_work(total);
    return report;
  }
  std::vector<int> open, to_zero;
  record.begin(start[0], start[1], start[2], open, to_zero);
  zero_columns(x, to_zero);

  while (!open.empty()) {
    const OuterField r_open = some_columns(r, open);
    InnerField e = like(r_open, r_open.columns(), as<InnerField>), r_low = like(e);
    assign(r_low, r_open);
    zero(e);
    const solve_report part = solver(inner, e, std::as_const(r_low), record.rule_for(open));
    total.solver = part.solver;
    total.add_work(part);

    OuterField x_new = gather_columns(x, open), step = like(x_new), r_new = like(x_new);
    assign(step, e);
    axpy(x_new, uniform_scalars(x_new, 1.0), step);
    const auto r2_new = true_residual(r_new, x_new, some_columns(b, open));
    const auto values = read({r2_new, norm2(x_new)});

    std::vector<int> still_open, better, better_columns;
    for (int k = 0; k < std::ssize(open); ++k) {
      const auto n = static_cast<std::size_t>(k);
      const int column = open[n];
      bool improved = false;
      if (record.take(column, part.columns[n], part.history[n], values[0][n].re, values[1][n].re, improved))
        still_open.push_back(column);
      if (improved) {
        better.push_back(k);
        better_columns.push_back(column);
      }
    }
    if (!better.empty()) {
      scatter_columns(x, better_columns, gather_columns(x_new, better));
      scatter_columns(r, better_columns, gather_columns(r_new, better));
    }
    open = std::move(still_open);
  }
  return std::move(record.report);
}

}  // namespace plaquette
