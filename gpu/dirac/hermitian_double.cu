// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hermitian_kernels.hpp"

namespace plaquette::gpu {

template void launch_hermitian<double>(const queue&, const hermitian_work<double>&, reconstruct,
                                       const hermitian_launch&);

}  // namespace plaquette::gpu
