// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Hopping term and even-odd Wilson-clover matrix on a GPU, checked and then timed.
#pragma once

#include "common/app/verification.hpp"
#include "miniapps/bench/gpu_lattice.hpp"
#include "miniapps/bench/gpu_rows.hpp"

namespace plaquette::bench {

/// Returns a chain even -> odd -> even ... of the hopping term, scaled so that its norm stays, in graphs.
/// \param checks  gets the distance from the textbook operator at sampled sites, of the first and the last right-hand
/// side, before anything is timed. Also gets whether a chain in a graph gives the bits of the chain launched
///                one by one, waiting after each
std::vector<timed_samples> time_hopping(gpu_lattice& lattice, const gpu_row& row, const gpu_timing& timing,
                                        verification& checks);

/// Times Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe from one field to another and from a second one to a third, in graphs:
/// what is read keeps its norm.
/// \param checks  gets the distance from the textbook's: Mhat x_e is the even part of M x where its odd part vanishes
std::vector<timed_samples> time_clover_schur(gpu_lattice& lattice, const gpu_row& row, const gpu_timing& timing,
                                             verification& checks);

}  // namespace plaquette::bench
