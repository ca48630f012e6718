// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Names of timed operators, and the work of one application, in the field's standard counts.
#pragma once

#include <string>
#include <vector>

#include "common/solvers/operator_case.hpp"

namespace plaquette::scaling {

/// Returns "hopping", "wilson", "clover", "wilson_schur", "clover_schur", "axpy", "dot", "norm2"
std::string name(operator_kind kind);
/// Returns "even-odd", "full"
std::string name(site_layout layout);
/// Returns "double", "single", "half"
std::string name(number_precision precision);
/// Returns "hopping even-odd single 18 N=1", "axpy full half N=1"
std::string describe(const operator_case& c);

/// Returns whether a case exists: the hopping term and vector operations in both layouts, M on the full lattice, Schur
/// complements on the even sites.
bool exists(operator_kind kind, site_layout layout);

/// The lists of the command line; each in the order in which it was given.
struct case_lists {
  std::vector<operator_kind> kinds;
  std::vector<site_layout> layouts;
  std::vector<number_precision> precisions;
  std::vector<reconstruct> links;
  std::vector<int> rhs;
};
/// Returns all combinations that exist, with combinations that share packed links next to each other. Throws
/// input_error if there is none. Vector operations take no notice of the list of links.
std::vector<operator_case> combinations(const case_lists& lists);

/// Share of the lattice's sites that the output has: 1/2 or 1.
double share_of_sites(site_layout layout);
/// Returns the standard flops an output site and right-hand side: 1320 for D, +48 for M, +504 a clover block, 2688 and
/// 3696 for the Schur complements. A rebuild of a link is not counted. A complex multiplication and addition counts 8:
/// 96 for axpy and dot, 48 for norm2.
double flops_per_site(operator_kind kind);
/// Returns the fewest bytes an output site for all right-hand sides together: each number read once and written once. A
/// link has the stored reals, a site's clover term 72, a spinor 24. In half precision a real has 2 bytes, a spinor 4
/// more for its norm, a site's clover term 8 more.
double bytes_per_site(const operator_case& c);
/// Returns the bytes of a real as it is stored: 8, 4, 2.
double bytes_of_real(number_precision precision);

}  // namespace plaquette::scaling
