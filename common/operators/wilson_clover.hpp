// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson-clover operator M = A - D/2 and its even-odd Schur complements, written once over what a library offers.
/// A = 1 + 3 nu/xi0 + m + C is the site-diagonal part, D the hopping term. With csw = 0 there is no clover term C: A is
/// a number and no blocks are stored. (Babich, Clark, Joo, SC10, eq. 2)
///
/// Sites of one parity hop to the other. With even sites first,
///
///     M = ( A_ee      -D_eo/2 )     Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe.
///         ( -D_oe/2   A_oo    )
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/reconstruct.hpp"
#include "common/algebra/spinor.hpp"
#include "common/concepts.hpp"
#include "common/error.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "common/lattice/fermion_action.hpp"

namespace plaquette {

/// The names that a library L gives to what the operator is made of, in one precision.
///
/// - `field` and `scalars`, see concepts.hpp; `context`; `links`, a gauge configuration of the library.
/// - `hopping_term`: `apply(out, in, daggered, finish)` applies D to a field of the other parity and then the epilogue.
///   The library's `hopping_finish` has the members of `finish`: epilogue, scale, x, a, blocks of A, w, sums.
/// - `site_diagonal`: A or its inverse. `is_number()`, `value()`, `blocks(parity)`, and `apply(out, in)` on one parity.
/// - `clover_term(links, action)` makes C; `add_to_diagonal(C, number)`; `inverse(A)`.
template <class L>
concept dirac_library =
    field_batch<typename L::field> &&
    requires(const typename L::hopping_term& hop, const typename L::site_diagonal& a, typename L::field& out,
             const typename L::field& in, const typename L::links& links, const fermion_action& action) {
      hop.apply(out, in, false, {epilogue::add, -0.5, &in, 1.0});
      { hop.get_context() } -> std::convertible_to<typename L::context>;
      { a.is_number() } -> std::same_as<bool>;
      { a.value() } -> std::same_as<double>;
      a.apply(out, in);
      L::inverse(L::clover_term(links, action));
    };

/// M on full-lattice Dirac spinors. Meets `linear_operator`. One caller at a time.
template <dirac_library L>
class wilson_clover_operator {
 public:
  using field = typename L::field;
  using context = typename L::context;
  using links_type = typename L::links;
  using hopping_term = typename L::hopping_term;
  using site_diagonal = typename L::site_diagonal;

  /// \param links   with ghosts filled; not kept
  /// \param stored  real numbers of each link that are kept
  /// Throws input_error where A has no inverse, or where links are not in SU(3) and `stored` needs it.
  wilson_clover_operator(const context& ctx, const links_type& links, const fermion_action& action,
                         reconstruct stored = reconstruct::none);
  /// From a configuration of the host, whose ghosts do not matter, where the library imports such.
  template <class HostLinks>
    requires(!std::is_same_v<HostLinks, links_type>)
  wilson_clover_operator(const context& ctx, const HostLinks& links, const fermion_action& action,
                         reconstruct stored = reconstruct::none)
      : wilson_clover_operator(ctx, import_links(ctx, links), action, stored) {}

  /// The site-diagonal part of another operator with other links to hop along, which need not be in SU(3).
  wilson_clover_operator(const wilson_clover_operator& m, const links_type& links)
      : action_(m.action_),
        hopping_(m.hopping_.get_context(), links, m.action_),
        diagonal_(m.diagonal_),
        inverse_diagonal_(m.inverse_diagonal_) {}

  const fermion_action& action() const { return action_; }
  const hopping_term& hopping() const { return hopping_; }
  /// For its settings.
  hopping_term& hopping() { return hopping_; }
  const site_diagonal& diagonal() const { return diagonal_; }
  const site_diagonal& inverse_diagonal() const { return inverse_diagonal_; }

  /// out = M in
  void apply(field& out, const field& in) const { apply(out, in, false); }
  /// out = M^+ in
  void apply_dagger(field& out, const field& in) const { apply(out, in, true); }

  /// Standard flops of one application a site (of the full lattice) and column.
  double flops_per_site() const { return hopping_flops + xpay_flops + (action_.has_clover() ? clover_flops : 0.0); }

 private:
  void apply(field& out, const field& in, bool daggered) const;

