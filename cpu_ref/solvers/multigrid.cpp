// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "common/solvers/multigrid_solver_of.hpp"
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/coarse/multigrid_library.hpp"
#include "cpu_ref/solvers.hpp"
#include "cpu_ref/solvers/backend.hpp"

namespace plaquette::cpu {

namespace {

/// See multigrid_backend.
struct cpu_multigrid_backend : solver_backend {
  using multigrid_library = cpu::multigrid_library;

  static multigrid_library make_library(const context& ctx, const links& u, const fermion_action& action, reconstruct) {
    return {ctx, u, action};
  }
  template <class T>
  static constexpr reconstruct stored_reals(double /*distance_from_su3*/) {
    return reconstruct::none;
  }
  static const null_space& on_host(const null_space& vectors) { return vectors; }
  static const coarse_matrices& on_host(const coarse_matrices& numbers) { return numbers; }
  static null_space from_host(const context&, null_space vectors, bool) { return vectors; }
};

}  // namespace

std::unique_ptr<multigrid_solver> make_multigrid_solver(const context& ctx,
                                                        std::shared_ptr<const gauge_configuration> links,
                                                        const multigrid_settings& settings) {
  return std::make_unique<multigrid_solver_of<cpu_multigrid_backend>>(ctx, std::move(links), settings, 0.0);
}

}  // namespace plaquette::cpu
