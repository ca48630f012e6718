// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The monitor of a solver of two precisions: convergence checks, and reliable updates of the residual.
/// (Clark, Babich, Barros, Brower, Rebbi, arXiv:0911.3191, section 5; Sleijpen, van der Vorst, Computing 56 (1996) 141)
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/krylov/convergence_watch.hpp"

namespace plaquette {

/// Follows the residuals of a batch of columns while a solver iterates in low precision on A e = r, and adds the
/// corrections e to the solution in high precision: an update of a column is
///
///     y += e     r = b - A y (the outer operator)     e = 0
///
/// One Krylov space lives through the whole solve: the recurrence goes on from the new r, not from the old one. Each
/// column is updated when it needs it, so that no column depends on the others. The host reads at convergence checks,
/// and once more if columns are updated there. A column leaves the batch at an update only, so that its report is true.
/// The solutions of the smallest true residuals are in the caller's x at any time.
template <field_batch InnerField, field_batch OuterField, linear_operator<OuterField> Outer>
  requires precisions_of_one_field<OuterField, InnerField>
class reliable_watch : public recorded_batch<typename OuterField::scalars> {
  using base = recorded_batch<typename OuterField::scalars>;
  using base::record_;
  using table = typename residual_record<typename OuterField::scalars>::table;

 public:
  using typename base::divisor, typename base::gain, typename base::scalars;

