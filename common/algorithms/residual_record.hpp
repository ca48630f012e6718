// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a batch of columns leaves behind while a solver runs: residuals, numbers that were divided by, and what they
/// say about each column once the host looks at them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/algorithms/batch.hpp"
#include "common/algorithms/solve_report.hpp"
#include "common/concepts.hpp"
#include "common/error.hpp"

namespace plaquette {

/// The records of an iteration, queued, and their reading. Base of the watches, which say what follows from them.
template <column_scalars S>
class residual_record {
 public:
  using scalars = S;

  /// A number that the method divides by. The column has broken down where the number has vanished.
  struct divisor {
    enum class kind { inner_product, norm, positive, curvature } test;
    const char* what;
    scalars value, scale_a, scale_b;
  };
  /// Vanishes where |value| is below the threshold of the rule times |a| |b|; given <a, b>, |a|^2, |b|^2.
  static divisor inner_product(const char* what, const scalars& value, const scalars& a2, const scalars& b2) {
    return {divisor::kind::inner_product, what, value, a2, b2};
  }
  /// Vanishes where the norm is below the threshold of the rule times another; given both squared.
  static divisor norm(const char* what, const scalars& value2, const scalars& other2) {
    return {divisor::kind::norm, what, value2, other2, other2};
  }
  /// Vanishes where it is not above zero.
  static divisor positive(const char* what, const scalars& value) {
    return {divisor::kind::positive, what, value, value, value};
  }

  /// <p, A p> of a positive operator. Vanishes where it is not above zero, and where <p, A p> / |p|^2 is below the
  /// threshold of the rule times the largest it has been: there the operator is singular to rounding.
  static divisor curvature(const char* what, const scalars& pap, const scalars& p2) {
    return {divisor::kind::curvature, what, pap, p2, p2};
  }

  /// `a`, its applications counted in the report.
  template <class A>
  counted_operator<A> counted(const A& a) {
    return counted_operator<A>(a, report_);
  }

  /// True while columns are in the batch.
  bool running() const { return !columns_.empty(); }

  /// |b|^2 of all columns.
  const scalars& b2() const { return b2_; }

  /// The number of iterations recorded.
  int iteration() const { return iteration_; }

  /// 1 for each column above its tolerance, 0 for one that has converged and stands still until the next look.
  scalars unconverged(const scalars& rr) const { return where_above(rr, std::span<const double>(limits_)); }

  /// Notes |r|^2 after an iteration and the numbers it divided by. Reads nothing.
  void record(const scalars& rr, std::initializer_list<divisor> divisors) {
    ++iteration_;
    trace_.push_back(rr);
    for (const divisor& d : divisors) trace_.insert(trace_.end(), {d.value, d.scale_a, d.scale_b});
    if (tests_.empty())
      for (const divisor& d : divisors) tests_.push_back({d.test, d.what});
  }
  /// |A u|^2 and |u|^2 for some vector u of the iteration: the largest three of their ratios tell how large A is.
  struct gain {
    scalars image2, vector2;
  };
  /// The same, and a gain.
  void record(const scalars& rr, std::initializer_list<divisor> divisors, const gain& g) {
    record(rr, divisors);
    trace_.insert(trace_.end(), {g.image2, g.vector2});
    with_gain_ = true;
  }

  /// The report, once the batch is empty.
  solve_report report() { return std::move(report_); }

 protected:
  residual_record(std::string solver, const stopping_rule& rule, const scalars& b2)
      : rule_(rule), b2_(b2), columns_(static_cast<std::size_t>(b2.columns())) {
    check_rule();
    report_.solver = std::move(solver);
    report_.columns.resize(columns_.size());
    report_.history.resize(columns_.size());
  }
  residual_record(const residual_record&) = delete;
  residual_record& operator=(const residual_record&) = delete;
  ~residual_record() = default;

  struct column {
    int place = 0;                    ///< in the caller's batch
    double b2 = 0.0;                  ///< |b|^2
    double latest = 0.0, kept = 0.0;  ///< relative residuals of the iterate and of the solution in the caller's x
    double kept_iterated = 0.0;       ///< that of the solution in x as it was iterated, where `kept` is the true one
    double smallest = 0.0;            ///< relative residual, for the detection of stagnation
    int smallest_at = 0;
    int seen = 0;  ///< the last iteration whose records were judged
    bool was_near_its_end = false, is_looked_at_often = false;
    double largest_curvature = 0.0;
    double largest = 0.0;  ///< relative residual since the last update
    bool renews = false;   ///< its directions are given up at the last update
    int updated_at = 0;    ///< iteration
    int idle_updates = 0;  ///< one after the other, that brought no progress
    /// Of |A u|^2 / |u|^2 over the vectors u whose images were seen: the largest three, descending.
    std::array<double, 3> gains2{};
  };
  struct test {
    typename divisor::kind kind;
    const char* what;
  };
  using table = std::vector<std::vector<complex<double>>>;

  /// What the records of a column say: it goes on, or it ends for a reason.
  struct verdict {
    bool ends = false;
    solve_status status = solve_status::iteration_limit;
    int iteration = 0;
    std::string why;
  };

