// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is timed: an operator on a set of sites, in a precision, with its stored reals a link and its right-hand sides;
/// and the work of one application, in the field's standard counts.
#pragma once

#include <string>
#include <vector>

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
  /// Returns an operation on vectors, which has no links.
  bool is_vector() const { return kind >= operator_kind::axpy; }
  /// Returns whether it is one of those that give numbers.
  bool is_sum() const { return kind == operator_kind::dot || kind == operator_kind::norm2; }
  bool is_schur() const { return kind == operator_kind::wilson_schur || kind == operator_kind::clover_schur; }
};

/// Returns "hopping", "wilson", "clover", "wilson_schur", "clover_schur", "axpy", "dot", "norm2"
std::string name(operator_kind kind);
/// Returns "even-odd", "full"
std::string name(site_layout layout);
/// Returns "double", "single", "half"
std::string name(number_precision precision);
/// Returns "hopping even-odd single 18 N=1", "axpy full half N=1"
std::string describe(const operator_case& c);

/// Returns what exists: the hopping term and vector operations in both layouts, M on the full lattice, Schur
/// complements on the even sites.
bool exists(operator_kind kind, site_layout layout);

/// What the lists of the command line say; each in the order in which it was given.
struct case_lists {
  std::vector<operator_kind> kinds;
  std::vector<site_layout> layouts;
  std::vector<number_precision> precisions;
  std::vector<reconstruct> links;
  std::vector<int> rhs;
};
/// Returns all combinations that exist, those that share packed links next to each other. Throws input_error where
/// there is none. Vector operations take no notice of the list of links.
std::vector<operator_case> combinations(const case_lists& lists);

/// Share of the lattice's sites that the output has: 1/2 or 1.
double share_of_sites(site_layout layout);
/// Returns the standard flops an output site and right-hand side: 1320 for D, +48 for M, +504 a clover block, 2688 and
/// 3696 for the Schur complements; never those of a rebuild of a link. A complex multiplication and addition counts 8:
/// 96 for axpy and dot, 48 for norm2.
double flops_per_site(operator_kind kind);
/// Returns the fewest bytes an output site for all right-hand sides together: each number read once and written once. A
/// link has the stored reals, a site's clover term 72, a spinor 24. In half precision a real has 2 bytes, a spinor 4
/// more for its norm, a site's clover term 8 more.
double bytes_per_site(const operator_case& c);
/// Returns the bytes of a real as it is stored: 8, 4, 2.
double bytes_of_real(number_precision precision);
/// a of the timed axpy.
inline constexpr complex<double> axpy_factor{0.3, -0.2};

}  // namespace plaquette::scaling
