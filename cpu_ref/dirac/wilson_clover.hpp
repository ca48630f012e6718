// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The production Wilson-clover operator M and its even-odd Schur complements: common/operators/wilson_clover.hpp of
/// the parts of this library.
#pragma once

#include "common/operators/wilson_clover.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/dirac/hopping_term.hpp"
#include "cpu_ref/dirac/site_diagonal.hpp"

namespace plaquette::cpu {

using plaquette::clover_flops, plaquette::hopping_flops, plaquette::xpay_flops, plaquette::schur_kind;

/// The types of the operator's parts, see `dirac_library`.
template <class T>
struct dirac_parts {
  using field = cpu::field<T>;
  using scalars = cpu::scalars;
  using context = cpu::context;
  using links = gauge_configuration;
  using blocks = clover_configuration;
  using hopping_term = cpu::hopping_term<T>;
  using site_diagonal = cpu::site_diagonal<T>;

  static clover_configuration clover_term(const gauge_configuration& links, const fermion_action& action) {
    return make_clover_term(links, action);
  }
  static void add_to_diagonal(clover_configuration& term, double shift) { cpu::add_to_diagonal(term, shift); }
  static clover_configuration inverse(const clover_configuration& term, const context& ctx) {
    return cpu::inverse(term, ctx.comm());
  }
};

template <class T>
using wilson_clover = wilson_clover_operator<dirac_parts<T>>;
template <class T>
using schur_wilson_clover = wilson_clover_schur<dirac_parts<T>>;

}  // namespace plaquette::cpu

namespace plaquette {

extern template class wilson_clover_operator<cpu::dirac_parts<half>>;
extern template class wilson_clover_operator<cpu::dirac_parts<float>>;
extern template class wilson_clover_operator<cpu::dirac_parts<double>>;
extern template class wilson_clover_schur<cpu::dirac_parts<half>>;
extern template class wilson_clover_schur<cpu::dirac_parts<float>>;
extern template class wilson_clover_schur<cpu::dirac_parts<double>>;

}  // namespace plaquette
