// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Conjugate gradients for many shifts of one operator at the price of one. (Jegerlehner, hep-lat/9612014)
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/krylov/convergence_watch.hpp"
#include "common/krylov/ordinary_columns.hpp"

namespace plaquette {

/// out = (A + sigma) in.
template <class A>
class shifted_operator {
 public:
  shifted_operator(const A& a, double sigma) : a_(&a), sigma_(sigma) {}
  template <class Field>
  void apply(Field& out, const Field& in) const {
    a_->apply(out, in);
    if (sigma_ != 0.0) axpy(out, uniform_scalars(out, sigma_), in);
  }
  template <class Field>
  void apply_dagger(Field& out, const Field& in) const {
    a_->apply_dagger(out, in);
    if (sigma_ != 0.0) axpy(out, uniform_scalars(out, sigma_), in);
  }

 private:
  const A* a_;
  double sigma_;
};

/// One report a shift. The work of all shifts together stands in the first.
using multishift_report = std::vector<solve_report>;

namespace detail {

/// Follows the residuals of all shifts: |r|^2 of the first is iterated, and zeta_s^2 times it is |r_s|^2 of the others.
template <field_batch Field>
class multishift_watch : public recorded_batch<typename Field::scalars> {
  using base = recorded_batch<typename Field::scalars>;
  using base::record_;

 public:
  using typename base::scalars;

  multishift_watch(std::vector<Field>& x, const Field& b, const stopping_rule& rule)
      : base("multi-shift cg", rule, norm2(b)), x_(x), others_(x.size() - 1) {
    for (solve_report& report : others_) {
      report.solver = "multi-shift cg";
      report.columns.resize(record_.columns().size());
      report.history.resize(record_.columns().size());
    }
  }

  /// Reads |b|^2, which is |r|^2 too: the guess is zero. If a column is not of ordinary length nothing begins: the
  /// caller solves for the scaled columns.
  template <class... Parts>
  ordinary_columns<Field> begin(const Field& b, Parts&... parts) {
    const auto values = record_.read({this->b2()});
    const ordinary_columns lengths(b, values[0]);
    record_.report().host_reads += lengths.host_reads();
    if (lengths.are_scaled()) return lengths;
    const auto start = record_.begin(values[0], values[0]);
    for (Field& solution : x_) zero(solution);
    for (solve_report& report : others_) {
      report.columns = record_.report().columns;
      report.history = record_.report().history;
    }
    record_.retain(start.keep, parts...);
    return lengths;
  }

  scalars unconverged(const scalars& rr) const { return record_.unconverged(rr); }

  /// Notes zeta_s^2 |r|^2 of the shifts after the first; before `record`.
  void record_shifts(const std::vector<scalars>& rr_s) {
    shift_trace_.insert(shift_trace_.end(), rr_s.begin(), rr_s.end());
  }

  /// If a convergence check is due, reads the records and removes the columns of which every shift is done.
  /// \param y      the iterated solutions, one a shift
  /// \param still  true for the shifts after the first that are not done in every column
  /// \returns whether columns are left
  template <class... Parts>
  bool check_convergence(std::vector<Field>& y, std::vector<bool>& still, Parts&... parts) {
    if (!record_.check_is_due()) return true;
    record_.note_check();
    std::vector<scalars> all = record_.take_trace();
    const auto of_the_first = std::ssize(all);
    all.insert(all.end(), shift_trace_.begin(), shift_trace_.end());
    const auto values = record_.read(all);
    const std::vector<std::vector<complex<double>>> first(values.begin(), values.begin() + of_the_first);
    shift_trace_.clear();
    const std::size_t shifts = others_.size();
    const std::size_t records = shifts == 0 ? 0 : (values.size() - first.size()) / shifts;
    const bool stop = record_.stop_is_wanted();
    const int iteration = record_.iteration();

    std::vector<int> keep, leaving, places;
    double worst = 0.0;
    still.assign(shifts, false);
    for (int n = 0; n < std::ssize(record_.columns()); ++n) {
      column_state& c = record_.columns()[static_cast<std::size_t>(n)];
      verdict v = record_.follow(c, n, iteration, first, iteration);
      if (!v.ends) v = judge::progress(c, record_.rule(), iteration);
      if (!v.ends) v = judge::end(record_.rule(), iteration, stop);
      for (std::size_t s = 0; s < shifts; ++s) {
        std::vector<double> new_residuals;
        for (std::size_t k = 0; k < records; ++k)
          new_residuals.push_back(
              std::sqrt(values[first.size() + k * shifts + s][static_cast<std::size_t>(n)].re / c.b2));
        if (note_shift(others_[s], c, new_residuals, v)) still[s] = true;
      }
      worst = std::max(worst, record_.report_of(c).residual);
      if (!v.ends) {
        keep.push_back(n);
        continue;
      }
      record_.conclude(c, v);
      leaving.push_back(n);
      places.push_back(c.place);
    }
    if (!leaving.empty())
      for (std::size_t s = 0; s < y.size(); ++s)
        copy_columns(x_[s], std::span<const int>(places), y[s], std::span<const int>(leaving));
    record_.retain(keep, y, parts...);
    record_.report_progress(worst);
    return this->running();
  }

  multishift_report reports() {
    multishift_report all{this->report()};
    for (solve_report& report : others_) all.push_back(std::move(report));
    return all;
  }

