// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Wilson quarks with a twisted mass, M = 4 + m + i mu gamma_5 - D/2, as an operator of one's own: A is neither a
/// number nor Hermitian. (Frezzotti, Grassi, Sint, Weisz, hep-lat/0101001)
#pragma once

#include <memory>
#include <vector>

#include "common/operators/red_black.hpp"
#include "validation/support/overlap_backend.hpp"
#include "validation/support/production.hpp"

namespace plaquette::validation {

/// The products that red_black_operator and red_black_schur need.
template <class T>
struct twisted_mass_products {
  using field = backend::field<T>;

  std::shared_ptr<const backend::wilson_clover<T>> wilson;  ///< without a clover term
  double mu;

  field make(const field_shape& shape) const { return field(wilson->hopping().get_context(), shape); }
  /// Computes out = start + factor D/2 in
  void hop(field& out, const field& in, bool daggered, double factor, const field* start) const {
    wilson->hopping().apply(out, in, daggered,
                            {start == nullptr ? epilogue::store : epilogue::add, 0.5 * factor, start, 1.0});
  }
  void multiply(field& out, const field& in, bool daggered) const {
    combine_with_gamma5(out, in, a(), daggered ? -mu : mu);
  }
  void multiply_by_inverse(field& out, const field& in, bool daggered) const {
    const double square = a() * a() + mu * mu;
    combine_with_gamma5(out, in, a() / square, (daggered ? mu : -mu) / square);
  }

 private:
  double a() const { return wilson->action().diagonal(); }
  /// Computes out = (re + i im gamma_5) in
  static void combine_with_gamma5(field& out, const field& in, double re, double im) {
    gamma5(out, in);
    scale(out, same_for_all(in, {0.0, im}));
    axpy(out, same_for_all(in, {re, 0.0}), in);
  }
  static auto same_for_all(const field& x, complex<double> number) {
    return make_scalars(x, std::vector<complex<double>>(static_cast<std::size_t>(x.columns()), number));
  }
};

template <class T>
using twisted_mass_operator = red_black_operator<twisted_mass_products<T>>;
template <class T>
using twisted_mass_schur = red_black_schur<twisted_mass_products<T>>;

}  // namespace plaquette::validation
