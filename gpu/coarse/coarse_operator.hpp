// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coarse operator of multigrid on the device, and its red-black Schur complement. Clark, Joo, Strelchenko, Cheng,
/// Gambhir, Brower (SC16), section 5. The twin of cpu_ref/coarse/coarse_operator.hpp.
#pragma once

#include <memory>
#include <vector>

#include "common/operators/coarse_schur.hpp"
#include "gpu/coarse/coarse_field.hpp"
#include "gpu/coarse/coarse_matrices.hpp"
#include "gpu/coarse/coarse_products.hpp"

namespace plaquette::gpu {

/// M on all sites of a coarse lattice. Meets `linear_operator`. One caller at a time. T is double or float, the
/// precision of fields and sums; matrices are the given ones, in single precision.
template <class T>
class coarse_operator {
 public:
  coarse_operator(const execution& on, const coarse_matrices& matrices,
                  coarse_storage storage = coarse_storage::single);

  /// Chooses the pure gather, for tests.
  void set_kernel(product_kernel kernel) { kernel_ = kernel; }

  void apply(coarse_field<T>& out, const coarse_field<T>& in) const;
  /// Applies M^+ = gamma_5 M gamma_5.
  void apply_dagger(coarse_field<T>& out, const coarse_field<T>& in) const;

 private:
  execution execution_;
  tiled_matrices matrices_;
  product_kernel kernel_ = product_kernel::fastest;
};

/// X, X^-1 and X^-1 Y of a lattice with two parities, as red_black.hpp takes them. On one rank nothing waits. Copies
/// share matrices.
template <class T>
class red_black_matrices {
 public:
  using field = coarse_field<T>;

  /// \param matrices  not kept
  /// \param storage   of X^-1 Y, X^-1 and X
  /// Throws input_error if X has no inverse.
  red_black_matrices(const execution& on, const coarse_matrices& matrices,
                     coarse_storage storage = coarse_storage::single);

  field make(const field_shape& shape) const { return {execution_, lattice_, shape}; }
  /// Multiplies by X, of even sites; X^-1
  void multiply(field& out, const field& in, bool daggered) const;
  void multiply_by_inverse(field& out, const field& in, bool daggered) const;
  /// Computes out = start - factor X^-1 Y in
  void hop_and_divide(field& out, const field& in, bool daggered, double factor, const field* start) const;
  void gamma5(field& x) const;
  /// Chooses the pure gather, for tests.
  void set_kernel(product_kernel kernel) { kernel_ = kernel; }

 private:
  void multiply_sites(field& out, const field& in, const tiled_matrices& matrices) const;

  execution execution_;
  std::shared_ptr<const coarse_lattice> lattice_;
  tiled_matrices diagonal_, inverse_, links_;  ///< X of even sites, X^-1, X^-1 Y
  product_kernel kernel_ = product_kernel::fastest;
};

/// Where fields of a coarse operator live.
template <class T>
struct coarse_space {
  execution on;
  std::shared_ptr<const coarse_lattice> lattice;
  int n;
  double bytes_of_a_number;

  coarse_space(const execution& where, const coarse_matrices& m, coarse_storage storage = coarse_storage::single)
      : on(where),
        lattice(m.shared_lattice()),
        n(m.n()),
        bytes_of_a_number(storage == coarse_storage::single ? 8.0 : 4.0) {}
  const coarse_geometry& geometry() const { return lattice->geometry(); }
  coarse_field<T> make(const field_shape& shape) const { return {on, lattice, shape}; }
};

/// The types of the Schur complement's parts, see coarse_schur_complement.
template <class T>
struct coarse_parts {
  using field = coarse_field<T>;
  using full_operator = coarse_operator<T>;
  using products = red_black_matrices<T>;
  using space = coarse_space<T>;
};

/// Made of an execution, matrices and how they are stored (single).
template <class T>
using coarse_schur = coarse_schur_complement<coarse_parts<T>>;

/// Returns P^+ (M + i mu gamma_5) P of P^+ M P, as the function of common/operators/coarse_matrices.hpp.
coarse_matrices with_twist(const coarse_matrices& m, double mu);
/// Returns X^-1 of every site, [site][row][column]. Throws input_error if one has none. Waits.
std::shared_ptr<const complex<float>> inverse_diagonals(const coarse_matrices& m);
/// Returns X^-1 Y of every site, [site][8][row][column].
std::shared_ptr<const complex<float>> preconditioned_links(const coarse_matrices& m, const complex<float>* inverse);

}  // namespace plaquette::gpu

namespace plaquette {

extern template class coarse_schur_complement<gpu::coarse_parts<float>>;
extern template class coarse_schur_complement<gpu::coarse_parts<double>>;

}  // namespace plaquette