 private:
  /// Returns true if the shift goes on in this column.
  bool note_shift(solve_report& report, const column_state& c, const std::vector<double>& residuals,
                  const verdict& first) const {
    column_report& out = report.columns[static_cast<std::size_t>(c.place)];
    auto& history = report.history[static_cast<std::size_t>(c.place)];
    if (out.status == solve_status::converged) return false;
    const double limit = std::sqrt(c.limit2 / c.b2);
    for (const double residual : residuals) {
      history.push_back(residual);
      out.residual = residual;
      out.iterations = static_cast<int>(history.size()) - 1;
      if (!(residual <= limit)) continue;
      out.status = solve_status::converged;
      out.why.clear();
      return false;
    }
    if (!first.ends) return true;
    out.status = first.status == solve_status::converged ? solve_status::stagnation : first.status;
    out.why = first.status == solve_status::converged ? "the smallest shift converged before this one" : first.why;
    return false;
  }

  std::vector<Field>& x_;
  std::vector<solve_report> others_;
  std::vector<scalars> shift_trace_;
};

}  // namespace detail

/// (A + shifts[s]) x[s] = b for all shifts s and all columns at once, A + shifts[0] Hermitian and positive. One
/// application of A an iteration, and two passes over memory for each shift that is not done. Every shift has the
/// Krylov space of b, so that the residuals r_s = zeta_s r are parallel:
///
///     zeta'_s / zeta_s = alpha_ / (alpha_ (1 + alpha sigma_s) + alpha beta (1 - zeta_s / zeta_s_))
///     x_s += alpha zeta'_s p_s      p_s = r' + beta' (zeta'_s / zeta_s) p_s
///
/// with sigma_s the shift relative to the first, _ the step before and ' the step after, p_s the usual direction over
/// zeta_s. The recurrence iterates the ratio of the zetas, so that nothing underflows. A shift that meets the tolerance
/// stands still. The guess is zero; the old numbers of x do not matter. b may have any length.
/// \param x       one field a shift, of b's shape
/// \param shifts  ascending
/// \throws input_error if there is no shift, they do not ascend, or shapes differ
template <field_batch Field, linear_operator<Field> A>
multishift_report multishift_cg(const A& a, std::vector<Field>& x, const Field& b, std::span<const double> shifts,
                                const stopping_rule& rule) {
  if (shifts.empty() || x.size() != shifts.size())
    throw input_error("multi-shift cg: expected as many solutions as shifts, and at least one, found " +
                      std::to_string(x.size()) + " and " + std::to_string(shifts.size()));
  for (std::size_t s = 0; s < shifts.size(); ++s) {
    if (!(x[s].shape() == b.shape())) throw input_error("multi-shift cg: x and b differ in shape");
    if (s > 0 && !(shifts[s] > shifts[s - 1])) throw input_error("multi-shift cg: the shifts must ascend");
  }
  using scalars = typename Field::scalars;
  const std::size_t others = shifts.size() - 1;

  detail::multishift_watch<Field> watch(x, b, rule);
  const shifted_operator lowest(a, shifts[0]);
  const auto op = watch.counted(lowest);
  Field r = like(b);
  copy(r, b);
  auto rr = norm2(r);
  if (const auto lengths = watch.begin(b, r, rr); lengths.are_scaled()) {
    multishift_report reports =
        lengths.solve(std::span(x), [&](const Field& scaled) { return multishift_cg(a, x, scaled, shifts, rule); });
    reports.front().add_work(watch.report());
    return reports;
  }
  if (!watch.running()) return watch.reports();

  Field p = like(r), ap = like(r);
  copy(p, r);
  std::vector<Field> y, p_s;
  for (std::size_t s = 0; s <= others; ++s) {
    y.push_back(like(r));
    zero(y.back());
    if (s == 0) continue;
    p_s.push_back(like(r));
    copy(p_s.back(), r);
  }
  auto one = uniform_scalars(r, 1.0), alpha_before = one, beta = uniform_scalars(r, 0.0), pp = rr;
  std::vector<scalars> sigma, ratio_s(others, one), zeta(others, one), going(others, one), rr_s(others, rr);
  for (std::size_t s = 0; s < others; ++s) sigma.push_back(uniform_scalars(r, shifts[s + 1] - shifts[0]));
  std::vector<bool> still(others, true);

  while (watch.running()) {
    const auto active = watch.unconverged(rr);
    op.apply(ap, p);
    const auto pap = dot(p, ap);
    auto alpha = ratio(active * rr, pap);
    for (std::size_t s = 0; s < others; ++s) {
      if (!still[s]) continue;
      ratio_s[s] = ratio(alpha_before, alpha_before * (one + alpha * sigma[s]) + alpha * beta * (one - ratio_s[s]));
      zeta[s] = zeta[s] * ratio_s[s];
      going[s] = going[s] * watch.unconverged(rr_s[s]);  // a residual that rises again changes nothing
      axpy(y[s + 1], going[s] * alpha * zeta[s], p_s[s]);
    }
    auto rr_new = cg_update(y[0], r, alpha, p, ap);
    for (std::size_t s = 0; s < others; ++s)
      if (still[s]) rr_s[s] = zeta[s] * zeta[s] * rr_new;
    watch.record_shifts(rr_s);
    watch.record(rr_new, {watch.curvature("<p, A p>", pap, pp)});
    if (!watch.check_convergence(y, still, r, p, ap, p_s, rr, rr_new, alpha, one, pp, sigma, ratio_s, zeta, going, rr_s,
                                 beta, alpha_before))
      break;
    beta = ratio(rr_new, rr);
    xpay(p, r, beta);
    for (std::size_t s = 0; s < others; ++s)
      if (still[s]) xpay(p_s[s], r, beta * ratio_s[s]);
    pp = rr_new + beta * beta * pp;
    rr = rr_new;
    alpha_before = alpha;
  }
  return watch.reports();
}

}  // namespace plaquette
