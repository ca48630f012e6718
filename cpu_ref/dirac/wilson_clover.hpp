// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The production Wilson-clover operator M = A - D/2, A = 1 + 3 nu/xi0 + m + C, on the full lattice, and its even-odd
/// Schur complements. With csw = 0 the site-diagonal part is a number and no blocks are stored.
#pragma once

#include <memory>

#include "common/lattice/dirac_operator.hpp"
#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/dirac/hopping_term.hpp"

namespace plaquette::cpu {

using plaquette::clover_flops, plaquette::hopping_flops, plaquette::xpay_flops, plaquette::schur_kind;

/// The site-diagonal part A or its inverse: one number, or packed [block][chirality][18][re, im][W] a parity (six
/// diagonal numbers of a 6x6 block, then those below, row by row), for half [block][chirality][18][W] pairs of 16 bits,
/// [W] scales. What is packed is half of the matrix. Copies share the blocks.
template <class T>
class site_diagonal {
 public:
  /// Times a number.
  site_diagonal(const context& ctx, double value) : context_(ctx), value_(value) {}
  site_diagonal(const context& ctx, const clover_configuration& blocks);

  bool is_number() const { return blocks_[0] == nullptr; }
  double value() const { return value_; }
  /// Blocks of one parity, or null where it is a number.
  const word_of<T>* blocks(int parity) const { return is_number() ? nullptr : blocks_[parity]->data(); }
  /// out = A in, fields of one parity.
  void apply(field<T>& out, const field<T>& in) const;

 private:
  context context_;
  double value_ = 0.0;
  std::shared_ptr<const aligned_buffer<word_of<T>>> blocks_[2];
};

/// M on full-lattice Dirac spinors. Meets `linear_operator`. One caller at a time.
template <class T>
class wilson_clover {
 public:
  /// \param links   with ghosts filled; not kept
  /// \param stored  real numbers of each link that are kept
  /// Throws input_error where A has no inverse, or where links are not in SU(3) and `stored` needs it.
  wilson_clover(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                reconstruct stored = reconstruct::none);
  /// The site-diagonal part of another operator with other links to hop along, which need not be in SU(3).
  wilson_clover(const wilson_clover& m, const gauge_configuration& links)
      : action_(m.action_),
        hopping_(m.hopping_.get_context(), links, m.action_),
        diagonal_(m.diagonal_),
        inverse_diagonal_(m.inverse_diagonal_) {}

  const fermion_action& action() const { return action_; }
  const hopping_term<T>& hopping() const { return hopping_; }
  /// See hopping_term::set_overlap.
  void set_overlap(bool overlap) { hopping_.set_overlap(overlap); }
  const site_diagonal<T>& diagonal() const { return diagonal_; }
  const site_diagonal<T>& inverse_diagonal() const { return inverse_diagonal_; }

  /// out = M in
  void apply(field<T>& out, const field<T>& in) const { apply(out, in, false); }
  /// out = M^+ in
  void apply_dagger(field<T>& out, const field<T>& in) const { apply(out, in, true); }

  /// Standard flops of one application a site (of the full lattice) and column.
  double flops_per_site() const { return hopping_flops + xpay_flops + (action_.has_clover() ? clover_flops : 0.0); }

 private:
  void apply(field<T>& out, const field<T>& in, bool daggered) const;

  fermion_action action_;
  hopping_term<T> hopping_;
  site_diagonal<T> diagonal_, inverse_diagonal_;
};

/// The even-odd Schur complement of M: on even-site fields. Meets `schur_complement`. One caller at a time.
/// For the asymmetric kind gamma_5 Mhat gamma_5 = Mhat^+; for the symmetric one gamma_5 Mhat^+ gamma_5 = A_ee Mhat
/// A_ee^-1.
template <class T>
class schur_wilson_clover {
 public:
  schur_wilson_clover(std::shared_ptr<const wilson_clover<T>> full, schur_kind kind);

  schur_kind kind() const { return kind_; }
  /// Whether a residual of the even system is that of the full one, on the even sites.
  bool keeps_residuals() const { return kind_ == schur_kind::asymmetric; }
  const wilson_clover<T>& full() const { return *full_; }

  void apply(field<T>& out, const field<T>& in) const { apply(out, in, false, nullptr, nullptr); }
  void apply_dagger(field<T>& out, const field<T>& in) const { apply(out, in, true, nullptr, nullptr); }
  /// out = A in; returns <out, w> and |out|^2, summed while out is in registers.
  std::pair<scalars, scalars> apply_dot_norm2(field<T>& out, const field<T>& in, const field<T>& w) const {
    std::pair<scalars, scalars> sums{scalars({}), scalars({})};
    apply(out, in, false, &w, &sums);
    return sums;
  }

  /// The even system's source: b_e + 1/2 D_eo A_oo^-1 b_o, times A_ee^-1 where symmetric.
  void prepare_source(field<T>& even, const field<T>& b) const;
  /// x_e as given and x_o = A_oo^-1 (b_o + 1/2 D_oe x_e).
  void reconstruct_solution(field<T>& x, const field<T>& even, const field<T>& b) const;
  field<T> even_like(const field<T>& full) const;

  /// Standard flops of one application a site of one parity and column: 2688 for Wilson, 3696 for Wilson-clover.
  double flops_per_site() const {
    return 2.0 * hopping_flops + xpay_flops + (full_->action().has_clover() ? 2.0 * clover_flops : 0.0);
  }

 private:
  void apply(field<T>& out, const field<T>& in, bool daggered, const field<T>* w,
             std::pair<scalars, scalars>* sums) const;
  /// Kept between applications, remade when the number of columns changes.
  field<T>& scratch(int which, site_subset sites, int columns) const;

  std::shared_ptr<const wilson_clover<T>> full_;
  schur_kind kind_;
  mutable std::vector<std::shared_ptr<field<T>>> scratch_ = std::vector<std::shared_ptr<field<T>>>(2);
};

}  // namespace plaquette::cpu
