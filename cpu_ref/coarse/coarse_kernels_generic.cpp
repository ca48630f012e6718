// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET generic
#include "cpu_ref/coarse/coarse_kernels_body.hpp"

namespace plaquette::cpu {

void fill_coarse_kernels_generic(coarse_kernels<float>& single_precision, coarse_kernels<double>& double_precision) {
  single_precision = generic::make_coarse_kernels<float, 4>();
  double_precision = generic::make_coarse_kernels<double, 2>();
}

}  // namespace plaquette::cpu
