// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields of a library behind the handles of its solvers.
#pragma once

#include <cmath>
#include <memory>
#include <utility>

#include "common/concepts.hpp"
#include "common/error.hpp"
#include "common/lattice/same_lattice.hpp"
#include "common/solvers/solver_arguments.hpp"
#include "common/solvers/solver_vectors.hpp"

namespace plaquette {

/// Returns whether squares of norms are finite. Squares of numbers that are too large overflow.
template <class Scalars>
bool all_finite(const Scalars& squares) {
  for (const auto& square : host_values(squares))
    if (!std::isfinite(square.re)) return false;
  return true;
}

/// \tparam Field  a field of 4 spins; of 2 spins if the vectors have a chirality
template <field_batch Field>
class solver_vectors_of final : public solver_vectors {
 public:
  solver_vectors_of(Field fields, int chirality) : fields_(std::move(fields)), chirality_(chirality) {}

  const Field& fields() const { return fields_; }
  int count() const override { return fields_.columns(); }
  int chirality() const override { return chirality_; }
  void get(int n, spinor_configuration& to) const override {
    require_columns(n, 1, count(), "vectors of a solver");
    require_same_lattice(to.geometry(), fields_.get_context().geometry(), "a spinor field", "vectors on ");
    if (chirality_ == 0) return export_column(to, fields_, n);
    export_column(to, whole(n), 0);
  }
  void write(int first, const spinor_array<double>& to) const override {
    require_columns(first, to.columns, count(), "vectors of a solver");
    if (chirality_ == 0) return export_array(to, view(fields_, first, to.columns));
    for (int n = 0; n < to.columns; ++n) export_array(to.part(n, 1), whole(first + n));
  }

 private:
  /// Returns a vector of one chirality with 4 spins.
  Field whole(int n) const {
    Field made(fields_.get_context(), field_shape{4, 3, fields_.shape().sites, 1});
    put_chirality(made, view(fields_, n, 1), chirality_);
    return made;
  }

  Field fields_;
  int chirality_;
};

/// Returns a handle to fields, which shares their storage: they must not change any more.
/// \param mark  of their library, if it is known
template <field_batch Field>
vectors_handle handle_of(Field fields, int chirality = 0, library_mark mark = {}) {
  auto made = std::make_shared<solver_vectors_of<Field>>(std::move(fields), chirality);
  made->set_mark(std::move(mark));
  return made;
}

/// Returns the fields behind a handle. Throws input_error if they are of another library, or if the handle is null.
template <field_batch Field>
const Field& fields_of(const vectors_handle& vectors) {
  const auto* known = dynamic_cast<const solver_vectors_of<Field>*>(vectors.get());
  if (known == nullptr)
    throw input_error("solver: expected vectors that a solver of this library made, found " +
                      std::string(vectors ? "those of another" : "none"));
  return known->fields();
}

}  // namespace plaquette
