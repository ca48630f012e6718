// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers that make each timed stretch's inputs differ from the next stretch's inputs, and each column from the
/// others.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::scaling {

inline constexpr complex<double> not_a_number{std::numeric_limits<double>::quiet_NaN(),
                                              std::numeric_limits<double>::quiet_NaN()};

/// Returns exp(i angle) with an angle of its own for each number.
inline complex<double> phase_of_stretch(int number) {
  const double angle = 1.0 + 2.399963229728653 * number;  // the golden angle: never twice the same
  return {std::cos(angle), std::sin(angle)};
}

/// The columns of an operator's input and output summed with weights of modulus one. Operators are linear, so that one
/// application of the textbook operator judges all columns. Wrong or exchanged columns change the sum.
struct weighed_sums {
  spinor_configuration in, out;
};

inline complex<double> weight_of(int column) {
  constexpr complex<double> step{0.6, 0.8};  // of modulus one, and no root of unity: no two columns weigh the same
  complex<double> weight{1.0, 0.0};
  for (int i = 0; i < column; ++i) weight = weight * step;
  return weight;
}

/// Returns phase_of_stretch for all columns of a field.
template <class Field>
auto phases(const Field& of, int number) {
  return make_scalars(of,
                      std::vector<complex<double>>(static_cast<std::size_t>(of.columns()), phase_of_stretch(number)));
}

}  // namespace plaquette::scaling
