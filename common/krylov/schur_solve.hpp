// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A full system M x = b solved on the even sites by the Schur complement, to a tolerance that the full system meets.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/krylov/batch.hpp"
#include "common/krylov/ordinary_columns.hpp"
#include "common/krylov/precision.hpp"
#include "common/krylov/solve_report.hpp"

namespace plaquette {

struct schur_parameters {
  /// How often a column is solved again for its correction, if the iterated residual has met the tolerance and the true
  /// one has not.
  int corrections = 3;
  /// The tolerance on |b - M x| / |b|, recomputed in the precision of the fields; 0: the tolerance of the rule. A
  /// precision that cannot reach the rule's tolerance truly needs a larger one here.
  double true_tolerance = 0.0;
  /// |M|, or a bound on it, from which the floor is computed; 0: |M r| / |r| of the first residual.
  double operator_norm = 0.0;
  /// Of the precision that computes the true residual; 0: of the precision of the fields.
  double unit_roundoff = 0.0;
};

/// Residuals and histories describe the full system: the even residuals times a factor for the other sites.
/// Applications count the even operator and the full one together; the full one counts as outer.
struct schur_report : solve_report {
  std::vector<double> true_residuals;  ///< |b - M x| / |b| by the full operator, per column
  std::vector<int> corrections;        ///< solves after the first, per column
  /// epsilon |M| |x| / |b|, per column: the true residual that the precision of x allows (residual_floor). A column
  /// whose true residual does not meet the tolerance and cannot be made smaller has converged if it meets this
  /// (`at_floor`).
  std::vector<double> floors;
};

namespace detail {

/// One solve M e = r of some columns through the even sites, and how to read its report as one of the full system.
template <field_batch Field>
struct schur_step {
  Field correction;             ///< e
  solve_report report;          ///< of the even system
  std::vector<double> to_full;  ///< the even relative residual times this is |r - M e|, per column
};

/// The state of the columns of a full system from solve to solve: the open ones, their targets, and their report.
class schur_record {
 public:
  schur_record(const stopping_rule& rule, const schur_parameters& parameters, double unit_roundoff, int columns)
      : rule_(rule), parameters_(parameters), roundoff_(unit_roundoff), b_norm_(static_cast<std::size_t>(columns)) {
    const auto n = static_cast<std::size_t>(columns);
    report.columns.resize(n);
    report.history.resize(n);
    report.corrections.assign(n, 0);
    report.true_residuals.assign(n, 0.0);
    report.floors.assign(n, 0.0);
    norm_.assign(n, parameters.operator_norm);
  }

  schur_report report;

  /// Sets the columns to solve for, and the columns whose solution is set to zero, given |b|^2, |b - M x|^2 and an
  /// estimate of |M|^2.
  void begin(const std::vector<double>& b2, const std::vector<double>& r2, const std::vector<double>& gain2,
             std::vector<int>& open, std::vector<int>& to_zero) {
    for (std::size_t n = 0; n < b2.size(); ++n) {
      const int column = static_cast<int>(n);
      b_norm_[n] = std::sqrt(b2[n]);
      if (!(parameters_.operator_norm > 0.0)) norm_[n] = std::sqrt(gain2[n]);
      if (b2[n] == 0.0) {
        to_zero.push_back(column);
        settle(n, solve_status::converged, 0.0, "the right-hand side is zero, and so is the solution");
      } else if (!std::isfinite(b2[n]) || !std::isfinite(r2[n])) {
        to_zero.push_back(column);
        settle(n, solve_status::not_finite, std::numeric_limits<double>::quiet_NaN(),
               "the right-hand side or the residual of the initial guess is not finite; the solution is set to zero");
      } else {
        const double relative = std::sqrt(r2[n]) / b_norm_[n];
        settle(n, solve_status::converged, relative, "the initial guess meets the tolerance");
        if (!(relative <= rule_.tolerance_of(column))) open.push_back(column);
      }
    }
  }

  /// Returns the rule of the next solve of the open columns: its limit is the remaining iterations.
  stopping_rule rule_for(const std::vector<int>& open) const {
    stopping_rule rule = rule_;
    rule.column_tolerances.clear();
    for (const int column : open)
      rule.limit =
          std::min(rule.limit, std::max(0, rule_.limit - report.columns[static_cast<std::size_t>(column)].iterations));
    return rule;
  }

  /// Returns the target of |b - M x| after the next solve, per open column. The margin allows for rounding and, with
  /// the symmetric complement, for the factor from the even residual to the full one, which is an estimate.
  std::vector<double> targets(const std::vector<int>& open, int pass) const {
    std::vector<double> all;
    for (const int column : open)
      all.push_back((pass == 0 ? 0.8 * rule_.tolerance_of(column) : 0.4 * true_tolerance(column)) *
                    b_norm_[static_cast<std::size_t>(column)]);
    return all;
  }

