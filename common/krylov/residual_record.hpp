// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A batch of columns while a solver runs: the numbers that each iteration leaves to be read, the columns that are
/// still in the batch, and the report that comes from them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/concepts.hpp"
#include "common/error.hpp"
#include "common/krylov/batch.hpp"
#include "common/krylov/judge.hpp"
#include "common/krylov/solve_report.hpp"
#include "common/number_text.hpp"

namespace plaquette {

/// The records of the iterations, queued, and their reading; a part of each monitor, which decides when to read.
template <column_scalars S>
class residual_record {
 public:
  using scalars = S;
  /// Numbers of the host: [handle][column].
  using table = std::vector<std::vector<complex<double>>>;

  /// A number that the method divides by (division_test).
  struct divisor {
    division_test test;
    scalars value, a2, b2;
  };
  /// |A u|^2 and |u|^2 for some vector u of the iteration: the largest of their ratios tell how large A is.
  struct gain {
    scalars image2, vector2;
  };

  /// \throws input_error if the rule makes no sense
  residual_record(std::string solver, const stopping_rule& rule, const scalars& b2)
      : rule_(rule), b2_(b2), columns_(static_cast<std::size_t>(b2.columns())) {
    check_rule();
    for (int n = 0; n < std::ssize(columns_); ++n) columns_[static_cast<std::size_t>(n)].place = n;
    report_.solver = std::move(solver);
    report_.columns.resize(columns_.size());
    report_.history.resize(columns_.size());
  }

  const stopping_rule& rule() const { return rule_; }
  /// Returns |b|^2 of all columns.
  const scalars& b2() const { return b2_; }
  int iteration() const { return iteration_; }
  /// Returns the columns in the batch, in order.
  std::vector<column_state>& columns() { return columns_; }
  const std::vector<column_state>& columns() const { return columns_; }
  solve_report& report() { return report_; }
  column_report& report_of(const column_state& c) { return report_.columns[static_cast<std::size_t>(c.place)]; }
  std::vector<double>& history_of(const column_state& c) { return report_.history[static_cast<std::size_t>(c.place)]; }

  /// Returns whether a convergence check comes after this iteration. (A recurrence may ask after several at once.)
  bool check_is_due() const {
    return iteration_ / rule_.check_interval > checked_at_ / rule_.check_interval || iteration_ >= rule_.limit;
  }
  void note_check() { checked_at_ = iteration_; }
  bool stop_is_wanted() {
    const bool stop = rule_.interrupted && rule_.interrupted();
    stop_was_wanted_ = stop_was_wanted_ || stop;
    return stop;
  }

  /// Returns 1 for each column above its tolerance, 0 for one that has converged and stands still until it leaves.
  scalars unconverged(const scalars& rr) const {
    std::vector<double> limits;
    for (const column_state& c : columns_) limits.push_back(c.limit2);
    return where_above(rr, std::span<const double>(limits));
  }

  /// Notes |r|^2 after an iteration and the numbers it divided by. Reads nothing.
  void add(const scalars& rr, std::initializer_list<divisor> divisors) {
    ++iteration_;
    trace_.push_back(rr);
    for (const divisor& d : divisors) trace_.insert(trace_.end(), {d.value, d.a2, d.b2});
    if (tests_.empty())
      for (const divisor& d : divisors) tests_.push_back(d.test);
  }
  /// Does the same, and a gain.
  void add(const scalars& rr, std::initializer_list<divisor> divisors, const gain& g) {
    add(rr, divisors);
    trace_.insert(trace_.end(), {g.image2, g.vector2});
    with_gain_ = true;
  }

  /// Reads numbers. The host waits.
  table read(const std::vector<scalars>& handles) {
    ++report_.host_reads;
    return host_values_of(handles);
  }
  /// Returns the records since the last call, and removes them.
  std::vector<scalars> take_trace() { return std::exchange(trace_, {}); }

  /// Judges all columns before the first iteration, given |b|^2 and |r|^2 of the guess.
  struct beginning {
    std::vector<int> keep;     ///< columns to be iterated
    std::vector<int> to_zero;  ///< columns whose solution is to be set to zero
  };
  beginning begin(const std::vector<complex<double>>& b2, const std::vector<complex<double>>& r2) {
    beginning all;
    for (int n = 0; n < std::ssize(columns_); ++n) {
      const auto k = static_cast<std::size_t>(n);
      column_state& c = columns_[k];
      const verdict v = judge::guess(c, rule_, b2[k].re, r2[k].re);
      report_of(c).residual = c.latest;
      if (v.status != solve_status::not_finite) history_of(c).push_back(c.latest);
      if (b2[k].re == 0.0 || v.status == solve_status::not_finite) all.to_zero.push_back(n);
      if (v.ends)
        conclude(c, v);
      else
        all.keep.push_back(n);
    }
    return all;
  }

  /// Judges the iterations of the column at position n that were not judged yet, up to `until`.
  /// \param values  ends with the records of iteration `last`
  verdict follow(column_state& c, int n, int until, const table& values, int last) {
    const std::size_t stride = this->stride();
    const int first = last - static_cast<int>(values.size() / stride) + 1;
    std::vector<division_numbers> numbers(tests_.size());
    while (c.seen < until) {
      const std::size_t k = static_cast<std::size_t>(++c.seen - first) * stride;
      const auto number = [&](std::size_t entry) { return values[k + entry][static_cast<std::size_t>(n)]; };
      for (std::size_t t = 0; t < tests_.size(); ++t)
        numbers[t] = {number(1 + 3 * t), number(2 + 3 * t).re, number(3 + 3 * t).re};
      if (with_gain_) judge::note_gain(c, number(stride - 2).re / number(stride - 1).re);
      const double r2 = number(0).re;
      const verdict v = judge::iteration(c, rule_, c.seen, r2, tests_, numbers);
      if (std::isfinite(r2)) history_of(c).push_back(report_of(c).residual = std::sqrt(r2 / c.b2));
      if (v.ends) return v;
    }
    return {};
  }

