// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The lowest singular vectors of a small operator, and a solver that takes them out. It is for the coarsest lattice of
/// multigrid, where light quarks need many Krylov steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/algebra/dense.hpp"
#include "common/concepts.hpp"
#include "common/eigen/chebyshev.hpp"
#include "common/error.hpp"
#include "common/krylov/batch.hpp"
#include "common/krylov/relaxation.hpp"

namespace plaquette {

/// A v_i = sigma_i u_i, |v_i| = 1, sigma ascending. A column each.
template <field_batch Field>
struct singular_vectors {
  Field right, left;  ///< v, u
  std::vector<double> values;
};

namespace detail {

/// Returns V^+ W, by inner products of columns: for lattices of a few hundred sites.
template <field_batch Field>
host_matrix column_products(const Field& v, const Field& w) {
  std::vector<typename Field::scalars> handles;
  for (int j = 0; j < w.columns(); ++j)
    for (int i = 0; i < v.columns(); ++i) handles.push_back(dot(view(v, i, 1), view(w, j, 1)));
  host_matrix m(v.columns(), w.columns());
  const auto values = host_values_of(handles);
  for (int j = 0; j < w.columns(); ++j)
    for (int i = 0; i < v.columns(); ++i) m(i, j) = values[static_cast<std::size_t>(j * v.columns() + i)].front();
  return m;
}

/// Replaces V by V Q.
template <field_batch Field>
void mix_columns(Field& v, const host_matrix& q) {
  Field mixed = like(v);
  zero(mixed);
  for (int j = 0; j < q.columns(); ++j) {
    Field column = view(mixed, j, 1);
    for (int i = 0; i < q.rows(); ++i) {
      const complex<double> number[] = {q(i, j)};
      axpy(column, make_scalars(column, std::span<const complex<double>>(number)), view(v, i, 1));
    }
  }
  copy(v, mixed);
}

/// Makes V orthonormal: Cholesky's factor of V^+ V, twice.
template <field_batch Field>
void make_columns_orthonormal(Field& v) {
  for (int pass = 0; pass < 2; ++pass) {
    const auto factor = cholesky_factor(column_products(v, v));
    if (!factor)
      throw input_error("deflation: " + std::to_string(v.columns()) +
                        " vectors depend on each other; fewer --coarsest-modes are needed");
    mix_columns(v, inverse_of_upper(*factor));
  }
}

/// Computes out = A^+ A in
template <field_batch Field, linear_operator<Field> A>
void apply_squared(const A& a, Field& out, Field& scratch, const Field& in) {
  a.apply(scratch, in);
  a.apply_dagger(out, scratch);
}

/// Returns the largest eigenvalue of a Hermitian operator, from below: ten steps of the power iteration on the columns
/// of v.
template <field_batch Field, class Apply>
double highest_eigenvalue(const Apply& apply, const Field& v) {
  Field now = like(v), next = like(v);
  double highest = 0.0;
  copy(now, v);
  for (int step = 0; step < 10; ++step) {
    apply(next, now);
    const auto before = host_values(norm2(now)), after = host_values(norm2(next));
    std::vector<complex<double>> factors;
    for (std::size_t k = 0; k < after.size(); ++k) {
      highest = std::max(highest, std::sqrt(after[k].re / before[k].re));
      factors.push_back({1.0 / std::sqrt(after[k].re), 0.0});
    }
    copy(now, next);
    scale(now, make_scalars(now, std::span<const complex<double>>(factors)));
  }
  return highest;
}

}  // namespace detail

/// Returns the lowest singular vectors of A, by subspace iteration with a Chebyshev filter of A^+ A and Rayleigh-Ritz
/// steps. (Zhou, Saad, Tiago, Chelikowsky, J. Comput. Phys. 219 (2006) 172) They are as good as `passes` make them: a
/// deflation does not need more. Collective; reads on the host.
/// \param v        random columns, some more than `count`
/// \param between  called before each application; what it throws ends the search
template <field_batch Field, linear_operator<Field> A>
singular_vectors<Field> lowest_singular_vectors(const A& a, Field v, int count, int passes = 6, int degree = 16,
                                                const std::function<void()>& between = nullptr) {
  Field scratch = like(v);
  detail::make_columns_orthonormal(v);
  const auto squared = [&](Field& out, const Field& in) {
    if (between) between();
    detail::apply_squared(a, out, scratch, in);
  };
  const double highest = 1.2 * detail::highest_eigenvalue(squared, v);
  double lowest = 0.1 * highest;  // where the unwanted part of the spectrum begins
  std::vector<double> squares;
  for (int pass = 0; pass < passes; ++pass) {
    apply_chebyshev(squared, v, degree, lowest, highest);
    normalise_columns(v);  // the filter's values are large
    detail::make_columns_orthonormal(v);
    a.apply(scratch, v);
    const hermitian_eigenpairs pairs =
        eigenpairs_of_hermitian(hermitian_part(detail::column_products(scratch, scratch)));
    detail::mix_columns(v, pairs.vectors);
    squares = pairs.values;
    lowest = std::clamp(squares.back(), 1e-6 * highest, 0.5 * highest);
  }
  singular_vectors<Field> found{like(v, count), like(v, count), {}};
  copy(found.right, view(v, 0, count));
  a.apply(found.left, found.right);
  std::vector<complex<double>> inverse;
  for (const auto& u2 : host_values(norm2(found.left))) {
    found.values.push_back(std::sqrt(u2.re));
    inverse.push_back({1.0 / found.values.back(), 0.0});
  }
  scale(found.left, make_scalars(found.left, std::span<const complex<double>>(inverse)));
  return found;
}

/// x = sum_i v_i <u_i, b> / sigma_i + rest^-1 (b - A of that): the lowest modes exactly, the rest by another solver.
/// Reads nothing on the host. A basis vector is kept once for each column.
template <field_batch Field, class A>
class deflated_solver {
 public:
  /// \param shape  a field with as many columns as the widest batch
  /// \param rest   x = about A^-1 b
  deflated_solver(std::shared_ptr<const A> a, const Field& shape, const singular_vectors<Field>& modes,
                  any_operator<Field> rest)
      : a_(std::move(a)), rest_(std::move(rest)), r_(like(shape)), e_(like(shape)) {
    for (std::size_t k = 0; k < modes.values.size(); ++k) {
      right_.push_back(for_all_columns(shape, modes.right, static_cast<int>(k)));
      left_.push_back(for_all_columns(shape, modes.left, static_cast<int>(k)));
      inverse_.emplace_back(r_, 1.0 / modes.values[k]);
    }
    unit_.emplace_back(r_, 1.0);
  }

  void apply(Field& x, const Field& b) const {
    const int n = b.columns();
    Field r = view(r_, 0, n), e = view(e_, 0, n);
    zero(x);
    for (std::size_t k = 0; k < right_.size(); ++k)
      axpy(x, inverse_[k](n) * dot(view(left_[k], 0, n), b), view(right_[k], 0, n));
    a_->apply(e, x);
    subtract_norm2(r, b, e);
    rest_.apply(e, r);
    axpy(x, unit_.front()(n), e);
  }

 private:
  static Field for_all_columns(const Field& shape, const Field& modes, int k) {
    Field all = like(shape);
    for (int c = 0; c < shape.columns(); ++c) {
      const int to[] = {c}, from[] = {k};
      copy_columns(all, std::span<const int>(to), modes, std::span<const int>(from));
    }
    return all;
  }

  std::shared_ptr<const A> a_;
  any_operator<Field> rest_;
  mutable Field r_, e_;
  std::vector<Field> right_, left_;
  std::vector<number_for_any_width<typename Field::scalars>> inverse_, unit_;
};

}  // namespace plaquette
