// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/field.hpp"
#include "miniapps/dslash-scaling/device_operator.hpp"

namespace plaquette::scaling {

namespace {

struct cpu_device {
  using context = cpu::context;
  template <class T>
  using field = cpu::field<T>;
  template <class T>
  using wilson_clover = cpu::wilson_clover<T>;
  template <class T>
  using schur_wilson_clover = cpu::schur_wilson_clover<T>;

  static cpu::schur_kind schur(cpu::schur_kind kind) { return kind; }

  cpu::context ctx;

  /// The memory of other fields lies where other threads have touched it.
  void renew() { ctx = cpu::context(ctx.geometry(), ctx.comm(), ctx.threads(), ctx.isa()); }
  void finish() const {}
};

}  // namespace

std::unique_ptr<operator_maker> make_cpu_operator_maker(const cpu::context& ctx, const gauge_configuration& links,
                                                        const scaling_options& options) {
  return std::make_unique<device_operator_maker<cpu_device>>(cpu_device{ctx}, links, options);
}

}  // namespace plaquette::scaling
