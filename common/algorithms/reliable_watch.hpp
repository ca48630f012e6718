// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the solvers of two precisions share: the looks at the residuals, the reliable updates, the report.
/// (Clark, Babich, Barros, Brower, Rebbi, arXiv:0911.3191, section 5; Sleijpen, van der Vorst, Computing 56 (1996) 141)
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/algorithms/precision.hpp"
#include "common/algorithms/residual_record.hpp"

namespace plaquette {

/// When a residual is made anew, and what becomes of it.
struct reliable_updates {
  /// A column is updated at the first look at which its iterated residual has been below this fraction of the largest
  /// since the last update. 0: only where the iterated residual has converged. Below 1.
  double delta = 1e-2;
  /// A column is updated at least once in so many iterations, so that an error does not stay unseen for longer.
  int longest_interval = 200;
  /// |A|, or a bound on it, from which the floor of the true residual is computed, and what rounding explains.
  /// 0: estimated by the third largest |A u| / |u| of the solve (two may be errors of the machine).
  double operator_norm = 0.0;
  /// So many updates of a column, one after the other, that do not bring its true residual down by a tenth end its run.
  int idle_updates = 10;
  /// A column that has broken down, turned to NaN or stagnated, or whose residuals disagree, starts anew from the best
  /// solution so far, at most so often, and only while its true residual falls by a tenth from start to start.
  int restarts = 10;
};

/// Follows the residuals of a batch of columns while a solver iterates in low precision on A e = r, and moves what it
/// finds to the solution in high precision: an update of a column is
///
///     y += e     r = b - A y (the outer operator)     e = 0
///
/// Columns are updated one by one as each needs it, so that what becomes of one does not depend on the others. The
/// Krylov space of a column outlives its updates, but for those that move the residual by more than its length: its
/// directions would belong to another residual. The host reads where a look is due, and once more where columns are
/// updated there. A column leaves the batch at an update only, so that what is said of it is true.
///
/// The solutions of the smallest true residuals stand in the caller's x at any time.
template <field_batch Low, field_batch High, linear_operator<High> Outer>
  requires precisions_of_one_field<High, Low>
class reliable_watch : public residual_record<typename High::scalars> {
  using base = residual_record<typename High::scalars>;
  using base::columns_, base::iteration_, base::rule_, base::report_, base::report_of, base::retain, base::trace_;
  using typename base::column, typename base::verdict;

 public:
  using typename base::scalars;

  /// \throws input_error where x and b do not match, or the rule or the parameters make no sense
  reliable_watch(std::string solver, const Outer& outer, High& x, const High& b, const stopping_rule& rule,
                 const reliable_updates& parameters)
      : base(solver, rule, norm2(b)), outer_(outer), x_(x), b_(b), y_(like(x)), parameters_(parameters) {
    if (!(x.shape() == b.shape()))
      throw input_error(solver + ": x and b differ in shape (" + std::to_string(x.columns()) + " and " +
                        std::to_string(b.columns()) + " columns)");
    if (!(parameters.delta >= 0.0 && parameters.delta < 1.0))
      throw input_error("reliable updates: delta must be at least 0 and below 1, found " +
                        std::to_string(parameters.delta));
    if (parameters.longest_interval < 1)
      throw input_error("reliable updates: the longest interval must be at least 1 iteration, found " +
                        std::to_string(parameters.longest_interval));
    copy(y_, x_);
  }

  /// r = b - A x of the initial guess, rounded, in the columns that are to be iterated.
  Low begin() {
    High r = like(b_);
    const auto rr = residual_of_guess(rule_, r, counted_operator(outer_, report_, true), y_, b_, this->b2_);
    const auto values = this->read({this->b2_, rr});
    const auto [keep, to_zero] = this->begin_columns(values[0], values[1]);
    zero_columns(x_, to_zero);
    for (column& c : columns_) {
      c.largest = c.latest;
      report_of(c).true_residual = report_of(c).residual;
    }
    // The iterated residual is to be below the tolerance by as much as rounding can hide.
    for (double& limit : this->limits_) limit *= 1.0 - 16.0 * low_roundoff;
    Low rounded = like(b_, b_.columns(), as<Low>);
    assign(rounded, r);
    retain(keep, rounded);
    return rounded;
  }

