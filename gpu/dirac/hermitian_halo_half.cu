// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hermitian_halo_kernels.hpp"

namespace plaquette::gpu {

template void launch_hermitian_of_rank<half>(const queue&, const hermitian_work<half>&, const hermitian_halo&,
                                             reconstruct, const hermitian_launch&);

}  // namespace plaquette::gpu
