// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vectors on the device of a solver, as handles that pass between solvers of one library and its callers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/lattice/site_field.hpp"
#include "common/lattice/spinor_array.hpp"
#include "common/solvers/library_part.hpp"

namespace plaquette {

/// A batch of vectors where the fields of a solver live: Dirac spinors, or spinors of one chirality. Its mark is null
/// if its maker did not know its library.
class solver_vectors : public library_part {
 public:
  virtual ~solver_vectors() = default;
  virtual int count() const = 0;
  /// Returns +1 or -1 if all vectors are eigenvectors of gamma_5, kept with 2 spins; 0 for Dirac spinors.
  virtual int chirality() const = 0;
  /// Copies vector n, in the DeGrand-Rossi basis. Ghosts are not filled. Throws input_error, as `write` does, if there
  /// is no such vector.
  virtual void get(int n, spinor_configuration& to) const = 0;
  /// Copies the vectors first, first + 1, ... to the columns of a caller's array, in one pass over their memory.
  virtual void write(int first, const spinor_array<double>& to) const = 0;
};

/// Vectors do not change once they have a handle.
using vectors_handle = std::shared_ptr<const solver_vectors>;

/// Returns how many vectors there are: 0 without a handle.
inline int count(const vectors_handle& vectors) { return vectors ? vectors->count() : 0; }

/// Throws input_error for vectors of another library, if it is known which one made them.
/// \param what   "vectors"
/// \param whose  has the mark: "this solver"
inline void require_library_of(const vectors_handle& vectors, const library_mark& mark, const std::string& what,
                               const std::string& whose) {
  if (vectors && vectors->mark() && mark) require_same_library(vectors->mark(), mark, what, whose);
}

/// Puts vector `number` into `to`, in the DeGrand-Rossi basis.
using vector_source = std::function<void(int number, spinor_configuration& to)>;

}  // namespace plaquette
