// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET generic
#include "cpu_ref/simd/kernels_body.hpp"

namespace plaquette::cpu {

void fill_kernels_generic(kernel_table<half> (&half_precision)[2]) {
  using namespace generic;
  half_precision[0] = make_table<half, 4>();
}

}  // namespace plaquette::cpu