  /// True where `look` may change anything after the iteration that is recorded next.
  bool looks_after_this_iteration() const { return looks_at_all(iteration_ + 1) || looks_often(iteration_ + 1); }

  /// Where a look is due: reads what was recorded since the last one, updates the columns that need it, and lets those
  /// go that are done.
  /// \param e      the correction since the last update
  /// \param r      the iterated residual
  /// \param rr     |r|^2
  /// \param parts  every other field and handle of the batch
  template <class... Parts>
  void look(Low& e, Low& r, scalars& rr, Parts&... parts) {
    updated_.clear();
    renewed_.clear();
    const bool at_all = looks_at_all(iteration_);
    if (!at_all && !looks_often(iteration_)) {
      if ((iteration_ + rule_.look_behind) % rule_.look_every == 0) send_records();
      return;
    }
    const std::vector<due_column> due = at_all ? columns_due() : due_near_their_end();
    std::vector<int> keep;
    if (due.empty()) {
      if (at_all) tell_progress();
      return;
    }
    update(due, e, r, rr);
    zero_columns(e, updated_);
    for (int n = 0; n < std::ssize(columns_); ++n)
      if (!leaves_[static_cast<std::size_t>(n)]) keep.push_back(n);
    updated_ = positions_among(keep, updated_);
    renewed_ = positions_among(keep, renewed_);
    if (at_all) tell_progress();
    for (auto& record : records_) record = this->chosen(record, keep);
    retain(keep, e, r, rr, trace_, parts...);
  }

  /// True where some columns of the batch were updated at this look.
  bool updated() const { return !updated_.empty(); }
  /// Their positions.
  const std::vector<int>& updated_columns() const { return updated_; }
  /// Among them the columns whose Krylov space begins anew, with p = r.
  const std::vector<int>& renewed_columns() const { return renewed_; }
  /// <u, v> in the columns that were updated, `others` in the others.
  scalars choose_product(const Low& u, const Low& v, const scalars& others) const {
    constexpr int passes_of_gathering = 3;
    if (passes_of_gathering * std::ssize(updated_) >= others.columns())
      return choose_columns(updated_, dot(u, v), others);
    std::vector<int> all(updated_.size());
    std::iota(all.begin(), all.end(), 0);
    const scalars some = dot(gather_columns(u, updated_), gather_columns(v, updated_));
    return choose_columns(updated_, spread(some, all, others.columns()), others);
  }

 private:
  static constexpr double low_roundoff = unit_roundoff(precision_of<Low>);
  static constexpr double high_roundoff = unit_roundoff(precision_of<High>);
  static constexpr double least_progress = 0.1;  ///< of an update that is not idle
  static constexpr double near_the_end = 10.0;   ///< times the tolerance: what some ten iterations may bring
  static constexpr int between_looks_near_the_end = 2;

  struct due_column {
    int position;
    verdict reason;  ///< why its solve would end; where it does not, the residual has fallen far enough
  };
  /// What an update finds, per column: |r|^2, |r - iterated r|^2, |e|^2, |y|^2.
  struct findings {
    std::vector<complex<double>> r2, gap2, e2, y2;
  };

  /// Where the members of `list`, some of the `keep`, are when only those are left. Both ascending.
  static std::vector<int> positions_among(const std::vector<int>& keep, const std::vector<int>& list) {
    std::vector<int> positions;
    for (const int n : list)
      positions.push_back(static_cast<int>(std::lower_bound(keep.begin(), keep.end(), n) - keep.begin()));
    return positions;
  }

  scalars choose_columns(const std::vector<int>& list, const scalars& a, const scalars& b) const {
    if (std::ssize(list) == a.columns()) return a;
    std::vector<complex<double>> chosen(static_cast<std::size_t>(a.columns())), others(chosen.size(), {1.0, 0.0});
    for (const int n : list) {
      chosen[static_cast<std::size_t>(n)] = {1.0, 0.0};
      others[static_cast<std::size_t>(n)] = {};
    }
    const High some = view(y_, 0, a.columns());
    // a quotient by 0 is 0, whatever the dividend
    return ratio(a, make_scalars(some, std::span<const complex<double>>(chosen))) +
           ratio(b, make_scalars(some, std::span<const complex<double>>(others)));
  }

