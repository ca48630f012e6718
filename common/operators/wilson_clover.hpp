// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson-clover operator M = A - D/2 and its even-odd Schur complements, written once over what a library offers.
/// A = 1 + 3 nu/xi0 + m + C is the site-diagonal part, D the hopping term. With csw = 0 there is no clover term C: A is
/// a number and no blocks are stored. (Babich, Clark, Joo, SC10, eq. 2)
///
/// Sites of one parity hop to the other. With even sites first,
///
///     M = ( A_ee      -D_eo/2 )     Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe      (red_black.hpp)
///         ( -D_oe/2   A_oo    )
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "common/algebra/reconstruct.hpp"
#include "common/algebra/spinor.hpp"
#include "common/concepts.hpp"
#include "common/error.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/operators/red_black.hpp"

namespace plaquette {

/// The names that a library L gives to what the operator is made of, in one precision.
///
/// - `field` and `scalars`, see concepts.hpp; `context`; `links`, a gauge configuration of the library.
/// - `hopping_term`: `apply(out, in, daggered, finish)` applies D to a field of the other parity and then the epilogue.
///   The library's `hopping_finish` has the members of `finish`: epilogue, scale, x, a, blocks of A, w, sums.
/// - `site_diagonal`: A or its inverse. `is_number()`, `value()`, `blocks(parity)`, and `apply(out, in)` on one parity.
/// - `blocks`, of a Hermitian matrix on each site. `clover_term(links, action)` makes C; `add_to_diagonal(C, number)`;
/// `inverse(A, context)`: if any rank has a block without inverse, all ranks throw the same input_error.
template <class Library>
concept dirac_library = field_batch<typename Library::field> &&
                        requires(const typename Library::hopping_term& hop, const typename Library::site_diagonal& a,
                                 typename Library::field& out, const typename Library::field& in,
                                 const typename Library::links& links, const fermion_action& action) {
                          hop.apply(out, in, false, {epilogue::add, -0.5, &in, 1.0});
                          { hop.get_context() } -> std::convertible_to<typename Library::context>;
                          { a.is_number() } -> std::same_as<bool>;
                          { a.value() } -> std::same_as<double>;
                          a.apply(out, in);
                          Library::inverse(Library::clover_term(links, action), hop.get_context());
                        };

/// M on full-lattice Dirac spinors. Meets `linear_operator`. One caller at a time.
template <dirac_library Library>
class wilson_clover_operator {
 public:
  using field = typename Library::field;
  using context = typename Library::context;
  using links_type = typename Library::links;
  using hopping_term = typename Library::hopping_term;
  using site_diagonal = typename Library::site_diagonal;
  using blocks_type = typename Library::blocks;

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

  /// Takes other links, in the memory of the links so far: what was recorded or tuned with this operator still holds.
  /// Operators that share its site-diagonal part get the new one. Collective. Throws as the constructor does; the
  /// operator can then be used after it has followed other links.
  /// \param links  with ghosts filled; not kept
  void follow(const links_type& links);
  /// Does the same with the blocks of A and A^-1 on these links, which operators of several precisions share. Without
  /// a clover term they are not read.
  void follow(const links_type& links, const blocks_type& a, const blocks_type& inverse_of_a);

  const fermion_action& action() const { return action_; }
  const hopping_term& hopping() const { return hopping_; }
  /// For its settings.
  hopping_term& hopping() { return hopping_; }
  const site_diagonal& diagonal() const { return diagonal_; }
  const site_diagonal& inverse_diagonal() const { return inverse_diagonal_; }

  /// Computes out = M in
  void apply(field& out, const field& in) const { apply(out, in, false); }
  /// Computes out = M^+ in
  void apply_dagger(field& out, const field& in) const { apply(out, in, true); }

  /// Returns the standard flops of one application a site (of the full lattice) and column.
  double flops_per_site() const { return hopping_flops + xpay_flops + (action_.has_clover() ? clover_flops : 0.0); }

 private:
  void apply(field& out, const field& in, bool daggered) const;
  /// Returns the blocks of A.
  auto diagonal_blocks(const links_type& links) const {
    auto blocks = Library::clover_term(links, action_);    // C
    Library::add_to_diagonal(blocks, action_.diagonal());  // A
    return blocks;
  }

  fermion_action action_;
  hopping_term hopping_;
  site_diagonal diagonal_, inverse_diagonal_;
};

/// M = A - D/2 as red_black.hpp takes it: H = D/2, each product one kernel.
template <dirac_library Library>
class wilson_clover_products {
 public:
  using field = typename Library::field;
  using full_operator = wilson_clover_operator<Library>;
  using sums_type = sums_of_result<field>;

  explicit wilson_clover_products(std::shared_ptr<const full_operator> full) : full_(std::move(full)) {}
  const full_operator& full() const { return *full_; }

  field make(const field_shape& shape) const { return field(full_->hopping().get_context(), shape); }
  /// A is Hermitian.
  void multiply(field& out, const field& in, bool) const { full_->diagonal().apply(out, in); }
  void multiply_by_inverse(field& out, const field& in, bool) const { full_->inverse_diagonal().apply(out, in); }

