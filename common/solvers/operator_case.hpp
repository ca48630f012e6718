// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A case to be timed: an operator on a set of sites, in a precision, with its stored reals a link and its right-hand
/// sides.
#pragma once

#include "common/algebra/complex.hpp"
#include "common/algebra/reconstruct.hpp"

namespace plaquette::scaling {

enum class operator_kind {
  hopping,       ///< D
  wilson,        ///< M without its clover term
  clover,        ///< M
  wilson_schur,  ///< even-odd Schur complement of M without its clover term
  clover_schur,  ///< even-odd Schur complement of M
  axpy,          ///< x += a u
  dot,           ///< <u, v>
  norm2          ///< |u|^2
};
enum class site_layout {
  even_odd,  ///< output on the sites of one parity: odd for the hopping term, even for Schur complements
  full       ///< on all sites
};
enum class number_precision { double_precision, pairs_precision, single_precision, half_precision };

/// One line of the table.
struct operator_case {
  operator_kind kind = operator_kind::hopping;
  site_layout layout = site_layout::even_odd;
  number_precision precision = number_precision::single_precision;
  reconstruct links = reconstruct::none;
  int rhs = 1;

  bool operator==(const operator_case&) const = default;
  bool has_clover() const { return kind == operator_kind::clover || kind == operator_kind::clover_schur; }
  /// Returns whether it is an operation on vectors, without links.
  bool is_vector() const { return kind >= operator_kind::axpy; }
  /// Returns whether its result is numbers, not a field.
  bool is_sum() const { return kind == operator_kind::dot || kind == operator_kind::norm2; }
  bool is_schur() const { return kind == operator_kind::wilson_schur || kind == operator_kind::clover_schur; }
};

/// a of the timed axpy.
inline constexpr complex<double> axpy_factor{0.3, -0.2};

}  // namespace plaquette::scaling
