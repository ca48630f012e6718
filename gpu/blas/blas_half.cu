// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/blas/vector_kernels.hpp"

namespace plaquette::gpu {

PLAQUETTE_INSTANTIATE_BLAS(half)

}  // namespace plaquette::gpu
