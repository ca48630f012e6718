// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Solvers of a fixed number of steps, for use inside others: MR, GCR, CA-GCR, polynomials. They read nothing on
/// the host and allocate no field after construction, so a multigrid cycle made of them can be recorded in a CUDA
/// graph.
///
/// Each is `relaxation<Field, A, Steps>`: Steps has the method, the rest is the same for all. A relaxation is made for
/// a number of columns and serves batches of that width or less. It is a preconditioner: x approximates A^-1 b.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/concepts.hpp"
#include "common/error.hpp"
#include "common/krylov/batch.hpp"
#include "common/krylov/few_fields.hpp"
#include "common/krylov/precision.hpp"
#include "common/number_text.hpp"

namespace plaquette {

/// A number of the host as handles for batches of 1, 2, ..., `columns` columns. Makes them once.
template <column_scalars S>
class number_for_any_width {
 public:
  template <field_batch Field>
  number_for_any_width(Field& shape, double number) {
    for (int n = 1; n <= shape.columns(); ++n) by_width_.push_back(uniform_scalars(view(shape, 0, n), number));
  }
  const S& operator()(int columns) const { return by_width_.at(static_cast<std::size_t>(columns - 1)); }

 private:
  std::vector<S> by_width_;
};

/// Called between steps; null: no call. An exception from it ends the steps. For a host: a graph records no call.
using step_hook = std::function<void()>;

/// A fixed number of steps of a method on A x = b. One caller at a time.
/// \tparam Steps  void operator()(const A&, Field& x, Field& r): steps from x, where r = b - A x. r need not be right
/// afterwards.
template <field_batch Field, forward_operator<Field> A, class Steps>
class relaxation {
 public:
  /// \param a      must outlive the relaxation
  /// \param shape  a field of the shape of x and b, with as many columns as the widest batch
  /// \param steps  makes the method: Steps (Field& shape)
  template <class MakeSteps>
  relaxation(const A& a, const Field& shape, const MakeSteps& make_steps)
      : a_(&a), r_(like(shape)), steps_(make_steps(r_)) {}

  /// Computes x = about A^-1 b. x is not read.
  void solve(Field& x, const Field& b) const {
    Field r = view(r_, 0, b.columns());
    zero(x);
    copy(r, b);
    steps_(*a_, x, r);
  }
  /// Makes x a better solution of A x = b.
  void improve(Field& x, const Field& b) const {
    Field r = view(r_, 0, b.columns()), ax = view(steps_.scratch(), 0, b.columns());
    a_->apply(ax, x);
    const auto norms = subtract_norm2(r, b, ax);
    if constexpr (requires { steps_(*a_, x, r, norms); })
      steps_(*a_, x, r, norms);
    else
      steps_(*a_, x, r);
  }
  void apply(Field& x, const Field& b) const { solve(x, b); }

 private:
  const A* a_;
  mutable Field r_;
  mutable Steps steps_;
};

/// Minimal residual steps: x += omega alpha r, r -= omega alpha A r, alpha = <A r, r> / |A r|^2.
template <field_batch Field>
class mr_steps {
 public:
  mr_steps(Field& shape, int count, double omega, step_hook between = nullptr)
      : count_(count), omega_(shape, omega), ar_(like(shape)), between_(std::move(between)) {
    if (count < 0) throw input_error("mr: the number of steps must not be negative, found " + std::to_string(count));
    if (!(omega > 0.0 && omega < 2.0))
      throw input_error("mr: the relaxation factor must be between 0 and 2, found " + number_text(omega));
  }
  Field& scratch() { return ar_; }

  template <forward_operator<Field> A>
  void operator()(const A& a, Field& x, Field& r) {
    Field ar = view(ar_, 0, r.columns());
    for (int k = 0; k < count_; ++k) {
      if (between_) between_();
      const auto [ar_r, arar] = apply_dot_norm2(a, ar, r, r);
      const auto alpha = ratio(omega_(r.columns()) * ar_r, arar);
      axpy(x, alpha, r);
      if (k + 1 < count_) axpy(r, -alpha, ar);
    }
  }

 private:
  int count_;
  number_for_any_width<typename Field::scalars> omega_;
  Field ar_;
  step_hook between_;
};

/// GCR without restarts: |r| is minimal over the span of all directions. (Eisenstat, Elman, Schultz 1983)
template <field_batch Field>
class gcr_steps {
  using scalars = typename Field::scalars;

 public:
  gcr_steps(Field& shape, int count, step_hook between = nullptr) : between_(std::move(between)) {
    if (count < 1) throw input_error("gcr: the number of steps must be at least 1, found " + std::to_string(count));
    for (int k = 0; k < count; ++k) p_.push_back(like(shape)), q_.push_back(like(shape));
  }
  Field& scratch() { return q_.front(); }

