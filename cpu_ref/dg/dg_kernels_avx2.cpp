// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET avx2
#include "cpu_ref/dg/dg_kernels_body.hpp"

namespace plaquette::cpu {

void fill_dg_kernels_avx2(dg_kernel_table<float>& single_precision, dg_kernel_table<double>& double_precision) {
  avx2::fill_dg_table<float, 8, 2, 6>(single_precision);
  avx2::fill_dg_table<double, 4, 2, 6>(double_precision);
}

}  // namespace plaquette::cpu
