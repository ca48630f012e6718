// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "common/solvers/multigrid_solver_of.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/solvers.hpp"
#include "gpu/solvers/multigrid_backend.hpp"

namespace plaquette::gpu {

std::unique_ptr<multigrid_solver> make_multigrid_solver(const context& ctx,
                                                        std::shared_ptr<const plaquette::gauge_configuration> links,
                                                        const multigrid_settings& settings) {
  return make_multigrid_solver(ctx, import_links(ctx, *links), settings);
}
std::unique_ptr<multigrid_solver> make_multigrid_solver(const context& ctx, const gauge_configuration& links,
                                                        const multigrid_settings& settings) {
  const double distance = settings.distance_from_su3 ? *settings.distance_from_su3 : distance_from_su3(links);
  return std::make_unique<multigrid_solver_of<multigrid_backend>>(ctx, links, settings, distance);
}

}  // namespace plaquette::gpu
