// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations on a GPU, on fields that its cache does not hold.
#pragma once

#include "common/app/verification.hpp"
#include "miniapps/bench/gpu_lattice.hpp"
#include "miniapps/bench/gpu_rows.hpp"

namespace plaquette::bench {

/// Times the operation, applied again and again with coefficients that keep norms.
/// \param checks  gets the distance of its results and sums from the same in double on the host: of one application on
///                a small lattice, before anything is timed, and of the last timed one, at some two thousand numbers of
///                the last column, where the host has done all applications again
std::vector<gpu_samples> time_vector_operation(const gpu::context& ctx, const gpu_row& row, const gpu_timing& timing,
                                               verification& checks);

}  // namespace plaquette::bench
