// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Two flavours of quarks on the even sites, and their force, written out for tests.
#pragma once

#include <memory>
#include <span>

#include "common/krylov/conjugate_gradients.hpp"
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/fermion_force.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"

namespace plaquette::validation {

/// S = phi^+ (Q^2 + mu^2)^-1 phi, Q = gamma_5 Mhat, of one set of links.
class even_odd_quarks {
 public:
  even_odd_quarks(const cpu::context& ctx, const gauge_configuration& links, const fermion_action& action, double mu)
      : full_(std::make_shared<const cpu::wilson_clover<double>>(ctx, links, action)),
        schur_(full_, schur_kind::asymmetric),
        mu2_(mu * mu) {}

  /// Computes out = (Q^2 + mu^2) in.
  void apply(cpu::field<double>& out, const cpu::field<double>& in) const {
    cpu::field<double> image = like(in);
    schur_.apply(image, in);
    schur_.apply_dagger(out, image);
    const complex<double> shift{mu2_, 0.0};
    axpy(out, make_scalars(in, std::span(&shift, 1)), in);
  }
  void apply_dagger(cpu::field<double>& out, const cpu::field<double>& in) const { apply(out, in); }
  /// Returns (Q^2 + mu^2)^-1 phi.
  cpu::field<double> solve(const cpu::field<double>& phi) const {
    cpu::field<double> x = like(phi);
    stopping_rule rule;
    rule.tolerance = 1e-14;
    rule.limit = 2000;
    rule.guess_is_zero = true;
    zero(x);
    conjugate_gradients(*this, x, phi, rule);
    return x;
  }
  double action(const cpu::field<double>& phi) const { return dot(phi, solve(phi))[0].re; }

  /// Adds to the force, and to the leaves, of `weight` times the action.
  void add_force(cpu::gauge_momenta& momenta, cpu::leaf_field& z, const gauge_configuration& links,
                 const cpu::field<double>& phi, double weight) const {
    const cpu::field<double> x = solve(phi);
    cpu::field<double> y = like(phi), rotated = like(phi);
    schur_.apply(y, x);
    gamma5(rotated, y);
    cpu::field<double> all_x = on_all_sites(x), all_y = like(all_x);
    gamma5(all_y, on_all_sites(rotated));
    const complex<double> w{weight, 0.0};
    scale(all_x, make_scalars(all_x, std::span(&w, 1)));
    add_hopping_force(momenta, links, full_->action(), all_x, all_y, 1.0);
    add_leaves(z, full_->action(), all_x, all_y, 1.0);
  }

 private:
  /// Returns A_oo^-1 D_oe / 2 of it on the odd sites.
  cpu::field<double> on_all_sites(const cpu::field<double>& even) const {
    cpu::field<double> all(even.get_context(), field_shape{}), none = like(all);
    zero(none);
    schur_.reconstruct_solution(all, even, none);
    return all;
  }

  std::shared_ptr<const cpu::wilson_clover<double>> full_;
  cpu::schur_wilson_clover<double> schur_;
  double mu2_;
};

}  // namespace plaquette::validation
