// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields of Dirac spinors as those who fill or read them site by site need them. For .cu files only.
#pragma once

#include <string>

#include "common/error.hpp"
#include "gpu/device/unroll.hpp"
#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

inline constexpr int spinor_components = spins * colours;

/// Throws input_error for another shape.
/// \param what  the sentence's subject, "a source"
template <class T>
void require_dirac_spinors(const field<T>& x, const std::string& what) {
  if (x.shape().spins != spins || x.shape().colours != colours)
    throw input_error(what + " needs fields of 4 spins and 3 colours, found " + std::to_string(x.shape().spins) +
                      " and " + std::to_string(x.shape().colours));
}
template <class T>
void require_full_lattice(const field<T>& x, const std::string& what) {
  require_dirac_spinors(x, what);
  if (x.shape().sites != site_subset::full) throw input_error(what + " needs fields of all sites, found one parity");
}
template <class T>
void require_column(const field<T>& x, int column, const std::string& what) {
  require_dirac_spinors(x, what);
  if (column < 0 || column >= x.columns())
    throw input_error(what + ": expected a column below " + std::to_string(x.columns()) + ", found " +
                      std::to_string(column));
}

/// Stores a Dirac spinor of the DeGrand-Rossi basis into a field, whose basis is the other one: turned in double, then
/// rounded.
template <class T>
PLAQUETTE_HOST_DEVICE inline void store_degrand_rossi(const spinor_pointer<T>& to, std::int32_t i, int column,
                                                      complex<double> (&numbers)[spinor_components]) {
  rotate_spin_basis(numbers, colours);
  complex<real_of<T>> rounded[spinor_components];
  PLAQUETTE_GPU_UNROLL
  for (int k = 0; k < spinor_components; ++k) rounded[k] = complex_cast<real_of<T>>(numbers[k]);
  store_site<T, spinor_components>(to, i, column, rounded);
}

}  // namespace plaquette::gpu
