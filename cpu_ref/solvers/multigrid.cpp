// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "common/solvers/multigrid_solver_of.hpp"
#include "cpu_ref/solvers.hpp"
#include "cpu_ref/solvers/multigrid_backend.hpp"

namespace plaquette::cpu {

std::unique_ptr<multigrid_solver> make_multigrid_solver(const context& ctx,
                                                        std::shared_ptr<const gauge_configuration> links,
                                                        const multigrid_settings& settings) {
  return std::make_unique<multigrid_solver_of<multigrid_backend>>(ctx, std::move(links), settings, 0.0);
}

}  // namespace plaquette::cpu
