// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks of the stages' results, computed or restored: each function adds checks to the report.
#pragma once

#include <vector>

#include "common/solvers/overlap_solver.hpp"
#include "miniapps/overlap-propagator/overlap_report.hpp"
#include "miniapps/overlap-propagator/overlap_stages.hpp"
#include "miniapps/overlap-propagator/sign_choice.hpp"

namespace plaquette {

/// Compares H in each precision with the textbook, on a random vector: at all sites of small lattices, at sampled sites
/// of others. At the end, so that it is the H of the whole run. Collective.
void check_kernel(overlap_stages& stages);

/// Residuals and orthonormality. Returns whether there are as many modes as were sought. Collective.
bool check_modes_of_h(overlap_stages& stages, const kernel_modes& modes);

/// Adds checks of the range, or a remark if a range that does not hold is tolerated.
void check_range(overlap_stages& stages, const kernel_modes& modes, const sign_choice& choice);

/// Calibrates a sign function on random vectors and returns it. Applies it there in the precisions of the run, together
/// with a finer one, and twice; and D in the relations that it has to fulfil. Collective.
sign_handle calibrate_sign(overlap_stages& stages, const kernel_modes& modes, const sign_choice& choice,
                           const sign_handle& sign, sign_record& record);
/// Adds checks of the measured errors; and of sign(H) of random vectors against other ways on the CPU. Collective.
void check_sign(overlap_stages& stages, const kernel_modes& modes, const sign_choice& choice, const sign_handle& sign,
                const sign_record& record);

/// Adds checks of residuals with products made here, and of random vectors that would find missing modes. The modes get
/// the residuals that were computed here.
/// \param open  becomes true if the index is not known
/// \return whether the wanted number of modes was found. Collective.
bool check_modes_of_d(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign, overlap_modes& modes,
                      bool& open);

/// Returns a record of each solution, judged by D(m) with the accurate sign function. Collective.
std::vector<mass_record> check_solutions(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign,
                                         const vectors_handle& sources, const overlap_solutions& solutions);

/// Adds a sum over the bits of a column, on this rank: of each row in x, which lies in one piece, and then of these
/// sums.
void add_bits(bit_sum& sum, const spinor_configuration& column);
/// A sum over the bits of vectors, on this rank.
/// \param column  room for one of them: memory that is there is faster
bit_sum bits_of(const vectors_handle& x, spinor_configuration& column);
bit_sum bits_of(const std::vector<spinor_configuration>& columns);

}  // namespace plaquette
