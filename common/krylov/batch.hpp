// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small steps that the algorithms share, on batches of columns.
#pragma once

#include <cmath>
#include <concepts>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/concepts.hpp"
#include "common/krylov/solve_report.hpp"

namespace plaquette {

/// Returns the numbers behind several handles: one wait if the backend reads a list at once, else one a handle.
template <column_scalars S>
std::vector<std::vector<complex<double>>> host_values_of(const std::vector<S>& handles) {
  if constexpr (requires(std::span<const S> list) {
                  { host_values(list) } -> std::same_as<std::vector<std::vector<complex<double>>>>;
                }) {
    return host_values(std::span<const S>(handles));
  } else {
    std::vector<std::vector<complex<double>>> values;
    for (const S& handle : handles) values.push_back(host_values(handle));
    return values;
  }
}

/// Scales each column to norm 1; a column that is zero stays zero. Reads the norms on the host.
template <field_batch Field>
void normalise_columns(Field& x) {
  std::vector<complex<double>> factors;
  for (const complex<double>& n2 : host_values(norm2(x)))
    factors.push_back({n2.re > 0.0 ? 1.0 / std::sqrt(n2.re) : 0.0, 0.0});
  scale(x, make_scalars(x, std::span<const complex<double>>(factors)));
}

/// Numbers on their way to the host: the call waits for them, once.
using late_values = std::function<std::vector<std::vector<complex<double>>>()>;

/// Returns the same, waited for later. If the backend can tell, this does not wait for work that is queued from here
/// on.
template <column_scalars S>
late_values late_values_of(const std::vector<S>& handles) {
  if constexpr (requires(std::span<const S> list) {
                  { values_on_their_way(list) } -> std::convertible_to<late_values>;
                }) {
    return values_on_their_way(std::span<const S>(handles));
  } else {
    return [handles] { return host_values_of(handles); };
  }
}

/// An operator that counts its applications in a report.
template <class A>
class counted_operator {
 public:
  /// \param outer  counts as the operator of the true residual
  counted_operator(const A& a, solve_report& report, bool outer = false) : a_(&a), report_(&report), outer_(outer) {}
  template <class Field>
  void apply(Field& out, const Field& in) const {
    count(in.columns());
    a_->apply(out, in);
  }
  template <class Field>
  void apply_dagger(Field& out, const Field& in) const {
    count(in.columns());
    a_->apply_dagger(out, in);
  }
  template <class Field>
  auto apply_dot_norm2(Field& out, const Field& in, const Field& w) const {
    count(in.columns());
    return plaquette::apply_dot_norm2(*a_, out, in, w);
  }

 private:
  void count(int columns) const {
    ++report_->operator_applications;
    report_->column_applications += columns;
    if (!outer_) return;
    ++report_->outer_applications;
    report_->outer_column_applications += columns;
  }
  const A* a_;
  solve_report* report_;
  bool outer_;
};

/// Computes r = b - A x; returns |r|^2.
template <field_batch Field, forward_operator<Field> A>
typename Field::scalars residual(Field& r, const A& a, const Field& x, const Field& b) {
  Field ax = like(b);
  a.apply(ax, x);
  return subtract_norm2(r, b, ax);
}

/// Returns the same for the guess x of a solve; without A if the rule says that x is zero.
/// \param b2  |b|^2
template <field_batch Field, forward_operator<Field> A>
typename Field::scalars residual_of_guess(const stopping_rule& rule, Field& r, const A& a, const Field& x,
                                          const Field& b, const typename Field::scalars& b2) {
  if (!rule.guess_is_zero) return residual(r, a, x, b);
  copy(r, b);
  return b2;
}

/// Returns |A u|^2 / |u|^2: |A|^2 is not below it, and not far above if u has parts along all modes.
template <field_batch Field, forward_operator<Field> A>
typename Field::scalars gain2(const A& a, const Field& u) {
  Field au = like(u);
  a.apply(au, u);
  return ratio(norm2(au), norm2(u));
}

/// Returns the columns `list` of u, as a batch of their own.
template <field_batch Field>
Field gather_columns(const Field& u, const std::vector<int>& list) {
  Field some = like(u, static_cast<int>(list.size()));
  std::vector<int> all(list.size());
  std::iota(all.begin(), all.end(), 0);
  copy_columns(some, std::span<const int>(all), u, std::span<const int>(list));
  return some;
}

/// Copies the columns of `some` to the columns `list` of u.
template <field_batch Field>
void scatter_columns(Field& u, const std::vector<int>& list, const Field& some) {
  std::vector<int> all(list.size());
  std::iota(all.begin(), all.end(), 0);
  copy_columns(u, std::span<const int>(list), some, std::span<const int>(all));
}

/// Columns that follow each other: numbers first to first + count - 1 of an ascending list.
struct column_run {
  int first = 0, count = 0;
};

/// Returns the runs of a list of columns, or of several lists side by side.
template <class... Lists>
std::vector<column_run> runs_of(const std::vector<int>& list, const Lists&... others) {
  const auto follows = [](const auto& columns, std::size_t i) { return columns[i] == columns[i - 1] + 1; };
  std::vector<column_run> runs;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (i > 0 && follows(list, i) && (follows(others, i) && ...))
      ++runs.back().count;
    else
      runs.push_back({static_cast<int>(i), 1});
  return runs;
}

/// Sets the columns `list` of u to zero.
template <field_batch Field>
void zero_columns(Field& u, const std::vector<int>& list) {
  for (const column_run& run : runs_of(list)) {
    Field some = view(u, list[static_cast<std::size_t>(run.first)], run.count);
    zero(some);
  }
}

/// Returns the columns `list` of u, to be read: u itself if the list has all columns.
template <field_batch Field>
Field some_columns(const Field& u, const std::vector<int>& list) {
  return std::ssize(list) == u.columns() ? u : gather_columns(u, list);
}

/// Computes to = from, whatever their precisions.
template <field_batch To, field_batch From>
void assign(To& to, const From& from) {
  if constexpr (std::same_as<To, From>)
    copy(to, from);
  else
    convert(to, from);
}

/// Returns the same number for every column of u.
template <field_batch Field>
typename Field::scalars uniform_scalars(const Field& u, double number) {
  const std::vector<complex<double>> numbers(static_cast<std::size_t>(u.columns()), {number, 0.0});
  return make_scalars(u, std::span<const complex<double>>(numbers));
}

}  // namespace plaquette