  void tell_progress() const {
    double worst = 0.0;
    for (const column& c : columns_)
      if (std::isfinite(c.latest)) worst = std::max(worst, c.latest);
    if (rule_.progress) rule_.progress(iteration_, worst);
  }

  /// The records of the last iterations before a look are on their way from here on.
  void send_records() {
    sent_ = late_values_of(trace_);
    sent_until_ = iteration_;
    trace_.clear();
  }

  /// Judges a column up to an iteration. True where its residual has fallen far enough on the way.
  bool follow(column& c, int n, int until, verdict& reason) {
    const auto& history = report_.history[static_cast<std::size_t>(c.place)];
    const std::size_t known = history.size();
    reason = this->judge_until(until, c, n, records_, records_until_);
    bool fallen = false;
    for (std::size_t i = known; i < history.size(); ++i) {
      c.largest = std::max(c.largest, history[i]);
      fallen = fallen || history[i] < parameters_.delta * c.largest;
    }
    return fallen;
  }

  void take_records_sent() {
    if (!sent_) return;
    ++report_.host_reads;
    std::ranges::move(std::exchange(sent_, nullptr)(), std::back_inserter(records_));
    records_until_ = sent_until_;
  }
  void take_all_records() {
    take_records_sent();
    if (!trace_.empty()) std::ranges::move(this->read(std::exchange(trace_, {})), std::back_inserter(records_));
    records_until_ = iteration_;
  }

  bool is_near_its_end(const column& c) const { return c.latest < near_the_end * rule_.tolerance_of(c.place); }
  bool is_overdue(const column& c) const { return iteration_ - c.updated_at >= parameters_.longest_interval; }

  /// What is found in a column's own records decides, so that it does not depend on the other columns.
  std::vector<due_column> columns_due() {
    if (sent_)
      take_records_sent();
    else
      take_all_records();
    const bool stop = rule_.interrupted && rule_.interrupted(), ends = stop || iteration_ >= rule_.limit;
    std::vector<due_column> due;
    for (int n = 0; n < std::ssize(columns_); ++n) {
      column& c = columns_[static_cast<std::size_t>(n)];
      verdict reason;
      bool is_due = follow(c, n, iteration_ - rule_.look_behind, reason) || is_overdue(c) || ends;
      const bool is_near = is_near_its_end(c);
      if (rule_.look_behind > 0 && !reason.ends && (is_due || is_near)) {
        take_all_records();
        is_due = follow(c, n, iteration_, reason) || is_due;
      }
      c.is_looked_at_often = is_near && !c.was_near_its_end;
      c.was_near_its_end = is_near;
      if (!reason.ends) reason = this->judge_end(stop);
      if (reason.ends || is_due) due.push_back({n, std::move(reason)});
    }
    forget_records();
    return due;
  }

  /// Where a device runs ahead of the host, iterations past the end cost more than looks. So a column that comes near
  /// its end is looked at often, until the next look at all. (One that stays near it has no end soon.)
  bool looks_often(int iteration) const {
    return rule_.look_behind > 0 && iteration % between_looks_near_the_end == 0 &&
           std::ranges::any_of(columns_, &column::is_looked_at_often);
  }
  bool looks_at_all(int iteration) const { return iteration % rule_.look_every == 0 || iteration >= rule_.limit; }
  std::vector<due_column> due_near_their_end() {
    take_all_records();
    std::vector<due_column> due;
    for (int n = 0; n < std::ssize(columns_); ++n) {
      column& c = columns_[static_cast<std::size_t>(n)];
      if (!c.is_looked_at_often) continue;
      verdict reason;
      const bool has_fallen = follow(c, n, iteration_, reason);
      if (reason.ends || has_fallen || is_overdue(c)) due.push_back({n, std::move(reason)});
    }
    forget_records();
    return due;
  }

  /// Those that every column has seen.
  void forget_records() {
    int seen = records_until_;
    for (const column& c : columns_) seen = std::min(seen, c.seen);
    const auto left = static_cast<std::ptrdiff_t>(this->stride()) * (records_until_ - seen);
    records_.erase(records_.begin(), records_.end() - left);
  }

