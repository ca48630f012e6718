// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "common/solvers/propagator_solver_of.hpp"
#include "gpu/blas/basis.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/observables/correlators.hpp"
#include "gpu/solvers.hpp"
#include "gpu/solvers/backend.hpp"

namespace plaquette::gpu {

namespace {

/// See propagator_backend.
struct gpu_propagator_backend : solver_backend {
  /// Returns all: it is the links that a batch saves.
  static int columns_at_once(precision, int columns, const lattice_geometry&) { return columns; }
  template <class T>
  static std::optional<correlator_pair> correlators(const field<T>& x) {
    if constexpr (std::is_same_v<T, double>) {
      return correlator_pair{pion_correlator(x), rho_correlator(x)};
    } else {
      auto s = like(x, x.columns(), as<field<double>>);
      convert(s, x);
      return correlator_pair{pion_correlator(s), rho_correlator(s)};
    }
  }
  static void finish(const context& ctx) { ctx.queue().synchronize(); }
};

}  // namespace

std::unique_ptr<propagator_solver> make_propagator_solver(const context& ctx,
                                                          std::shared_ptr<const plaquette::gauge_configuration> links,
                                                          const propagator_settings& settings) {
  const gauge_configuration on_device = import_links(ctx, *links);
  return make_propagator_solver_of<gpu_propagator_backend>(
      ctx, on_device, settings.source_links ? import_links(ctx, *settings.source_links) : on_device, settings);
}

}  // namespace plaquette::gpu
