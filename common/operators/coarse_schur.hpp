// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coarse operator of multigrid as systems that levels solve: its symmetric red-black Schur complement. Written
/// once for both libraries. (Clark, Joo, Strelchenko, Cheng, Gambhir, Brower, SC16, section 5)
#pragma once

#include <optional>

#include "common/operators/coarse_matrices.hpp"
#include "common/operators/red_black.hpp"

namespace plaquette {

/// Mhat = 1 - Yhat_eo Yhat_oe on even sites, Yhat = X^-1 Y; where the lattice has no two parities, M itself on all
/// sites. Meets `schur_complement`. One caller at a time.
///
/// \tparam Library  names `field`; `full_operator`, M with apply and apply_dagger; `products` (red_black.hpp, A = X, H
/// = -Y);
///            `space`, which makes fields and has geometry(), n and bytes_of_a_number. All but fields are made of an
///            execution, matrices and settings of the library.
template <class Library>
class coarse_schur_complement {
 public:
  using field = typename Library::field;

  /// Throws input_error where X has no inverse. Matrices are not kept.
  template <class Execution, class Matrices, class... Settings>
  coarse_schur_complement(const Execution& on, const Matrices& m, Settings... settings) : space_(on, m, settings...) {
    if (space_.geometry().red_black())
      schur_.emplace(typename Library::products(on, m, settings...), schur_kind::symmetric);
    else
      whole_.emplace(on, m, settings...);
  }

  const coarse_geometry& geometry() const { return space_.geometry(); }
  /// Returns the numbers of a site, n = 2 Nvec.
  int n() const { return space_.n; }

  void apply(field& out, const field& in) const {
    if (whole_) return whole_->apply(out, in);
    schur_->apply(out, in);
  }
  void apply_dagger(field& out, const field& in) const {
    if (whole_) return whole_->apply_dagger(out, in);
    schur_->apply_dagger(out, in);
  }
  /// Computes X_ee^-1 (b_e - Y_eo X_oo^-1 b_o)
  void prepare_source(field& even, const field& b) const {
    if (whole_) return copy(even, b);
    schur_->prepare_source(even, b);
  }
  /// Computes x_e as given and x_o = X_oo^-1 b_o - Yhat_oe x_e.
  void reconstruct_solution(field& x, const field& even, const field& b) const {
    if (whole_) return copy(x, even);
    schur_->reconstruct_solution(x, even, b);
  }
  field even_like(const field& full) const { return solved_field(full.columns()); }
  /// Makes the even sites of the full system's residual: X_ee r. Its odd sites are zero.
  void full_residual(field& full, const field& r) const {
    if (whole_) return copy(full, r);
    schur_->parts().multiply(full, r, false);
  }

  /// Makes a full field, and one that Mhat acts on.
  field full_field(int columns) const { return field_on(site_subset::full, columns); }
  field solved_field(int columns) const {
    return field_on(geometry().red_black() ? site_subset::even : site_subset::full, columns);
  }

  /// Returns the standard flops of an application to a column.
  double flops() const {
    const double size = n(), sites = static_cast<double>(geometry().sites());
    return sites * (matrices_of_a_site() * 8.0 * size * size - (whole_ ? 2.0 * size : 0.0));
  }
  /// Returns the fewest bytes of an application to `columns` columns.
  double bytes(int columns) const {
    const double size = n(), sites = static_cast<double>(geometry().sites());
    return sites * (matrices_of_a_site() * size * size * space_.bytes_of_a_number +
                    2.0 * size * columns * sizeof(complex<typename field::value_type>));
  }

  /// For tests: the kernel that makes products, where the library has several.
  template <class Kernel>
  void set_kernel(Kernel kernel) {
    if (whole_)
      whole_->set_kernel(kernel);
    else
      schur_->parts().set_kernel(kernel);
  }

 private:
  field field_on(site_subset sites, int columns) const { return space_.make({chiralities, n() / 2, sites, columns}); }
  double matrices_of_a_site() const { return whole_ ? coarse_matrices_of_a_site : hop_directions; }

  typename Library::space space_;
  std::optional<typename Library::full_operator> whole_;
  std::optional<red_black_schur<typename Library::products>> schur_;
};

}  // namespace plaquette
