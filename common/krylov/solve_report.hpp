// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The rule by which a solver stops, and its report.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace plaquette {

/// An early convergence check: a column gives up if its smallest residual at iteration `at` is above `fraction` of the
/// smallest at iteration `since` (0: of the first residual). The solver does not suit it then, and another one may.
struct early_check {
  int since = 0;
  int at = 0;
  double fraction = 1.0;
};

/// When a solver stops. Residuals are |b - A x| / |b|, column by column, as iterated by the solver.
struct stopping_rule {
  double tolerance = 1e-8;  ///< relative to |b|; 0 runs to the limit
  int limit = 10000;        ///< iterations
  /// Iterations from one convergence check to the next; the host waits for the device nowhere else. Between checks a
  /// column that has converged stands still, so the solution does not depend on this number. (Reliable updates are made
  /// at checks: with them it does.) 1 is best if answers are ready at once, as on the CPU; some 10 if they come late.
  int check_interval = 1;
  /// At a check the host knows the residuals of this number of iterations before it, so the device has work while the
  /// host waits and asks other ranks. It waits for the rest if it finds something, and for a column close to
  /// convergence. Such a column it then checks at every other iteration. Below `check_interval`; 0: all is waited for.
  /// For reliable updates alone; 1 or 2 if answers come late.
  int check_lag = 0;
  /// The caller knows that x is zero. Its residual is b then, which a solver need not compute.
  bool guess_is_zero = false;
  std::function<bool()> interrupted = nullptr;  ///< called at checks; true ends the solve
  std::function<void(int iteration, double worst_relative_residual)> progress = nullptr;  ///< called at checks
  /// A column stagnates when its smallest residual has not fallen by `least_progress` in this number of iterations; 0:
  /// never.
  int stagnation_window = 2000;
  double least_progress = 1e-3;
  /// An inner product counts as zero below this fraction of the product of its vectors' norms: it holds no right digit.
  double breakdown_threshold = 1e-14;
  /// Of ascending `at`. They end a column by `stagnation`; with them one that breaks down before the last is not
  /// restarted.
  std::vector<early_check> early_checks = {};
  std::vector<double> column_tolerances = {};  ///< if not empty: one a column, in place of `tolerance`

  /// Returns the iteration of the last early check, 0 without one.
  int last_early_check() const { return early_checks.empty() ? 0 : early_checks.back().at; }
  double tolerance_of(int column) const {
    return column_tolerances.empty() ? tolerance : column_tolerances.at(static_cast<std::size_t>(column));
  }
};

enum class solve_status {
  converged,
  iteration_limit,
  breakdown,    ///< a quantity that the method divides by has vanished
  stagnation,   ///< no progress over the window of the stopping rule
  not_finite,   ///< a NaN or an infinity appeared
  interrupted,  ///< the caller asked to stop
  inconsistent  ///< the iterated residual and the true one disagree by more than rounding explains
};

inline const char* name(solve_status status) {
  switch (status) {
    case solve_status::converged:
      return "converged";
    case solve_status::iteration_limit:
      return "iteration limit";
    case solve_status::breakdown:
      return "breakdown";
    case solve_status::stagnation:
      return "stagnation";
    case solve_status::not_finite:
      return "not finite";
    case solve_status::interrupted:
      return "interrupted";
    case solve_status::inconsistent:
      return "inconsistent";
  }
  return "unknown";
}

/// A residual recomputed from the solution. Both are relative to |b|.
struct residual_update {
  int iteration;    ///< after which it was made
  double iterated;  ///< by the recurrence
  double truth;     ///< |b - A x| / |b|
};

/// How the solve of one column ended.
struct column_report {
  solve_status status = solve_status::iteration_limit;
  int iterations = 0;
  /// Iterated, relative to |b|, of the solution that was returned (0 if b = 0). At the floor: of the last iterate,
  /// which the true residual does not follow any more.
  double residual = 0.0;
  int restarts = 0;      ///< from the true residual, after a breakdown or another fault
  std::string why = {};  ///< for a person: the event and its iteration; empty for a plain convergence

  // Of solvers that recompute the residual:
  /// |b - A x| / |b| by the outer operator, of the solution that was returned; NaN if not computed.
  double true_residual = std::numeric_limits<double>::quiet_NaN();
  std::vector<residual_update> updates = {};
  /// Converged at the floor of the solution's precision: the iterated residual met the tolerance, the true one cannot.
  bool at_floor = false;
  int mismatches = 0;  ///< how often the two residuals disagreed by more than rounding explains
  /// The caller wanted a stop while the column was iterated, which may have changed its solution. Even a solution that
  /// meets the tolerance then does not come from a whole solve.
  bool stopped = false;

  /// Returns whether the solution has the bits of a solve that was not stopped.
  bool is_of_whole_solve() const { return status == solve_status::converged && !stopped; }
};

/// How the solve of a batch ended.
struct solve_report {
  std::string solver;
  std::vector<column_report> columns;
  std::vector<std::vector<double>>
      history;                     ///< per column: the iterated relative residual after 0, 1, 2, ... iterations
  long operator_applications = 0;  ///< of the operator or its adjoint to a batch
  long column_applications = 0;    ///< the same, counted once for each column in the batch
  /// Of these, the applications for true residuals, in the precision of the solution. The others are for Krylov spaces.
  long outer_applications = 0, outer_column_applications = 0;
  long host_reads = 0;  ///< how often the host waited for the device

  /// Adds the work of another solve.
  void add_work(const solve_report& other) {
    operator_applications += other.operator_applications;
    column_applications += other.column_applications;
    outer_applications += other.outer_applications;
    outer_column_applications += other.outer_column_applications;
    host_reads += other.host_reads;
  }
  /// Notes that column n was solved again, from the solution it had: `after` and its history follow.
  void continue_column(int n, column_report after, const std::vector<double>& after_history) {
    const auto k = static_cast<std::size_t>(n);
    column_report& before = columns[k];
    for (residual_update& update : after.updates) update.iteration += before.iterations;
    after.updates.insert(after.updates.begin(), before.updates.begin(), before.updates.end());
    after.iterations += before.iterations;
    after.restarts += before.restarts + 1;
    after.mismatches += before.mismatches;
    after.stopped = after.stopped || before.stopped;
    after.why =
        "restarted from the true residual (" + before.why + ")" + (after.why.empty() ? "" : ", then ") + after.why;
    before = std::move(after);
    if (after_history.empty()) return;
    // the first residual of the second run belongs to the solution that it started from: the same place on the axis
    history[k].back() = after_history.front();
    history[k].insert(history[k].end(), after_history.begin() + 1, after_history.end());
  }

  bool all_converged() const {
    return std::all_of(columns.begin(), columns.end(),
                       [](const column_report& c) { return c.status == solve_status::converged; });
  }
  /// Returns the largest number of iterations of any column.
  int iterations() const {
    int most = 0;
    for (const auto& c : columns) most = std::max(most, c.iterations);
    return most;
  }
  std::vector<int> columns_with(solve_status status) const {
    std::vector<int> list;
    for (std::size_t n = 0; n < columns.size(); ++n)
      if (columns[n].status == status) list.push_back(static_cast<int>(n));
    return list;
  }
};

}  // namespace plaquette
