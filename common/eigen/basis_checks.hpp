// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the libraries' operations on bases refuse: fields and matrices that do not fit each other. Each throws a
/// std::logic_error.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include "common/algebra/complex.hpp"
#include "common/algebra/spinor.hpp"
#include "common/concepts.hpp"

namespace plaquette {

template <class Field>
void require_same_sites(const Field& a, const Field& b) {
  field_shape shape = a.shape();
  shape.columns = b.columns();
  if (!(shape == b.shape())) throw std::logic_error("basis: fields of different sites, spins or colours");
}

inline void require_size(std::span<const complex<double>> matrix, int rows, int columns) {
  if (matrix.size() != static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns))
    throw std::logic_error("basis: a matrix of the wrong size");
}

/// Requires that `full` holds Dirac spinors, `other` the same columns with that many spins.
template <class Field>
void require_spinors(const Field& full, int spins_of_other, const Field& other) {
  field_shape shape = full.shape();
  shape.spins = spins_of_other;
  if (full.shape().spins != spins || full.shape().colours != colours || !(shape == other.shape()))
    throw std::logic_error("basis: a chirality is part of a Dirac spinor: expected fields of one shape, 4 x 3 (2 x 3)");
}

inline double chirality_sign(int sign) {
  if (sign != 1 && sign != -1) throw std::logic_error("basis: the sign of a chirality is +1 or -1");
  return sign;
}

}  // namespace plaquette
