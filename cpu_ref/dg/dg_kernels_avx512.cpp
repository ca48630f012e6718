// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET avx512
#include "cpu_ref/dg/dg_kernels_body.hpp"

namespace plaquette::cpu {

void fill_dg_kernels_avx512(dg_kernel_table<float>& single_precision, dg_kernel_table<double>& double_precision) {
  avx512::fill_dg_table<float, 16, 2, 12>(single_precision);
  avx512::fill_dg_table<double, 8, 2, 12>(double_precision);
}

}  // namespace plaquette::cpu
