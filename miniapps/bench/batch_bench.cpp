// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/batch_bench.hpp"

#include <algorithm>
#include <cmath>

#include "common/algorithms/bicgstab.hpp"
#include "common/algorithms/groups.hpp"
#include "common/app/timing.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 21;
constexpr int bicgstab_vectors = 8;  // x, r, r0, q0, p, v, t and the operator's own

template <class T>
batch_gain bench(const extents& lattice, int threads, cpu::instruction_set isa, int samples, verification& checks) {
  const lattice_geometry geometry(lattice);
  const communicator comm;
  const cpu::context ctx(geometry, comm, threads, isa);
  const auto links = cpu::weak_field_configuration(geometry, 0.2, seed, comm);
  const auto m = std::make_shared<const cpu::wilson_clover<T>>(ctx, links, fermion_action::isotropic(-0.1, 1.0));
  const cpu::schur_wilson_clover<T> schur(m, cpu::schur_kind::symmetric);

  batch_gain result;
  result.lattice = lattice;
  result.single_precision = sizeof(T) == sizeof(float);
  result.iterations = 40;
  cpu::field<T> b(ctx, {spins, colours, site_subset::even, result.rhs});
  for (int c = 0; c < result.rhs; ++c)
    cpu::import_column(b, c, cpu::random_spinor(geometry, seed, static_cast<std::uint64_t>(c), comm));
  stopping_rule rule;
  rule.tolerance = 0.0;  // no column leaves: the same work both ways
  rule.limit = result.iterations;
  rule.look_every = 1;

  std::vector<double> batch, one_by_one;
  double difference = 0.0;
  auto x = like(b);
  for (int sample = 0; sample < samples; ++sample) {
    zero(x);
    const stopwatch watch;
    const solve_report together = solve_in_groups(cpu::columns_at_once(b, bicgstab_vectors), x, b, rule,
                                                  [&](auto& x_part, const auto& b_part, const stopping_rule& part) {
                                                    return bicgstab(schur, x_part, b_part, part);
                                                  });
    batch.push_back(watch.seconds());
    double sum = 0.0;
    for (int c = 0; c < result.rhs; ++c) {
      const auto b_c = view(b, c, 1);
      auto alone = like(b_c), x_c = like(b_c);
      copy(alone, b_c);
      zero(x_c);
      const stopwatch single_watch;
      const solve_report report = bicgstab(schur, x_c, alone, rule);
      sum += single_watch.seconds();
      const double expected = report.columns[0].residual;
      difference = std::max(difference, std::abs(together.columns[static_cast<std::size_t>(c)].residual - expected));
    }
    one_by_one.push_back(sum);
  }
  result.batch_seconds = statistics(batch).median;
  result.one_by_one_seconds = statistics(one_by_one).median;
  checks.add("BiCGstab batch = one by one, " + to_string(lattice), difference, 0.0);
  return result;
}

}  // namespace

batch_gain bench_batch(const extents& lattice, bool single_precision, int threads, cpu::instruction_set isa,
                       int samples, verification& checks) {
  return single_precision ? bench<float>(lattice, threads, isa, samples, checks)
                          : bench<double>(lattice, threads, isa, samples, checks);
}

}  // namespace plaquette::bench
