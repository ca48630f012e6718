// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/wilson_clover.hpp"

namespace plaquette {

#define PLAQUETTE_INSTANTIATE(T)                              \
  template class wilson_clover_operator<cpu::dirac_parts<T>>; \
  template class wilson_clover_schur<cpu::dirac_parts<T>>;
PLAQUETTE_INSTANTIATE(half)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette
