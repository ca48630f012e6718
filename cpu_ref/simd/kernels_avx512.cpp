// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET avx512
#include "cpu_ref/simd/kernels_body.hpp"

namespace plaquette::cpu {

void fill_kernels_avx512(kernel_table<float> (&single_precision)[2], kernel_table<double> (&double_precision)[2]) {
  using namespace avx512;
  single_precision[0] = make_table<float, 16>();
  single_precision[1] = make_table<float, 8>();
  double_precision[0] = make_table<double, 8>();
}

}  // namespace plaquette::cpu
