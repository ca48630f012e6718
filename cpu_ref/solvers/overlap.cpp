// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <utility>

#include "common/solvers/overlap_solver_of.hpp"
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/hermitian_wilson.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/stout.hpp"
#include "cpu_ref/solvers.hpp"
#include "cpu_ref/solvers/backend.hpp"
#include "cpu_ref/sources/sources.hpp"

namespace plaquette::cpu {

namespace {

/// See overlap_backend.
struct cpu_overlap_backend : solver_backend {
  template <class T>
  using hermitian_wilson = cpu::hermitian_wilson<T>;

  context ctx;
  links gauge;

  cpu_overlap_backend(const context& on, links u) : ctx(on), gauge(std::move(u)) {}

  template <class T>
  hermitian_wilson<T> kernel(const fermion_action& action, reconstruct stored) const {
    return {ctx, *gauge, action, stored};
  }
  template <class T>
  field<T> basis(const field_shape& shape, bool /*on_host*/) {
    return {ctx, shape};
  }
  double host_bytes() const { return 0.0; }
  std::unique_ptr<multigrid_solver> make_clover_solver(const fermion_action& action,
                                                       const stout_smearing& smearing) const {
    return make_multigrid_solver(
        ctx, std::make_shared<const gauge_configuration>(stout_smeared(*gauge, smearing, ctx.comm())),
        {.action = action});
  }
  /// Takes other links. The first call copies the links: those so far are a caller's.
  void follow(const gauge_configuration& u) {
    if (own_) return assign_links(own_, u);
    gauge = own_ = copy_of_links(u);
  }
  void finish() const {}
  void fill(field<double>& x, std::uint64_t seed, std::uint64_t first) const {
    for (int c = 0; c < x.columns(); ++c)
      import_column(x, c, cpu::random_spinor(ctx.geometry(), seed, first + static_cast<std::uint64_t>(c), ctx.comm()));
  }
  void make_source(field<double>& b, int column, const source_description& source) const {
    const auto [spin, colour] = component_of_column(column);
    import_column(b, column, cpu::make_source(source, spin, colour, *gauge, ctx.comm()));
  }

 private:
  std::shared_ptr<gauge_configuration> own_{};  ///< `gauge`, once it follows others
};
static_assert(overlap_backend<cpu_overlap_backend>);

}  // namespace

std::unique_ptr<overlap_solver> make_overlap_solver(const context& ctx,
                                                    std::shared_ptr<const gauge_configuration> links,
                                                    const overlap_settings& settings) {
  return std::make_unique<overlap_solver_of<cpu_overlap_backend>>(cpu_overlap_backend(ctx, std::move(links)), settings);
}

}  // namespace plaquette::cpu
