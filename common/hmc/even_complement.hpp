// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The operators of pseudofermions on even sites: Mhat + i mu gamma_5, and Q^2 + mu^2, with Q = gamma_5 Mhat.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "common/algorithms/batch.hpp"
#include "common/concepts.hpp"

namespace plaquette {

/// Adds number u to x, the same number for all columns.
template <field_batch Field>
void add_multiple(Field& x, complex<double> number, const Field& u) {
  const std::vector<complex<double>> numbers(static_cast<std::size_t>(u.columns()), number);
  axpy(x, make_scalars(u, std::span<const complex<double>>(numbers)), u);
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

/// Mhat + i mu gamma_5 = gamma_5 (Q + i mu). Its adjoint is gamma_5 (Q + i mu)^+ = Mhat^+ - i mu gamma_5.
template <class Schur>
class twisted_complement {
 public:
  using field = typename Schur::field;

  /// \param mhat  the asymmetric complement; must outlive this
  twisted_complement(const Schur& mhat, double mu) : mhat_(mhat), mu_(mu) {}

  void apply(field& out, const field& in) const { apply(out, in, mu_, false); }
  void apply_dagger(field& out, const field& in) const { apply(out, in, -mu_, true); }

 private:
  void apply(field& out, const field& in, double mu, bool daggered) const {
    daggered ? mhat_.apply_dagger(out, in) : mhat_.apply(out, in);
    if (mu == 0.0) return;
    field& rotated = scratch_.like_this(in);
    gamma5(rotated, in);
    add_multiple(out, {0.0, mu}, rotated);
  }

  const Schur& mhat_;
  double mu_;
  scratch_field<field> scratch_;
};

/// Q^2 + mu^2 = Mhat^+ Mhat + mu^2, Hermitian and positive.
template <class Schur>
class squared_complement {
 public:
  using field = typename Schur::field;

  /// \param mhat  the asymmetric complement; must outlive this
  squared_complement(const Schur& mhat, double mu) : mhat_(mhat), mu_(mu) {}

  void apply(field& out, const field& in) const {
    field& product = scratch_.like_this(in);
    mhat_.apply(product, in);
    mhat_.apply_dagger(out, product);
    if (mu_ != 0.0) add_multiple(out, {mu_ * mu_, 0.0}, in);
  }
  void apply_dagger(field& out, const field& in) const { apply(out, in); }

 private:
  const Schur& mhat_;
  double mu_;
  scratch_field<field> scratch_;
};

}  // namespace plaquette
