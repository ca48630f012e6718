// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coarse operator of multigrid, and its red-black Schur complement. Clark, Joo, Strelchenko, Cheng, Gambhir,
/// Brower (SC16), section 5.
#pragma once

#include <memory>
#include <optional>

#include "common/operators/coarse_matrices.hpp"
#include "cpu_ref/coarse/coarse_field.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"

namespace plaquette::cpu {

/// Some n x n matrices a site, stored by columns, real and imaginary parts of a column apart and padded: what the
/// kernels of coarse_kernels.hpp take as rows.
template <class T>
class packed_matrices {
 public:
  packed_matrices() = default;
  packed_matrices(std::int64_t sites, int matrices_of_a_site, int n);

  int of_a_site() const { return of_a_site_; }
  const T* matrix(std::int64_t site, int which) const { return data_.data() + (site * of_a_site_ + which) * size_; }
  /// Takes [row][column].
  template <class U>
  void set(std::int64_t site, int which, const complex<U>* numbers);

 private:
  int of_a_site_ = 0, n_ = 0;
  std::int64_t size_ = 0;
  aligned_buffer<T> data_;
};

/// M on all sites of a coarse lattice. Meets `linear_operator`. One caller at a time.
template <class T>
class coarse_operator {
 public:
  coarse_operator(const execution& on, const coarse_matrices& matrices);

  void apply(coarse_field<T>& out, const coarse_field<T>& in) const;
  /// M^+ = gamma_5 M gamma_5.
  void apply_dagger(coarse_field<T>& out, const coarse_field<T>& in) const;

 private:
  execution execution_;
  std::shared_ptr<const packed_matrices<T>> matrices_;
  std::shared_ptr<std::vector<std::byte>> ghosts_ = std::make_shared<std::vector<std::byte>>();
};

/// The symmetric red-black Schur complement Mhat = 1 - Yhat_eo Yhat_oe, Yhat = X^-1 Y, on even sites; where the lattice
/// has no two parities, M itself on all sites. Meets `schur_complement`. One caller at a time.
template <class T>
class coarse_schur {
 public:
  coarse_schur(const execution& on, const coarse_matrices& matrices);

  const coarse_geometry& geometry() const { return *geometry_; }
  const std::shared_ptr<const coarse_geometry>& shared_geometry() const { return geometry_; }
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
  /// Fewest bytes of an application to so many columns.
  double bytes(int columns) const;

 private:
  coarse_field<T>& scratch(int which, site_subset sites, int columns) const;

  execution execution_;
  std::shared_ptr<const coarse_geometry> geometry_;
  int n_;
  std::optional<coarse_operator<T>> whole_;        ///< where there are no two parities
  packed_matrices<T> diagonal_, inverse_, links_;  ///< X of even sites, X^-1, Yhat
  std::shared_ptr<std::vector<std::byte>> ghosts_ = std::make_shared<std::vector<std::byte>>();
  mutable std::vector<std::shared_ptr<coarse_field<T>>> scratch_ = std::vector<std::shared_ptr<coarse_field<T>>>(2);
};

}  // namespace plaquette::cpu
