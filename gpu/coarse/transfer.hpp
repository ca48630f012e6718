// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The steps between a lattice and its aggregates on the device: the prolongation P, whose columns are the null vectors
/// on one aggregate and chirality each, and the restriction P^+. The twin of cpu_ref/coarse/transfer.hpp.
#pragma once

#include <memory>

#include "gpu/coarse/coarse_field.hpp"
#include "gpu/coarse/coarse_matrices.hpp"
#include "gpu/coarse/coarse_products.hpp"
#include "gpu/coarse/matrix_tiles.hpp"
#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

struct vector_pointers;

/// T is double or float, the precision of the coarse field; null vectors are in single precision, or in 16 bits as
/// floats of 11 (times a power of two). The fine field is one of quarks (`field`, any precision) or the field of a
/// coarse lattice. Of a fine field on one parity only, the other counts as zero, is not written, and its null vectors
/// are not read. Nothing waits.
template <class T>
class transfer {
 public:
  /// \param storage  of null vectors. In 16 bits they are a copy: `vectors` need not be kept.
  /// Waits: kernels load null vectors before they wait for those before them.
  transfer(const execution& on, const null_space& vectors, coarse_storage storage = coarse_storage::single);

  /// Chooses the pure gather, for tests.
  void set_kernel(product_kernel kernel) { kernel_ = kernel; }

  const std::shared_ptr<const coarse_lattice>& coarse() const { return tables_->coarse(); }
  int vectors() const { return vectors_; }
  coarse_storage storage() const { return storage_; }
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
  template <class Fine>
  void require_shapes(const Fine& fine, const coarse_field<T>& coarse) const;
  template <class Fine>
  void prolong_to(Fine& fine, const coarse_field<T>& coarse, bool add) const;
  vector_pointers pointers() const;

  execution execution_;
  std::shared_ptr<const aggregate_tables> tables_;
  int rows_, vectors_;
  coarse_storage storage_;
  std::shared_ptr<const void> begin_;  ///< [row][vector], as in `null_space`
  float scale_ = 1.0F;                 ///< times a number is in the range of 16 bits
  product_kernel kernel_ = product_kernel::fastest;
};

/// Returns vectors of all sites as a null space: not orthonormal yet.
/// \param columns  as many as vectors
template <class Fine>
null_space gathered(const Fine& vectors, const std::shared_ptr<const aggregate_tables>& tables);

/// Makes the vectors of every aggregate and chirality orthonormal: V = Q R by the Cholesky factor of V^+ V in double,
/// twice. Collective; waits. Throws input_error if there are more vectors than an aggregate has numbers of a chirality.
orthonormalisation orthonormalise(null_space& vectors);

}  // namespace plaquette::gpu
