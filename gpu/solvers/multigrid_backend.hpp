// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The names of the CUDA library, for multigrid that is written once for both. The twin of
/// cpu_ref/solvers/multigrid_backend.hpp.
#pragma once

#include <type_traits>
#include <utility>

#include "gpu/blas/basis.hpp"
#include "gpu/coarse/multigrid_library.hpp"
#include "gpu/coarse/recorded_operator.hpp"
#include "gpu/solvers/backend.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

/// See multigrid_backend.
struct multigrid_backend : solver_backend {
  using multigrid_library = gpu::multigrid_library;

  /// The third row of a link is made of the others where that costs no digit of T's that matters: operators in low
  /// precision are corrected by one in double.
  template <class T>
  static reconstruct stored_reals(double distance_from_su3) {
    const double allowed = std::is_same_v<T, double> ? 1e-12 : 1e-6;
    return distance_from_su3 < allowed ? reconstruct::twelve : reconstruct::none;
  }
  static double distance_from_su3(const gauge_configuration& u) { return gpu::distance_from_su3(u); }
  /// Records the cycle as a graph, if no host is needed in it.
  template <class Field>
  static any_operator<Field> recorded(const context& ctx, any_operator<Field> cycle) {
    return any_operator<Field>(recorded_operator<Field>(ctx, std::move(cycle)));
  }
  static plaquette::null_space on_host(const null_space& vectors) { return export_null_space(vectors); }
  static plaquette::coarse_matrices on_host(const coarse_matrices& numbers) { return export_matrices(numbers); }
  static null_space from_host(const context& ctx, const plaquette::null_space& vectors, bool is_coarse) {
    return import_null_space(ctx, vectors, is_coarse);
  }
};

}  // namespace plaquette::gpu
