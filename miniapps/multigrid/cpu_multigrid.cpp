// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/coarse/multigrid_library.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "miniapps/multigrid/device_multigrid.hpp"
#include "miniapps/shared/cpu_library.hpp"

namespace plaquette {

namespace {

struct cpu_device : cpu_library {
  using library = cpu::multigrid_library;
  static constexpr int look_every = 1, look_behind = 0;  // answers are ready at once
  static constexpr bool records = false;

  cpu::context ctx;
  const gauge_configuration& links;

  library multigrid_library(const fermion_action& action) const {
    // The links live longer than what is made of them.
    return {ctx, std::shared_ptr<const gauge_configuration>(std::shared_ptr<void>(), &links), action};
  }
  void make_source(cpu::field<double>& b, int place, int column, const source_description& source) const {
    const auto [spin, colour] = component_of_column(column);
    import_column(b, place, cpu::make_source(source, spin, colour, links, ctx.comm()));
  }
  template <class T>
  static constexpr reconstruct stored_reals() {
    return reconstruct::none;
  }
  static const null_space& on_host(const null_space& vectors) { return vectors; }
  static null_space from_host(null_space& vectors, bool) { return std::move(vectors); }
};

}  // namespace

std::unique_ptr<multigrid_engine> make_cpu_multigrid(const cpu::context& ctx, const gauge_configuration& links,
                                                     const setup_origin& origin, const multigrid_options& options) {
  return std::make_unique<device_multigrid<cpu_device>>(cpu_device{{}, ctx, links}, origin, options);
}

}  // namespace plaquette
