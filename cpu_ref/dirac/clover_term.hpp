// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The clover term: a Hermitian matrix on spin and colour of a site, made of the field strength there, block diagonal
/// in chirality. Sheikholeslami and Wohlert, Nucl. Phys. B 259 (1985) 572.
#pragma once

#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Rows of the clover term within one chirality: (spin mod 2) * 3 + colour.
inline constexpr int chiral_rows = 2 * colours;

/// A Hermitian 6x6 matrix in 36 real numbers.
struct hermitian_6x6 {
  static constexpr int lower_size = chiral_rows * (chiral_rows - 1) / 2;
  double diagonal[chiral_rows]{};
  complex<double> lower[lower_size]{};  ///< strict lower triangle by rows: (1,0), (2,0), (2,1), (3,0), ...

  static constexpr int lower_index(int row, int column) { return row * (row - 1) / 2 + column; }
  /// Element (row, column), whichever triangle it lies in.
  constexpr complex<double> operator()(int row, int column) const {
    if (row == column) return {diagonal[row], 0.0};
    return row > column ? lower[lower_index(row, column)] : conj(lower[lower_index(column, row)]);
  }
};

/// Both chiralities of one site: block 0 acts on spins 0 and 1 (gamma_5 = +1), block 1 on spins 2 and 3.
struct clover_block {
  hermitian_6x6 chirality[2];
};

/// One clover_block a site. Its ghosts are not filled.
using clover_configuration = site_field<clover_block>;

/// C(x) = -1/2 sum_{mu<nu} c_munu sigma_munu (-i Fhat_munu(x)), Fhat = (Q - Q^+) / 8 with its trace, Q the sum of the
/// four leaves around x, c_munu = action.clover_coefficient(mu, nu). Neither the mass nor the Wilson term's diagonal is
/// in it. The boundary condition of the fermions does not enter: a closed loop crosses a boundary as often forwards as
/// backwards.
/// \param links  with ghosts filled (`exchange_ghosts`)
clover_configuration make_clover_term(const gauge_configuration& links, const fermion_action& action);

/// A := A + shift; turns C into A = 4 + m + C for shift = action.diagonal().
void add_to_diagonal(clover_configuration& term, double shift);

/// Site by site. Throws input_error, naming a site by its global coordinate, where a block has no inverse.
clover_configuration inverse(const clover_configuration& term);

}  // namespace plaquette::cpu
