// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The names of the CPU library, for multigrid that is written once for both.
#pragma once

#include <memory>
#include <utility>

#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/coarse/multigrid_library.hpp"
#include "cpu_ref/solvers/backend.hpp"

namespace plaquette::cpu {

/// See multigrid_backend.
struct multigrid_backend : solver_backend {
  using multigrid_library = cpu::multigrid_library;

  template <class T>
  static constexpr reconstruct stored_reals(double /*distance_from_su3*/) {
    return reconstruct::none;
  }
  static const null_space& on_host(const null_space& vectors) { return vectors; }
  static const coarse_matrices& on_host(const coarse_matrices& numbers) { return numbers; }
  static null_space from_host(const context&, null_space vectors, bool) { return vectors; }
};

}  // namespace plaquette::cpu
