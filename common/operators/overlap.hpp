// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The overlap operator D = 1 + gamma_5 sign(H) and its massive forms, written once over a sign function. (Neuberger,
/// hep-lat/9707022; normalisations of Alexandru, Pelissier, Gamari, Lee 2011)
#pragma once

#include <vector>

#include "common/krylov/batch.hpp"

namespace plaquette {

/// D = 1 + gamma_5 sign(H), D(m) = rho D + m (1 - D/2). In the normalisation of others, D(m) / rho is
/// (1 + m') + (1 - m') gamma_5 sign(H) with m' = m / (2 rho).
/// \tparam Sign  apply(y, x, delta): y = sign(H) x to an error of delta |x|
template <class Sign>
class overlap_operator {
 public:
  using Field = typename Sign::Field;

  overlap_operator(const Sign& sign, double rho) : sign_(&sign), rho_(rho) {}

  const Sign& sign() const { return *sign_; }
  double rho() const { return rho_; }

  /// Computes out = D in
  void apply(Field& out, const Field& in, double delta) const {
    sign_->apply(out, in, delta);
    gamma5(out, out);
    axpy(out, uniform_scalars(out, 1.0), in);
  }
  /// Computes out = D^+ in = in + sign(H) gamma_5 in
  void apply_dagger(Field& out, const Field& in, double delta) const {
    Field rotated = like(in);
    gamma5(rotated, in);
    sign_->apply(out, rotated, delta);
    axpy(out, uniform_scalars(out, 1.0), in);
  }
  /// Computes out = D(m) in = (rho - m/2) D in + m in
  void apply_massive(Field& out, const Field& in, double mass, double delta) const {
    apply(out, in, delta);
    scale(out, uniform_scalars(out, rho_ - 0.5 * mass));
    axpy(out, uniform_scalars(out, mass), in);
  }

  /// Computes out = D^+ D in for columns of definite chirality each, gamma_5 in = chi in: P_chi (2 in + 2 chi sign(H)
  /// in). One sign function instead of two. What rounding has left of the other chirality is removed.
  void apply_square_in_sectors(Field& out, const Field& in, double delta) const {
    Field rotated = like(in);
    gamma5(rotated, in);
    const auto chi = ratio(dot(in, rotated), norm2(in));
    sign_->apply(out, in, delta);
    // in + chi s, and the same for gamma_5: (1 + chi gamma_5) / 2 of twice the sum
    scale(out, chi);
    axpy(out, uniform_scalars(out, 1.0), in);
    gamma5(rotated, out);
    axpy(out, chi, rotated);
  }

 private:
  const Sign* sign_;
  double rho_;
};

/// D^+ D within one chirality, on fields of 2 spins: 2 (1 + chi sign(H)).
template <class Sign>
class chiral_square {
 public:
  using Field = typename Sign::Field;

  /// \param chirality  +1 or -1
  chiral_square(const Sign& sign, int chirality) : sign_(&sign), chirality_(chirality) {}

  int chirality() const { return chirality_; }
  const Sign& sign() const { return *sign_; }

  /// \tparam V  Field, or a field of a precision that the sign function takes at this accuracy
  template <class V>
  void apply(V& out, const V& in, double delta) const {
    field_shape whole = in.shape();
    whole.spins = 4;
    V x(in.get_context(), whole), y(in.get_context(), whole);
    put_chirality(x, in, chirality_);
    sign_->apply(y, x, delta);
    take_chirality(out, y, chirality_);
    scale(out, uniform_scalars(out, 2.0 * chirality_));
    axpy(out, uniform_scalars(out, 2.0), in);
  }

 private:
  const Sign* sign_;
  int chirality_;
};

}  // namespace plaquette
