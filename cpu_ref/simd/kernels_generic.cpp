// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET generic
#include "cpu_ref/simd/kernels_body.hpp"

namespace plaquette::cpu {

kernel_set make_kernels_generic() {
  using namespace generic;
  return {{make_table<float, 4>()}, {make_table<double, 2>()}};
}

}  // namespace plaquette::cpu
