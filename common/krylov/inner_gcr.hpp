// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// GCR inside of multigrid cycles: around the cycle of a level, and on the coarsest lattice.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/krylov/gcr_directions.hpp"
#include "common/krylov/relaxation.hpp"

namespace plaquette {

/// How GCR runs inside a cycle.
struct inner_gcr_parameters {
  int steps = 8;
  /// Ends early if every column's residual is below this fraction of its source: reads after each step, so only if
  /// answers are ready at once. 0: never reads.
  double tolerance = 0.0;
  step_hook between = nullptr;
};

namespace detail {

/// Tests whether all columns of a residual are below a fraction of the source. The host reads them if the fraction is
/// above zero.
template <field_batch Field>
class residual_test {
 public:
  residual_test(const Field& b, double fraction) {
    if (!(fraction > 0.0)) return;
    for (const auto& b2 : host_values(norm2(b))) limits_.push_back(fraction * fraction * b2.re);
  }
  bool is_met(const typename Field::scalars& rr) const {
    if (limits_.empty()) return false;
    const auto values = host_values(rr);
    bool all = true;
    for (std::size_t c = 0; c < values.size(); ++c) all = all && values[c].re <= limits_[c];
    return all;
  }

 private:
  std::vector<double> limits_;
};

/// The preconditioner that does nothing.
template <field_batch Field>
struct identity {
  void apply(Field& x, const Field& b) const { copy(x, b); }
};

}  // namespace detail

/// x = about A^-1 b by flexible GCR from x = 0, a fixed number of steps with or without a preconditioner: the K-cycle,
/// if the preconditioner is the cycle of a level, and the solver of the coarsest. (Notay, Vassilevski 2008)
template <field_batch Field, class A>
class inner_gcr {
  using scalars = typename Field::scalars;

 public:
  /// \param shape  a field of the system, with as many columns as the widest batch
  inner_gcr(std::shared_ptr<const A> a, const Field& shape, const inner_gcr_parameters& parameters,
            any_operator<Field> preconditioner = any_operator<Field>(detail::identity<Field>()))
      : a_(std::move(a)),
        parameters_(parameters),
        preconditioner_(std::move(preconditioner)),
        r_(like(shape)),
        one_(r_, 1.0) {
    if (parameters.steps < 1)
      throw input_error("multigrid: inner GCR needs at least 1 step, found " + std::to_string(parameters.steps));
    for (int k = 0; k < parameters.steps; ++k) p_.push_back(like(shape)), q_.push_back(like(shape));
  }

  void apply(Field& x, const Field& b) const {
    Field r = view(r_, 0, b.columns());
    zero(x);
    copy(r, b);
    const detail::residual_test<Field> small(b, parameters_.tolerance);
    detail::gcr_directions<Field> kept;
    for (std::size_t m = 0; m < p_.size(); ++m) {
      if (parameters_.between) parameters_.between();
      kept.p.push_back(view(p_[m], 0, b.columns())), kept.q.push_back(view(q_[m], 0, b.columns()));
      preconditioner_.apply(kept.p[m], r);
      const scalars alpha = orthogonalise(kept, r);  // <q, r> / |q|^2 with q = A p
      if (m + 1 == p_.size()) return axpy(x, alpha, kept.p[m]);
      if (small.is_met(cg_update(x, r, alpha, kept.p[m], kept.q[m]))) return;  // x += alpha p, r -= alpha q
    }
  }

 private:
  /// Takes the new direction in. Returns the step along it, <q, r> / |q|^2.
  scalars orthogonalise(detail::gcr_directions<Field>& kept, const Field& r) const {
    const auto [q_r, norm, norm_before] = kept.add(*a_, r, one_(r.columns()));
    kept.form_last();
    // If only rounding is left of q, the direction is not used.
    constexpr double rounding = 16.0 * unit_roundoff(precision_of<Field>);
    const std::vector<double> least(static_cast<std::size_t>(r.columns()), rounding * rounding);
    kept.qq.back() = norm * where_above(ratio(norm, norm_before), std::span<const double>(least));
    return ratio(q_r, kept.qq.back());
  }

  std::shared_ptr<const A> a_;
  inner_gcr_parameters parameters_;
  any_operator<Field> preconditioner_;
  mutable Field r_;
  number_for_any_width<scalars> one_;
  mutable std::vector<Field> p_, q_;
};

}  // namespace plaquette
