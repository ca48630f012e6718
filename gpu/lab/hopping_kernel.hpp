// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which kernels of the hopping term a lab program holds: all of the library's, or one that was compiled for it.
#pragma once

#include "gpu/dirac/hopping_launch.hpp"

namespace plaquette::gpu::lab {

/// Returns whether this launch's kernel is there.
bool has_kernel(const hopping_launch& how, bool with_clover);

}  // namespace plaquette::gpu::lab
