// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hopping_halo_kernels.hpp"

namespace plaquette::gpu {

template void queue_packing<half>(const queue&, const hopping_arguments<half>&, const hopping_halo&);
template void queue_hops_of_rank<half, reconstruct::none>(const queue&, const hopping_work<half>&, const hopping_halo&,
                                                          const hopping_launch&, const tile_table*, box_part, bool);
template void queue_hops_of_rank<half, reconstruct::twelve>(const queue&, const hopping_work<half>&,
                                                            const hopping_halo&, const hopping_launch&,
                                                            const tile_table*, box_part, bool);
template void queue_hops_of_rank<half, reconstruct::eight>(const queue&, const hopping_work<half>&, const hopping_halo&,
                                                           const hopping_launch&, const tile_table*, box_part, bool);

}  // namespace plaquette::gpu
