// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET avx2
#include "cpu_ref/simd/kernels_body.hpp"

namespace plaquette::cpu {

kernel_set make_kernels_avx2() {
  using namespace avx2;
  return {{make_table<float, 8>()}, {make_table<double, 4>()}};
}

}  // namespace plaquette::cpu