  /// Adds the corrections to the iterated solutions of the columns that are due, and finds what is left.
  /// \param r      becomes, in these columns, its distance from the true residual
  /// \param r_new  becomes their true residual, rounded; a column for each that is due
  findings correct(const std::vector<int>& positions, const std::vector<int>& places, const Low& e, Low& r,
                   Low& r_new) {
    // Columns where they stand, as views; those that are not side by side come together for the operator alone.
    const std::vector<column_run> runs = runs_of(positions, places);
    std::vector<scalars> parts;
    for (const column_run& run : runs) {
      const auto first = static_cast<std::size_t>(run.first);
      const Low e_run = view(e, positions[first], run.count);
      High y_run = view(y_, places[first], run.count), step = like(y_run);
      assign(step, e_run);
      parts.push_back(axpy_norm2(y_run, uniform_scalars(y_run, 1.0), step));
      parts.push_back(norm2(e_run));
    }
    const High y = runs.size() == 1 ? view(y_, places.front(), runs.front().count) : gather_columns(y_, places);
    High ay = like(y);
    counted_operator(outer_, report_, true).apply(ay, y);
    for (const column_run& run : runs) {
      const auto first = static_cast<std::size_t>(run.first);
      High r_true = like(y, run.count);
      parts.push_back(subtract_norm2(r_true, view(b_, places[first], run.count), view(ay, run.first, run.count)));
      // What rounding r_true adds to the gap is what it adds to r where the column goes on. The iterated residual gives
      // its place to the gap: nobody asks for it again.
      Low rounded = view(r_new, run.first, run.count), gap = view(r, positions[first], run.count);
      assign(rounded, r_true);
      parts.push_back(axpy_norm2(gap, uniform_scalars(gap, -1.0), rounded));
    }
    const auto values = this->read(parts);
    findings found;
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const auto add = [&](std::vector<complex<double>>& all, const std::vector<complex<double>>& some) {
        all.insert(all.end(), some.begin(), some.end());
      };
      const std::size_t others = 2 * (runs.size() + k);
      add(found.y2, values[2 * k]), add(found.e2, values[2 * k + 1]);
      add(found.r2, values[others]), add(found.gap2, values[others + 1]);
    }
    return found;
  }

  /// Updates columns, decides which of them leave, and lets the others go on from the true residual.
  void update(const std::vector<due_column>& due, const Low& e, Low& r, scalars& rr) {
    std::vector<int> positions, places;
    for (const due_column& d : due) {
      positions.push_back(d.position);
      places.push_back(columns_[static_cast<std::size_t>(d.position)].place);
    }
    Low r_new = like(r, static_cast<int>(due.size()));
    const findings found = correct(positions, places, e, r, r_new);

    leaves_.assign(columns_.size(), false);
    std::vector<int> better, going_on;  // places, and numbers among those due
    for (int k = 0; k < std::ssize(due); ++k) {
      const int position = positions[static_cast<std::size_t>(k)];
      column& c = columns_[static_cast<std::size_t>(position)];
      const double before = c.kept;
      const verdict v = conclude_update(c, due[static_cast<std::size_t>(k)].reason, found, static_cast<std::size_t>(k));
      if (c.kept < before) better.push_back(places[static_cast<std::size_t>(k)]);
      if (v.ends) {
        this->conclude(c, v);
        leaves_[static_cast<std::size_t>(position)] = true;
      } else {
        going_on.push_back(k);
        updated_.push_back(position);
        if (c.renews) renewed_.push_back(position);
      }
    }
    if (!better.empty()) copy_columns(x_, std::span<const int>(better), y_, std::span<const int>(better));
    if (going_on.empty()) return;
    copy_columns(r, std::span<const int>(updated_), r_new, std::span<const int>(going_on));
    rr = choose_columns(updated_, spread(norm2(r_new), going_on, rr.columns()), rr);
  }

  /// Numbers `from` of `some` at the positions of the columns that were updated, anything at the others.
  scalars spread(const scalars& some, const std::vector<int>& from, int columns) const {
    if (std::ssize(updated_) == columns) return some;
    std::vector<int> list(static_cast<std::size_t>(columns), 0);
    for (std::size_t k = 0; k < from.size(); ++k) list[static_cast<std::size_t>(updated_[k])] = from[k];
    return compacted(some, std::span<const int>(list));
  }

