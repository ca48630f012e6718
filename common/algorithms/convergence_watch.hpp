// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the solvers of one precision share: the looks at the residuals, the columns that leave the batch, the report.
#pragma once

#include "common/algorithms/residual_record.hpp"

namespace plaquette {

/// Follows the residuals of a batch of columns while a solver runs, and is the one place where the host reads.
///
/// The solver iterates on a copy of x. A column that is done is copied to its place in the caller's x and leaves the
/// batch: every field and every handle that the solver passes to `begin` and `look` loses it. A column that fails gets
/// the solution of the smallest residual among those kept (every ten iterations or so, at a look), which is finite.
template <field_batch F>
class convergence_watch : public residual_record<typename F::scalars> {
  using base = residual_record<typename F::scalars>;
  using base::columns_, base::iteration_, base::rule_, base::report_of, base::retain, base::trace_;
  using typename base::column, typename base::verdict;

 public:
  using typename base::scalars;

  /// \throws input_error where x and b do not match, or the rule makes no sense
  convergence_watch(std::string solver, F& x, const F& b, const stopping_rule& rule)
      : base(solver, rule, norm2(b)), x_(x) {
    if (!(x.shape() == b.shape()))
      throw input_error(solver + ": x and b differ in shape (" + std::to_string(x.columns()) + " and " +
                        std::to_string(b.columns()) + " columns)");
  }

  /// Reads |b|^2 and |r|^2 (of the initial guess). Columns that are solved already, or cannot be, leave at once.
  /// \param rr     |r|^2 of the initial guess
  /// \param parts  every field and handle of the batch, rr too
  template <class... Parts>
  void begin(const scalars& rr, Parts&... parts) {
    const auto values = this->read({this->b2_, rr});
    const auto [keep, to_zero] = this->begin_columns(values[0], values[1]);
    zero_columns(x_, to_zero);
    retain(keep, parts...);
  }

  /// Where a look is due: reads what was recorded since the last one, and lets the columns go that are done.
  /// \param y      the iterated solution
  /// \param parts  every other field and handle of the batch
  template <class... Parts>
  void look(F& y, Parts&... parts) {
    if (iteration_ % rule_.look_every != 0 && iteration_ < rule_.limit) return;
    const auto values = this->read(trace_);
    trace_.clear();
    std::vector<int> keep, improved;
    const bool stop = rule_.interrupted && rule_.interrupted();
    const bool keep_solutions = iteration_ - kept_at_ >= iterations_between_kept_solutions;
    double worst = 0.0;
    for (int n = 0; n < std::ssize(columns_); ++n) {
      column& c = columns_[static_cast<std::size_t>(n)];
      const verdict v = this->judge(c, n, values, stop);
      const bool done = v.ends;
      worst = std::max(worst, report_of(c).residual);
      if (!done) keep.push_back(n);
      if ((done || keep_solutions) && c.latest < c.kept) {
        c.kept = c.latest;
        improved.push_back(n);
      }
      if (!done) continue;
      this->conclude(c, v);
      report_of(c).residual = c.kept;
    }
    if (keep_solutions) kept_at_ = iteration_;
    keep_solution(y, improved);
    retain(keep, y, parts...);
    if (rule_.progress) rule_.progress(iteration_, worst);
  }

 private:
  static constexpr int iterations_between_kept_solutions = 10;

  /// The columns of y at the positions `list` become the solutions so far.
  void keep_solution(const F& y, const std::vector<int>& list) {
    if (list.empty()) return;
    std::vector<int> places;
    for (const int n : list) places.push_back(columns_[static_cast<std::size_t>(n)].place);
    copy_columns(x_, std::span<const int>(places), y, std::span<const int>(list));
  }

  F& x_;
  int kept_at_ = 0;
};

}  // namespace plaquette
