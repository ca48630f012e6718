// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Hermitian Wilson operator H = gamma_5 D_w(-rho) on the full lattice: the kernel of the overlap operator. D_w is
/// the Wilson operator of mass -rho (no clover term), gamma_5 = diag(1, 1, -1, -1) in the DeGrand-Rossi basis.
#pragma once

#include "common/lattice/dirac_operator.hpp"
#include "cpu_ref/dirac/hopping_term.hpp"

namespace plaquette::cpu {

using plaquette::hopping_flops, plaquette::xpay_flops;

/// H on full-lattice Dirac spinors, any number of columns. Meets `linear_operator`. One caller at a time.
template <class T>
class hermitian_wilson {
 public:
  /// \param links   with ghosts filled; not kept
  /// \param action  of D_w: fermion_action::isotropic(-rho, 0)
  /// \param stored  stored real numbers of each link that are kept
  /// Throws input_error if the action has a clover term, or if links are not in SU(3) and `stored` needs it.
  hermitian_wilson(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                   reconstruct stored = reconstruct::twelve);

  /// Takes other links, in the memory of the links so far. Collective. Throws as the constructor does; the operator can
  /// then be used after it has followed other links.
  /// \param links  with ghosts filled; not kept
  void follow(const gauge_configuration& links) { hopping_.follow(links); }

  const fermion_action& action() const { return action_; }
  const hopping_term<T>& hopping() const { return hopping_; }
  /// See hopping_term::set_overlap.
  void set_overlap(bool overlap) { hopping_.set_overlap(overlap); }

  /// Computes out = H in; out is not in. Collective.
  void apply(field<T>& out, const field<T>& in) const { apply(out, 1.0, in, 0.0, nullptr, 0.0, nullptr); }
  /// Does the same: H is Hermitian.
  void apply_dagger(field<T>& out, const field<T>& in) const { apply(out, in); }
  /// Computes out = a H in + b u + c w; without u or w (null) that term is left out. All fields have one shape; out may
  /// be u or w, but not in. Collective.
  void apply(field<T>& out, double a, const field<T>& in, double b, const field<T>* u, double c,
             const field<T>* w) const {
    apply(out, a, in, 0.0, b, u, c, w);
  }
  /// Computes out = (a H + d) in + b u + c w, the same otherwise. d in is not read from memory again: so a step of
  /// Clenshaw's recurrence in H^2 - s^2 = (H - s)(H + s) is two kernels.
  void apply(field<T>& out, double a, const field<T>& in, double d, double b, const field<T>* u, double c,
             const field<T>* w) const;

  /// Returns the standard flops of H a site (of the full lattice) and column: the hops and 48 of the diagonal.
  double flops_per_site() const { return hopping_flops + xpay_flops; }

 private:
  fermion_action action_;
  hopping_term<T> hopping_;
};

}  // namespace plaquette::cpu
