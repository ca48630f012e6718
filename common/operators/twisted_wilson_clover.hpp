// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The even-odd complement of M + i mu gamma_5: Wilson-clover quarks with a twisted mass on all sites.
/// (Frezzotti, Grassi, Sint, Weisz, hep-lat/0101058)
///
/// A + i mu gamma_5 is no Hermitian matrix, but A commutes with gamma_5:
///
///     (A + i mu gamma_5)^-1 = (A - i mu gamma_5) (A^2 + mu^2)^-1
///
/// So kernels for Hermitian blocks are enough.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/operators/red_black.hpp"
#include "common/operators/wilson_clover.hpp"

namespace plaquette {

/// M + i mu gamma_5 = A + i mu gamma_5 - D/2 as red_black.hpp needs it. With mu = 0 it is wilson_clover_products. One
/// caller at a time.
template <dirac_library Library>
class twisted_products {
 public:
  using field = typename Library::field;
  using full_operator = wilson_clover_operator<Library>;
  using site_diagonal = typename Library::site_diagonal;
  using sums_type = sums_of_result<field>;

  /// With a clover term, `follow` must be called before the first product.
  twisted_products(std::shared_ptr<const full_operator> full, double mu)
      : plain_(std::move(full)), mu_(mu), inverse_square_(context(), 1.0 / (a() * a() + mu * mu)) {}

  /// Takes (A^2 + mu^2)^-1 of the links that M has followed.
  template <class Blocks>
  void follow(const Blocks& inverse_square) {
    if (inverse_square_.is_number())
      inverse_square_ = site_diagonal(context(), inverse_square);
    else
      inverse_square_.follow(inverse_square);
  }

  double mu() const { return mu_; }
  const full_operator& full() const { return plain_.full(); }

  field make(const field_shape& shape) const { return plain_.make(shape); }
  void multiply(field& out, const field& in, bool daggered) const {
    plain_.multiply(out, in, daggered);
    add_twist(out, in, daggered);
  }
  void multiply_by_inverse(field& out, const field& in, bool daggered) const {
    if (mu_ == 0.0) return plain_.multiply_by_inverse(out, in, daggered);
    field& divided = divided_(plain_, 0, in.shape(), in.shape().sites);
    inverse_square_.apply(divided, in);
    multiply(out, divided, !daggered);
  }
  void hop(field& out, const field& in, bool daggered, double factor, const field* start, sums_type sums = {}) const {
    plain_.hop(out, in, daggered, factor, start, sums);
  }
  void hop_and_divide(field& out, const field& in, bool daggered, double factor, const field* start,
                      sums_type sums) const {
    if (mu_ == 0.0) return plain_.hop_and_divide(out, in, daggered, factor, start, sums);
    field& divided = divided_(plain_, 1, out.shape(), out.shape().sites);
    if (inverse_square_.is_number())
      plain_.hop(divided, in, daggered, factor * inverse_square_.value(), nullptr);
    else
      full().hopping().apply(divided, in, daggered,
                             {epilogue::clover, 0.5 * factor, nullptr, 1.0,
                              inverse_square_.blocks(out.shape().sites == site_subset::odd ? 1 : 0)});
    multiply(out, divided, !daggered);
    if (start != nullptr) axpy(out, for_all(out, {1.0, 0.0}), *start);
    finish(out, sums);
  }
  void multiply_and_hop(field& out, const field& x, const field& in, bool daggered, double factor,
                        sums_type sums) const {
    if (mu_ == 0.0) return plain_.multiply_and_hop(out, x, in, daggered, factor, sums);
    plain_.multiply_and_hop(out, x, in, daggered, factor, {});
    add_twist(out, x, daggered);
    finish(out, sums);
  }

 private:
  auto context() const { return full().hopping().get_context(); }
  double a() const { return full().action().diagonal(); }
  /// Adds i mu gamma_5 in, or its adjoint.
  void add_twist(field& out, const field& in, bool daggered) const {
    if (mu_ == 0.0) return;
    field& rotated = rotated_(plain_, in.shape().sites == site_subset::odd ? 1 : 0, in.shape(), in.shape().sites);
    gamma5(rotated, in);
    axpy(out, for_all(in, {0.0, daggered ? -mu_ : mu_}), rotated);
  }
  static auto for_all(const field& x, complex<double> number) {
    return make_scalars(x, std::vector<complex<double>>(static_cast<std::size_t>(x.columns()), number));
  }
  static void finish(const field& out, const sums_type& sums) {
    if (sums.sums != nullptr) *sums.sums = dot_norm2(out, *sums.w);
  }

  wilson_clover_products<Library> plain_;
  double mu_;
  site_diagonal inverse_square_;
  red_black_scratch<wilson_clover_products<Library>> divided_, rotated_;
};

template <dirac_library Library>
using twisted_wilson_clover_schur = red_black_schur<twisted_products<Library>>;

}  // namespace plaquette
