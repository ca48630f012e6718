// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/precision_bench.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/app/timing.hpp"
#include "common/krylov/bicgstab.hpp"
#include "common/krylov/precision.hpp"
#include "common/krylov/reliable_solvers.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 22;

template <class T>
cpu::schur_wilson_clover<T> schur_operator(const cpu::context& ctx, const gauge_configuration& links) {
  const auto m = std::make_shared<const cpu::wilson_clover<T>>(ctx, links, fermion_action::isotropic(-0.1, 1.0),
                                                               reconstruct::twelve);
  return {m, schur_kind::symmetric};
}

double relative_residual(const cpu::schur_wilson_clover<double>& a, const cpu::field<double>& x,
                         const cpu::field<double>& b) {
  auto r = like(b);
  const auto rr = residual(r, a, x, b);
  return std::sqrt(rr[0].re / norm2(b)[0].re);
}

}  // namespace

precision_gain bench_precision(const extents& lattice, int threads, cpu::instruction_set isa, int samples,
                               verification& checks, const std::function<bool()>& should_stop) {
  const lattice_geometry geometry(lattice);
  const communicator comm;
  const cpu::context ctx(geometry, comm, threads, isa);
  cpu::field<double> b(ctx, {spins, colours, site_subset::even, 1});
  cpu::import_column(b, 0, cpu::random_spinor(geometry, seed, 0, comm));
  const auto make = [&] {
    const auto links = cpu::weak_field_configuration(geometry, 0.2, seed, comm);
    return std::pair{schur_operator<double>(ctx, links), schur_operator<half>(ctx, links)};
  };
  const auto [outer, inner] = make();

  precision_gain result;
  result.lattice = lattice;
  result.tolerance = 1e-10;
  result.double_seconds = result.mixed_seconds = std::numeric_limits<double>::max();
  stopping_rule rule;
  rule.tolerance = result.tolerance;
  rule.limit = 1000;
  rule.interrupted = should_stop;
  auto x = like(b);
  double uniform_residual = 0.0, mixed_residual = 0.0;
  for (int sample = 0; sample < samples; ++sample) {
    scale(b, scaling::phases(b, sample));
    zero(x);
    const stopwatch uniform;
    result.double_iterations = bicgstab(outer, x, b, rule).columns[0].iterations;
    result.double_seconds = std::min(result.double_seconds, uniform.seconds());
    uniform_residual = relative_residual(outer, x, b);
    zero(x);
    const stopwatch mixed;
    result.mixed_iterations =
        reliable_bicgstab<cpu::field<half>>(outer, inner, x, b, rule, reliable_updates{.delta = 1e-2})
            .columns[0]
            .iterations;
    result.mixed_seconds = std::min(result.mixed_seconds, mixed.seconds());
    mixed_residual = relative_residual(outer, x, b);
    if (should_stop && should_stop()) return result;
  }
  // The iterated residual of uniform double parts from the true one by rounding; a reliable update measures the true
  // one.
  checks.add("double solve, " + to_string(lattice), uniform_residual, 2.0 * result.tolerance);
  checks.add("double-half solve, " + to_string(lattice), mixed_residual, result.tolerance);
  return result;
}

}  // namespace plaquette::bench
