// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/batch_bench.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/app/timing.hpp"
#include "common/krylov/bicgstab.hpp"
#include "common/krylov/groups.hpp"
#include "common/krylov/precision.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 21;
constexpr int bicgstab_vectors = 8;  // x, r, r0, q0, p, v, t and the operator's own

/// The largest difference of a true relative residual, by the operator in double, from the iterated one.
template <class T>
double distance_of_residuals(const cpu::schur_wilson_clover<double>& s, const cpu::field<T>& x, const cpu::field<T>& b,
                             const std::vector<double>& iterated) {
  auto solution = like(x, 1, as<cpu::field<double>>), source = like(solution), r = like(solution);
  double largest = 0.0;
  for (int c = 0; c < x.columns(); ++c) {
    convert(solution, view(x, c, 1));
    convert(source, view(b, c, 1));
    const double found = std::sqrt(residual(r, s, solution, source)[0].re / norm2(source)[0].re);
    const double difference = std::abs(found - iterated[static_cast<std::size_t>(c)]);
    keep_largest(largest, difference);
  }
  return largest;
}

template <class T>
batch_gain bench(const extents& lattice, int threads, cpu::instruction_set isa, int samples, verification& checks,
                 const std::function<bool()>& should_stop) {
  const lattice_geometry geometry(lattice);
  const communicator comm;
  const cpu::context ctx(geometry, comm, threads, isa);
  const auto links = cpu::weak_field_configuration(geometry, 0.2, seed, comm);
  const auto m = std::make_shared<const cpu::wilson_clover<T>>(ctx, links, fermion_action::isotropic(-0.1, 1.0));
  const cpu::schur_wilson_clover<T> schur(m, schur_kind::symmetric);
  const cpu::schur_wilson_clover<double> judge(
      std::make_shared<const cpu::wilson_clover<double>>(ctx, links, m->action()), schur_kind::symmetric);

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
  rule.check_interval = 1;
  rule.interrupted = should_stop;

  std::vector<double> batch, one_by_one;
  double difference = 0.0;
  auto x = like(b), x_alone = like(b);
  std::vector<double> of_batch(static_cast<std::size_t>(result.rhs)), of_one(of_batch);
  for (int sample = 0; sample < samples; ++sample) {
    scale(b, scaling::phases(b, sample));  // a source of its own for each solve
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
      if (should_stop && should_stop()) return result;
      const auto n = static_cast<std::size_t>(c);
      of_one[n] = report.columns[0].residual;
      of_batch[n] = together.columns[n].residual;
      difference = std::max(difference, std::abs(of_batch[n] - of_one[n]));
      const int from[] = {0}, to[] = {c};
      copy_columns(x_alone, to, x_c, from);
    }
    one_by_one.push_back(sum);
  }
  result.batch_seconds = statistics(batch).median;
  result.one_by_one_seconds = statistics(one_by_one).median;
  const std::string name = to_string(lattice) + (result.single_precision ? ", single" : ", double");
  checks.add("BiCGstab batch = one by one, " + name, difference, 0.0);
  // The iterated residual parts from the true one by a few roundings an iteration, each u |S| |x| / |b| with |S| below
  // 2; |x| stays below 10 |b| at this mass.
  const double tolerance = 0.5 * std::numeric_limits<T>::epsilon() * 2.0 * 10.0 * result.iterations;
  checks.add("BiCGstab batch, " + name + ", residual of the last timed solve",
             distance_of_residuals(judge, x, b, of_batch), tolerance);
  checks.add("BiCGstab one by one, " + name + ", residual of the last timed solves",
             distance_of_residuals(judge, x_alone, b, of_one), tolerance);
  return result;
}

}  // namespace

batch_gain bench_batch(const extents& lattice, bool single_precision, int threads, cpu::instruction_set isa,
                       int samples, verification& checks, const std::function<bool()>& should_stop) {
  return single_precision ? bench<float>(lattice, threads, isa, samples, checks, should_stop)
                          : bench<double>(lattice, threads, isa, samples, checks, should_stop);
}

}  // namespace plaquette::bench
