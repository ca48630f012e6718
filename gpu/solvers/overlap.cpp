// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <utility>

#include "common/solvers/overlap_solver_of.hpp"
#include "gpu/blas/basis.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/host_pool.hpp"
#include "gpu/dirac/hermitian_wilson.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/gauge/stout.hpp"
#include "gpu/solvers.hpp"
#include "gpu/solvers/backend.hpp"
#include "gpu/sources/sources.hpp"

namespace plaquette::gpu {

namespace {

/// See overlap_backend.
struct gpu_overlap_backend : solver_backend {
  template <class T>
  using hermitian_wilson = gpu::hermitian_wilson<T>;

  context ctx;
  links gauge;
  std::shared_ptr<memory_pool> host_memory{};

  gpu_overlap_backend(const context& on, links u) : ctx(on), gauge(std::move(u)) {}

  template <class T>
  hermitian_wilson<T> kernel(const fermion_action& action, reconstruct stored) const {
    return {ctx, gauge, action, stored};
  }
  template <class T>
  field<T> basis(const field_shape& shape, bool on_host) {
    if (!on_host) return {ctx, shape};
    if (!host_memory) host_memory = make_host_pool();
    const redirected_memory to(*host_memory);
    return {ctx, shape};
  }
  double host_bytes() const { return host_memory ? static_cast<double>(host_memory->in_use()) : 0.0; }
  std::unique_ptr<multigrid_solver> make_clover_solver(const fermion_action& action,
                                                       const stout_smearing& smearing) const {
    return make_multigrid_solver(ctx, stout_smeared(gauge, smearing), {.action = action});
  }
  /// Takes other links, in the memory of the links so far.
  void follow(const gauge_configuration& u) { assign_links(gauge, u); }
  void finish() const { ctx.queue().synchronize(); }
  void fill(field<double>& x, std::uint64_t seed, std::uint64_t first) const { random_spinors(x, seed, first); }
  void make_source(field<double>& b, int column, const source_description& source) const {
    const auto [spin, colour] = component_of_column(column);
    field<double> target = view(b, column, 1);
    gpu::make_source(target, 0, source, spin, colour, gauge);
  }
};
static_assert(overlap_backend<gpu_overlap_backend>);

}  // namespace

std::unique_ptr<overlap_solver> make_overlap_solver(const context& ctx,
                                                    std::shared_ptr<const plaquette::gauge_configuration> links,
                                                    const overlap_settings& settings) {
  return std::make_unique<overlap_solver_of<gpu_overlap_backend>>(gpu_overlap_backend(ctx, import_links(ctx, *links)),
                                                                  settings);
}

}  // namespace plaquette::gpu
