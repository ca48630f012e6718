// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/blas/basis.hpp"
#include "gpu/coarse/multigrid_library.hpp"
#include "gpu/coarse/recorded_operator.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/sources/sources.hpp"
#include "gpu/tuning/tuner.hpp"
#include "miniapps/multigrid/device_multigrid.hpp"
#include "miniapps/shared/gauge_input.hpp"
#include "miniapps/shared/gpu_access.hpp"
#include "miniapps/shared/gpu_library.hpp"

namespace plaquette {

namespace {

struct gpu_device : gpu_library {
  using library = gpu::multigrid_library;
  static constexpr int look_every = 10, look_behind = 2;  // answers come late
  static constexpr bool records = true;

  gpu::context ctx;
  gpu::gauge_configuration links;
  const plaquette::gauge_configuration& host_links;  ///< the same
  double distance_from_su3;

  library multigrid_library(const fermion_action& action) const { return {ctx, links, action, stored_reals<float>()}; }
  /// The third row of a link is made of the others where that costs no digit of T's that matters: operators in low
  /// precision are corrected by one in double.
  template <class T>
  reconstruct stored_reals() const {
    const double allowed = std::is_same_v<T, double> ? 1e-12 : 1e-6;
    return distance_from_su3 < allowed ? reconstruct::twelve : reconstruct::none;
  }
  void make_source(gpu::field<double>& b, int place, int column, const source_description& source) const {
    const auto [spin, colour] = component_of_column(column);
    gpu::field<double> target = view(b, place, 1);
    gpu::make_source(target, 0, source, spin, colour, links);
  }
  /// The cycle as a graph, where one rank has it to itself.
  template <class F>
  any_operator<F> recorded(any_operator<F> cycle) const {
    if (ctx.comm().size() > 1) return cycle;
    return any_operator<F>(gpu::recorded_operator<F>(ctx, std::move(cycle)));
  }
  static null_space on_host(const gpu::null_space& vectors) { return gpu::export_null_space(vectors); }
  static coarse_matrices on_host(const gpu::coarse_matrices& numbers) { return gpu::export_matrices(numbers); }
  /// Fields of one lattice, column by column.
  static void copy_to_host(cpu::coarse_field<float>& to, const gpu::coarse_field<float>& from) {
    std::vector<complex<double>> numbers(static_cast<std::size_t>(from.sites() * from.components()));
    for (int c = 0; c < from.columns(); ++c) {
      export_column(std::span(numbers), from, c);
      import_column(to, c, std::span<const complex<double>>(numbers));
    }
  }
  static void copy_from_host(gpu::coarse_field<float>& to, const cpu::coarse_field<float>& from) {
    std::vector<complex<double>> numbers(static_cast<std::size_t>(from.sites() * from.components()));
    for (int c = 0; c < from.columns(); ++c) {
      export_column(std::span(numbers), from, c);
      import_column(to, c, std::span<const complex<double>>(numbers));
    }
  }
  gpu::null_space from_host(const null_space& vectors, bool is_coarse) const {
    return gpu::import_null_space(ctx, vectors, is_coarse);
  }
};

}  // namespace

std::unique_ptr<multigrid_engine> make_gpu_multigrid(gpu_access& gpu, const gauge_input& gauge,
                                                     const setup_origin& origin, const multigrid_options& options) {
  return std::make_unique<device_multigrid<gpu_device>>(
      gpu_device{
          {}, gpu.context(), gpu::import_links(gpu.context(), gauge.links), gauge.links, gauge.distance_from_su3},
      origin, options);
}

}  // namespace plaquette
