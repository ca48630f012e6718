// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Spinors in an array of doubles of a caller: where their numbers stand, and in which basis.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "common/algebra/gamma.hpp"
#include "common/algebra/spinor.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette {

/// The real part of spin s, colour c of column n at the local site x stands at
///
///     first + sum_nu x_nu site[nu] + s spin + c colour + n column,  or
///     first + of_sites[lexicographic number of x, x fastest] + ...  if of_sites is not empty.
struct spinor_places {
  std::int64_t first = 0;
  std::array<std::int64_t, dimensions> site{};
  std::int64_t spin = 2 * colours, colour = 2;
  std::int64_t imaginary = 1;  ///< from a real part to its imaginary one
  std::int64_t column = 0;     ///< from one right-hand side to the next
  std::span<const std::int64_t> of_sites{};

  /// Returns the place of the first number of a site.
  std::int64_t of_site(const coordinate& x, const extents& local, int n) const {
    std::int64_t at = first + n * column;
    if (!of_sites.empty()) return at + of_sites[static_cast<std::size_t>(lexicographic(x, local))];
    for (std::size_t nu = 0; nu < dimensions; ++nu) at += x[static_cast<int>(nu)] * site[nu];
    return at;
  }
};

/// Consecutive places of an array.
struct places_range {
  std::int64_t first = 0, count = 0;
};

/// Returns the smallest range with all numbers of column 0. If count is 24 times the number of sites, and no two
/// numbers share a place, then the column has the range for itself.
inline places_range range_of_column(const spinor_places& places, const extents& local) {
  std::int64_t low = places.first, high = places.first;
  const auto stretch = [&](std::int64_t step, int length) { (step < 0 ? low : high) += step * (length - 1); };
  stretch(places.spin, spins);
  stretch(places.colour, colours);
  stretch(places.imaginary, 2);
  if (places.of_sites.empty()) {
    for (int nu = 0; nu < dimensions; ++nu) stretch(places.site[static_cast<std::size_t>(nu)], local[nu]);
  } else {
    const auto [least, most] = std::ranges::minmax_element(places.of_sites);
    low += *least, high += *most;
  }
  return {low, high - low + 1};
}

/// Columns of spinors in an array. A library reads and writes it in one pass, between the array and its own fields.
/// \tparam Real  double, or const double if it is only read
template <class Real>
struct spinor_array {
  Real* numbers = nullptr;
  int columns = 1;
  spinor_places places{};
  bool rotates = false;       ///< its basis is not DeGrand-Rossi's
  spin_matrix rotation{};     ///< turns spinors of the DeGrand-Rossi basis to that of the array
  bool is_on_device = false;  ///< the numbers are in memory of the GPU that uses them

  /// Returns some of the columns.
  spinor_array part(int begin, int count) const {
    spinor_array some = *this;
    some.places.first += begin * places.column;
    some.columns = count;
    return some;
  }
};

/// Returns the spinor at a local site, in the DeGrand-Rossi basis.
/// \param back  is adjoint(array.rotation)
template <class Real>
spinor<double> read_spinor(const spinor_array<Real>& array, const spin_matrix& back, const coordinate& x,
                           const extents& local, int column) {
  const Real* const at = array.numbers + array.places.of_site(x, local, column);
  spinor<double> psi;
  for (int s = 0; s < spins; ++s)
    for (int c = 0; c < colours; ++c) {
      const Real* const number = at + s * array.places.spin + c * array.places.colour;
      psi(s, c) = {number[0], number[array.places.imaginary]};
    }
  return array.rotates ? back * psi : psi;
}

/// Does the inverse.
inline void write_spinor(const spinor_array<double>& array, const spinor<double>& psi, const coordinate& x,
                         const extents& local, int column) {
  double* const at = array.numbers + array.places.of_site(x, local, column);
  const spinor<double> turned = array.rotates ? array.rotation * psi : psi;
  for (int s = 0; s < spins; ++s)
    for (int c = 0; c < colours; ++c) {
      double* const number = at + s * array.places.spin + c * array.places.colour;
      number[0] = turned(s, c).re;
      number[array.places.imaginary] = turned(s, c).im;
    }
}

}  // namespace plaquette
