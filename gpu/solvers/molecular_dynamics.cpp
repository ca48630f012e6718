// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The twin of cpu_ref/solvers/molecular_dynamics.cpp.
#include <memory>
#include <span>

#include "common/hmc/molecular_dynamics_of.hpp"
#include "gpu/dirac/fermion_force.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/gauge/gauge_force.hpp"
#include "gpu/gauge/link_arithmetic.hpp"
#include "gpu/gauge/momenta.hpp"
#include "gpu/gauge/plaquette.hpp"
#include "gpu/gauge/sites_to_host.hpp"
#include "gpu/solvers.hpp"
#include "gpu/solvers/multigrid_backend.hpp"

namespace plaquette::gpu {

namespace {

/// See hmc_backend.
struct gpu_hmc_backend : multigrid_backend {
  using gauge = gauge_configuration;
  using momenta = gauge_momenta;
  using leaves = leaf_field;
  using blocks = clover_configuration;
  template <class T>
  using dirac_parts = gpu::dirac_parts<T>;
  /// Sums of the GPU library have the same bits on one process grid.
  struct exact_sums {
    explicit exact_sums(bool) {}
  };

  static gauge of_host(const plaquette::gauge_configuration& links, const context& ctx) {
    return import_links(ctx, links);
  }
  static plaquette::gauge_configuration to_host(const gauge& links, const context&) { return export_links(links); }
  static const links& shared(const gauge& u) { return u; }
  static gauge copy_of(const gauge& links) { return gpu::copy_of(links); }
  static void assign(gauge& to, const gauge& from) { gpu::assign(to, from); }
  static momenta make_momenta(const context& ctx) { return momenta(ctx); }
  static leaves make_leaves(const context& ctx) { return leaves(ctx); }
  static void clear(momenta& p) { gpu::clear(p); }
  static void clear(leaves& z) { gpu::clear(z); }
  static void combine(momenta& p, double a, const momenta& f, double b) { gpu::combine(p, a, f, b); }
  static void get(std::span<site_links> to, const gauge& from, std::span<const coordinate> at) {
    gpu::get_sites(to, from, at);
  }
  static void reunitarise(gauge& links, const context&) { gpu::reunitarise(links); }
  static void finish(const context& ctx) { ctx.queue().synchronize(); }

  static void move_links(gauge& links, const momenta& p, double step, const context&) {
    gpu::move_links(links, p, step);
  }
  static void refresh_momenta(momenta& p, std::uint64_t seed, std::uint64_t index, const context&) {
    gpu::refresh_momenta(p, seed, index);
  }
  static double kinetic_energy_difference(const momenta& after, const momenta& before, const context&) {
    return gpu::kinetic_energy_difference(after, before);
  }
  static force_size size_of_force(const momenta& f, const context&) { return gpu::size_of_force(f); }
  static void add_gauge_force(momenta& p, const gauge& links, const loop_action& action, double step, const context&) {
    gpu::add_gauge_force(p, links, action, step);
  }
  static double action_difference(const gauge& after, const gauge& before, const loop_action& action, const context&) {
    return gpu::action_difference(after, before, action);
  }
  /// Lets operators of up to three precisions follow links, and makes A and the odd half of A^-1. The even half of A^-1
  /// must not be read afterwards, nor A of odd sites in half precision. Returns false if a block of A^-1 is missing.
  static bool follow_at_once(const gauge& links, blocks& a, blocks& inverse, bool reads_all_in_single,
                             gpu::wilson_clover<double>& in_double, gpu::wilson_clover<float>* in_single,
                             gpu::wilson_clover<half>* in_half) {
    gpu::follow_at_once(links, in_double.hopping(), in_single != nullptr ? &in_single->hopping() : nullptr,
                        in_half != nullptr ? &in_half->hopping() : nullptr);
    diagonal_of_precisions all{.a = a, .inverse = inverse, .odd_sites_in_single = reads_all_in_single};
    if (in_single != nullptr)
      all.a_in_single = in_single->diagonal().memory(), all.inverse_in_single = in_single->inverse_diagonal().memory();
    if (in_half != nullptr)
      all.a_in_half = in_half->diagonal().memory(), all.inverse_in_half = in_half->inverse_diagonal().memory();
    return make_diagonal_of_precisions(all, links, in_double.action());
  }
  /// Makes the blocks NaN that follow_at_once does not set.
  template <class T>
  static void spoil_unread(const gpu::wilson_clover<T>& m, bool reads_all) {
    site_diagonal<T> a = m.diagonal(), inverse = m.inverse_diagonal();  // share memory
    inverse.spoil(0);
    if (!reads_all) a.spoil(1);
  }
  static void add_to_diagonal(blocks& a, double number) { gpu::add_to_diagonal(a, number); }
  static blocks commuting_product(const blocks& a, const blocks& b) { return gpu::commuting_product(a, b); }
  static double log_determinant_difference(const blocks& after, const blocks& before, int parity, const context&) {
    return gpu::log_determinant_difference(after, before, parity);
  }
  static void add_determinant_leaves(leaves& z, const fermion_action& action, const blocks& inverse, int parity,
                                     double factor, const context&) {
    gpu::add_determinant_leaves(z, action, inverse, parity, factor);
  }
  static void add_leaves(leaves& z, const fermion_action& action, const field<double>& x, const field<double>& y,
                         double factor, const context&) {
    gpu::add_leaves(z, action, x, y, factor);
  }
  static void add_hopping_force(momenta& p, const gauge& links, const fermion_action& action, const field<double>& x,
                                const field<double>& y, double step, const context&) {
    gpu::add_hopping_force(p, links, action, x, y, step);
  }
  static void add_clover_force(momenta& p, const gauge& links, const leaves& z, double step, const context&) {
    gpu::add_clover_force(p, links, z, step);
  }
  static plaquettes measure_plaquettes(const gauge& links, const context&) { return gpu::measure_plaquettes(links); }
  static double distance_from_su3(const gauge& links, const context&) { return gpu::distance_from_su3(links); }
};

}  // namespace

std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const context& ctx,
                                                            const plaquette::gauge_configuration& links,
                                                            const hybrid_action& action) {
  return std::make_unique<molecular_dynamics_of<gpu_hmc_backend>>(ctx, links, action);
}

}  // namespace plaquette::gpu
