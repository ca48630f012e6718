// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET generic
#include "cpu_ref/simd/kernels_body.hpp"

namespace plaquette::cpu {

void fill_kernels_generic(kernel_table<float> (&single_precision)[2], kernel_table<double> (&double_precision)[2]) {
  using namespace generic;
  single_precision[0] = make_table<float, 4>();
  double_precision[0] = make_table<double, 2>();
}

}  // namespace plaquette::cpu
