// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The names of the CPU library, for what is written once for both.
#pragma once

#include <memory>

#include "common/solvers/backend.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/field.hpp"

namespace plaquette::cpu {

/// See common/solvers/backend.hpp.
struct solver_backend {
  using context = cpu::context;
  using links = std::shared_ptr<const gauge_configuration>;
  template <class T>
  using field = cpu::field<T>;
  template <class T>
  using wilson_clover = cpu::wilson_clover<T>;
  template <class T>
  using schur_wilson_clover = cpu::schur_wilson_clover<T>;
  static constexpr int check_interval = 1, check_lag = 0;  // answers are ready at once
  static constexpr bool records = false;
};
static_assert(backend<solver_backend>);

}  // namespace plaquette::cpu
