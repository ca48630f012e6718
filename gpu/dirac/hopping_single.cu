// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hopping_kernels.hpp"

namespace plaquette::gpu {

template void launch_hopping<float, reconstruct::none>(const queue&, const hopping_work<float>&, const hopping_launch&);
template void launch_hopping<float, reconstruct::twelve>(const queue&, const hopping_work<float>&,
                                                         const hopping_launch&);
template void launch_hopping<float, reconstruct::eight>(const queue&, const hopping_work<float>&,
                                                        const hopping_launch&);

}  // namespace plaquette::gpu
