// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/dirac/hermitian_wilson.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "miniapps/overlap-propagator/overlap_pipeline.hpp"
#include "miniapps/shared/cpu_library.hpp"

namespace plaquette {

namespace {

struct cpu_device : cpu_library {
  static constexpr const char* name = "cpu";
  static constexpr int columns = 4;
  template <class T>
  using hermitian_wilson = cpu::hermitian_wilson<T>;

  cpu::context ctx;
  const gauge_configuration& links;

  template <class T>
  hermitian_wilson<T> kernel(const fermion_action& action, reconstruct stored) const {
    return {ctx, links, action, stored};
  }
  template <class T>
  cpu::field<T> basis(const field_shape& shape, bool) {
    return {ctx, shape};
  }
  double host_bytes() const { return 0.0; }
  void finish() const {}
  void fill(cpu::field<double>& x, std::uint64_t seed, std::uint64_t first) const {
    for (int c = 0; c < x.columns(); ++c)
      import_column(x, c, cpu::random_spinor(ctx.geometry(), seed, first + static_cast<std::uint64_t>(c), ctx.comm()));
  }
  void make_source(cpu::field<double>& b, int column, const cpu::source_description& source) const {
    const auto [spin, colour] = cpu::component_of_column(column);
    import_column(b, column, cpu::make_source(source, spin, colour, links, ctx.comm()));
  }
};

}  // namespace

exit_status overlap_on_cpu(app_run& run, const overlap_options& options, const gauge_input& gauge) {
  return overlap_pipeline(cpu_device{{}, cpu::context(run.geometry, run.world), gauge.links}, run, options, gauge)();
}

}  // namespace plaquette
