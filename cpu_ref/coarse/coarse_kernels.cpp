// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/coarse/coarse_kernels.hpp"

#include <type_traits>

namespace plaquette::cpu {

void fill_coarse_kernels_generic(coarse_kernels<float>&, coarse_kernels<double>&);
void fill_coarse_kernels_avx2(coarse_kernels<float>&, coarse_kernels<double>&);
void fill_coarse_kernels_avx512(coarse_kernels<float>&, coarse_kernels<double>&);

namespace {

struct both_precisions {
  coarse_kernels<float> single_precision;
  coarse_kernels<double> double_precision;
};

template <class Fill>
both_precisions filled(Fill fill) {
  both_precisions both;
  fill(both.single_precision, both.double_precision);
  return both;
}

const both_precisions& tables_of(instruction_set isa) {
#ifdef PLAQUETTE_X86_64
  if (isa == instruction_set::avx512) {
    static const both_precisions avx512 = filled(fill_coarse_kernels_avx512);
    return avx512;
  }
  if (isa == instruction_set::avx2) {
    static const both_precisions avx2 = filled(fill_coarse_kernels_avx2);
    return avx2;
  }
#else
  static_cast<void>(isa);
#endif
  static const both_precisions generic = filled(fill_coarse_kernels_generic);
  return generic;
}

}  // namespace

template <class T>
const coarse_kernels<T>& coarse_kernels_of(instruction_set isa) {
  if constexpr (std::is_same_v<T, float>)
    return tables_of(isa).single_precision;
  else
    return tables_of(isa).double_precision;
}
template const coarse_kernels<float>& coarse_kernels_of(instruction_set);
template const coarse_kernels<double>& coarse_kernels_of(instruction_set);

}  // namespace plaquette::cpu
