// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/device_engine.hpp"
#include "miniapps/shared/cpu_library.hpp"

namespace plaquette {

namespace {

struct cpu_device : cpu_library {
  static constexpr const char* name = "cpu";
  static constexpr int look_every = 1, look_behind = 0;  // answers are ready at once

  cpu::context ctx;
  const gauge_configuration& links;
  const gauge_configuration& source_links;
  gpu_access* gpu = nullptr;

  int threads() const { return ctx.threads(); }
  void finish() const {}
  int columns_at_once(precision numbers, int columns) const {
    return plaquette::columns_at_once(numbers, columns, ctx.geometry());
  }
  template <class T>
  void make_source(cpu::field<T>& b, int place, int column, const cpu::source_description& source) const {
    const auto [spin, colour] = cpu::component_of_column(column);
    import_column(b, place, cpu::make_source(source, spin, colour, source_links, ctx.comm()));
  }
  /// They are made of the columns that were checked.
  template <class T>
  std::optional<correlator_pair> correlators(const cpu::field<T>&) const {
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<solve_engine> make_cpu_engine(const cpu::context& ctx, const gauge_configuration& links,
                                              const solver_options& options, const gauge_configuration* source_links) {
  return make_engine(cpu_device{{}, ctx, links, source_links ? *source_links : links}, options);
}

}  // namespace plaquette