  /// Notes a solve of the open columns; `r2` is |b - M (x + e)|^2, `x2` is |x + e|^2. Fills the positions in `open` of
  /// the columns that have become better, and returns the positions of the columns that stay open.
  template <class Step>
  std::vector<int> take(const Step& step, const std::vector<double>& r2, const std::vector<double>& x2, int pass,
                        const std::vector<int>& open, std::vector<int>& better) {
    report.solver = step.report.solver;
    report.add_work(step.report);
    std::vector<int> still_open;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const auto n = static_cast<std::size_t>(open[k]);
      const double to_relative = step.to_full[k] / b_norm_[n];
      append(n, step.report.columns[k], step.report.history[k], to_relative, pass);
      const double before = report.true_residuals[n], after = std::sqrt(r2[k]) / b_norm_[n];
      if (after < before) {
        report.true_residuals[n] = after;
        report.floors[n] = residual_floor(roundoff_, norm_[n], std::sqrt(x2[k]), b_norm_[n]);
        better.push_back(static_cast<int>(k));
      }
      if (needs_correction(n, after < 0.5 * before, pass)) still_open.push_back(static_cast<int>(k));
    }
    return still_open;
  }

 private:
  double true_tolerance(int column) const {
    return parameters_.true_tolerance > 0.0 ? parameters_.true_tolerance : rule_.tolerance_of(column);
  }

  void settle(std::size_t n, solve_status status, double residual, const char* why) {
    report.columns[n] = {.status = status, .iterations = 0, .residual = residual, .restarts = 0, .why = why};
    report.true_residuals[n] = residual;
    report.history[n].assign(1, residual);
  }

  void append(std::size_t n, const column_report& part, const std::vector<double>& history, double to_relative,
              int pass) {
    column_report& c = report.columns[n];
    c.status = part.status;
    c.why = part.why;
    c.residual = part.residual * to_relative;
    c.iterations += part.iterations;
    c.restarts += part.restarts;
    c.mismatches += part.mismatches;
    c.stopped = c.stopped || part.stopped;
    for (const residual_update& update : part.updates)
      c.updates.push_back({update.iteration + c.iterations - part.iterations, update.iterated * to_relative,
                           update.truth * to_relative});
    report.corrections[n] = pass;
    // The first residual of a part belongs to the iteration that the history ends with, and is the better known one.
    for (std::size_t i = 0; i < history.size(); ++i) {
      if (i == 0) report.history[n].pop_back();
      report.history[n].push_back(history[i] * to_relative);
    }
  }

  /// Sets the status by the true residual. Returns true if a correction is worth while.
  bool needs_correction(std::size_t n, bool progress, int pass) {
    column_report& c = report.columns[n];
    const double truth = c.true_residual = report.true_residuals[n];
    c.at_floor = false;
    if (truth <= true_tolerance(static_cast<int>(n))) {
      if (c.status != solve_status::converged) c.why = "the true residual meets its tolerance (" + c.why + ")";
      c.status = solve_status::converged;
      return false;
    }
    const bool claimed = c.status == solve_status::converged;
    if (claimed && progress && pass < parameters_.corrections && c.iterations < rule_.limit) return true;
    if (truth <= report.floors[n] && (claimed || c.status == solve_status::stagnation)) {
      c.status = solve_status::converged;
      c.at_floor = true;
      c.why = "the true residual is at the floor of the solution's precision";
      return false;
    }
    if (!claimed) return false;
    c.status = solve_status::stagnation;
    c.why = "the iterated residual met the tolerance, the true one stays above it (" +
            (pass == 0 ? std::string("no correction was tried") : "corrections: " + std::to_string(pass)) + ")";
    return false;
  }

  const stopping_rule& rule_;
  const schur_parameters& parameters_;
  double roundoff_;
  std::vector<double> b_norm_, norm_;  ///< |b|, |M|
};

/// Returns the real parts of the numbers of some handles; one read.
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

/// \param targets  the largest |r - M e| allowed, per column
template <field_batch Field, schur_complement<Field> S, class M, class Solver>
schur_step<Field> solve_on_even_sites(const S& schur, const M& full, const Field& r, const std::vector<double>& targets,
                                      stopping_rule rule, Solver& solver, solve_report& total) {
  // Full batches take most of a solve's memory: none is held that the even system does not need.
  Field even = schur.even_like(r);
  zero(even);
  rule.guess_is_zero = true;
  std::vector<double> to_full;
  solve_report report = [&] {
    Field even_source = schur.even_like(r);
    schur.prepare_source(even_source, r);
    // The factor from the even residual to the full one is measured at e_even = 0, where the residual is the source. It
    // is 1 for the asymmetric complement and about 4 + m for the symmetric one.
    const auto residual2 = [&] {
      if constexpr (requires { schur.keeps_residuals(); })
        if (schur.keeps_residuals()) return norm2(even_source);
      Field e = like(r), left = like(r);
      schur.reconstruct_solution(e, even, r);
      return residual(left, full, e, r);
    }();
    to_full = real_values(std::vector{residual2}, total).front();
    for (std::size_t n = 0; n < targets.size(); ++n) {
      to_full[n] = std::sqrt(to_full[n]);
      const double tolerance = targets[n] / to_full[n];
      rule.column_tolerances.push_back(std::isfinite(tolerance) ? tolerance : 1.0);
    }
    return solver(schur, even, even_source, std::as_const(rule));
  }();
  Field e = like(r);
  schur.reconstruct_solution(e, even, r);
  return {e, std::move(report), std::move(to_full)};
}

}  // namespace detail

