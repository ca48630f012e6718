// SPDX-License-Identifier: BSD-3-Clause
#include "common/algebra/float_pair.hpp"
#include "gpu/blas/vector_kernels.hpp"

namespace plaquette::gpu {

PLAQUETTE_INSTANTIATE_BLAS(float_pair)

}  // namespace plaquette::gpu
