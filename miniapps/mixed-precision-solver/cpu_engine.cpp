// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/field.hpp"
#include "miniapps/mixed-precision-solver/device_engine.hpp"

namespace plaquette {

namespace {

struct cpu_device {
  using context = cpu::context;
  template <class T>
  using field = cpu::field<T>;
  template <class T>
  using wilson_clover = cpu::wilson_clover<T>;
  template <class T>
  using schur_wilson_clover = cpu::schur_wilson_clover<T>;
  static constexpr const char* name = "cpu";
  static constexpr int look_every = 1;  // answers are ready at once

  static cpu::schur_kind schur(cpu::schur_kind kind) { return kind; }

  cpu::context ctx;
  const gauge_configuration& links;
  gpu_access* gpu = nullptr;

  int threads() const { return ctx.threads(); }
  void finish() const {}
  int columns_at_once(precision numbers, int columns) const {
    return plaquette::columns_at_once(numbers, columns, ctx.geometry());
  }
  template <class T>
  void make_source(cpu::field<T>& b, int column, const cpu::source_description& source) const {
    const auto [spin, colour] = cpu::component_of_column(column);
    import_column(b, column, cpu::make_source(source, spin, colour, links, ctx.comm()));
  }
  /// They are made of the columns that were checked.
  template <class T>
  std::optional<correlator_pair> correlators(const cpu::field<T>&) const {
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<solve_engine> make_cpu_engine(const cpu::context& ctx, const gauge_configuration& links,
                                              const solver_options& options) {
  return make_engine(cpu_device{ctx, links}, options);
}

}  // namespace plaquette
