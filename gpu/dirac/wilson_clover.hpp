// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson-clover operator M and its even-odd Schur complements on the device: common/operators/wilson_clover.hpp of
/// the parts of this library. The twin of cpu_ref/dirac/wilson_clover.
#pragma once

#include <type_traits>

#include "common/algebra/float_pair.hpp"
#include "common/operators/wilson_clover.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/dirac/clover_term.hpp"
#include "gpu/dirac/hopping_term.hpp"
#include "gpu/dirac/pair_hopping.hpp"
#include "gpu/dirac/site_diagonal.hpp"

namespace plaquette::gpu {

using plaquette::clover_flops, plaquette::hopping_flops, plaquette::xpay_flops, plaquette::schur_kind;

/// The types of the operator's parts, see `dirac_library`. T is double, float, half, or float_pair on one rank.
template <class T>
struct dirac_parts {
  using field = gpu::field<T>;
  using scalars = gpu::scalars;
  using context = gpu::context;
  using links = gauge_configuration;
  using blocks = clover_configuration;
  using hopping_term = std::conditional_t<std::is_same_v<T, float_pair>, gpu::pair_hopping_term, gpu::hopping_term<T>>;
  using site_diagonal = gpu::site_diagonal<T>;

  static clover_configuration clover_term(const gauge_configuration& links, const fermion_action& action) {
    return make_clover_term(links, action);
  }
  static void add_to_diagonal(clover_configuration& term, double shift) { gpu::add_to_diagonal(term, shift); }
  static clover_configuration inverse(const clover_configuration& term, const context&) { return gpu::inverse(term); }
};

template <class T>
using wilson_clover = wilson_clover_operator<dirac_parts<T>>;
template <class T>
using schur_wilson_clover = wilson_clover_schur<dirac_parts<T>>;

}  // namespace plaquette::gpu

namespace plaquette {

extern template class wilson_clover_operator<gpu::dirac_parts<half>>;
extern template class wilson_clover_operator<gpu::dirac_parts<float>>;
extern template class wilson_clover_operator<gpu::dirac_parts<double>>;
extern template class wilson_clover_operator<gpu::dirac_parts<float_pair>>;
extern template class wilson_clover_schur<gpu::dirac_parts<half>>;
extern template class wilson_clover_schur<gpu::dirac_parts<float>>;
extern template class wilson_clover_schur<gpu::dirac_parts<double>>;
extern template class wilson_clover_schur<gpu::dirac_parts<float_pair>>;

}  // namespace plaquette