  template <forward_operator<Field> A>
  void operator()(const A& a, Field& x, Field& r) {
    const int columns = r.columns();
    std::vector<Field> p, q;  // directions and their images q = A p, orthogonal
    std::vector<scalars> qq;  // |q|^2, 0 for a direction that is not to be used
    for (std::size_t m = 0; m < p_.size(); ++m) {
      if (between_) between_();
      p.push_back(view(p_[m], 0, columns)), q.push_back(view(q_[m], 0, columns));
      const auto step = next_direction(a, r, p, q, qq);
      if (m + 1 < p_.size())
        cg_update(x, r, step, p[m], q[m]);
      else
        axpy(x, step, p[m]);
    }
  }

 private:
  /// Makes the last of p and q from r, orthogonal to the earlier ones. Returns the step along it, <q, r> / |q|^2.
  template <forward_operator<Field> A>
  static scalars next_direction(const A& a, Field& r, std::vector<Field>& p, std::vector<Field>& q,
                                std::vector<scalars>& qq) {
    const std::size_t m = qq.size();
    const auto next = [&](std::size_t j) -> const Field& { return j < m ? q[j] : r; };
    auto [q_next, norm] = apply_dot_norm2(a, q[m], r, next(0));
    const scalars norm_before = norm;
    scalars projection = conj(q_next);
    std::vector<scalars> taken;
    for (std::size_t j = 0; j < m; ++j) {
      taken.push_back(-ratio(projection, qq[j]));
      std::tie(projection, norm) = axpy_dot_norm2(q[m], taken[j], q[j], next(j + 1));
    }
    copy(p[m], r);
    std::size_t j = 0;
    for (; j + 1 < m; j += 2) axpy_pair(p[m], taken[j], p[j], taken[j + 1], p[j + 1]);
    if (j < m) axpy(p[m], taken[j], p[j]);
    // If only rounding is left of q, the residual is as small as it gets: the direction is not used.
    constexpr double rounding = 16.0 * unit_roundoff(precision_of<Field>);
    const std::vector<double> limits(static_cast<std::size_t>(r.columns()), rounding * rounding);
    qq.push_back(norm * where_above(ratio(norm, norm_before), std::span<const double>(limits)));
    return ratio(conj(projection), qq.back());
  }

  std::vector<Field> p_, q_;
  step_hook between_;
};

/// GCR in s steps at a time (CA-GCR): with v_0 = r and v_j+1 = A v_j, the c that makes |r - sum_j c_j v_j+1| smallest.
/// All sums of such a stretch are made after its s applications. In exact numbers these are s steps of GCR. (Hoemmen,
/// PhD thesis, Berkeley 2010; Clark et al., arXiv:1612.07873.) The v_j grow more parallel with j: s up to 8.
template <field_batch Field>
class ca_gcr_steps {
  using scalars = typename Field::scalars;

 public:
  using recorder = std::function<void(const std::vector<scalars>&)>;

  /// \param count   steps, in stretches of `length` at most, as even as can be
  /// \param record is given the c of each stretch; null: not called
  ca_gcr_steps(Field& shape, int count, int length, recorder record = nullptr, step_hook between = nullptr)
      : count_(count), record_(std::move(record)), between_(std::move(between)) {
    if (count < 1) throw input_error("ca-gcr: the number of steps must be at least 1, found " + std::to_string(count));
    if (length < 1 || length > 16)
      throw input_error("ca-gcr: expected 1 to 16 steps at a time, found " + std::to_string(length));
    stretches_ = (count + length - 1) / length;
    for (int k = 0; k < (count + stretches_ - 1) / stretches_; ++k) v_.push_back(like(shape));
  }
  Field& scratch() { return v_.front(); }

  template <forward_operator<Field> A>
  void operator()(const A& a, Field& x, Field& r) {
    int done = 0;
    for (int k = 1; k <= stretches_; ++k) {
      if (between_) between_();
      const int end = count_ * k / stretches_;
      stretch(a, x, r, static_cast<std::size_t>(end - done), k == stretches_);
      done = end;
    }
  }

