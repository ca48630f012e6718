// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The steps between a lattice and its aggregates: the prolongation P, whose columns are the null vectors on one
/// aggregate and chirality each, and the restriction P^+.
#pragma once

#include <memory>

#include "common/operators/coarse_matrices.hpp"
#include "cpu_ref/coarse/coarse_field.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"

namespace plaquette::cpu {

/// T is double or float: the precision of the null vectors and of the coarse field. The fine field is one of quarks
/// (`field`, any precision) or the field of a coarse lattice. Of a fine field on one parity only, the other counts as
/// zero, and is not written. One caller at a time.
template <class T>
class transfer {
 public:
  transfer(const execution& on, const null_space& vectors);

  const std::shared_ptr<const coarse_geometry>& coarse() const { return coarse_; }
  int vectors() const { return vectors_; }
  coarse_field<T> coarse_like(int columns) const;

  /// Computes coarse = P^+ fine; coarse has all its sites.
  template <class Fine>
  void restrict_to(coarse_field<T>& coarse, const Fine& fine) const;
  /// Computes fine = P coarse
  template <class Fine>
  void prolong(Fine& fine, const coarse_field<T>& coarse) const;
  /// Computes fine += P coarse
  template <class Fine>
  void add_prolonged(Fine& fine, const coarse_field<T>& coarse) const;

 private:
  struct numbers_by_aggregate;

  execution execution_;
  plaquette::aggregates blocks_;
  std::shared_ptr<const coarse_geometry> coarse_;
  int rows_, vectors_;
  std::shared_ptr<const aligned_buffer<T>> packed_;  ///< [row][re, im][padded vectors], rows as in null_space
};

/// Returns vectors of all sites as a null space: not orthonormal yet.
/// \param columns  as many as vectors
template <class Fine>
null_space gathered(const Fine& vectors, const aggregates& blocks);

/// Makes the vectors of every aggregate and chirality orthonormal: Gram-Schmidt, twice. Collective.
/// Throws input_error if there are more vectors than an aggregate has numbers of a chirality.
orthonormalisation orthonormalise(null_space& vectors, const execution& on);

}  // namespace plaquette::cpu