  /// What an update says about its k-th column; notes the residual.
  verdict conclude_update(column& c, const verdict& reason, const findings& found, std::size_t k) {
    column_report& out = report_of(c);
    const int iteration = reason.ends ? reason.iteration : iteration_;
    const double iterated = report_.history[static_cast<std::size_t>(c.place)].back();
    const double truth = std::sqrt(found.r2[k].re / c.b2), before = c.kept;
    const std::string at = " at iteration " + std::to_string(iteration);
    out.updates.push_back({iteration, iterated, truth});
    if (truth < c.kept) {
      c.kept = truth;
      c.kept_iterated = iterated;
    }
    out.residual = c.kept_iterated;
    out.true_residual = c.kept;
    if (truth <= rule_.tolerance_of(c.place)) {
      out.residual = std::min(iterated, truth);  // r is the true residual now, whatever was iterated
      return {true, solve_status::converged, iteration,
              reason.why.empty() ? "" : "the true residual meets the tolerance (" + reason.why + ")"};
    }
    if (reason.ends && reason.status != solve_status::converged) return reason;
    if (!std::isfinite(truth))
      return {true, solve_status::not_finite, iteration, "the true residual became not finite" + at};
    if (disagree(c, found, k)) {
      ++out.mismatches;
      return {true, solve_status::inconsistent, iteration,
              "the iterated residual and the true one disagreed by more than rounding explains" + at};
    }
    const double floor = residual_floor(high_roundoff, norm_of_operator(c), std::sqrt(found.y2[k].re), std::sqrt(c.b2));
    const bool follows = found.gap2[k].re <= iterated * iterated * c.b2;
    // A column that has not come to its end has one more try from the residual as it is.
    if ((reason.ends || (!follows && c.idle_updates > 0)) && truth <= floor && !(truth < 0.5 * before)) {
      out.at_floor = true;
      out.residual = iterated;
      return {true, solve_status::converged, iteration,
              "the true residual is at the floor of the solution's precision and does not follow the iterated one"};
    }
    c.idle_updates = truth < (1.0 - least_progress) * before ? 0 : c.idle_updates + 1;
    if (c.idle_updates >= parameters_.idle_updates)
      return {true, solve_status::stagnation, iteration,
              "no progress over " + std::to_string(parameters_.idle_updates) + " updates" + at};
    // a column that stood still until this look has no residuals of its own for these iterations
    report_.history[static_cast<std::size_t>(c.place)].resize(static_cast<std::size_t>(iteration_) + 1, truth);
    c.latest = c.largest = truth;
    c.renews = !follows;
    c.updated_at = c.seen = iteration_;
    if (!(c.smallest <= truth)) return {};
    c.smallest = truth;  // progress is counted from here
    c.smallest_at = iteration_;
    return {};
  }

  double norm_of_operator(const column& c) const {
    return parameters_.operator_norm > 0.0 ? parameters_.operator_norm : base::norm_by_gains(c);
  }

  /// True where the iterated residual is off by what rounding does not explain. Each of k iterations adds a step to e
  /// and its image to r, both of which low precision rounds: u |A| |e| and u |r| each, at random. The outer residual
  /// errs by u_high |A| |y|. Sixteen times all that is allowed, and what does not matter beside the residual.
  bool disagree(const column& c, const findings& found, std::size_t k) const {
    const double norm = norm_of_operator(c), b_norm = std::sqrt(c.b2);
    const double gap = std::sqrt(found.gap2[k].re), r = std::sqrt(found.r2[k].re);
    const double steps = std::sqrt(static_cast<double>(iteration_ - c.updated_at + 1));
    const double rounding = low_roundoff * steps * (norm * std::sqrt(found.e2[k].re) + c.largest * b_norm) +
                            high_roundoff * norm * std::sqrt(found.y2[k].re);
    return !(gap <= std::max(16.0 * rounding, 0.1 * r));
  }

  const Outer& outer_;
  High& x_;
  const High& b_;
  High y_;  ///< the iterated solutions without the corrections since, all columns of the caller's batch
  reliable_updates parameters_;
  std::vector<int> updated_;  ///< positions of the columns updated at this look that go on
  std::vector<int> renewed_;  ///< those of them whose directions are given up
  std::vector<bool> leaves_;  ///< of the columns in the batch, at a look
  late_values sent_;          ///< the records until iteration `sent_until_`, where a look is near
  int sent_until_ = 0;
  typename base::table records_;  ///< those that some column has not seen, until iteration `records_until_`
  int records_until_ = 0;
};

}  // namespace plaquette