 private:
  template <forward_operator<Field> A>
  void stretch(const A& a, Field& x, Field& r, std::size_t s, bool last) {
    std::vector<Field> v{view(r, 0, r.columns())};  // v_0 ... v_s
    for (std::size_t j = 0; j < s; ++j) {
      v.push_back(view(v_[j], 0, r.columns()));
      a.apply(v[j + 1], v[j]);
    }
    constexpr double rounding = 16.0 * unit_roundoff(precision_of<Field>);
    const std::span<const Field> directions = std::span<const Field>(v).first(s),
                                 images = std::span<const Field>(v).last(s);
    const std::vector<scalars> c = least_squares(images, std::as_const(r), rounding);
    if (record_) record_(c);
    add_combination(x, std::span<const scalars>(c), directions);
    if (!last) subtract_combination(r, std::span<const scalars>(c), images);
  }

  int count_, stretches_;
  std::vector<Field> v_;
  recorder record_;
  step_hook between_;
};

/// x += sum_j c_j A^j r with numbers c_j that are known before: say, the coefficients of CA-GCR, which hardly change
/// from one residual to the next. One application less than there are numbers, and no sums.
template <field_batch Field>
class polynomial_steps {
  using scalars = typename Field::scalars;

 public:
  /// x += sum_j c_j A^j r by other means, with |r|^2.
  using whole_polynomial = std::function<void(Field& x, const Field& r, const scalars& norms)>;

  /// \param whole  null: the backend has none
  polynomial_steps(Field& shape, const std::vector<double>& c, whole_polynomial whole = nullptr)
      : scratch_(like(shape)), whole_(std::move(whole)) {
    if (c.empty()) throw input_error("polynomial: expected at least one coefficient");
    if (whole_) return;
    for (const double number : c) c_.emplace_back(shape, number);
    for (std::size_t j = 1; j < c.size(); ++j) v_.push_back(like(shape));
  }
  Field& scratch() { return scratch_; }

  template <forward_operator<Field> A>
  void operator()(const A& a, Field& x, Field& r) {
    if (whole_) return whole_(x, r, norm2(r));
    std::vector<Field> v{view(r, 0, r.columns())};
    for (Field& next : v_) {
      v.push_back(view(next, 0, r.columns()));
      a.apply(v.back(), v[v.size() - 2]);
    }
    std::vector<scalars> c;
    for (const auto& number : c_) c.push_back(number(r.columns()));
    add_combination(x, std::span<const scalars>(c), std::span<const Field>(v));
  }
  /// \param norms  |r|^2
  template <forward_operator<Field> A>
  void operator()(const A& a, Field& x, Field& r, const scalars& norms) {
    if (whole_) return whole_(x, r, norms);
    (*this)(a, x, r);
  }

 private:
  std::vector<number_for_any_width<scalars>> c_;
  std::vector<Field> v_;
  Field scratch_;
  whole_polynomial whole_;
};

/// Returns MR of `count` steps, relaxed by `omega`. For an operator whose Hermitian part is definite.
template <field_batch Field, forward_operator<Field> A>
auto mr_relaxation(const A& a, const Field& shape, int count, double omega = 1.0, const step_hook& between = nullptr) {
  return relaxation<Field, A, mr_steps<Field>>(
      a, shape, [=](Field& like_this) { return mr_steps<Field>(like_this, count, omega, between); });
}
/// Returns GCR of `count` steps. 2 `count` fields of storage.
template <field_batch Field, forward_operator<Field> A>
auto gcr_relaxation(const A& a, const Field& shape, int count, const step_hook& between = nullptr) {
  return relaxation<Field, A, gcr_steps<Field>>(
      a, shape, [=](Field& like_this) { return gcr_steps<Field>(like_this, count, between); });
}
/// Returns GCR of `count` steps, `length` of them at a time. `length` fields of storage.
template <field_batch Field, forward_operator<Field> A>
auto ca_gcr_relaxation(const A& a, const Field& shape, int count, int length = 4,
                       typename ca_gcr_steps<Field>::recorder record = nullptr, const step_hook& between = nullptr) {
  return relaxation<Field, A, ca_gcr_steps<Field>>(
      a, shape, [=](Field& like_this) { return ca_gcr_steps<Field>(like_this, count, length, record, between); });
}
/// Returns sum_j c_j A^j. As many fields of storage as coefficients. A backend may offer all of it at once: a function
/// `fused_polynomial(a, shape, c)`, found by argument-dependent lookup, which may return null.
template <field_batch Field, forward_operator<Field> A>
auto polynomial_relaxation(const A& a, const Field& shape, const std::vector<double>& c) {
  return relaxation<Field, A, polynomial_steps<Field>>(a, shape, [&](Field& like_this) {
    if constexpr (requires { fused_polynomial(a, shape, c); })
      return polynomial_steps<Field>(like_this, c, fused_polynomial(a, shape, c));
    else
      return polynomial_steps<Field>(like_this, c);
  });
}

}  // namespace plaquette
