// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET avx512
#include "cpu_ref/simd/kernels_body.hpp"

namespace plaquette::cpu {

void fill_kernels_avx512(kernel_table<half> (&half_precision)[2]) {
  using namespace avx512;
  half_precision[0] = make_table<half, 16>();
  half_precision[1] = make_table<half, 8>();
}

}  // namespace plaquette::cpu