  void hop(field& out, const field& in, bool daggered, double factor, const field* start, sums_type sums = {}) const {
    full_->hopping().apply(
        out, in, daggered,
        {start == nullptr ? epilogue::store : epilogue::add, 0.5 * factor, start, 1.0, nullptr, sums.w, sums.sums});
  }
  void hop_and_divide(field& out, const field& in, bool daggered, double factor, const field* start,
                      sums_type sums) const {
    const auto& inverse = full_->inverse_diagonal();
    if (inverse.is_number()) return hop(out, in, daggered, factor * inverse.value(), start, sums);
    full_->hopping().apply(out, in, daggered,
                           {start == nullptr ? epilogue::clover : epilogue::add_clover, 0.5 * factor, start, 1.0,
                            inverse.blocks(parity_of(out)), sums.w, sums.sums});
  }
  void multiply_and_hop(field& out, const field& x, const field& in, bool daggered, double factor,
                        sums_type sums) const {
    const auto& a = full_->diagonal();
    if (a.is_number())
      full_->hopping().apply(out, in, daggered,
                             {epilogue::add, 0.5 * factor, &x, a.value(), nullptr, sums.w, sums.sums});
    else
      full_->hopping().apply(
          out, in, daggered,
          {epilogue::clover_x_add, 0.5 * factor, &x, 1.0, a.blocks(parity_of(out)), sums.w, sums.sums});
  }

 private:
  static int parity_of(const field& x) { return x.shape().sites == site_subset::odd ? 1 : 0; }

  std::shared_ptr<const full_operator> full_;
};

/// The even-odd Schur complement of M: on even-site fields. Meets `schur_complement`. One caller at a time.
///
/// The asymmetric kind is Mhat, with gamma_5 Mhat gamma_5 = Mhat^+. The symmetric one is A_ee^-1 Mhat. Call it S:
/// gamma_5 S^+ gamma_5 = A_ee S A_ee^-1.
template <dirac_library Library>
class wilson_clover_schur : public red_black_schur<wilson_clover_products<Library>> {
 public:
  using full_operator = wilson_clover_operator<Library>;

  wilson_clover_schur(std::shared_ptr<const full_operator> full, schur_kind kind)
      : red_black_schur<wilson_clover_products<Library>>(wilson_clover_products<Library>(std::move(full)), kind) {}

  const full_operator& full() const { return this->parts().full(); }

  /// Returns the standard flops of one application a site of one parity and column: 2688 for Wilson, 3696 for
  /// Wilson-clover.
  double flops_per_site() const {
    return 2.0 * hopping_flops + xpay_flops + (full().action().has_clover() ? 2.0 * clover_flops : 0.0);
  }
};

// --- M ---------------------------------------------------------------------------------------------------------------

template <dirac_library Library>
wilson_clover_operator<Library>::wilson_clover_operator(const context& ctx, const links_type& links,
                                                        const fermion_action& action, reconstruct stored)
    : action_(action),
      hopping_(ctx, links, action, stored),
      diagonal_(ctx, action.diagonal()),
      inverse_diagonal_(ctx, 1.0 / action.diagonal()) {
  if (!action.has_clover()) {
    if (action.diagonal() == 0.0) throw input_error("4 + m is zero: the even-odd decomposition divides by it");
    return;
  }
  const auto blocks = diagonal_blocks(links);
  diagonal_ = site_diagonal(ctx, blocks);
  inverse_diagonal_ = site_diagonal(ctx, Library::inverse(blocks, ctx));
}

template <dirac_library Library>
void wilson_clover_operator<Library>::follow(const links_type& links) {
  if (!diagonal_.is_number()) {
    const auto blocks = diagonal_blocks(links);
    return follow(links, blocks, Library::inverse(blocks, hopping_.get_context()));
  }
  hopping_.follow(links);
}

template <dirac_library Library>
void wilson_clover_operator<Library>::follow(const links_type& links, const blocks_type& a,
                                             const blocks_type& inverse_of_a) {
  if (!diagonal_.is_number()) {
    diagonal_.follow(a);
    inverse_diagonal_.follow(inverse_of_a);
  }
  hopping_.follow(links);
}

/// Computes out_p = A_pp in_p - 1/2 D in_(1-p), for both parities p.
template <dirac_library Library>
void wilson_clover_operator<Library>::apply(field& out, const field& in, bool daggered) const {
  for (int p = 0; p < 2; ++p) {
    field to = out.parity(p);
    const field here = in.parity(p), there = in.parity(1 - p);
    if (diagonal_.is_number())
      hopping_.apply(to, there, daggered, {epilogue::add, -0.5, &here, diagonal_.value()});
    else
      hopping_.apply(to, there, daggered, {epilogue::clover_x_add, -0.5, &here, 1.0, diagonal_.blocks(p)});
  }
}

}  // namespace plaquette
