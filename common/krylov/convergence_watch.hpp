// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The monitor of a solver of one precision: convergence checks, columns that leave the batch, the report.
#pragma once

#include <functional>
#include <optional>

#include "common/krylov/ordinary_columns.hpp"
#include "common/krylov/residual_record.hpp"

namespace plaquette {

/// The start of a recurrence.
template <field_batch Field>
struct solver_start {
  Field x;                     ///< the recurrence adds its steps to it
  Field r;                     ///< its residual
  typename Field::scalars rr;  ///< |r|^2
};

/// Follows the residuals of a batch of columns while a solver runs, and is the one place where the host reads. It never
/// computes a residual anew.
///
/// The solver iterates on a copy of x. A column that is done is copied to its place in the caller's x and leaves the
/// batch: every field and every handle that the solver passes to `begin` and `check_convergence` loses it. A column
/// that fails gets the solution of the smallest residual among the kept ones (every ten iterations or so, at a check),
/// which is finite.
template <field_batch Field>
class convergence_watch : public recorded_batch<typename Field::scalars> {
  using base = recorded_batch<typename Field::scalars>;
  using base::record_;

 public:
  using base::record;
  using typename base::divisor, typename base::gain, typename base::scalars;

  /// \throws input_error if x and b do not match, or the rule makes no sense
  convergence_watch(std::string solver, Field& x, const Field& b, const stopping_rule& rule)
      : base(solver, rule, norm2(b)), x_(x), b_(b) {
    if (!(x.shape() == b.shape()))
      throw input_error(solver + ": x and b differ in shape (" + std::to_string(x.columns()) + " and " +
                        std::to_string(b.columns()) + " columns)");
  }

  /// Computes the residual of the guess by `op`, reads it, and drops the columns that are solved already.
  template <forward_operator<Field> A>
  solver_start<Field> start(const A& op) {
    Field y = like(b_), r = like(b_);
    copy(y, x_);
    auto rr = residual_of_guess(record_.rule(), r, op, y, b_, this->b2());
    begin(rr, y, r, rr);
    return {std::move(y), std::move(r), std::move(rr)};
  }

  /// Fills `lengths` when |b|^2 is read. If a column of b is not of ordinary length, all leave before they are
  /// iterated, and x stays: the scaled ones are to be solved in their place.
  void leave_where_scaled(std::optional<ordinary_columns<Field>>& lengths) { lengths_ = &lengths; }

  /// Reads |b|^2 and |r|^2 (of the initial guess). Columns that are solved already, or cannot be, leave at once.
  /// \param rr     |r|^2 of the initial guess
  /// \param parts  every field and handle of the batch, rr too
  template <class... Parts>
  void begin(const scalars& rr, Parts&... parts) {
    const auto values = record_.read({this->b2(), rr});
    if (lengths_ != nullptr) {
      lengths_->emplace(b_, values[0]);
      record_.report().host_reads += (*lengths_)->host_reads();
      if ((*lengths_)->are_scaled()) return record_.retain({}, parts...);
    }
    const auto [keep, to_zero] = record_.begin(values[0], values[1]);
    zero_columns(x_, to_zero);
    record_.retain(keep, parts...);
  }

  /// For a recurrence that adds several steps to the iterated solution at once.
  /// \param complete  gives columns `list` of the solution with all steps
  void complete_solutions_by(std::function<Field(const Field& y, const std::vector<int>& list)> complete) {
    complete_ = std::move(complete);
  }

  /// Returns 1 for each column above its tolerance, 0 for one that has converged and stands still until it leaves.
  scalars unconverged(const scalars& rr) const { return record_.unconverged(rr); }

  /// Notes an iteration. The gain serves monitors that need to know how large A is.
  void record(const scalars& rr, std::initializer_list<divisor> divisors, const gain&) { record_.add(rr, divisors); }

  /// If a convergence check is due, reads the records since the last one, and removes the columns that are done.
  /// \param y      the iterated solution
  /// \param parts  every other field and handle of the batch
  /// \returns whether columns are left
  template <class... Parts>
  bool check_convergence(Field& y, Parts&... parts) {
    if (!record_.check_is_due()) return true;
    record_.note_check();
    const int iteration = record_.iteration();
    const auto values = record_.read(record_.take_trace());
    std::vector<verdict> verdicts;
    double worst = 0.0;
    for (int n = 0; n < std::ssize(record_.columns()); ++n) {
      column_state& c = record_.columns()[static_cast<std::size_t>(n)];
      verdicts.push_back(record_.follow(c, n, iteration, values, iteration));
      if (!verdicts.back().ends) verdicts.back() = judge::progress(c, record_.rule(), iteration);
      worst = std::max(worst, record_.report_of(c).residual);
    }
    record_.report_progress(worst);
    const bool stop = record_.stop_is_wanted(), keep_solutions = iteration - kept_at_ >= between_kept_solutions;
    std::vector<int> keep, improved;
    for (int n = 0; n < std::ssize(record_.columns()); ++n) {
      column_state& c = record_.columns()[static_cast<std::size_t>(n)];
      verdict& v = verdicts[static_cast<std::size_t>(n)];
      if (!v.ends) v = judge::end(record_.rule(), iteration, stop);
      if ((v.ends || keep_solutions) && c.latest < c.kept) {
        c.kept = c.latest;
        improved.push_back(n);
      }
      if (!v.ends) {
        keep.push_back(n);
        continue;
      }
      record_.conclude(c, v);
      record_.report_of(c).residual = c.kept;
    }
    if (keep_solutions) kept_at_ = iteration;
    keep_solution(y, improved);
    record_.retain(keep, y, parts...);
    return this->running();
  }

  // Calls between the formulas, for a monitor that replaces residuals (reliable_watch). This one never does.
  static constexpr bool replaces_residuals = false;
  void guard_against_drift(double /*growth*/) {}
  void correct_product(scalars& /*u_r*/, const Field& /*u*/, const Field& /*r*/) const {}
  void restart_direction(Field& /*p*/) const {}

 private:
  static constexpr int between_kept_solutions = 10;

  /// The columns of y at the positions `list` become the solutions so far.
  void keep_solution(const Field& y, const std::vector<int>& list) {
    if (list.empty()) return;
    std::vector<int> places;
    for (const int n : list) places.push_back(record_.columns()[static_cast<std::size_t>(n)].place);
    if (!complete_) return copy_columns(x_, std::span<const int>(places), y, std::span<const int>(list));
    scatter_columns(x_, places, complete_(y, list));
  }

  Field& x_;
  const Field& b_;
  std::optional<ordinary_columns<Field>>* lengths_ = nullptr;
  int kept_at_ = 0;
  std::function<Field(const Field& y, const std::vector<int>& list)> complete_;
};

}  // namespace plaquette
