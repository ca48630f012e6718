// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators that hop between sites of opposite parity, and their red-black (even-odd) Schur complements. Written once
/// for Dirac and for coarse operators. (DeGrand, Rossi 1990)
///
/// M = A - H. A is diagonal in sites, H leads from each parity to the other. With even sites first,
///
///     M = ( A_ee    -H_eo )     asymmetric complement  Mhat = A_ee - H_eo A_oo^-1 H_oe
///         ( -H_oe   A_oo  )     symmetric complement   A_ee^-1 Mhat = 1 - A_ee^-1 H_eo A_oo^-1 H_oe
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/concepts.hpp"
#include "common/lattice/dirac_operator.hpp"

namespace plaquette {

/// Sums that a product makes of its result, while the result is in registers: <out, w> and |out|^2.
template <class Field>
struct sums_of_result {
  const Field* w = nullptr;
  std::optional<std::pair<typename Field::scalars, typename Field::scalars>>* sums = nullptr;
};

/// Products with A, with its inverse, and with H or A^-1 H. A flag `daggered` means A^+ and H^+. `start` may be null.
///
/// - `make(shape)` makes a field.
/// - `hop(out, in, daggered, factor, start)`: out = start + factor H in
/// - `multiply(out, in, daggered)`, `multiply_by_inverse(out, in, daggered)`: out = A in, out = A^-1 in
///
/// That is enough. What products can do in one pass over memory they may offer too, with sums of the result:
///
/// - `hop_and_divide(out, in, daggered, factor, start[, sums])`: out = start + factor A^-1 H in
/// - `multiply_and_hop(out, x, in, daggered, factor, sums)`: out = A x + factor H in
/// - `hop(..., sums)`
///
/// Products without `hop` have `hop_and_divide` and `gamma5(x)`, with gamma_5 M gamma_5 = M^+. They have the symmetric
/// complement only.
template <class P>
concept red_black_products =
    field_batch<typename P::field> && requires(const P& p, typename P::field& out, const typename P::field& in) {
      { p.make(in.shape()) } -> std::same_as<typename P::field>;
      p.multiply(out, in, false);
      p.multiply_by_inverse(out, in, false);
    };

template <class P>
concept hopping_products =
    red_black_products<P> &&
    requires(const P& p, typename P::field& out, const typename P::field& in) { p.hop(out, in, false, 1.0, &in); };

/// Fields of one shape, made at first use and when the number of columns changes.
template <class P>
class red_black_scratch {
 public:
  using field = typename P::field;

  /// \param like  the shape but for its sites
  field& operator()(const P& products, int which, field_shape like, site_subset sites) const {
    auto& held = held_[static_cast<std::size_t>(which)];
    like.sites = sites;
    if (!held || !(held->shape() == like)) {
      held.reset();  // before the new one is made, so that both are never there at once
      held = std::make_shared<field>(products.make(like));
    }
    return *held;
  }

 private:
  mutable std::vector<std::shared_ptr<field>> held_ = std::vector<std::shared_ptr<field>>(6);
};

/// All products that the operators below take, each in as few passes as P can. Copies share scratch fields.
template <red_black_products P>
class all_products {
 public:
  using field = typename P::field;

  explicit all_products(P parts) : parts_(std::move(parts)) {}
  const P& parts() const { return parts_; }
  P& parts() { return parts_; }

