// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dg/dg_kernels.hpp"

namespace plaquette::cpu {

void fill_dg_kernels_generic(dg_kernel_table<float>&, dg_kernel_table<double>&);
#ifdef PLAQUETTE_X86_64
void fill_dg_kernels_avx2(dg_kernel_table<float>&, dg_kernel_table<double>&);
void fill_dg_kernels_avx512(dg_kernel_table<float>&, dg_kernel_table<double>&);
#endif

namespace {

template <class Fill>
dg_kernel_set filled_by(Fill&& fill) {
  dg_kernel_set set;
  fill(set.single_precision, set.double_precision);
  return set;
}

}  // namespace

const dg_kernel_set& dg_kernels_of(instruction_set isa) {
  static const dg_kernel_set generic = filled_by(fill_dg_kernels_generic);
  static const dg_kernel_set none;
  if (isa == instruction_set::generic) return generic;
  if (kernels_of(isa).single_precision[0].width == 0) return none;  // not on this processor
#ifdef PLAQUETTE_X86_64
  if (isa == instruction_set::avx2) {
    static const dg_kernel_set avx2 = filled_by(fill_dg_kernels_avx2);
    return avx2;
  }
  static const dg_kernel_set avx512 = filled_by(fill_dg_kernels_avx512);
  return avx512;
#else
  return none;
#endif
}

}  // namespace plaquette::cpu
