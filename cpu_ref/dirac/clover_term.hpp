// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The clover term: a Hermitian matrix on spin and colour of a site, made of the field strength there, block diagonal
/// in chirality. Sheikholeslami and Wohlert, Nucl. Phys. B 259 (1985) 572.
#pragma once

#include "common/algebra/hermitian_6x6.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

using plaquette::chiral_rows;
using plaquette::clover_block;
using plaquette::hermitian_6x6;

/// One clover_block a site. Its ghosts are not filled.
using clover_configuration = site_field<clover_block>;

/// Returns C(x) = -1/2 sum_{mu<nu} c_munu sigma_munu (-i Fhat_munu(x)), Fhat = (Q - Q^+) / 8 with its trace, Q the sum
/// of the four leaves around x, c_munu = action.clover_coefficient(mu, nu). Neither the mass nor the Wilson term's
/// diagonal is in it. The boundary condition of the fermions does not enter: a closed loop crosses a boundary as often
/// forwards as backwards.
/// \param links  links with ghosts filled (`exchange_ghosts`); throws std::logic_error if it sees that they are not
clover_configuration make_clover_term(const gauge_configuration& links, const fermion_action& action);
/// Makes A = 4 + m + C, the whole site-diagonal part, in the memory of blocks that are there. Throws input_error if
/// they are on another lattice.
void make_site_diagonal(clover_configuration& a, const gauge_configuration& links, const fermion_action& action);

/// Adds a shift to A; turns C into A = 4 + m + C for shift = action.diagonal().
void add_to_diagonal(clover_configuration& term, double shift);

/// Inverts site by site. If a block of any rank has no inverse, all ranks throw the same input_error, which names the
/// first such site of the whole lattice. Collective.
clover_configuration inverse(const clover_configuration& term, const communicator& comm);
/// Makes the inverse in the memory of blocks that are there. Throws input_error if they are on another lattice, too.
void invert(clover_configuration& to, const clover_configuration& term, const communicator& comm);

/// Returns A B of blocks that commute with each other, site by site. Throws input_error if lattices differ.
clover_configuration commuting_product(const clover_configuration& a, const clover_configuration& b);

}  // namespace plaquette::cpu