  void check_rule() const {
    const auto refuse = [](const std::string& what) { throw input_error("stopping rule: " + what); };
    if (rule_.look_every < 1) refuse("look_every must be at least 1, found " + std::to_string(rule_.look_every));
    if (rule_.look_behind < 0 || (rule_.look_behind > 0 && rule_.look_behind >= rule_.look_every))
      refuse("look_behind must be at least 0 and below look_every, found " + std::to_string(rule_.look_behind));
    if (rule_.limit < 0) refuse("the iteration limit must not be negative, found " + std::to_string(rule_.limit));
    if (!rule_.column_tolerances.empty() && rule_.column_tolerances.size() != columns_.size())
      refuse("expected " + std::to_string(columns_.size()) + " column tolerances, found " +
             std::to_string(rule_.column_tolerances.size()));
    for (int n = 0; n < std::ssize(columns_); ++n)
      if (!(rule_.tolerance_of(n) >= 0.0))
        refuse("the tolerance must be a number not below 0, found " + std::to_string(rule_.tolerance_of(n)));
  }

  column_report& report_of(const column& c) { return report_.columns[static_cast<std::size_t>(c.place)]; }

  table read(const std::vector<scalars>& handles) {
    ++report_.host_reads;
    return host_values_of(handles);
  }

  /// What |b|^2 and |r|^2 of the initial guess say about the columns before the first iteration.
  struct beginning {
    std::vector<int> keep;     ///< those to be iterated
    std::vector<int> to_zero;  ///< those whose solution is to be set to zero
  };
  beginning begin_columns(const std::vector<complex<double>>& b2, const std::vector<complex<double>>& r2) {
    beginning all;
    for (int n = 0; n < std::ssize(columns_); ++n) {
      const auto k = static_cast<std::size_t>(n);
      const verdict v = begin_column(n, b2[k].re, r2[k].re, all.to_zero);
      if (v.ends)
        conclude(columns_[k], v);
      else
        all.keep.push_back(n);
    }
    return all;
  }

  verdict begin_column(int n, double b2, double r2, std::vector<int>& to_zero) {
    column& c = columns_[static_cast<std::size_t>(n)];
    const double tolerance = rule_.tolerance_of(n);
    c = {};
    c.place = n;
    c.b2 = b2;
    limits_.push_back(tolerance * tolerance * b2);
    column_report& out = report_of(c);
    auto& history = report_.history[static_cast<std::size_t>(n)];
    if (b2 == 0.0) {
      to_zero.push_back(n);
      history.push_back(0.0);
      return {true, solve_status::converged, 0, "the right-hand side is zero, and so is the solution"};
    }
    if (!std::isfinite(b2) || !std::isfinite(r2)) {
      to_zero.push_back(n);
      out.residual = std::numeric_limits<double>::quiet_NaN();
      return {true, solve_status::not_finite, 0,
              std::isfinite(b2) ? "the residual of the initial guess is not finite; the solution is set to zero"
                                : "the right-hand side is not finite; the solution is set to zero"};
    }
    out.residual = c.latest = c.kept = c.kept_iterated = c.smallest = std::sqrt(r2 / b2);
    history.push_back(c.latest);
    if (r2 <= limits_.back()) return {true, solve_status::converged, 0, "the initial guess meets the tolerance"};
    if (rule_.limit == 0) return {true, solve_status::iteration_limit, 0, "no iteration was allowed"};
    return {};
  }

  void conclude(const column& c, const verdict& v) {
    column_report& out = report_of(c);
    out.status = v.status, out.iterations = v.iteration, out.why = v.why;
  }

  /// Handles a record.
  std::size_t stride() const { return 1 + 3 * tests_.size() + (with_gain_ ? 2 : 0); }

  /// Takes the records since the last look of the column at position n, up to this iteration.
  verdict judge(column& c, int n, const table& values, bool stop) {
    const verdict v = judge_until(iteration_, c, n, values, iteration_);
    return v.ends ? v : judge_end(stop);
  }

  /// What ends a column whatever its records say.
  verdict judge_end(bool stop) const {
    if (stop)
      return {true, solve_status::interrupted, iteration_, "interrupted at iteration " + std::to_string(iteration_)};
    if (iteration_ >= rule_.limit)
      return {true, solve_status::iteration_limit, iteration_,
              "not converged within " + std::to_string(rule_.limit) + " iterations"};
    return {};
  }

