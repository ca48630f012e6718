// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/rational_reference.hpp"

#include "common/algorithms/multishift_cg.hpp"
#include "common/algorithms/zolotarev.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"

namespace plaquette {

namespace {

using spinors = cpu::field<double>;

/// D_w^+ D_w = H^2.
struct normal_operator {
  const cpu::wilson_clover<double>& m;
  void apply(spinors& out, const spinors& in) const {
    spinors between = like(in);
    m.apply(between, in);
    m.apply_dagger(out, between);
  }
  void apply_dagger(spinors& out, const spinors& in) const { apply(out, in); }
};

}  // namespace

spinor_configuration sign_by_rational_function(const spinor_configuration& psi, const gauge_configuration& links,
                                               const fermion_action& action, double lowest, double highest,
                                               const communicator& world) {
  const cpu::context ctx(psi.geometry(), world);
  const cpu::wilson_clover<double> m(ctx, links, action);
  const zolotarev_function f = zolotarev_of_error(1e-12, lowest, highest);
  spinors b(ctx, {});
  import_column(b, 0, psi);
  std::vector<spinors> x;
  for (int l = 0; l < f.poles(); ++l) x.push_back(like(b));
  stopping_rule rule;
  rule.tolerance = 1e-12;
  rule.limit = 20000;
  multishift_cg(normal_operator{m}, x, b, f.shifts, rule);
  spinors sum = like(b), y = like(b);
  zero(sum);
  for (int l = 0; l < f.poles(); ++l)
    axpy(sum, uniform_scalars(b, f.weights[static_cast<std::size_t>(l)]), x[static_cast<std::size_t>(l)]);
  m.apply(y, sum);
  spinor_configuration out(psi.geometry());
  export_column(out, y, 0);
  // gamma_5 = diag(1, 1, -1, -1)
  for (std::int64_t site = 0; site < psi.geometry().local_volume(); ++site) {
    spinor<double>& s = out(psi.geometry().local_coordinate(site));
    for (int spin = 2; spin < spins; ++spin)
      for (int colour = 0; colour < colours; ++colour) s(spin, colour) = -s(spin, colour);
  }
  return out;
}

}  // namespace plaquette
