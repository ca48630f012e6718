// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/dslash-scaling/device_operator.hpp"
#include "miniapps/shared/cpu_library.hpp"

namespace plaquette::scaling {

namespace {

struct cpu_device : cpu_library {
  cpu::context ctx;

  /// The memory of other fields lies where other threads have touched it.
  void renew() { ctx = cpu::context(ctx.geometry(), ctx.comm(), ctx.threads(), ctx.isa()); }
  void finish() const {}
};

}  // namespace

std::unique_ptr<operator_maker> make_cpu_operator_maker(const cpu::context& ctx, const gauge_configuration& links,
                                                        const scaling_options& options) {
  return std::make_unique<device_operator_maker<cpu_device>>(cpu_device{{}, ctx}, links, options);
}

}  // namespace plaquette::scaling
