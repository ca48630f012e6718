// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hermitian_kernels.hpp"

namespace plaquette::gpu {

template void launch_hermitian<half>(const queue&, const hermitian_work<half>&, reconstruct, const hermitian_launch&);

}  // namespace plaquette::gpu
