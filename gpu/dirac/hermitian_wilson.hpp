// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Hermitian Wilson operator H = gamma_5 D_w(-rho) on the full lattice, on the device: the kernel of the overlap
/// operator. D_w is the Wilson operator of mass -rho (no clover term), gamma_5 = diag(1, 1, -1, -1) in the
/// DeGrand-Rossi basis. The twin of cpu_ref/dirac/hermitian_wilson.
#pragma once

#include <map>
#include <optional>

#include "gpu/dirac/hermitian_launch.hpp"
#include "gpu/dirac/hopping_term.hpp"

namespace plaquette::gpu {

using plaquette::hopping_flops, plaquette::xpay_flops;

/// H on full-lattice Dirac spinors, any number of columns. Meets `linear_operator`. One caller at a time.
///
/// One kernel goes over both parities, so that of links and fields each number comes from memory once. On several ranks
/// a kernel before it packs the faces of `in`. Where the host sends messages it is the hopping term of each parity,
/// which works on the interior meanwhile, and a kernel for the rest.
template <class T>
class hermitian_wilson {
 public:
  /// \param links   not kept
  /// \param action  of D_w: fermion_action::isotropic(-rho, 0)
  /// \param stored  real numbers of each link that are kept
  /// Throws input_error if the action has a clover term, or if links are not in SU(3) and `stored` needs it.
  hermitian_wilson(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                   reconstruct stored = reconstruct::twelve);
  /// From a configuration of the host, whose ghosts do not matter.
  hermitian_wilson(const context& ctx, const plaquette::gauge_configuration& links, const fermion_action& action,
                   reconstruct stored = reconstruct::twelve)
      : hermitian_wilson(ctx, import_links(ctx, links), action, stored) {}

  /// Takes other links, in the memory of the links so far: recordings and tunings with this operator still hold.
  /// Collective. Throws as the constructor does; the operator can then be used after it has followed other links.
  /// \param links  not kept
  void follow(const gauge_configuration& links) { hopping_.follow(links); }

  const fermion_action& action() const { return hopping_.action(); }
  const hopping_term<T>& hopping() const { return hopping_; }

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

  /// Returns the bytes of memory traffic a site and column of one application at the least, each number read or written
  /// once.
  /// \param addends  fields among u and w
  double bytes_per_site(int columns, int addends) const;

  /// Returns how a problem of this size is launched: as set, else the tuner's choice, else the table's.
  hermitian_launch launch_for(int columns) const;
  /// Sets the launch, for measurements and tests; none gives the choice back.
  void set_launch(std::optional<hermitian_launch> launch) { forced_ = launch; }

 private:
  struct trial_fields;
  /// Returns the seconds of one application, in steps of Clenshaw's recurrence.
  double seconds_of(const hermitian_launch& launch, trial_fields& fields) const;

  hopping_term<T> hopping_;
  std::optional<hermitian_launch> forced_;
  mutable std::map<int, hermitian_launch> chosen_;  ///< by columns
};

}  // namespace plaquette::gpu
