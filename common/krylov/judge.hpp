// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Judges one column of a solve by its numbers on the host: it goes on, or it ends for a reason. Pure functions;
/// `column_state` keeps their state from one call to the next.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "common/algebra/complex.hpp"
#include "common/krylov/precision.hpp"
#include "common/krylov/solve_report.hpp"

namespace plaquette {

/// When a residual is recomputed, and when a column ends whose true residual does not fall.
struct reliable_updates {
  /// A column is updated at the first convergence check that finds its iterated residual below this fraction of the
  /// largest since the last update. (Or below its rounding: judge::smallest_fraction.) 0: only if the iterated residual
  /// has converged. Below 1.
  double delta = 1e-2;
  /// Most iterations between two updates of a column: no error stays unseen for longer.
  int longest_interval = 200;
  /// |A|, or a bound on it, from which the floor of the true residual and the effect of rounding are computed. 0:
  /// estimated by the third largest |A u| / |u| of the solve (two may be errors of the machine).
  double operator_norm = 0.0;
  /// Ends a column's run after this number of consecutive updates whose iterated residual met the tolerance while the
  /// true one did not fall by a tenth.
  int idle_updates = 10;
  /// Ends a column whose true residual has not fallen by a tenth over this number of iterations. No plateau lasts that
  /// long: BiCGstab's plateaus at light mass last some hundreds of iterations.
  int patience = 5000;
  /// Most restarts of a column that broke down, turned to NaN or was thrown far off. It starts again from its best
  /// solution, as long as its true residual falls by a tenth from start to start.
  int restarts = 10;
};

/// A number that a method divides by, and when it counts as zero.
struct division_test {
  enum class kind {
    inner_product,  ///< <a, b>: below the threshold of the rule times |a| |b|
    norm,           ///< |a|: below the threshold times |b|
    positive,       ///< not above zero
    curvature       ///< <p, A p>: not above zero; <p, A p> / |p|^2 below the threshold times the largest so far
  } test;
  const char* what;
};
/// The number, and |a|^2 and |b|^2 (or |p|^2).
struct division_numbers {
  complex<double> value;
  double a2 = 0.0, b2 = 0.0;
};

/// The state of a column. Residuals are relative to |b|.
struct column_state {
  int place = 0;               ///< in the caller's batch
  double b2 = 0.0;             ///< |b|^2
  double limit2 = 0.0;         ///< the largest |r|^2 that meets the tolerance
  double latest = 0.0;         ///< iterated residual; infinite if the iterate is not to be trusted
  double kept = 0.0;           ///< residual of the solution in the caller's x; the true one if that was computed
  double kept_iterated = 0.0;  ///< the iterated residual of that solution
  double smallest = 0.0;       ///< iterated residual, and the iteration that reached it
  int smallest_at = 0;
  int stagnant_at = 0;  ///< the iteration that ended a window without progress; 0: none
  double marked = 0.0;  ///< smallest residual that the next early check compares with
  int gave_up_at = 0;   ///< the iteration of the early check that it failed; 0: none
  int seen = 0;         ///< the last iteration whose numbers were judged
  double largest_curvature = 0.0;
  std::array<double, 3> gains2{};  ///< the largest three |A u|^2 / |u|^2, descending

