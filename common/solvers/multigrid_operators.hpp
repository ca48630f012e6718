// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson-clover operators of a multigrid solver, one for each precision, and the links that they are made of.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/fixed_point.hpp"
#include "common/algebra/float_pair.hpp"
#include "common/algebra/reconstruct.hpp"
#include "common/error.hpp"
#include "common/krylov/precision.hpp"
#include "common/multigrid/multigrid_setup.hpp"
#include "common/solvers/backend.hpp"
#include "common/solvers/multigrid_solver.hpp"

namespace plaquette {

/// A backend that has coarse lattices. B names in addition
///
/// - `multigrid_library`, see multigrid_setup.hpp. It is made from (ctx, links, action, M in single precision).
///
/// - `links_of(links)`: the links that operators are made of.
///
/// - `stored_reals<T>(distance from SU(3))`: the numbers of a link that an operator of T keeps. If they depend on the
///   distance, `distance_from_su3(gauge)`.
///
/// - `copy_of_links`, `assign_links`, `make_diagonal`, `invert`: see propagator_backend.
///
/// - `blocks_behind(diagonal, ctx)` makes blocks for a site_diagonal of double precision. They are in its memory if
///   layouts agree.
///
/// - `make_source(field, column, source, component, links, ctx)` makes a column of a source.
///
/// - `on_host(basis)`, `on_host(matrices)` and `from_host(ctx, null_space, is coarse)` copy levels there and back.
///
/// - `recorded(ctx, any_operator)` returns the same operator, which costs less to queue if the library records.
template <class Backend>
concept multigrid_backend =
    backend<Backend> &&
    std::constructible_from<typename Backend::multigrid_library, const typename Backend::context&,
                            const typename Backend::links&, const fermion_action&,
                            std::shared_ptr<const typename Backend::template wilson_clover<float>>> &&
    requires(const typename Backend::context& ctx, const typename Backend::links& links,
             const typename Backend::multigrid_library::basis& basis,
             const typename Backend::multigrid_library::matrices& matrices,
             typename Backend::template field<double>& b) {
      Backend::links_of(links);
      { Backend::template stored_reals<float>(0.0) } -> std::same_as<reconstruct>;
      Backend::make_source(b, 0, source_description{}, source_component{}, links, ctx);
      { Backend::on_host(basis) } -> std::convertible_to<null_space>;
      { Backend::on_host(matrices) } -> std::convertible_to<coarse_matrices>;
    };

/// The types that the parts of a multigrid solver share.
template <multigrid_backend Backend>
struct multigrid_types {
  using context = typename Backend::context;
  using links = typename Backend::links;
  using library = typename Backend::multigrid_library;
  using outer_field = typename Backend::template field<double>;
  using single_field = typename Backend::template field<float>;
  using cycle_field = typename library::fine_field;
  template <class T>
  using full_operator = typename Backend::template wilson_clover<T>;
  template <class T>
  using schur_operator = typename Backend::template schur_wilson_clover<T>;
  /// Pairs of floats, or double if the backend has none.
  using pair = std::conditional_t<Backend::has_pairs, float_pair, double>;
};

/// Holds M of all precisions, its Schur complements, and the library of coarse lattices. `follow` moves all of them to
/// other links, in the memory of the old ones.
template <multigrid_backend Backend>
class multigrid_operators {
  using types = multigrid_types<Backend>;
  using context = typename types::context;
  using links_type = typename types::links;
  using outer_field = typename types::outer_field;
  template <class T>
  using full_operator = typename types::template full_operator<T>;
  template <class T>
  using schur_operator = typename types::template schur_operator<T>;
  using pair = typename types::pair;

 public:
  using library_type = typename types::library;
  using gauge = typename full_operator<double>::links_type;

  /// Throws input_error for pairs of floats with directions in double, or if the backend has no pairs.
  /// \param distance_from_su3  the largest of a link
  multigrid_operators(const context& ctx, links_type u, const multigrid_settings& settings, double distance_from_su3)
      : context_(ctx),
        links_(std::move(u)),
        action_(settings.action),
        distance_from_su3_(distance_from_su3),
        single_(made<float>()),
        library_(context_, links_, action_, single_),
        full_(made<double>()),
        schur_(full_, schur_kind::asymmetric),
        reference_schur_(full_, schur_kind::symmetric) {
    if (settings.operator_precision != precision::pairs) return;
    if (settings.direction_precision == precision::double_)
      throw input_error("multigrid: pairs of floats go with directions in single, found directions in double");
    if (!Backend::has_pairs) refuse_pairs();
    pairs_ = made<pair>();
    in_pairs_.emplace(pairs_, schur_kind::asymmetric);
    reference_in_pairs_.emplace(pairs_, schur_kind::symmetric);
  }

  const context& get_context() const { return context_; }
  const library_type& library() const { return library_; }
  const links_type& links() const { return links_; }