  fermion_action action_;
  hopping_term hopping_;
  site_diagonal diagonal_, inverse_diagonal_;
};

/// The even-odd Schur complement of M: on even-site fields. Meets `schur_complement`. One caller at a time.
///
/// The asymmetric kind is Mhat, with gamma_5 Mhat gamma_5 = Mhat^+. The symmetric one is A_ee^-1 Mhat. Call it S:
/// gamma_5 S^+ gamma_5 = A_ee S A_ee^-1.
template <dirac_library L>
class wilson_clover_schur {
 public:
  using field = typename L::field;
  using scalars = typename L::scalars;
  using full_operator = wilson_clover_operator<L>;

  wilson_clover_schur(std::shared_ptr<const full_operator> full, schur_kind kind)
      : full_(std::move(full)), kind_(kind) {}

  schur_kind kind() const { return kind_; }
  /// Whether a residual of the even system is that of the full one, on the even sites.
  bool keeps_residuals() const { return kind_ == schur_kind::asymmetric; }
  const full_operator& full() const { return *full_; }

  void apply(field& out, const field& in) const { apply(out, in, false, nullptr, nullptr); }
  void apply_dagger(field& out, const field& in) const { apply(out, in, true, nullptr, nullptr); }
  /// out = A in; returns <out, w> and |out|^2, summed while out is in registers where the library can.
  std::pair<scalars, scalars> apply_dot_norm2(field& out, const field& in, const field& w) const {
    std::optional<std::pair<scalars, scalars>> sums;
    apply(out, in, false, &w, &sums);
    return *sums;
  }

  /// The even system's source: b_e + 1/2 D_eo A_oo^-1 b_o, times A_ee^-1 where symmetric.
  void prepare_source(field& even, const field& b) const;
  /// x_e as given and x_o = A_oo^-1 (b_o + 1/2 D_oe x_e).
  void reconstruct_solution(field& x, const field& even, const field& b) const;
  field even_like(const field& full) const;

  /// Standard flops of one application a site of one parity and column: 2688 for Wilson, 3696 for Wilson-clover.
  double flops_per_site() const {
    return 2.0 * hopping_flops + xpay_flops + (full_->action().has_clover() ? 2.0 * clover_flops : 0.0);
  }

 private:
  using sums_of_result = std::optional<std::pair<scalars, scalars>>;

  void apply(field& out, const field& in, bool daggered, const field* w, sums_of_result* sums) const;
  /// Kept between applications, remade when the number of columns changes.
  field& scratch(int which, site_subset sites, int columns) const;