  // With reliable updates:
  double largest = 0.0;       ///< iterated residual since the last update
  double updated_from = 0.0;  ///< the true one at that update
  double deviation = 0.0;     ///< of the iterated one from it there, relative to the largest before
  int updated_at = 0;         ///< iteration of the last update
  double progress = 0.0;      ///< true residual that later ones are measured by, and the iteration that reached it
  int progress_at = 0;
  int idle = 0;      ///< updates since then
  int claims = 0;    ///< updates since then whose iterated residual met the tolerance
  std::string note;  ///< of the first mismatch
};

/// A column goes on, or it ends for a reason.
struct verdict {
  bool ends = false;
  solve_status status = solve_status::iteration_limit;
  int iteration = 0;
  std::string why;
};

/// Residuals of an update, absolute and squared, and the numbers that are needed to judge them.
struct update_numbers {
  double r2 = 0.0;    ///< true residual
  double gap2 = 0.0;  ///< its distance from the iterated one
  double e2 = 0.0;    ///< the correction since the last update
  double y2 = 0.0;    ///< the solution
  double operator_norm = 0.0;
  double tolerance = 0.0;  ///< on the true residual relative to |b|
  double low_roundoff = 0.0, high_roundoff = 0.0;
};
struct update_verdict {
  verdict next;
  bool mismatch = false;  ///< the two residuals differ by more than rounding explains
  bool at_floor = false;  ///< converged at the floor of the solution's precision
  /// The iterated residual fell by more than low precision can tell since the last update. The Krylov space is used up,
  /// and the true residual lies outside of it.
  bool exhausted = false;
  bool displaced = false;  ///< the update moved r by about its length, or by more than rounding explains
};

namespace judge {

inline std::string at(int iteration) { return " at iteration " + std::to_string(iteration); }

/// Judges a column before the first iteration, by |b|^2 and |r|^2 of the guess, and sets its state. If it ends with
/// `latest` not above the limit of a finite right-hand side, the guess stays. Else the solution must be set to zero.
inline verdict guess(column_state& c, const stopping_rule& rule, double b2, double r2) {
  const double tolerance = rule.tolerance_of(c.place);
  c.b2 = b2;
  c.limit2 = tolerance * tolerance * b2;
  if (b2 == 0.0) return {true, solve_status::converged, 0, "the right-hand side is zero, and so is the solution"};
  if (!std::isfinite(b2) || !std::isfinite(r2)) {
    c.latest = std::numeric_limits<double>::quiet_NaN();
    return {true, solve_status::not_finite, 0,
            std::isfinite(b2) ? "the residual of the initial guess is not finite; the solution is set to zero"
                              : "the right-hand side is not finite; the solution is set to zero"};
  }
  c.latest = c.kept = c.kept_iterated = c.smallest = c.largest = c.updated_from = c.progress = c.marked =
      std::sqrt(r2 / b2);
  if (r2 <= c.limit2) return {true, solve_status::converged, 0, "the initial guess meets the tolerance"};
  if (rule.limit == 0) return {true, solve_status::iteration_limit, 0, "no iteration was allowed"};
  return {};
}

/// Returns the fault of a number that the method divided by; empty if it has none. Numbers that lead to the next step
/// only, and vanish with the residual, do not matter to a column that has converged.
inline std::string fault(const division_test& t, const division_numbers& n, column_state& c, double threshold,
                         bool converged) {
  const std::string vanished = t.what + std::string(" vanished");
  switch (t.test) {
    case division_test::kind::inner_product:
      if (converged) return "";
      return std::hypot(n.value.re, n.value.im) > threshold * std::sqrt(n.a2) * std::sqrt(n.b2) ? "" : vanished;
    case division_test::kind::norm:
      if (converged) return "";
      return n.value.re > threshold * threshold * n.b2 ? "" : vanished;
    case division_test::kind::positive:
      return n.value.re > 0.0 ? "" : vanished;
    case division_test::kind::curvature: {
      if (!(n.value.re > 0.0)) return t.what + std::string(" is not above zero");
      const double curvature = n.value.re / n.a2;
      c.largest_curvature = std::max(c.largest_curvature, curvature);
      return curvature > threshold * c.largest_curvature ? "" : vanished + " relative to the largest eigenvalue";
    }
  }
  return vanished;
}

/// Judges one iteration by |r|^2 and the numbers that it divided by. Stagnation is noted in the state, and counts if no
/// later iteration converges (`progress`).
inline verdict iteration(column_state& c, const stopping_rule& rule, int k, double r2,
                         std::span<const division_test> tests, std::span<const division_numbers> numbers) {
  const auto distrust = [&](solve_status status, const std::string& why) {
    c.latest = std::numeric_limits<double>::infinity();
    return verdict{true, status, k, why + at(k)};
  };
  if (!std::isfinite(r2)) return distrust(solve_status::not_finite, "the residual became not finite");
  c.latest = std::sqrt(r2 / c.b2);
  const bool converged = r2 <= c.limit2;
  for (std::size_t t = 0; t < tests.size(); ++t) {
    const std::string why = fault(tests[t], numbers[t], c, rule.breakdown_threshold, converged);
    if (!why.empty()) return distrust(solve_status::breakdown, why);
  }
  if (converged) return {true, solve_status::converged, k, ""};
  if (c.latest < (1.0 - rule.least_progress) * c.smallest) c.smallest = c.latest, c.smallest_at = k;
  if (c.stagnant_at == 0 && rule.stagnation_window > 0 && k - c.smallest_at >= rule.stagnation_window)
    c.stagnant_at = k;
  for (const early_check& e : rule.early_checks) {
    if (k == e.since) c.marked = c.smallest;
    if (k == e.at && c.gave_up_at == 0 && !(c.smallest <= e.fraction * c.marked)) c.gave_up_at = k;
  }
  return {};
}

/// Judges whether a column has failed an early check.
inline verdict early_end(const column_state& c, int k) {
  if (c.gave_up_at == 0) return {};
  return {true, solve_status::stagnation, k, "hardly any progress" + at(c.gave_up_at)};
}

/// Judges whether a column has stagnated by its iterated residual.
inline verdict progress(const column_state& c, const stopping_rule& rule, int k) {
  if (c.gave_up_at != 0) return early_end(c, k);
  if (c.stagnant_at == 0) return {};
  return {true, solve_status::stagnation, k,
          "no progress over " + std::to_string(rule.stagnation_window) + " iterations" + at(c.stagnant_at)};
}

/// Judges a stop and the iteration limit, which end any column.
inline verdict end(const stopping_rule& rule, int k, bool stop) {
  if (stop) return {true, solve_status::interrupted, k, "interrupted" + at(k)};
  if (k >= rule.limit)
    return {true, solve_status::iteration_limit, k,
            "not converged within " + std::to_string(rule.limit) + " iterations"};
  return {};
}

/// Notes |A u|^2 / |u|^2 of some vector.
inline void note_gain(column_state& c, double gain2) {
  if (!std::isfinite(gain2)) return;
  for (double& held : c.gains2)
    if (gain2 > held) std::swap(gain2, held);
}

/// Estimates |A| from below, by the third of the gains. An error of the machine shows as one or two vectors that grow
/// without measure: it does not pass for a large operator.
inline double norm_by_gains(const column_state& c) {
  for (auto gain2 = c.gains2.rbegin(); gain2 != c.gains2.rend(); ++gain2)
    if (*gain2 > 0.0) return std::sqrt(*gain2);
  return 0.0;
}

/// Returns the fraction of the largest residual since the last update below which a column is updated: delta, but not
/// so small that the iterated residual is all rounding there. It deviates from the true one by sqrt(u) at least before
/// that matters (van der Vorst, Ye, SIAM J. Sci. Comput. 22 (2000) 835), and by as much as it did at the last update:
/// an update finds a gap of a twentieth of the residual. If delta is 0 it stays 0.
inline double smallest_fraction(const column_state& c, double delta, double low_roundoff) {
  constexpr double margin = 20.0, limit = 0.3;
  if (delta == 0.0) return delta;
  return std::max(delta, std::min(limit, std::max(std::sqrt(low_roundoff), margin * c.deviation)));
}

/// Returns whether the iterated residual is off by more than rounding explains. Each of k iterations adds a step to e
/// and its image to r, both of which low precision rounds: u |A| |e| and u |r| each, at random. The outer residual errs
/// by u_high |A| |y|. Sixteen times their sum is allowed, or a tenth of the true residual if that is more.
inline bool disagree(const column_state& c, const update_numbers& n, int now) {
  const double steps = std::sqrt(static_cast<double>(now - c.updated_at + 1));
  const double rounding = n.low_roundoff * steps * (n.operator_norm * std::sqrt(n.e2) + c.largest * std::sqrt(c.b2)) +
                          n.high_roundoff * n.operator_norm * std::sqrt(n.y2);
  return !(std::sqrt(n.gap2) <= std::max(16.0 * rounding, 0.1 * std::sqrt(n.r2)));
}

/// Judges an update of a column after iteration `now`, and sets its state. A mismatch does not end a column: the
/// recurrence goes on from the true residual. Three things end it apart from convergence. The true residual does not
/// fall any more. It was thrown far off, so its best solution is a better place to go on from. Or `reason` ends it for
/// another reason than convergence of the iterated residual.
inline update_verdict update(column_state& c, const verdict& reason, const update_numbers& n,
                             const reliable_updates& policy, int now) {
  constexpr double least_progress = 0.1, far_off = 1e3;
  const int k = reason.ends ? reason.iteration : now;
  const double iterated = c.latest, truth = std::sqrt(n.r2 / c.b2), before = c.kept;
  update_verdict result;
  const auto ends = [&](solve_status status, std::string why) {
    result.next = {true, status, k, std::move(why)};
    return result;
  };
  if (truth < c.kept) c.kept = truth, c.kept_iterated = iterated;
  const bool fell = truth < (1.0 - least_progress) * c.progress;
  if (fell) c.progress = truth, c.progress_at = now;
  c.idle = fell ? 0 : c.idle + 1;
  c.claims = fell ? 0 : c.claims + (reason.ends ? 1 : 0);

  if (truth <= n.tolerance)
    return ends(solve_status::converged,
                reason.why.empty() ? "" : "the true residual meets the tolerance (" + reason.why + ")");
  if (reason.ends && reason.status != solve_status::converged) {
    result.next = reason;
    return result;
  }
  if (!std::isfinite(truth)) return ends(solve_status::not_finite, "the true residual became not finite" + at(k));
  result.mismatch = disagree(c, n, now);
  if (result.mismatch && c.note.empty())
    c.note = "the iterated residual and the true one disagreed by more than rounding explains" + at(k);
  if (result.mismatch && truth > far_off * c.kept) return ends(solve_status::inconsistent, "");
  const double floor = residual_floor(n.high_roundoff, n.operator_norm, std::sqrt(n.y2), std::sqrt(c.b2));
  const bool follows = n.gap2 <= iterated * iterated * c.b2;
  // A column that has not come to its end has one more try from the residual as it is.
  if ((reason.ends || (!follows && c.idle > 1)) && truth <= floor && !(truth < 0.5 * before)) {
    result.at_floor = true;
    return ends(solve_status::converged,
                "the true residual is at the floor of the solution's precision and does not follow the iterated one");
  }
  if (c.claims >= policy.idle_updates)
    return ends(solve_status::stagnation, "the iterated residual met the tolerance at " + std::to_string(c.claims) +
                                              " updates, the true one did not fall" + at(k));
  if (now - c.progress_at >= policy.patience)
    return ends(solve_status::stagnation,
                "the true residual did not fall over " + std::to_string(policy.patience) + " iterations" + at(k));
  result.displaced = result.mismatch || n.gap2 > 0.5 * n.r2;
  c.deviation = std::sqrt(n.gap2 / c.b2) / c.largest;
  result.exhausted = !follows && iterated < n.low_roundoff * c.largest;
  c.latest = c.largest = c.updated_from = truth;
  c.updated_at = c.seen = now;
  return result;
}

}  // namespace judge

}  // namespace plaquette