  /// Returns M in double precision.
  const full_operator<double>& full() const { return *full_; }
  /// Returns Mhat as multigrid solves it: asymmetric, in double precision.
  const schur_operator<double>& schur() const { return schur_; }
  /// Returns Mhat as BiCGstab solves it: symmetric, in double precision.
  const schur_operator<double>& reference_schur() const { return reference_schur_; }
  /// Returns the same two in pairs of floats, or none if residuals are corrected in double.
  const std::optional<schur_operator<pair>>& in_pairs() const { return in_pairs_; }
  const std::optional<schur_operator<pair>>& reference_in_pairs() const { return reference_in_pairs_; }

  /// Returns M in single precision or in 16 bits. The latter is made at the first call.
  template <class T>
  std::shared_ptr<full_operator<T>> inner() {
    if constexpr (std::is_same_v<T, float>) {
      return single_;
    } else {
      if (!half_) half_ = made<T>();
      return half_;
    }
  }
  /// Returns the symmetric Mhat in single precision or in 16 bits, made at the first call.
  template <class T>
  const schur_operator<T>& inner_schur() {
    std::optional<schur_operator<T>>& kept = std::get<std::optional<schur_operator<T>>>(inner_schur_);
    if (!kept) kept.emplace(inner<T>(), schur_kind::symmetric);
    return *kept;
  }

  /// Returns |M v| / |v| of a random v, from which the floor of residuals follows. Computed at the first call after
  /// links have moved.
  double norm(std::uint64_t seed) {
    if (!(norm_ > 0.0)) {
      outer_field v(context_, field_shape{}), mv = like(v);
      assign(v, library_.random_fine_field(1, seed + 997));
      full_->apply(mv, v);
      const auto both = host_values_of(std::vector{norm2(mv), norm2(v)});
      norm_ = std::sqrt(both[0][0].re / both[1][0].re);
    }
    return norm_;
  }

  /// Returns whether these are the links that the operators were made from.
  bool has_first_links() const { return !copy_; }

  /// Takes other links. Throws input_error if they lie so far from SU(3) that the stored rows would lose digits.
  /// \param begin  is called after these links were not refused, and before anything changes
  template <class Begin>
  void follow(const gauge& u, const Begin& begin) {
    require_as_near_to_su3(u);
    begin();
    if (action_.has_clover()) {
      if (!diagonal_) {
        diagonal_.emplace(Backend::blocks_behind(full_->diagonal(), context_));
        inverse_diagonal_.emplace(Backend::blocks_behind(full_->inverse_diagonal(), context_));
      }
      Backend::make_diagonal(*diagonal_, u, action_);
      Backend::invert(*inverse_diagonal_, *diagonal_, context_);
      for_each_operator([&](auto& a) { a.follow(u, *diagonal_, *inverse_diagonal_); });
    } else {
      for_each_operator([&](auto& a) { a.follow(u); });
    }
    norm_ = 0.0;
    if (copy_) return Backend::assign_links(*copy_, u);
    copy_.emplace(Backend::copy_of_links(u));
    links_ = *copy_;
    library_.use_links(links_);
  }

 private:
  using blocks = typename full_operator<double>::blocks_type;

  template <class T>
  reconstruct stored_reals() const {
    return Backend::template stored_reals<T>(distance_from_su3_);
  }
  template <class T>
  std::shared_ptr<full_operator<T>> made() const {
    return std::make_shared<full_operator<T>>(context_, Backend::links_of(links_), action_, stored_reals<T>());
  }
  template <class Work>
  void for_each_operator(const Work& work) {
    work(*full_);
    work(*single_);
    if (half_) work(*half_);
    if (pairs_) work(*pairs_);
  }
  /// Operators may store two rows of a link, which must cost no more digits than when they were made.
  void require_as_near_to_su3(const gauge& u) const {
    if constexpr (requires { Backend::distance_from_su3(u); }) {
      const double distance = Backend::distance_from_su3(u);
      const auto loses = [&]<class T>() {
        return stored_reals<T>() != reconstruct::none &&
               Backend::template stored_reals<T>(distance) != stored_reals<T>();
      };
      if (loses.template operator()<double>() || loses.template operator()<float>())
        throw input_error(
            "links: expected them as near to SU(3) as those that this solver was made from, found a distance of " +
            std::to_string(distance) + "; make a solver from them");
    }
  }

  context context_;
  links_type links_;
  fermion_action action_;
  double distance_from_su3_;
  std::shared_ptr<full_operator<float>> single_;
  library_type library_;
  std::shared_ptr<full_operator<double>> full_;
  std::shared_ptr<full_operator<half>> half_{};
  std::shared_ptr<full_operator<pair>> pairs_{};
  schur_operator<double> schur_, reference_schur_;
  std::optional<schur_operator<pair>> in_pairs_{}, reference_in_pairs_{};
  std::tuple<std::optional<schur_operator<float>>, std::optional<schur_operator<half>>> inner_schur_{};
  double norm_ = 0.0;
  /// Of links that move: A and A^-1 for operators of all precisions, and the links. Made at the first `follow`.
  std::optional<blocks> diagonal_{}, inverse_diagonal_{};
  std::optional<decltype(Backend::copy_of_links(std::declval<const gauge&>()))> copy_{};
};

}  // namespace plaquette
