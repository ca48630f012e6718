// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The operator on vectors of any library, written once over the names of a backend.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "common/krylov/batch.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "common/operators/even_complement.hpp"
#include "common/solvers/backend.hpp"
#include "common/solvers/vector_operator.hpp"
#include "common/solvers/vectors_of.hpp"

namespace plaquette {

/// See vector_operator.hpp.
template <backend Backend, class T>
class vector_operator_of final : public vector_operator {
  using context = typename Backend::context;
  using links = typename Backend::links;
  using field = typename Backend::template field<T>;
  using full_type = typename Backend::template wilson_clover<T>;
  using schur_type = typename Backend::template schur_wilson_clover<T>;

 public:
  vector_operator_of(const context& ctx, const links& u, const vector_operator_settings& settings)
      : settings_(settings),
        full_(std::make_shared<full_type>(ctx, Backend::links_of(u), settings.action, settings.links)),
        schur_(full_, schur_kind::asymmetric) {
    full_->hopping().set_overlap(settings.overlap);
  }

  const vector_operator_settings& settings() const override { return settings_; }

 private:
  void follow_checked(const link_field& handle) override {
    using gauge = typename full_type::links_type;
    const gauge& u = links_behind<gauge>(handle, full_->hopping().get_context().geometry(), "an operator");
    begin_to_follow();
    if (!settings_.action.has_clover()) return full_->follow(u);
    const context& ctx = full_->hopping().get_context();
    if (!diagonal_) {
      diagonal_.emplace(Backend::make_blocks(ctx));
      inverse_diagonal_.emplace(Backend::make_blocks(ctx));
    }
    Backend::make_diagonal(*diagonal_, u, settings_.action);
    Backend::invert(*inverse_diagonal_, *diagonal_, ctx);
    full_->follow(u, *diagonal_, *inverse_diagonal_);
  }
  void apply_checked(vectors& y, const vectors& x, const operator_form& form) const override {
    field& out = field_of<field>(y);
    const field& in = field_of<field>(x);
    if (x.shape().sites == site_subset::full)
      apply_twisted(*full_, out, in, form);
    else
      apply_twisted(schur_, out, in, form);
    if (form.shift != 0.0) add_multiple(out, {form.shift, 0.0}, in);
    if (form.gamma_5) gamma5(out, out);
  }
  template <class A>
  static void apply_twisted(const A& a, field& out, const field& in, const operator_form& form) {
    const twisted_complement twisted(a, form.mu);
    form.dagger ? twisted.apply_dagger(out, in) : twisted.apply(out, in);
  }

  vector_operator_settings settings_;
  std::shared_ptr<full_type> full_;
  schur_type schur_;
  /// A and A^-1 of links that move; made at the first `follow`.
  std::optional<typename full_type::blocks_type> diagonal_{}, inverse_diagonal_{};
};

/// Returns the operator in the precision of the settings.
template <backend Backend>
std::unique_ptr<vector_operator> make_vector_operator_of(const typename Backend::context& ctx,
                                                         const typename Backend::links& u,
                                                         const vector_operator_settings& settings) {
  return with_numbers(settings.numbers, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<vector_operator> {
    return std::make_unique<vector_operator_of<Backend, T>>(ctx, u, settings);
  });
}

}  // namespace plaquette