  /// Computes out = start + factor A^-1 H in
  void hop_and_divide(field& out, const field& in, bool daggered, double factor = 1.0, const field* start = nullptr,
                      sums_of_result<field> sums = {}) const {
    if constexpr (requires { parts_.hop_and_divide(out, in, daggered, factor, start, sums); }) {
      parts_.hop_and_divide(out, in, daggered, factor, start, sums);
    } else if constexpr (requires { parts_.hop_and_divide(out, in, daggered, factor, start); }) {
      parts_.hop_and_divide(out, in, daggered, factor, start);
      finish(out, sums);
    } else {
      field& hopped = scratch_of_parity(2, out);
      parts_.hop(hopped, in, daggered, factor, nullptr);
      parts_.multiply_by_inverse(out, hopped, daggered);
      if (start != nullptr) axpy(out, one(out), *start);
      finish(out, sums);
    }
  }
  /// Computes out = A x + factor H in
  void multiply_and_hop(field& out, const field& x, const field& in, bool daggered, double factor,
                        sums_of_result<field> sums = {}) const
    requires hopping_products<P>
  {
    if constexpr (requires { parts_.multiply_and_hop(out, x, in, daggered, factor, sums); }) {
      parts_.multiply_and_hop(out, x, in, daggered, factor, sums);
    } else {
      field& product = scratch_of_parity(4, out);
      parts_.multiply(product, x, daggered);
      hop(out, in, daggered, factor, &product, sums);
    }
  }
  /// Computes out = start + factor H in
  void hop(field& out, const field& in, bool daggered, double factor, const field* start,
           sums_of_result<field> sums = {}) const
    requires hopping_products<P>
  {
    if constexpr (requires { parts_.hop(out, in, daggered, factor, start, sums); }) {
      parts_.hop(out, in, daggered, factor, start, sums);
    } else {
      parts_.hop(out, in, daggered, factor, start);
      finish(out, sums);
    }
  }

  /// Computes out = M in, or M^+ in, on fields of all sites.
  void apply_full(field& out, const field& in, bool daggered) const
    requires hopping_products<P>
  {
    for (int p = 0; p < 2; ++p) {
      field to = out.parity(p);
      multiply_and_hop(to, in.parity(p), in.parity(1 - p), daggered, -1.0);
    }
  }

  field& scratch(int which, const field_shape& like, site_subset sites) const {
    return scratch_(parts_, which, like, sites);
  }

 private:
  /// Returns a field like `out`: one of two, so that none is made again where parities take turns.
  field& scratch_of_parity(int first, const field& out) const {
    const site_subset sites = out.shape().sites;
    return scratch_(parts_, first + (sites == site_subset::odd ? 1 : 0), out.shape(), sites);
  }
  static typename field::scalars one(const field& x) {
    return make_scalars(x, std::vector<complex<double>>(static_cast<std::size_t>(x.columns()), {1.0, 0.0}));
  }
  static void finish(const field& out, const sums_of_result<field>& sums) {
    if (sums.sums != nullptr) *sums.sums = dot_norm2(out, *sums.w);
  }

  P parts_;
  red_black_scratch<P> scratch_;
};

/// M on fields of all sites. Meets `linear_operator`. One caller at a time.
template <hopping_products P>
class red_black_operator {
 public:
  using field = typename P::field;
  explicit red_black_operator(P parts) : products_(std::move(parts)) {}
  void apply(field& out, const field& in) const { products_.apply_full(out, in, false); }
  void apply_dagger(field& out, const field& in) const { products_.apply_full(out, in, true); }

 private:
  all_products<P> products_;
};

/// The Schur complement of M on even sites. Meets `schur_complement`. One caller at a time.
template <red_black_products P>
class red_black_schur {
 public:
  using field = typename P::field;
  using scalars = typename field::scalars;

  red_black_schur(P parts, schur_kind kind) : products_(std::move(parts)), kind_(kind) {
    if (!hopping_products<P> && kind != schur_kind::symmetric)
      throw std::logic_error("red_black_schur: these products have the symmetric complement only");
  }

  schur_kind kind() const { return kind_; }
  /// Returns whether a residual of the even system is that of the full one, on the even sites.
  bool keeps_residuals() const { return kind_ == schur_kind::asymmetric; }
  const P& parts() const { return products_.parts(); }
  /// For its settings.
  P& parts() { return products_.parts(); }

  void apply(field& out, const field& in) const { apply(out, in, false, {}); }
  void apply_dagger(field& out, const field& in) const { apply(out, in, true, {}); }
  /// Computes out = (complement) in; returns <out, w> and |out|^2, summed while out is in registers where the library
  /// can.
  std::pair<scalars, scalars> apply_dot_norm2(field& out, const field& in, const field& w) const {
    std::optional<std::pair<scalars, scalars>> sums;
    apply(out, in, false, {&w, &sums});
    return *sums;
  }

