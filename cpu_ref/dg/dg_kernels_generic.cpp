// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET generic
#include "cpu_ref/dg/dg_kernels_body.hpp"

namespace plaquette::cpu {

void fill_dg_kernels_generic(dg_kernel_table<float>& single_precision, dg_kernel_table<double>& double_precision) {
  generic::fill_dg_table<float, 4, 2, 6>(single_precision);
  generic::fill_dg_table<double, 2, 2, 6>(double_precision);
}

}  // namespace plaquette::cpu
