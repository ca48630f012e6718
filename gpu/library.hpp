// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The CUDA library behind the one door: common/solvers/library.hpp. The twin of cpu_ref/library.hpp.
#pragma once

#include "common/solvers/library.hpp"
#include "gpu/context.hpp"

namespace plaquette::gpu {

/// Returns the functions of the CUDA library that need no lattice, and the function that opens one.
const platform& this_platform();

/// Returns where the fields of a library live, for benchmarks of this library's kernels. Throws std::logic_error for
/// another library.
const context& context_of(const library& opened);

}  // namespace plaquette::gpu
