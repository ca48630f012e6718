// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/lab/hopping_kernel.hpp"

namespace plaquette::gpu::lab {

bool has_kernel(const hopping_launch&, bool) { return true; }

}  // namespace plaquette::gpu::lab
