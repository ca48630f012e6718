// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations on a GPU, on fields that its cache does not hold.
#pragma once

#include "common/app/verification.hpp"
#include "miniapps/bench/gpu_lattice.hpp"
#include "miniapps/bench/gpu_rows.hpp"

namespace plaquette::bench {

/// The operation again and again, with coefficients that let norms stay.
/// \param checks  gets the distance of its results and sums from the same in double on the host, on a small lattice,
///                before anything is timed
std::vector<gpu_samples> time_vector_operation(const gpu::context& ctx, const gpu_row& row, const gpu_timing& timing,
                                               verification& checks);

}  // namespace plaquette::bench
