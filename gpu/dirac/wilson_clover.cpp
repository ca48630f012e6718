// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/wilson_clover.hpp"

namespace plaquette {

#define PLAQUETTE_INSTANTIATE(T)                              \
  template class wilson_clover_operator<gpu::dirac_parts<T>>; \
  template class wilson_clover_schur<gpu::dirac_parts<T>>;
PLAQUETTE_INSTANTIATE(half)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
PLAQUETTE_INSTANTIATE(float_pair)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette
