// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET avx2
#include "cpu_ref/simd/kernels_body.hpp"

namespace plaquette::cpu {

void fill_kernels_avx2(kernel_table<float> (&single_precision)[2], kernel_table<double> (&double_precision)[2]) {
  using namespace avx2;
  single_precision[0] = make_table<float, 8>();
  double_precision[0] = make_table<double, 4>();
}

}  // namespace plaquette::cpu