  /// Handles of a record.
  std::size_t stride() const { return 1 + 3 * tests_.size() + (with_gain_ ? 2 : 0); }

  void conclude(const column_state& c, const verdict& v) {
    column_report& out = report_of(c);
    out.status = v.status, out.iterations = v.iteration, out.why = v.why;
    out.stopped = stop_was_wanted_ && !v.why.empty();
    if (!c.note.empty()) out.why = v.why.empty() ? c.note : v.why + " (" + c.note + ")";
  }

  void report_progress(double worst) const {
    if (rule_.progress) rule_.progress(iteration_, worst);
  }

  /// Keeps some columns of the batch: of the fields, handles and lists of such that are given.
  template <class... Parts>
  void retain(const std::vector<int>& keep, Parts&... parts) {
    if (keep.size() == columns_.size()) return;
    columns_ = chosen(columns_, keep);
    if (keep.empty()) return;
    retain_in(trace_, std::span<const int>(keep));
    (retain_in(parts, std::span<const int>(keep)), ...);
  }

  /// Returns the members of a list at these positions.
  template <class List>
  static List chosen(const List& all, const std::vector<int>& positions) {
    List some;
    for (const int n : positions) some.push_back(all[static_cast<std::size_t>(n)]);
    return some;
  }

 private:
  void check_rule() const {
    const auto refuse = [](const std::string& what) { throw input_error("stopping rule: " + what); };
    if (rule_.check_interval < 1)
      refuse("check_interval must be at least 1, found " + std::to_string(rule_.check_interval));
    if (rule_.check_lag < 0 || (rule_.check_lag > 0 && rule_.check_lag >= rule_.check_interval))
      refuse("check_lag must be at least 0 and below check_interval, found " + std::to_string(rule_.check_lag));
    if (rule_.limit < 0) refuse("the iteration limit must not be negative, found " + std::to_string(rule_.limit));
    if (!rule_.column_tolerances.empty() && rule_.column_tolerances.size() != columns_.size())
      refuse("expected " + std::to_string(columns_.size()) + " column tolerances, found " +
             std::to_string(rule_.column_tolerances.size()));
    for (int n = 0; n < std::ssize(columns_); ++n)
      if (!(rule_.tolerance_of(n) >= 0.0))
        refuse("the tolerance must be a number not below 0, found " + number_text(rule_.tolerance_of(n)));
  }

  template <field_batch Field>
  static void retain_in(Field& field, std::span<const int> keep) {
    compact(field, keep);
  }
  static void retain_in(scalars& handle, std::span<const int> keep) { handle = compacted(handle, keep); }
  template <class Part>
  static void retain_in(std::vector<Part>& list, std::span<const int> keep) {
    for (Part& part : list) retain_in(part, keep);
  }

  stopping_rule rule_;
  scalars b2_;
  std::vector<column_state> columns_;
  std::vector<scalars> trace_;
  std::vector<division_test> tests_;
  bool with_gain_ = false;
  int iteration_ = 0, checked_at_ = 0;
  bool stop_was_wanted_ = false;
  solve_report report_;
};

/// The side of a record that a recurrence sees; base of the monitors.
template <column_scalars S>
class recorded_batch {
 public:
  using scalars = S;
  using divisor = typename residual_record<S>::divisor;
  using gain = typename residual_record<S>::gain;
  using kind = division_test::kind;

  /// Returns <a, b>, given |a|^2 and |b|^2.
  static divisor inner_product(const char* what, const S& value, const S& a2, const S& b2) {
    return {{kind::inner_product, what}, value, a2, b2};
  }
  /// Returns a norm relative to another, given both squared.
  static divisor norm(const char* what, const S& value2, const S& other2) {
    return {{kind::norm, what}, value2, other2, other2};
  }
  static divisor positive(const char* what, const S& value) { return {{kind::positive, what}, value, value, value}; }
  /// Returns <p, A p> of a positive operator, given |p|^2.
  static divisor curvature(const char* what, const S& pap, const S& p2) {
    return {{kind::curvature, what}, pap, p2, p2};
  }

  /// Returns `a`, its applications counted in the report.
  template <class A>
  counted_operator<A> counted(const A& a) {
    return counted_operator<A>(a, record_.report());
  }
  /// Returns whether columns are in the batch.
  bool running() const { return !record_.columns().empty(); }
  const S& b2() const { return record_.b2(); }
  /// Returns the number of iterations recorded.
  int iteration() const { return record_.iteration(); }
  /// Notes |r|^2 after an iteration and the numbers it divided by. Reads nothing.
  void record(const S& rr, std::initializer_list<divisor> divisors) { record_.add(rr, divisors); }
  /// Returns the report, once the batch is empty.
  solve_report report() { return std::move(record_.report()); }

 protected:
  recorded_batch(std::string solver, const stopping_rule& rule, const S& b2) : record_(std::move(solver), rule, b2) {}
  recorded_batch(const recorded_batch&) = delete;
  recorded_batch& operator=(const recorded_batch&) = delete;
  ~recorded_batch() = default;

  residual_record<S> record_;
};

}  // namespace plaquette
