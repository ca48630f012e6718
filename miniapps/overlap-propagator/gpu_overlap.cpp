// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "gpu/blas/basis.hpp"
#include "gpu/device/host_pool.hpp"
#include "gpu/dirac/hermitian_wilson.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/sources/sources.hpp"
#include "miniapps/overlap-propagator/overlap_pipeline.hpp"
#include "miniapps/shared/gpu_library.hpp"

namespace plaquette {

namespace {

struct gpu_device : gpu_library {
  static constexpr const char* name = "gpu";
  static constexpr int columns = 12;
  template <class T>
  using hermitian_wilson = gpu::hermitian_wilson<T>;

  gpu::context ctx;
  gpu::gauge_configuration links;
  std::shared_ptr<gpu::memory_pool> host_memory{};

  template <class T>
  hermitian_wilson<T> kernel(const fermion_action& action, reconstruct stored) const {
    return {ctx, links, action, stored};
  }
  /// A field for the basis of a search, in memory of the host or not.
  template <class T>
  gpu::field<T> basis(const field_shape& shape, bool on_host) {
    if (!on_host) return {ctx, shape};
    if (!host_memory) host_memory = gpu::make_host_pool();
    const gpu::redirected_memory to(*host_memory);
    return {ctx, shape};
  }
  double host_bytes() const { return host_memory ? static_cast<double>(host_memory->in_use()) : 0.0; }
  void finish() const { ctx.queue().synchronize(); }
  void fill(gpu::field<double>& x, std::uint64_t seed, std::uint64_t first) const {
    gpu::random_spinors(x, seed, first);
  }
  void make_source(gpu::field<double>& b, int column, const source_description& source) const {
    const auto [spin, colour] = component_of_column(column);
    gpu::field<double> target = view(b, column, 1);
    gpu::make_source(target, 0, source, spin, colour, links);
  }
};

}  // namespace

exit_status overlap_on_gpu(app_run& run, const overlap_options& options, const gauge_input& gauge) {
  return overlap_pipeline(gpu_device{{}, run.gpu->context(), gpu::import_links(run.gpu->context(), gauge.links)}, run,
                          options, gauge)();
}

}  // namespace plaquette