  /// Takes the records of the column at position n that it has not seen, up to iteration `until`. `values` ends with
  /// the records of iteration `last`.
  /// The first event counts, but stagnation only where the column has not converged by then.
  /// `latest` becomes infinite where the iterate is not to be trusted: after a breakdown, or a number not finite.
  verdict judge_until(int until, column& c, int n, const table& values, int last) {
    column_report& out = report_of(c);
    auto& history = report_.history[static_cast<std::size_t>(c.place)];
    const std::size_t stride = this->stride();
    const int first = last - static_cast<int>(values.size() / stride) + 1;
    const double limit = limits_[static_cast<std::size_t>(n)];
    const auto number = [&](std::size_t record, std::size_t entry) {
      return values[record * stride + entry][static_cast<std::size_t>(n)];
    };
    const auto finish = [](solve_status status, int iteration, std::string why) {
      return verdict{true, status, iteration, std::move(why)};
    };

    const auto at = [](int iteration) { return " at iteration " + std::to_string(iteration); };
    const auto distrust = [&](solve_status status, int iteration, const std::string& why) {
      c.latest = std::numeric_limits<double>::infinity();
      return finish(status, iteration, why + at(iteration));
    };

    int stagnant_at = 0;
    while (c.seen < until) {
      const int iteration = ++c.seen;
      const auto k = static_cast<std::size_t>(iteration - first);
      const double r2 = number(k, 0).re;
      if (!std::isfinite(r2)) return distrust(solve_status::not_finite, iteration, "the residual became not finite");
      c.latest = out.residual = std::sqrt(r2 / c.b2);
      history.push_back(c.latest);
      if (with_gain_) note_gain(c, number(k, stride - 2).re / number(k, stride - 1).re);
      const bool converged = r2 <= limit;
      for (std::size_t t = 0; t < tests_.size(); ++t) {
        const std::string why =
            fault(tests_[t], c, number(k, 1 + 3 * t), number(k, 2 + 3 * t).re, number(k, 3 + 3 * t).re, converged);
        if (!why.empty()) return distrust(solve_status::breakdown, iteration, why);
      }
      if (converged) return finish(solve_status::converged, iteration, "");
      if (c.latest < (1.0 - rule_.least_progress) * c.smallest) c.smallest = c.latest, c.smallest_at = iteration;
      if (stagnant_at == 0 && rule_.stagnation_window > 0 && iteration - c.smallest_at >= rule_.stagnation_window)
        stagnant_at = iteration;
    }
    if (stagnant_at > 0)
      return finish(solve_status::stagnation, until,
                    "no progress over " + std::to_string(rule_.stagnation_window) + " iterations" + at(stagnant_at));
    return {};
  }

  static void note_gain(column& c, double gain2) {
    if (!std::isfinite(gain2)) return;
    for (double& held : c.gains2)
      if (gain2 > held) std::swap(gain2, held);
  }

  /// An estimate of |A|, from below: by the third of the gains, so that an error in the machine, which shows as one
  /// vector that grows without measure, or two, does not pass for a large operator.
  static double norm_by_gains(const column& c) {
    for (auto gain2 = c.gains2.rbegin(); gain2 != c.gains2.rend(); ++gain2)
      if (*gain2 > 0.0) return std::sqrt(*gain2);
    return 0.0;
  }

  /// What is wrong with a number that the method divided by; empty where nothing is. Numbers that lead to the next step
  /// only, and vanish with the residual, do not matter to a column that has converged.
  std::string fault(const test& t, column& c, const complex<double>& value, double scale_a, double scale_b,
                    bool converged) const {
    const double threshold = rule_.breakdown_threshold;
    const std::string vanished = t.what + std::string(" vanished");
    switch (t.kind) {
      case divisor::kind::inner_product:
        if (converged) return "";
        return std::hypot(value.re, value.im) > threshold * std::sqrt(scale_a) * std::sqrt(scale_b) ? "" : vanished;
      case divisor::kind::norm:
        if (converged) return "";
        return value.re > threshold * threshold * scale_a ? "" : vanished;
      case divisor::kind::positive:
        return value.re > 0.0 ? "" : vanished;
      case divisor::kind::curvature: {
        if (!(value.re > 0.0)) return t.what + std::string(" is not above zero");
        const double curvature = value.re / scale_a;
        c.largest_curvature = std::max(c.largest_curvature, curvature);
        return curvature > threshold * c.largest_curvature ? "" : vanished + " beside the largest eigenvalue";
      }
    }
    return vanished;
  }

  /// The members of a list at these positions.
  template <class List>
  static List chosen(const List& all, const std::vector<int>& positions) {
    List some;
    for (const int n : positions) some.push_back(all[static_cast<std::size_t>(n)]);
    return some;
  }

  template <class... Parts>
  void retain(const std::vector<int>& keep, Parts&... parts) {
    if (keep.size() == columns_.size()) return;
    columns_ = chosen(columns_, keep);
    limits_ = chosen(limits_, keep);
    if (!keep.empty()) (retain_in(parts, std::span<const int>(keep)), ...);
  }
  template <field_batch F>
  static void retain_in(F& field, std::span<const int> keep) {
    compact(field, keep);
  }
  static void retain_in(scalars& handle, std::span<const int> keep) { handle = compacted(handle, keep); }
  template <class Part>
  static void retain_in(std::vector<Part>& list, std::span<const int> keep) {
    for (Part& part : list) retain_in(part, keep);
  }

  stopping_rule rule_;
  scalars b2_;
  std::vector<column> columns_;  ///< those in the batch, in order
  std::vector<double> limits_;   ///< on |r|^2, of the same columns
  std::vector<scalars> trace_;   ///< what was recorded since the last look
  std::vector<test> tests_;
  bool with_gain_ = false;  ///< of each record
  int iteration_ = 0;
  solve_report report_;
};

}  // namespace plaquette