  /// Makes the even system's source: b_e + H_eo A_oo^-1 b_o, times A_ee^-1 where symmetric.
  void prepare_source(field& even, const field& b) const;
  /// Makes x of x_e as given and x_o = A_oo^-1 (b_o + H_oe x_e).
  void reconstruct_solution(field& x, const field& even, const field& b) const;
  field even_like(const field& full) const {
    field_shape shape = full.shape();
    shape.sites = site_subset::even;
    return parts().make(shape);
  }

 private:
  void apply(field& out, const field& in, bool daggered, sums_of_result<field> sums) const;
  void apply_dagger_by_gamma5(field& out, const field& in) const;
  field& scratch(int which, const field& like, site_subset sites) const {
    return products_.scratch(which, like.shape(), sites);
  }

  all_products<P> products_;
  schur_kind kind_;
};

/// On odd sites A_oo^-1 H_oe in, then back:
///
///     asymmetric             A_ee in - H_eo A_oo^-1 H_oe in, its dagger with A^+ and H^+
///     symmetric                   in - A_ee^-1 H_eo A_oo^-1 H_oe in
///     symmetric, daggered         in - H_eo^+ A_oo^-+ H_oe^+ A_ee^-+ in
template <red_black_products P>
void red_black_schur<P>::apply(field& out, const field& in, bool daggered, sums_of_result<field> sums) const {
  if (in.shape().sites != site_subset::even || !(out.shape() == in.shape()))
    throw std::logic_error("red_black_schur: fields must lie on even sites");
  if constexpr (!hopping_products<P>)
    if (daggered) return apply_dagger_by_gamma5(out, in);

  field& odd = scratch(0, in, site_subset::odd);
  if constexpr (hopping_products<P>) {
    if (kind_ == schur_kind::symmetric && daggered) {
      field& even = scratch(1, in, site_subset::even);
      parts().multiply_by_inverse(even, in, true);
      products_.hop_and_divide(odd, even, true);
      products_.hop(out, odd, true, -1.0, &in, sums);
      return;
    }
    if (kind_ == schur_kind::asymmetric) {
      products_.hop_and_divide(odd, in, daggered);
      products_.multiply_and_hop(out, in, odd, daggered, -1.0, sums);
      return;
    }
  }
  products_.hop_and_divide(odd, in, false);
  products_.hop_and_divide(out, odd, false, -1.0, &in, sums);
}

/// Computes out = gamma_5 A_ee (1 - A_ee^-1 H A_oo^-1 H) A_ee^-1 gamma_5
template <red_black_products P>
void red_black_schur<P>::apply_dagger_by_gamma5(field& out, const field& in) const {
  if constexpr (!hopping_products<P>) {
    field& even = scratch(1, in, site_subset::even);
    copy(even, in);
    parts().gamma5(even);
    parts().multiply_by_inverse(out, even, false);
    apply(even, out, false, {});
    parts().multiply(out, even, false);
    parts().gamma5(out);
  }
}

template <red_black_products P>
void red_black_schur<P>::prepare_source(field& even, const field& b) const {
  const field b_even = b.parity(0);
  field& odd = scratch(0, b, site_subset::odd);
  parts().multiply_by_inverse(odd, b.parity(1), false);
  if constexpr (hopping_products<P>)
    if (kind_ == schur_kind::asymmetric) return products_.hop(even, odd, false, 1.0, &b_even);
  field& divided = scratch(1, b, site_subset::even);
  parts().multiply_by_inverse(divided, b_even, false);
  products_.hop_and_divide(even, odd, false, 1.0, &divided);
}

template <red_black_products P>
void red_black_schur<P>::reconstruct_solution(field& x, const field& even, const field& b) const {
  field x_even = x.parity(0), x_odd = x.parity(1);
  copy(x_even, even);
  field& odd = scratch(0, b, site_subset::odd);
  parts().multiply_by_inverse(odd, b.parity(1), false);
  products_.hop_and_divide(x_odd, even, false, 1.0, &odd);
}

}  // namespace plaquette
