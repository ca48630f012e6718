// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks of a timed operator, and their tolerance: its output on random input against the textbook's formulas, site by
/// site.
#pragma once

#include <cstdint>

#include "common/comms/communicator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "miniapps/shared/operator_case.hpp"

namespace plaquette::scaling {

/// Which sites are compared: a choice by global coordinate and a number, the same on every rank and process grid. All
/// sites of lattices of up to 2^16 sites. Of larger ones a share that gives some 2^12 a rank, at pseudo-random places,
/// so that faces, edges and corners are met as often as they occur.
class site_sample {
 public:
  /// \param number  other ones choose other sites; to be drawn when the output is there (drawn_sample)
  site_sample(const lattice_geometry& geometry, bool everywhere, std::uint64_t number);
  bool holds(const coordinate& global) const;
  /// Returns true if one of the eight neighbours of a site is in the sample: one hop into the sample reads such sites.
  bool is_next_to(const coordinate& global) const;
  /// Returns the same for two hops.
  bool is_two_from(const coordinate& global) const;
  bool everywhere() const { return threshold_ == all; }

 private:
  static constexpr std::uint64_t all = ~std::uint64_t{0};
  template <class Predicate>
  bool any_neighbour(const coordinate& global, Predicate&& predicate) const;

  extents lattice_;
  std::uint64_t number_, threshold_ = all;
};

/// The formula that an operator is held to.
struct expected_operator {
  operator_kind kind;
  site_layout layout;
  schur_kind preconditioning;
  bool dagger = false;
};

/// How far an operator's output is from the formula's, over the sampled sites of the output. Both are NaN if the output
/// holds one.
struct difference {
  double norm = 0.0;        ///< |found - expected| / |expected|: the effect of rounding
  double worst_site = 0.0;  ///< the largest |found(x) - expected(x)| in units of the root mean square of |expected(x)|:
                            ///< one wrong component of one site stands out on any lattice
};

/// Collective.
/// \param found   the operator's output
/// \param psi     its input, with ghosts filled
/// \param links   with ghosts filled
/// \param action  of the clover operators; the others leave its clover term out
difference compare_with_textbook(const spinor_configuration& found, const spinor_configuration& psi,
                                 const gauge_configuration& links, const fermion_action& action,
                                 const expected_operator& formula, const site_sample& sample, const communicator& comm);

/// Returns the tolerance: about ten times the rounding that was measured (README.md has the table), and 1e-4 in the
/// norm in half precision. Rebuilt links are in SU(3). They differ from the links of the configuration by their
/// distance from it (a file of 32-bit numbers: some 1e-7). For that 4 times `distance_from_su3` comes on top in the
/// norm, and 40 times at the worst site.
/// \param distance_from_su3  the largest of the configuration's links
difference tolerance_of(const operator_case& c, double distance_from_su3 = 0.0);

}  // namespace plaquette::scaling
