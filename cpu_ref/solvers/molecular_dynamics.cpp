// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <span>

#include "common/hmc/molecular_dynamics_of.hpp"
#include "common/lattice/ghosts.hpp"
#include "cpu_ref/dirac/fermion_force.hpp"
#include "cpu_ref/fields/exact_sums.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gauge_force.hpp"
#include "cpu_ref/gauge/link_arithmetic.hpp"
#include "cpu_ref/gauge/momenta.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/solvers.hpp"
#include "cpu_ref/solvers/multigrid_backend.hpp"

namespace plaquette::cpu {

namespace {

/// See hmc_backend.
struct cpu_hmc_backend : multigrid_backend {
  using gauge = gauge_configuration;
  using momenta = gauge_momenta;
  using leaves = leaf_field;
  using blocks = clover_configuration;
  template <class T>
  using dirac_parts = cpu::dirac_parts<T>;
  using exact_sums = cpu::exact_sums;

  static gauge of_host(const gauge_configuration& links, const context& ctx) {
    gauge copy = links;
    exchange_ghosts(copy, ctx.comm());
    return copy;
  }
  static gauge_configuration to_host(const gauge& links, const context&) { return links; }
  /// Has no owner: the links must outlive it.
  static links shared(const gauge& u) { return {std::shared_ptr<const void>(), &u}; }
  static gauge copy_of(const gauge& links) { return links; }
  static void assign(gauge& to, const gauge& from) { cpu::assign(to, from); }
  static momenta make_momenta(const context& ctx) { return momenta(ctx.geometry()); }
  static leaves make_leaves(const context& ctx) { return leaves(ctx.geometry()); }
  static void clear(momenta& p) { cpu::clear(p); }
  static void clear(leaves& z) { cpu::clear(z); }
  static void combine(momenta& p, double a, const momenta& f, double b) { cpu::combine(p, a, f, b); }
  static void get(std::span<site_links> to, const gauge& from, std::span<const coordinate> at) {
    for (std::size_t n = 0; n < at.size(); ++n) to[n] = from(at[n]);
  }
  static void reunitarise(gauge& links, const context& ctx) { cpu::reunitarise(links, ctx.comm()); }
  static void finish(const context&) {}

  static void move_links(gauge& links, const momenta& p, double step, const context& ctx) {
    cpu::move_links(links, p, step, ctx.comm());
  }
  static void refresh_momenta(momenta& p, std::uint64_t seed, std::uint64_t index, const context&) {
    cpu::refresh_momenta(p, seed, index);
  }
  static double kinetic_energy_difference(const momenta& after, const momenta& before, const context& ctx) {
    return cpu::kinetic_energy_difference(after, before, ctx.comm());
  }
  static force_size size_of_force(const momenta& f, const context& ctx) { return cpu::size_of_force(f, ctx.comm()); }
  static void add_gauge_force(momenta& p, const gauge& links, const loop_action& action, double step,
                              const context& ctx) {
    cpu::add_gauge_force(p, links, action, step, ctx.comm());
  }
  static double action_difference(const gauge& after, const gauge& before, const loop_action& action,
                                  const context& ctx) {
    return cpu::action_difference(after, before, action, ctx.comm());
  }
  static void add_to_diagonal(blocks& a, double number) { cpu::add_to_diagonal(a, number); }
  static blocks commuting_product(const blocks& a, const blocks& b) { return cpu::commuting_product(a, b); }
  static double log_determinant_difference(const blocks& after, const blocks& before, int parity, const context& ctx) {
    return cpu::log_determinant_difference(after, before, parity, ctx.comm());
  }
  static void add_determinant_leaves(leaves& z, const fermion_action& action, const blocks& inverse, int parity,
                                     double factor, const context&) {
    cpu::add_determinant_leaves(z, action, inverse, parity, factor);
  }
  static void add_leaves(leaves& z, const fermion_action& action, const field<double>& x, const field<double>& y,
                         double factor, const context&) {
    cpu::add_leaves(z, action, x, y, factor);
  }
  static void add_hopping_force(momenta& p, const gauge& links, const fermion_action& action, const field<double>& x,
                                const field<double>& y, double step, const context&) {
    cpu::add_hopping_force(p, links, action, x, y, step);
  }
  static void add_clover_force(momenta& p, const gauge& links, const leaves& z, double step, const context& ctx) {
    cpu::add_clover_force(p, links, z, step, ctx.comm());
  }
  static plaquettes measure_plaquettes(const gauge& links, const context& ctx) {
    return cpu::measure_plaquettes(links, ctx.comm());
  }
  static double distance_from_su3(const gauge& links, const context& ctx) {
    return cpu::distance_from_su3(links, ctx.comm());
  }
};

}  // namespace

std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const context& ctx, const gauge_configuration& links,
                                                            const hybrid_action& action) {
  return std::make_unique<molecular_dynamics_of<cpu_hmc_backend>>(ctx, links, action);
}

}  // namespace plaquette::cpu
