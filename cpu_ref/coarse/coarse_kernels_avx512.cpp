// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET avx512
#include "cpu_ref/coarse/coarse_kernels_body.hpp"

namespace plaquette::cpu {

void fill_coarse_kernels_avx512(coarse_kernels<float>& single_precision, coarse_kernels<double>& double_precision) {
  single_precision = avx512::make_coarse_kernels<float, 8>();
  double_precision = avx512::make_coarse_kernels<double, 8>();
}

}  // namespace plaquette::cpu
