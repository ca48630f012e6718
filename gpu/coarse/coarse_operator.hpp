// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coarse operator of multigrid on the device, and its red-black Schur complement. Clark, Joo, Strelchenko, Cheng,
/// Gambhir, Brower (SC16), section 5. The twin of cpu_ref/coarse/coarse_operator.hpp.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu/coarse/coarse_field.hpp"
#include "gpu/coarse/coarse_matrices.hpp"
#include "gpu/coarse/coarse_products.hpp"

namespace plaquette::gpu {

/// The sites of other ranks that hops lead to, fetched into memory of the device.
template <class T>
class coarse_ghosts {
 public:
  /// [ghost][column][n], valid until the next call; null where no direction is cut. Collective then, and waits.
  const complex<T>* fetch(const coarse_field<T>& x);

 private:
  std::shared_ptr<std::byte> packed_, ghosts_;
  std::size_t packed_bytes_ = 0, ghost_bytes_ = 0;
};

/// M on all sites of a coarse lattice. Meets `linear_operator`. One caller at a time. T is double or float, what fields
/// are computed in; matrices are those given, in single precision.
template <class T>
class coarse_operator {
 public:
  coarse_operator(const execution& on, const coarse_matrices& matrices,
                  coarse_storage storage = coarse_storage::single);

  /// For tests: the pure gather.
  void set_kernel(product_kernel kernel) { kernel_ = kernel; }

  void apply(coarse_field<T>& out, const coarse_field<T>& in) const;
  /// M^+ = gamma_5 M gamma_5.
  void apply_dagger(coarse_field<T>& out, const coarse_field<T>& in) const;

 private:
  execution execution_;
  tiled_matrices matrices_;
  product_kernel kernel_ = product_kernel::fastest;
  mutable coarse_ghosts<T> ghosts_;
};

/// The symmetric red-black Schur complement Mhat = 1 - Yhat_eo Yhat_oe, Yhat = X^-1 Y, on even sites; where the lattice
/// has no two parities, M itself on all sites. Meets `schur_complement`. One caller at a time. On one rank nothing
/// waits.
template <class T>
class coarse_schur {
 public:
  /// \param matrices  not kept
  /// \param storage   of X^-1 Y, X^-1 and X
  /// Throws input_error where X has no inverse.
  coarse_schur(const execution& on, const coarse_matrices& matrices, coarse_storage storage = coarse_storage::single);

  /// For tests: the pure gather.
  void set_kernel(product_kernel kernel);

  const coarse_geometry& geometry() const { return lattice_->geometry(); }
  const std::shared_ptr<const coarse_lattice>& shared_lattice() const { return lattice_; }
  const execution& get_execution() const { return execution_; }
  int n() const { return n_; }

  void apply(coarse_field<T>& out, const coarse_field<T>& in) const;
  /// Mhat^+ = gamma_5 X_ee Mhat X_ee^-1 gamma_5.
  void apply_dagger(coarse_field<T>& out, const coarse_field<T>& in) const;
  /// X_ee^-1 (b_e - Y_eo X_oo^-1 b_o)
  void prepare_source(coarse_field<T>& even, const coarse_field<T>& b) const;
  /// x_e as given and x_o = X_oo^-1 b_o - Yhat_oe x_e.
  void reconstruct_solution(coarse_field<T>& x, const coarse_field<T>& even, const coarse_field<T>& b) const;
  coarse_field<T> even_like(const coarse_field<T>& full) const;
  /// The even sites of the full system's residual: X_ee r. Its odd sites are zero.
  void full_residual(coarse_field<T>& full, const coarse_field<T>& r) const;

  /// A full field, and one that Mhat acts on.
  coarse_field<T> full_field(int columns) const;
  coarse_field<T> working_field(int columns) const;

  /// Standard flops of an application to a column.
  double flops() const;
  /// Fewest bytes of an application to `columns` columns.
  double bytes(int columns) const;

 private:
  coarse_field<T>& scratch(int which, site_subset sites, int columns) const;
  void hop(coarse_field<T>& out, const coarse_field<T>& in, double factor, const coarse_field<T>* start) const;
  void multiply(coarse_field<T>& out, const coarse_field<T>& in, const tiled_matrices& matrices) const;

  execution execution_;
  std::shared_ptr<const coarse_lattice> lattice_;
  int n_;
  coarse_storage storage_;
  std::optional<coarse_operator<T>> whole_;    ///< where there are no two parities
  tiled_matrices diagonal_, inverse_, links_;  ///< X of even sites, X^-1, X^-1 Y
  product_kernel kernel_ = product_kernel::fastest;
  mutable coarse_ghosts<T> ghosts_;
  mutable std::vector<std::shared_ptr<coarse_field<T>>> scratch_ = std::vector<std::shared_ptr<coarse_field<T>>>(2);
};

/// X^-1 of every site, [site][row][column]. Throws input_error where one has none. Waits.
std::shared_ptr<const complex<float>> inverse_diagonals(const coarse_matrices& m);
/// X^-1 Y of every site, [site][8][row][column].
std::shared_ptr<const complex<float>> preconditioned_links(const coarse_matrices& m, const complex<float>* inverse);

}  // namespace plaquette::gpu