  std::shared_ptr<const full_operator> full_;
  schur_kind kind_;
  mutable std::vector<std::shared_ptr<field>> scratch_ = std::vector<std::shared_ptr<field>>(2);
};

// --- M ---------------------------------------------------------------------------------------------------------------

template <dirac_library L>
wilson_clover_operator<L>::wilson_clover_operator(const context& ctx, const links_type& links,
                                                  const fermion_action& action, reconstruct stored)
    : action_(action),
      hopping_(ctx, links, action, stored),
      diagonal_(ctx, action.diagonal()),
      inverse_diagonal_(ctx, 1.0 / action.diagonal()) {
  if (!action.has_clover()) {
    if (action.diagonal() == 0.0) throw input_error("4 + m is zero: the even-odd decomposition divides by it");
    return;
  }
  auto blocks = L::clover_term(links, action);    // C
  L::add_to_diagonal(blocks, action.diagonal());  // A
  diagonal_ = site_diagonal(ctx, blocks);
  inverse_diagonal_ = site_diagonal(ctx, L::inverse(blocks));
}

/// out_p = A_pp in_p - 1/2 D in_(1-p), for both parities p.
template <dirac_library L>
void wilson_clover_operator<L>::apply(field& out, const field& in, bool daggered) const {
  for (int p = 0; p < 2; ++p) {
    field to = out.parity(p);
    const field here = in.parity(p), there = in.parity(1 - p);
    if (diagonal_.is_number())
      hopping_.apply(to, there, daggered, {epilogue::add, -0.5, &here, diagonal_.value()});
    else
      hopping_.apply(to, there, daggered, {epilogue::clover_x_add, -0.5, &here, 1.0, diagonal_.blocks(p)});
  }
}

// --- Its Schur complements -------------------------------------------------------------------------------------------

/// On odd sites A_oo^-1 D_oe in, then back:
///
///     asymmetric             Mhat in = A_ee in - 1/4 D_eo A_oo^-1 D_oe in, its dagger with D^+ for D
///     symmetric                S in = in - 1/4 A_ee^-1 D_eo A_oo^-1 D_oe in
///     symmetric, daggered      S^+ in = in - 1/4 D_oe^+ A_oo^-1 D_eo^+ A_ee^-1 in
template <dirac_library L>
void wilson_clover_schur<L>::apply(field& out, const field& in, bool daggered, const field* w,
                                   sums_of_result* sums) const {
  if (in.shape().sites != site_subset::even || !(out.shape() == in.shape()))
    throw std::logic_error("schur_wilson_clover: fields must lie on even sites");
  const auto& hop = full_->hopping();
  const auto &a = full_->diagonal(), &a_inverse = full_->inverse_diagonal();
  field& odd = scratch(0, site_subset::odd, in.columns());

  if (a.is_number()) {  // A = d: d in - 1/(4 d) D D in, or that over d
    const double d = a.value();
    hop.apply(odd, in, daggered);
    if (kind_ == schur_kind::asymmetric)
      hop.apply(out, odd, daggered, {epilogue::add, -0.25 / d, &in, d, nullptr, w, sums});
    else
      hop.apply(out, odd, daggered, {epilogue::add, -0.25 / (d * d), &in, 1.0, nullptr, w, sums});
    return;
  }

  if (kind_ == schur_kind::symmetric && daggered) {
    field& even = scratch(1, site_subset::even, in.columns());
    a_inverse.apply(even, in);
    hop.apply(odd, even, true, {epilogue::clover, 1.0, nullptr, 1.0, a_inverse.blocks(1)});
    hop.apply(out, odd, true, {epilogue::add, -0.25, &in, 1.0, nullptr, w, sums});
    return;
  }
  hop.apply(odd, in, daggered, {epilogue::clover, 1.0, nullptr, 1.0, a_inverse.blocks(1)});
  if (kind_ == schur_kind::asymmetric)
    hop.apply(out, odd, daggered, {epilogue::clover_x_add, -0.25, &in, 1.0, a.blocks(0), w, sums});
  else
    hop.apply(out, odd, daggered, {epilogue::add_clover, -0.25, &in, 1.0, a_inverse.blocks(0), w, sums});
}

template <dirac_library L>
void wilson_clover_schur<L>::prepare_source(field& even, const field& b) const {
  const auto& a_inverse = full_->inverse_diagonal();
  field& odd = scratch(0, site_subset::odd, b.columns());
  const field b_even = b.parity(0);
  a_inverse.apply(odd, b.parity(1));
  if (kind_ == schur_kind::asymmetric) {
    full_->hopping().apply(even, odd, false, {epilogue::add, 0.5, &b_even, 1.0});
    return;
  }
  field& sum = scratch(1, site_subset::even, b.columns());
  full_->hopping().apply(sum, odd, false, {epilogue::add, 0.5, &b_even, 1.0});
  a_inverse.apply(even, sum);
}

template <dirac_library L>
void wilson_clover_schur<L>::reconstruct_solution(field& x, const field& even, const field& b) const {
  field x_even = x.parity(0), x_odd = x.parity(1);
  copy(x_even, even);
  field& sum = scratch(0, site_subset::odd, b.columns());
  const field b_odd = b.parity(1);
  full_->hopping().apply(sum, even, false, {epilogue::add, 0.5, &b_odd, 1.0});
  full_->inverse_diagonal().apply(x_odd, sum);
}

template <dirac_library L>
typename L::field wilson_clover_schur<L>::even_like(const field& full) const {
  field_shape shape = full.shape();
  shape.sites = site_subset::even;
  return field(full.get_context(), shape);
}

template <dirac_library L>
typename L::field& wilson_clover_schur<L>::scratch(int which, site_subset sites, int columns) const {
  auto& held = scratch_[static_cast<std::size_t>(which)];
  const field_shape shape{spins, colours, sites, columns};
  if (!held || !(held->shape() == shape)) {
    held.reset();  // before the new one is made, so that both are never there at once
    held = std::make_shared<field>(full_->hopping().get_context(), shape);
  }
  return *held;
}

}  // namespace plaquette
