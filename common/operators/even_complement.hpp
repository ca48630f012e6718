// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators on even sites, of pseudofermions and of callers: W = Mhat + i mu gamma_5, its adjoint, and their products.
/// Mhat itself may have a twisted mass of all sites in it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/concepts.hpp"
#include "common/krylov/batch.hpp"

namespace plaquette {

/// Adds number u to x, the same number for all columns.
template <field_batch Field>
void add_multiple(Field& x, complex<double> number, const Field& u) {
  const std::vector<complex<double>> numbers(static_cast<std::size_t>(u.columns()), number);
  axpy(x, make_scalars(u, std::span<const complex<double>>(numbers)), u);
}

/// Multiplies all columns by one number.
template <field_batch Field>
void multiply_all(Field& x, complex<double> number) {
  const std::vector<complex<double>> numbers(static_cast<std::size_t>(x.columns()), number);
  scale(x, make_scalars(x, std::span<const complex<double>>(numbers)));
}

/// Adds number u to x.
/// \param numbers  one for all columns, or one a column
template <field_batch Field>
void add_multiples(Field& x, const std::vector<complex<double>>& numbers, const Field& u) {
  if (numbers.size() == 1) return add_multiple(x, numbers[0], u);
  axpy(x, make_scalars(u, std::span<const complex<double>>(numbers)), u);
}

inline bool is_zero(const std::vector<double>& mu) {
  return std::ranges::all_of(mu, [](double of_column) { return of_column == 0.0; });
}

/// A field like those that an operator is given, made at first use.
template <field_batch Field>
class scratch_field {
 public:
  Field& like_this(const Field& in) const {
    if (!held_ || !(held_->shape() == in.shape())) held_.emplace(like(in));
    return *held_;
  }

 private:
  mutable std::optional<Field> held_;
};

/// W = Mhat + i mu gamma_5, and W^+ = Mhat^+ - i mu gamma_5.
/// \tparam Schur  the asymmetric complement; also M itself, for M + i mu gamma_5
template <class Schur>
class twisted_complement {
 public:
  using field = typename Schur::field;

  /// \param mhat  the asymmetric complement; must outlive this
  twisted_complement(const Schur& mhat, double mu) : twisted_complement(mhat, std::vector{mu}) {}
  /// \param mu  one for all columns, or one a column; a solver from which columns leave needs one for all
  twisted_complement(const Schur& mhat, std::vector<double> mu) : mhat_(mhat), mu_(std::move(mu)) {}

  void apply(field& out, const field& in) const { apply(out, in, 1.0, false); }
  void apply_dagger(field& out, const field& in) const { apply(out, in, -1.0, true); }

 private:
  void apply(field& out, const field& in, double sign, bool daggered) const {
    daggered ? mhat_.apply_dagger(out, in) : mhat_.apply(out, in);
    if (is_zero(mu_)) return;
    field& rotated = scratch_.like_this(in);
    gamma5(rotated, in);
    std::vector<complex<double>> numbers;
    for (const double of_column : mu_) numbers.push_back({0.0, sign * of_column});
    add_multiples(out, numbers, rotated);
  }

  const Schur& mhat_;
  std::vector<double> mu_;
  scratch_field<field> scratch_;
};

/// W = Mhat + i mu gamma_5 with its workspace and numbers made before: an application only queues kernels, so that a
/// CUDA graph can record it.
template <class Schur>
class prepared_twist {
 public:
  using field = typename Schur::field;

  /// \param shape  an even field with as many columns as the widest batch
  prepared_twist(std::shared_ptr<const Schur> mhat, const field& shape, double mu)
      : mhat_(std::move(mhat)), rotated_(like(shape)) {
    for (int n = 1; n <= shape.columns(); ++n) {
      const std::vector<complex<double>> numbers(static_cast<std::size_t>(n), {0.0, mu});
      i_mu_.push_back(make_scalars(view(rotated_, 0, n), std::span<const complex<double>>(numbers)));
    }
  }

  void apply(field& out, const field& in) const {
    field rotated = view(rotated_, 0, in.columns());
    mhat_->apply(out, in);
    gamma5(rotated, in);
    axpy(out, i_mu_[static_cast<std::size_t>(in.columns() - 1)], rotated);
  }

 private:
  std::shared_ptr<const Schur> mhat_;
  mutable field rotated_;
  std::vector<typename field::scalars> i_mu_;  ///< for each width
};

/// W^+ of W, and the reverse.
template <class W>
class adjoint_operator {
 public:
  using field = typename W::field;

  /// \param w  must outlive this
  explicit adjoint_operator(const W& w) : w_(w) {}
  void apply(field& out, const field& in) const { w_.apply_dagger(out, in); }
  void apply_dagger(field& out, const field& in) const { w_.apply(out, in); }

 private:
  const W& w_;
};

/// W W^+, Hermitian and positive. Without a twisted mass of all sites it is Mhat Mhat^+ + mu^2.
template <class Schur>
class complement_times_adjoint {
 public:
  using field = typename Schur::field;

  /// \param mhat  the asymmetric complement, which tells its own twisted mass; must outlive this
  complement_times_adjoint(const Schur& mhat, double mu) : mhat_(mhat), w_(mhat, mu), mu_(mu) {}

  void apply(field& out, const field& in) const {
    field& product = scratch_.like_this(in);
    if (mhat_.parts().mu() != 0.0) {
      w_.apply_dagger(product, in);
      return w_.apply(out, product);
    }
    mhat_.apply_dagger(product, in);
    mhat_.apply(out, product);
    if (mu_ != 0.0) add_multiple(out, {mu_ * mu_, 0.0}, in);
  }
  void apply_dagger(field& out, const field& in) const { apply(out, in); }

 private:
  const Schur& mhat_;
  twisted_complement<Schur> w_;
  double mu_;
  scratch_field<field> scratch_;
};

/// W^+ W = Q^2 + mu^2 with Q = gamma_5 Mhat = Q^+: Mhat^+ Mhat + mu^2, Hermitian and positive. Mhat has no twisted
/// mass.
template <class Schur>
class squared_complement {
 public:
  using field = typename Schur::field;

  /// \param mhat  the asymmetric complement; must outlive this
  squared_complement(const Schur& mhat, double mu) : squared_complement(mhat, std::vector{mu}) {}
  /// \param mu  as of twisted_complement
  squared_complement(const Schur& mhat, std::vector<double> mu) : mhat_(mhat), mu_(std::move(mu)) {}

  void apply(field& out, const field& in) const {
    field& product = scratch_.like_this(in);
    mhat_.apply(product, in);
    mhat_.apply_dagger(out, product);
    if (is_zero(mu_)) return;
    std::vector<complex<double>> squares;
    for (const double of_column : mu_) squares.push_back({of_column * of_column, 0.0});
    add_multiples(out, squares, in);
  }
  void apply_dagger(field& out, const field& in) const { apply(out, in); }

 private:
  const Schur& mhat_;
  std::vector<double> mu_;
  scratch_field<field> scratch_;
};

/// gamma_5 a gamma_5, of any preconditioner a.
template <field_batch Field>
class between_gamma5 {
 public:
  explicit between_gamma5(any_operator<Field> a) : a_(std::move(a)) {}

  void apply(Field& out, const Field& in) const {
    Field& rotated = scratch_.like_this(in);
    gamma5(rotated, in);
    a_.apply(out, rotated);
    gamma5(out, out);
  }

 private:
  any_operator<Field> a_;
  scratch_field<Field> scratch_;
};

}  // namespace plaquette
