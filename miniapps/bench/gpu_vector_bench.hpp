// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations on a GPU, on fields that its cache does not hold.
#pragma once

#include "common/app/verification.hpp"
#include "miniapps/bench/gpu_lattice.hpp"
#include "miniapps/bench/gpu_rows.hpp"

namespace plaquette::bench {

/// Times the operation, applied again and again with coefficients that keep norms.
/// \param checks  gets the distance of results and sums from the same in double on the host. One application on a small
///                lattice is checked before anything is timed. The last timed one is checked at some two thousand
///                numbers of the last column, where the host repeats all applications.
std::vector<timed_samples> time_vector_operation(const gpu::context& ctx, const gpu_row& row, const gpu_timing& timing,
                                                 verification& checks);

}  // namespace plaquette::bench