  /// \throws input_error if x and b do not match, or the rule or the parameters make no sense
  reliable_watch(std::string solver, const Outer& outer, OuterField& x, const OuterField& b, const stopping_rule& rule,
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

  /// Computes the residual of the guess in high precision, reads it, and drops the columns that are solved already.
  template <forward_operator<InnerField> A>
  solver_start<InnerField> start(const A&) {
    OuterField r = like(b_);
    const auto rr =
        residual_of_guess(record_.rule(), r, counted_operator(outer_, record_.report(), true), y_, b_, this->b2());
    const auto values = record_.read({this->b2(), rr});
    const auto [keep, to_zero] = record_.begin(values[0], values[1]);
    zero_columns(x_, to_zero);
    for (const column_state& c : record_.columns()) record_.report_of(c).true_residual = c.latest;
    // The iterated residual is to be below the tolerance by as much as rounding can hide.
    for (column_state& c : record_.columns()) c.limit2 *= 1.0 - 16.0 * low_roundoff;
    InnerField rounded = like(b_, b_.columns(), as<InnerField>);
    assign(rounded, r);
    record_.retain(keep, rounded);
    InnerField e = like(rounded);
    zero(e);
    auto low_rr = norm2(rounded);
    return {std::move(e), std::move(rounded), std::move(low_rr)};
  }

  /// For a recurrence that adds several steps to the correction at once. Of the columns that are updated it forgets
  /// them.
  /// \param complete  gives columns `list` of the correction with all steps
  void complete_solutions_by(std::function<InnerField(const InnerField& e, const std::vector<int>& list)> complete) {
    complete_ = std::move(complete);
  }

  /// For a recurrence that goes wrong after an error in r. A column is updated, too, if its iterated residual has grown
  /// by this factor since the last update. It restarts if the old r was far from the new one.
  void guard_against_drift(double growth) {
    growth_ = growth;
    restarts_displaced_ = true;
  }

  scalars unconverged(const scalars& rr) const { return record_.unconverged(rr); }

  /// Notes an iteration: |r|^2, the numbers it divided by, and |A u|^2 and |u|^2 of some vector.
  void record(const scalars& rr, std::initializer_list<divisor> divisors, const gain& g) {
    record_.add(rr, divisors, g);
  }

  /// If a convergence check is due, reads the records since the last one, updates the columns that need it, and removes
  /// the columns that are done.
  /// \param e      the correction since the last update
  /// \param r      the iterated residual
  /// \param rr     |r|^2
  /// \param parts  every other field and handle of the batch
  /// \returns whether columns are left
  template <class... Parts>
  bool check_convergence(InnerField& e, InnerField& r, scalars& rr, Parts&... parts) {
    updated_.clear(), exhausted_.clear(), displaced_.clear();
    const bool regular = record_.check_is_due();
    if (!regular && !extra_check_is_due()) {
      if ((record_.iteration() + record_.rule().check_lag) % record_.rule().check_interval == 0) send_records();
      return true;
    }
    if (regular) record_.note_check();
    const std::vector<due_column> due = regular ? columns_due() : columns_due_near_the_tolerance();
    if (!due.empty()) update(due, e, r, rr);
    if (due.empty()) return true;
    zero_columns(e, updated_);
    std::vector<int> keep;
    for (int n = 0; n < std::ssize(record_.columns()); ++n)
      if (!leaves_[static_cast<std::size_t>(n)]) keep.push_back(n);
    for (auto* list : {&updated_, &exhausted_, &displaced_}) *list = positions_among(keep, *list);
    for (auto& numbers : records_) numbers = record_.chosen(numbers, keep);
    record_.retain(keep, e, r, rr, parts...);
    return this->running();
  }

  static constexpr bool replaces_residuals = true;

  /// Replaces <u, r>, summed before the check, in the columns that got a new r at it.
  void correct_product(scalars& u_r, const InnerField& u, const InnerField& r) const {
    if (updated()) u_r = choose_product(u, r, u_r);
  }
  /// Sets p to zero if only a new Krylov space leads further, so that the next direction is its first. beta = 0 would
  /// not do. A column that broke down has p = NaN, and 0 times NaN is NaN.
  void restart_direction(InnerField& p) const { zero_columns(p, exhausted_); }

  /// Returns whether some columns of the batch got a new r at this check.
  bool updated() const { return !updated_.empty(); }

  /// Returns 1 for these columns, 0 for the others.
  scalars updated_columns() const {
    std::vector<complex<double>> mask(record_.columns().size());
    for (const int n : updated_) mask[static_cast<std::size_t>(n)] = {1.0, 0.0};
    return make_scalars(view(y_, 0, static_cast<int>(mask.size())), std::span<const complex<double>>(mask));
  }

  /// Among them the columns whose Krylov space is used up: only a new one, with p = r, leads further.
  const std::vector<int>& exhausted_columns() const { return exhausted_; }

  /// p = r + f (p - r_old) in the updated columns, r_old their residual before the update. In displaced columns f is 1:
  /// there a ratio of products with the old r and the new one means nothing. May be called once after an update.
  void change_direction(InnerField& p, const InnerField& r, const scalars& f) {
    std::vector<complex<double>> given, one;
    for (const int n : updated_) {
      const bool is_displaced = std::ranges::binary_search(displaced_, n);
      given.push_back({is_displaced ? 0.0 : 1.0, 0.0});
      one.push_back({is_displaced ? 1.0 : 0.0, 0.0});
    }
    InnerField some = gather_columns(p, updated_), &r_new = *shift_;
    axpy(some, uniform_scalars(some, 1.0), *shift_);
    std::vector<int> all(updated_.size());
    std::iota(all.begin(), all.end(), 0);
    copy_columns(r_new, std::span<const int>(all), r, std::span<const int>(updated_));
    axpy(some, uniform_scalars(some, -1.0), r_new);
    const scalars factor =
        compacted(f, std::span<const int>(updated_)) * make_scalars(some, std::span<const complex<double>>(given)) +
        make_scalars(some, std::span<const complex<double>>(one));
    xpay(some, r_new, factor);
    scatter_columns(p, updated_, some);
  }

  /// Returns <u, v> in the columns that were updated, `others` in the others.
  scalars choose_product(const InnerField& u, const InnerField& v, const scalars& others) const {
    constexpr int passes_of_gathering = 3;
    if (passes_of_gathering * std::ssize(updated_) >= others.columns()) return choose(dot(u, v), others);
    return choose(spread(dot(gather_columns(u, updated_), gather_columns(v, updated_)), others.columns()), others);
  }

 private:
  static constexpr double low_roundoff = unit_roundoff(precision_of<InnerField>);
  static constexpr double high_roundoff = unit_roundoff(precision_of<OuterField>);
  static constexpr double near = 10.0;  ///< times the tolerance: about ten iterations may gain that
  static constexpr int between_checks_near_the_tolerance = 2;

  struct due_column {
    int position;
    verdict reason;  ///< why its solve would end; if it does not end, the residual has fallen far enough
  };
  /// The state that decides how often a column is checked near its tolerance.
  struct nearness {
    bool was_near = false, checked_often = false;
  };

  column_state& column_at(int n) { return record_.columns()[static_cast<std::size_t>(n)]; }
  nearness& nearness_of(const column_state& c) {
    if (near_.empty()) near_.resize(record_.report().columns.size());
    return near_[static_cast<std::size_t>(c.place)];
  }

  /// Returns the positions of the members of `list`, some of the `keep`, when only the `keep` are left. Both ascending.
  static std::vector<int> positions_among(const std::vector<int>& keep, const std::vector<int>& list) {
    std::vector<int> positions;
    for (const int n : list)
      positions.push_back(static_cast<int>(std::lower_bound(keep.begin(), keep.end(), n) - keep.begin()));
    return positions;
  }

  /// Returns a in the columns that were updated, b in the others.
  scalars choose(const scalars& a, const scalars& b) const {
    if (std::ssize(updated_) == a.columns()) return a;
    std::vector<complex<double>> chosen(static_cast<std::size_t>(a.columns())), others(chosen.size(), {1.0, 0.0});
    for (const int n : updated_) {
      chosen[static_cast<std::size_t>(n)] = {1.0, 0.0};
      others[static_cast<std::size_t>(n)] = {};
    }
    const OuterField some = view(y_, 0, a.columns());
    // a quotient by 0 is 0 for any dividend
    return ratio(a, make_scalars(some, std::span<const complex<double>>(chosen))) +
           ratio(b, make_scalars(some, std::span<const complex<double>>(others)));
  }

  /// Number k of `some` at the position of the k-th updated column, anything at the others.
  scalars spread(const scalars& some, int columns) const {
    if (std::ssize(updated_) == columns) return some;
    std::vector<int> list(static_cast<std::size_t>(columns), 0);
    for (std::size_t k = 0; k < updated_.size(); ++k) list[static_cast<std::size_t>(updated_[k])] = static_cast<int>(k);
    return compacted(some, std::span<const int>(list));
  }

  void report_progress() const {
    double worst = 0.0;
    for (const column_state& c : record_.columns())
      if (std::isfinite(c.latest)) worst = std::max(worst, c.latest);
    record_.report_progress(worst);
  }

  // When to update. A column's own records decide, so that it does not depend on the other columns.

  /// Lets the records of the last iterations before a check travel to the host meanwhile.
  void send_records() {
    sent_ = late_values_of(record_.take_trace());
    sent_until_ = record_.iteration();
  }
  void take_records_sent() {
    if (!sent_) return;
    ++record_.report().host_reads;
    std::ranges::move(std::exchange(sent_, nullptr)(), std::back_inserter(records_));
    records_until_ = sent_until_;
  }
  void take_all_records() {
    take_records_sent();
    if (const auto trace = record_.take_trace(); !trace.empty())
      std::ranges::move(record_.read(trace), std::back_inserter(records_));
    records_until_ = record_.iteration();
  }
  /// Drops the records that every column has seen.
  void forget_records() {
    int seen = records_until_;
    for (const column_state& c : record_.columns()) seen = std::min(seen, c.seen);
    const auto left = static_cast<std::ptrdiff_t>(record_.stride()) * (records_until_ - seen);
    records_.erase(records_.begin(), records_.end() - left);
  }

  /// Judges a column up to an iteration. Returns whether its residual has fallen (or grown) far enough on the way.
  bool follow(column_state& c, int n, int until, verdict& reason) {
    const std::size_t known = record_.history_of(c).size();
    reason = record_.follow(c, n, until, records_, records_until_);
    bool due = false;
    const auto& history = record_.history_of(c);
    const double delta = judge::smallest_fraction(c, parameters_.delta, low_roundoff);
    for (std::size_t i = known; i < history.size(); ++i) {
      c.largest = std::max(c.largest, history[i]);
      due = due || history[i] < delta * c.largest || history[i] > growth_ * c.updated_from;
    }
    return due;
  }
  bool is_overdue(const column_state& c) const {
    return record_.iteration() - c.updated_at >= parameters_.longest_interval;
  }

  std::vector<due_column> columns_due() {
    if (sent_)
      take_records_sent();
    else
      take_all_records();
    const stopping_rule& rule = record_.rule();
    const int now = record_.iteration(), known = std::min(now - rule.check_lag, records_until_);
    std::vector<verdict> reasons(record_.columns().size());
    std::vector<bool> has_fallen;
    for (int n = 0; n < std::ssize(record_.columns()); ++n)
      has_fallen.push_back(follow(column_at(n), n, known, reasons[static_cast<std::size_t>(n)]));
    report_progress();
    const verdict end = judge::end(rule, now, record_.stop_is_wanted());
    std::vector<due_column> due;
    for (int n = 0; n < std::ssize(record_.columns()); ++n) {
      column_state& c = column_at(n);
      verdict& reason = reasons[static_cast<std::size_t>(n)];
      bool is_due = has_fallen[static_cast<std::size_t>(n)] || is_overdue(c) || end.ends;
      const bool is_near = c.latest < near * rule.tolerance_of(c.place);
      if (rule.check_lag > 0 && !reason.ends && (is_due || is_near)) {
        take_all_records();
        is_due = follow(c, n, now, reason) || is_due;
      }
      if (!reason.ends) reason = judge::early_end(c, known);
      nearness_of(c) = {is_near, is_near && !nearness_of(c).was_near};
      if (!reason.ends) reason = end;
      if (reason.ends || is_due) due.push_back({n, std::move(reason)});
    }
    forget_records();
    return due;
  }

  /// If a device runs ahead of the host, iterations past the end cost more than checks. So a column that comes near its
  /// tolerance is checked often, until the next regular check. (One that stays near it has no end soon.)
  bool extra_check_is_due() {
    if (record_.rule().check_lag == 0 || record_.iteration() % between_checks_near_the_tolerance != 0) return false;
    return std::ranges::any_of(record_.columns(), [&](const column_state& c) { return nearness_of(c).checked_often; });
  }
  std::vector<due_column> columns_due_near_the_tolerance() {
    take_all_records();
    std::vector<due_column> due;
    for (int n = 0; n < std::ssize(record_.columns()); ++n) {
      column_state& c = column_at(n);
      if (!nearness_of(c).checked_often) continue;
      verdict reason;
      const bool has_fallen = follow(c, n, record_.iteration(), reason);
      if (reason.ends || has_fallen || is_overdue(c)) due.push_back({n, std::move(reason)});
    }
    forget_records();
    return due;
  }

  // The update.

  /// Adds the corrections to the iterated solutions of the columns that are due, and computes the true residuals.
  /// \param r      becomes, in these columns, its distance from the true residual: old minus new
  /// \param r_new  becomes their true residual, rounded; a column for each that is due
  std::vector<update_numbers> correct(const std::vector<int>& positions, const std::vector<int>& places,
                                      const InnerField& e, InnerField& r, InnerField& r_new) {
    // Columns are views in place. Columns that are not side by side are gathered for the operator alone.
    const std::vector<column_run> runs = runs_of(positions, places);
    std::optional<InnerField> completed;  // of the columns that are due
    if (complete_) completed.emplace(complete_(e, positions));
    std::vector<scalars> parts;
    for (const column_run& run : runs) {
      const auto first = static_cast<std::size_t>(run.first);
      const InnerField e_run =
          completed ? view(*completed, run.first, run.count) : view(e, positions[first], run.count);
      OuterField y_run = view(y_, places[first], run.count), step = like(y_run);
      assign(step, e_run);
      parts.push_back(axpy_norm2(y_run, uniform_scalars(y_run, 1.0), step));
      parts.push_back(norm2(e_run));
    }
    const OuterField y = runs.size() == 1 ? view(y_, places.front(), runs.front().count) : gather_columns(y_, places);
    OuterField ay = like(y);
    counted_operator(outer_, record_.report(), true).apply(ay, y);
    for (const column_run& run : runs) {
      const auto first = static_cast<std::size_t>(run.first);
      OuterField r_true = like(y, run.count);
      parts.push_back(subtract_norm2(r_true, view(b_, places[first], run.count), view(ay, run.first, run.count)));
      // Rounding r_true adds the same to the gap as to r if the column goes on.
      InnerField rounded = view(r_new, run.first, run.count), gap = view(r, positions[first], run.count);
      assign(rounded, r_true);
      parts.push_back(axpy_norm2(gap, uniform_scalars(gap, -1.0), rounded));
    }
    const auto values = record_.read(parts);
    std::vector<update_numbers> found;
    for (std::size_t k = 0; k < runs.size(); ++k)
      for (std::size_t i = 0; i < static_cast<std::size_t>(runs[k].count); ++i) {
        const std::size_t others = 2 * (runs.size() + k);
        update_numbers n;
        n.y2 = values[2 * k][i].re, n.e2 = values[2 * k + 1][i].re;
        n.r2 = values[others][i].re, n.gap2 = values[others + 1][i].re;
        found.push_back(n);
      }
    return found;
  }

  /// Updates columns, decides which of them leave, and lets the others go on from the true residual.
  void update(const std::vector<due_column>& due, const InnerField& e, InnerField& r, scalars& rr) {
    std::vector<int> positions, places;
    for (const due_column& d : due) {
      positions.push_back(d.position);
      places.push_back(column_at(d.position).place);
    }
    InnerField r_new = like(r, static_cast<int>(due.size()));
    const std::vector<update_numbers> found = correct(positions, places, e, r, r_new);

    leaves_.assign(record_.columns().size(), false);
    std::vector<int> better, going_on;  // places, and numbers among the due columns
    for (int k = 0; k < std::ssize(due); ++k) {
      const auto n = static_cast<std::size_t>(k);
      column_state& c = column_at(positions[n]);
      const double before = c.kept;
      const update_verdict judged = judge_update(c, due[n].reason, found[n]);
      const verdict& v = judged.next;
      if (c.kept < before) better.push_back(places[n]);
      if (v.ends) {
        record_.conclude(c, v);
        leaves_[static_cast<std::size_t>(positions[n])] = true;
      } else {
        going_on.push_back(k);
        updated_.push_back(positions[n]);
        if (judged.exhausted || (restarts_displaced_ && judged.displaced)) exhausted_.push_back(positions[n]);
        if (judged.displaced) displaced_.push_back(positions[n]);
      }
    }
    if (!better.empty()) copy_columns(x_, std::span<const int>(better), y_, std::span<const int>(better));
    if (going_on.empty()) return;
    shift_ = gather_columns(r, updated_);
    scale(*shift_, uniform_scalars(*shift_, -1.0));
    copy_columns(r, std::span<const int>(updated_), r_new, std::span<const int>(going_on));
    const scalars r2_new = norm2(r_new);
    if (std::ssize(updated_) == rr.columns()) {
      rr = r2_new;
      return;
    }
    std::vector<int> list(static_cast<std::size_t>(rr.columns()), 0);
    for (std::size_t k = 0; k < updated_.size(); ++k) list[static_cast<std::size_t>(updated_[k])] = going_on[k];
    rr = choose(compacted(r2_new, std::span<const int>(list)), rr);
  }

  /// Notes an update of a column in the report, and returns its verdict.
  update_verdict judge_update(column_state& c, const verdict& reason, update_numbers n) {
    column_report& out = record_.report_of(c);
    auto& history = record_.history_of(c);
    const int now = record_.iteration();
    n.operator_norm = parameters_.operator_norm > 0.0 ? parameters_.operator_norm : judge::norm_by_gains(c);
    n.tolerance = record_.rule().tolerance_of(c.place);
    n.low_roundoff = low_roundoff, n.high_roundoff = high_roundoff;
    c.latest = history.back();
    const double iterated = c.latest, truth = std::sqrt(n.r2 / c.b2);
    const update_verdict v = judge::update(c, reason, n, parameters_, now);
    out.updates.push_back({v.next.ends ? v.next.iteration : now, iterated, truth});
    out.residual = c.kept_iterated;
    out.true_residual = c.kept;
    if (v.mismatch) ++out.mismatches;
    out.at_floor = v.at_floor;
    if (v.at_floor) out.residual = iterated;
    if (v.next.status == solve_status::converged && !v.at_floor && v.next.ends)
      out.residual = std::min(iterated, truth);
    // A column that stood still until this check has no residuals of its own for these iterations.
    if (!v.next.ends) history.resize(static_cast<std::size_t>(now) + 1, truth);
    return v;
  }

  const Outer& outer_;
  OuterField& x_;
  const OuterField& b_;
  OuterField y_;  ///< the iterated solutions without the corrections since, all columns of the caller's batch
  reliable_updates parameters_;
  double growth_ = std::numeric_limits<double>::infinity();
  bool restarts_displaced_ = false;
  std::function<InnerField(const InnerField& e, const std::vector<int>& list)> complete_;
  std::vector<int> updated_;                ///< positions of the columns updated at this check that go on
  std::vector<int> exhausted_, displaced_;  ///< some of them
  std::optional<InnerField> shift_;         ///< added to their r by the last update
  std::vector<bool> leaves_;                ///< of the columns in the batch, at a check
  std::vector<nearness> near_;
  late_values sent_;  ///< the records until iteration `sent_until_`, if a check is near
  int sent_until_ = 0;
  table records_;  ///< the records that some column has not seen, until iteration `records_until_`
  int records_until_ = 0;
};

}  // namespace plaquette
