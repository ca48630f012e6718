// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coarse operator of multigrid, and its red-black Schur complement. Clark, Joo, Strelchenko, Cheng, Gambhir,
/// Brower (SC16), section 5.
#pragma once

#include <memory>
#include <vector>

#include "common/operators/coarse_schur.hpp"
#include "cpu_ref/coarse/coarse_field.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"

namespace plaquette::cpu {

/// Some n x n matrices a site, stored by columns, real and imaginary parts of a column apart and padded: rows for the
/// kernels of coarse_kernels.hpp.
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
  /// Applies M^+ = gamma_5 M gamma_5.
  void apply_dagger(coarse_field<T>& out, const coarse_field<T>& in) const;

 private:
  execution execution_;
  std::shared_ptr<const packed_matrices<T>> matrices_;
  std::shared_ptr<std::vector<std::byte>> ghosts_ = std::make_shared<std::vector<std::byte>>();
};

/// X, X^-1 and X^-1 Y of a lattice with two parities, as red_black.hpp takes them. Copies share matrices.
template <class T>
class coarse_products {
 public:
  using field = coarse_field<T>;

  /// If X of any rank has no inverse, all ranks throw input_error. Collective.
  coarse_products(const execution& on, const coarse_matrices& matrices);

  field make(const field_shape& shape) const { return {execution_, geometry_, shape}; }
  /// Multiplies by X, of even sites; X^-1
  void multiply(field& out, const field& in, bool daggered) const;
  void multiply_by_inverse(field& out, const field& in, bool daggered) const;
  /// Computes out = start - factor X^-1 Y in
  void hop_and_divide(field& out, const field& in, bool daggered, double factor, const field* start) const;
  void gamma5(field& x) const;

 private:
  execution execution_;
  std::shared_ptr<const coarse_geometry> geometry_;
  struct packed {
    packed_matrices<T> diagonal, inverse, links;  ///< X of even sites, X^-1, X^-1 Y
  };
  std::shared_ptr<const packed> matrices_;
  std::shared_ptr<std::vector<std::byte>> ghosts_ = std::make_shared<std::vector<std::byte>>();
};

/// Where fields of a coarse operator live.
template <class T>
struct coarse_space {
  execution on;
  std::shared_ptr<const coarse_geometry> lattice;
  int n;
  double bytes_of_a_number = sizeof(complex<T>);

  coarse_space(const execution& where, const coarse_matrices& m)
      : on(where), lattice(std::make_shared<const coarse_geometry>(m.geometry)), n(m.n) {}
  const coarse_geometry& geometry() const { return *lattice; }
  coarse_field<T> make(const field_shape& shape) const { return {on, lattice, shape}; }
};

/// The types of the Schur complement's parts, see coarse_schur_complement.
template <class T>
struct coarse_parts {
  using field = coarse_field<T>;
  using full_operator = coarse_operator<T>;
  using products = coarse_products<T>;
  using space = coarse_space<T>;
};

template <class T>
using coarse_schur = coarse_schur_complement<coarse_parts<T>>;

}  // namespace plaquette::cpu

namespace plaquette {

extern template class coarse_schur_complement<cpu::coarse_parts<float>>;
extern template class coarse_schur_complement<cpu::coarse_parts<double>>;

}  // namespace plaquette