/// Solves M x = b for all columns at once: the even system is prepared, solved by `solver`, and the solution
/// reconstructed. Then |b - M x| is recomputed with `full`. A column whose iterated residual met the tolerance while
/// the true one did not is solved again for its correction. This ends when it does, when a correction no longer halves
/// the residual, or when `parameters.corrections` are spent. Then it has converged if it is at the floor of x's
/// precision (`at_floor`), and stagnates if it is above (`why` says so). The solution of s b is s times the solution of
/// b for any s that keeps both within the range of the fields.
/// \param full    M on the full lattice
/// \param x       the initial guess, and the solution: the one of the smallest true residual in each column
/// \param solver  solve_report (const S& even_operator, Field& x_even, const Field& b_even, const stopping_rule&)
/// \throws input_error if x and b differ in shape
template <field_batch Field, schur_complement<Field> S, linear_operator<Field> M, class Solver>
schur_report schur_solve(const S& schur, const M& full, Field& x, const Field& b, const stopping_rule& rule,
                         Solver&& solver, const schur_parameters& parameters = {}) {
  if (!(x.shape() == b.shape())) throw input_error("schur_solve: x and b differ in shape");
  detail::schur_record record(
      rule, parameters, parameters.unit_roundoff > 0.0 ? parameters.unit_roundoff : unit_roundoff(precision_of<Field>),
      b.columns());
  const counted_operator counted(full, record.report, true);

  // Full batches take most of a solve's memory: from a guess of zero r is b itself, until it changes.
  bool r_is_b = rule.guess_is_zero;
  Field r = r_is_b ? view(b, 0, b.columns()) : like(b);
  const auto b2 = norm2(b), r2 = r_is_b ? b2 : residual_of_guess(rule, r, counted, x, b, b2);
  std::vector to_read{b2, r2};
  if (!(parameters.operator_norm > 0.0)) to_read.push_back(gain2(counted, r));
  const auto start = detail::real_values(to_read, record.report);
  const ordinary_columns lengths(b, start[0]);
  record.report.host_reads += lengths.host_reads();
  if (lengths.are_scaled()) {
    schur_report report = lengths.solve(std::span(&x, 1), [&](const Field& scaled) {
      return schur_solve(schur, full, x, scaled, rule, solver, parameters);
    });
    report.add_work(record.report);
    return report;
  }
  std::vector<int> open, to_zero;
  record.begin(start[0], start[1], start.back(), open, to_zero);
  zero_columns(x, to_zero);

  const auto keep_columns = [&](const std::vector<int>& list) {  // of r
    if (std::exchange(r_is_b, false))
      r = gather_columns(r, list);
    else if (std::ssize(list) < r.columns())
      compact(r, std::span<const int>(list));
  };
  if (!open.empty() && std::ssize(open) < r.columns()) keep_columns(open);

  for (int pass = 0; !open.empty(); ++pass) {  // r has the open columns
    auto step = detail::solve_on_even_sites(schur, counted, r, record.targets(open, pass), record.rule_for(open),
                                            solver, record.report);
    Field& x_new = step.correction;
    const bool from_zero = pass == 0 && rule.guess_is_zero;
    if (!from_zero) axpy(x_new, uniform_scalars(x_new, 1.0), some_columns(x, open));
    Field r_new = like(x_new);
    const auto r2_new = residual(r_new, counted, x_new, some_columns(b, open));
    std::vector<int> better;
    const auto norms = detail::real_values(std::vector{r2_new, norm2(x_new)}, record.report);
    const std::vector<int> still_open = record.take(step, norms[0], norms[1], pass, open, better);
    const auto columns_at = [&open](const std::vector<int>& positions) {
      std::vector<int> columns;
      for (const int k : positions) columns.push_back(open[static_cast<std::size_t>(k)]);
      return columns;
    };
    if (!better.empty()) {
      const std::vector<int> better_columns = columns_at(better);
      copy_columns(x, std::span<const int>(better_columns), x_new, std::span<const int>(better));
    }
    if (!still_open.empty()) {
      if (!better.empty()) {
        if (r_is_b) {
          std::vector<int> all(static_cast<std::size_t>(r.columns()));
          std::iota(all.begin(), all.end(), 0);
          keep_columns(all);
        }
        copy_columns(r, std::span<const int>(better), r_new, std::span<const int>(better));
      }
      keep_columns(still_open);
    }
    open = columns_at(still_open);
  }
  return std::move(record.report);
}

}  // namespace plaquette
