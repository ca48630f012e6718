// SPDX-License-Identifier: BSD-3-Clause
#define PLAQUETTE_INSTRUCTION_SET avx512
#include "cpu_ref/simd/kernels_body.hpp"

namespace plaquette::cpu {

kernel_set make_kernels_avx512() {
  using namespace avx512;
  return {{make_table<float, 16>(), make_table<float, 8>()}, {make_table<double, 8>()}};
}

}  // namespace plaquette::cpu
