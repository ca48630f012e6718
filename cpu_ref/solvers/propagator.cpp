// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <utility>

#include "common/solvers/propagator_solver_of.hpp"
#include "common/solvers/schur_work.hpp"
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/solvers.hpp"
#include "cpu_ref/solvers/backend.hpp"

namespace plaquette::cpu {

namespace {

/// See propagator_backend.
struct cpu_propagator_backend : solver_backend {
  static int columns_at_once(precision numbers, int columns, const lattice_geometry& geometry) {
    return cpu::columns_at_once(numbers, columns, geometry);
  }
  /// A caller makes them of the columns that were checked.
  template <class T>
  static std::optional<correlator_pair> correlators(const field<T>&) {
    return std::nullopt;
  }
  static void finish(const context&) {}
};

}  // namespace

int columns_at_once(precision inner, int columns, const lattice_geometry& geometry) {
  constexpr double vectors = 8.0;  // that a solver goes through in an iteration, the operator's own among them
  const double even_sites = 0.5 * static_cast<double>(geometry.local_volume());
  return columns_at_once(vectors * even_sites * bytes_of_spinor(inner), columns);
}

std::unique_ptr<propagator_solver> make_propagator_solver(const context& ctx,
                                                          std::shared_ptr<const gauge_configuration> links,
                                                          const propagator_settings& settings) {
  return make_propagator_solver_of<cpu_propagator_backend>(
      ctx, links, settings.source_links ? settings.source_links : links, settings);
}

}  // namespace plaquette::cpu
