// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/solvers/reference_sign.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "common/approximation/minimax.hpp"
#include "common/approximation/zolotarev.hpp"
#include "common/krylov/multishift_cg.hpp"
#include "common/krylov/squared_map.hpp"
#include "common/lattice/ghosts.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {

namespace {

using spinors = field<double>;

/// D_w^+ D_w = H^2.
struct normal_operator {
  const wilson_clover<double>& m;
  void apply(spinors& out, const spinors& in) const {
    spinors between = like(in);
    m.apply(between, in);
    m.apply_dagger(out, between);
  }
  void apply_dagger(spinors& out, const spinors& in) const { apply(out, in); }
};

/// gamma_5 D_w psi from D_w psi: gamma_5 = diag(1, 1, -1, -1).
spinor_configuration times_gamma5(const spinors& y, const lattice_geometry& geometry) {
  spinor_configuration out(geometry);
  export_column(out, y, 0);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    spinor<double>& s = out(geometry.local_coordinate(site));
    for (int spin = 2; spin < spins; ++spin)
      for (int colour = 0; colour < colours; ++colour) s(spin, colour) = -s(spin, colour);
  }
  return out;
}

}  // namespace

spinor_configuration sign_by_rational_function(const spinor_configuration& psi, const gauge_configuration& links,
                                               const fermion_action& action, double lowest, double highest,
                                               const communicator& world, const std::function<bool()>& interrupted) {
  const context ctx(psi.geometry(), world);
  const wilson_clover<double> m(ctx, links, action);
  const zolotarev_function f = zolotarev_of_error(1e-12, lowest, highest);
  spinors b(ctx, {});
  import_column(b, 0, psi);
  std::vector<spinors> x;
  for (int l = 0; l < f.poles(); ++l) x.push_back(like(b));
  stopping_rule rule;
  rule.tolerance = 1e-12;
  rule.limit = 20000;
  rule.interrupted = interrupted;
  multishift_cg(normal_operator{m}, x, b, f.shifts, rule);
  spinors sum = like(b), y = like(b);
  zero(sum);
  for (int l = 0; l < f.poles(); ++l)
    axpy(sum, uniform_scalars(b, f.weights[static_cast<std::size_t>(l)]), x[static_cast<std::size_t>(l)]);
  m.apply(y, sum);
  return times_gamma5(y, psi.geometry());
}

spinor_configuration sign_by_chebyshev_series(const spinor_configuration& psi, const gauge_configuration& links,
                                              const fermion_action& action, double lowest, double highest, double delta,
                                              const communicator& world, const std::function<bool()>& interrupted) {
  const context ctx(psi.geometry(), world);
  const wilson_clover<double> m(ctx, links, action);
  const normal_operator square{m};
  const minimax_polynomial p = minimax_of_error(delta, std::pow(lowest / highest, 2));
  const squared_map z = squared_map::of_range(lowest, highest);
  spinors before(ctx, {});
  import_column(before, 0, psi);
  spinors now = like(before), next = like(before), sum = like(before);
  const auto step = [&](double factor, const spinors& in) {  // next = factor z(H^2) in
    square.apply(next, in);
    scale(next, uniform_scalars(next, factor * z.alpha));
    axpy(next, uniform_scalars(next, -factor * z.alpha * z.shift), in);
  };
  copy(sum, before);
  scale(sum, uniform_scalars(sum, p.coefficients[0]));
  step(1.0, before);
  std::swap(now, next);
  for (int k = 1;; ++k) {
    axpy(sum, uniform_scalars(sum, p.coefficients[static_cast<std::size_t>(k)]), now);
    if (k == p.degree() || (interrupted && interrupted())) break;
    step(2.0, now);
    axpy(next, uniform_scalars(next, -1.0), before);
    std::swap(before, now);
    std::swap(now, next);
  }
  m.apply(next, sum);
  scale(next, uniform_scalars(next, 1.0 / highest));
  return times_gamma5(next, psi.geometry());
}

double sign_off_from_reference(plaquette::overlap_solver& solver, const sign_handle& sign,
                               const gauge_configuration& links, const fermion_action& action, double lowest,
                               double highest, double delta, double finer, const communicator& world,
                               const std::function<bool()>& interrupted) {
  const sign_of_rest rest = solver.apply_to_rest(sign, solver.random_vectors(1), delta);
  spinor_configuration psi(links.geometry()), image(links.geometry());
  rest.x->get(0, psi);
  rest.image->get(0, image);
  exchange_ghosts(psi, world);
  return distance(image, sign_by_chebyshev_series(psi, links, action, lowest, highest, finer, world, interrupted),
                  world);
}

double distance(const spinor_configuration& a, const spinor_configuration& b, const communicator& world) {
  const auto sum = sum_over_sites<1>(
      a.geometry(), world, [&](const coordinate& x) -> std::array<double, 1> { return {norm2(a(x) + -1.0 * b(x))}; });
  return std::sqrt(sum[0]);
}

}  // namespace plaquette::cpu
