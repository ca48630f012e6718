// SPDX-License-Identifier: BSD-3-Clause
#include <optional>

#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/observables/correlators.hpp"
#include "gpu/sources/sources.hpp"
#include "miniapps/mixed-precision-solver/device_engine.hpp"
#include "miniapps/shared/gpu_library.hpp"

namespace plaquette {

namespace {

struct gpu_device : gpu_library {
  static constexpr const char* name = "gpu";
  static constexpr int look_every = 10, look_behind = 2;  // answers come late

  gpu::context ctx;
  gpu::gauge_configuration links;
  gpu_access* gpu;
  std::optional<gpu::gauge_configuration> thin_links{};  ///< that smear a source, where they are others

  const gpu::gauge_configuration& source_links() const { return thin_links ? *thin_links : links; }

  int threads() const { return 1; }
  void finish() const { ctx.queue().synchronize(); }
  /// All: it is the links that a batch saves.
  int columns_at_once(precision, int columns) const { return columns; }
  /// Made in double, then rounded.
  template <class T>
  void make_source(gpu::field<T>& b, int place, int column, const source_description& source) const {
    const auto [spin, colour] = component_of_column(column);
    gpu::field<T> target = view(b, place, 1);
    if constexpr (std::is_same_v<T, double>) {
      gpu::make_source(target, 0, source, spin, colour, source_links());
    } else {
      auto made = like(target, 1, as<gpu::field<double>>);
      gpu::make_source(made, 0, source, spin, colour, source_links());
      convert(target, made);
    }
  }
  template <class T>
  std::optional<correlator_pair> correlators(const gpu::field<T>& x) const {
    if constexpr (std::is_same_v<T, double>) {
      return correlator_pair{gpu::pion_correlator(x), gpu::rho_correlator(x)};
    } else {
      auto s = like(x, x.columns(), as<gpu::field<double>>);
      convert(s, x);
      return correlator_pair{gpu::pion_correlator(s), gpu::rho_correlator(s)};
    }
  }
};

}  // namespace

std::unique_ptr<solve_engine> make_gpu_engine(gpu_access& gpu, const gauge_configuration& links,
                                              const solver_options& options, const gauge_configuration* source_links) {
  gpu_device device{{}, gpu.context(), gpu::import_links(gpu.context(), links), &gpu};
  if (source_links) device.thin_links = gpu::import_links(gpu.context(), *source_links);
  return make_engine(device, options);
}

}  // namespace plaquette
