// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/gpu_solver_bench.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "common/algebra/largest.hpp"
#include "common/app/timing.hpp"
#include "common/krylov/bicgstab.hpp"
#include "common/krylov/precision.hpp"
#include "common/krylov/reliable_solvers.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 26;
constexpr int counted_solves = 2;
constexpr double trial_seconds = 0.05;

template <class T>
std::string precision_name() {
  return gpu::is_half<T> ? "half" : sizeof(gpu::real_of<T>) == 8 ? "double" : "single";
}

template <class T>
using operator_of = gpu::schur_wilson_clover<T>;

template <class T>
operator_of<T> make_operator(gpu_lattice& lattice, const gpu_row& row, const gpu_system& system) {
  return {std::make_shared<const gpu::wilson_clover<T>>(lattice.get_context(), lattice.links(),
                                                        fermion_action::isotropic(system.mass, system.csw),
                                                        static_cast<reconstruct>(row.reals)),
          gpu::schur_kind::symmetric};
}

/// Seconds of one iteration of BiCGstab on fields like `x` by the rates of its parts.
template <class T>
double predicted_iteration(const operator_of<T>& a, const gpu::field<T>& x, double copy_gbytes_per_s) {
  const gpu::queue& q = x.get_context().queue();
  auto p = like(x), r = like(x), v = like(x), t = like(x), y = like(x), q0 = like(x);
  gpu::random_spinors(p, seed);
  for (auto* f : {&r, &v, &t, &y, &q0}) copy(*f, p);
  const auto number = make_scalars(x, std::vector<complex<double>>(static_cast<std::size_t>(x.columns()), {0.1, 0.0}));
  const auto minus = -number;
  const auto seconds = [&](auto&& launch) { return gpu::seconds_a_launch_over(q, trial_seconds, launch); };
  const double application = seconds([&] { a.apply(t, p); });
  // Alternately with both signs, so that nothing grows.
  const double first_update = 0.5 * seconds([&] {
                                axpy_dot_norm2(r, number, v, q0);
                                axpy_dot_norm2(r, minus, v, q0);
                              });
  const double second_update = 0.5 * seconds([&] {
                                 bicgstab_step(y, r, p, number, number, number, t, v);
                                 bicgstab_step(y, r, p, minus, minus, number, t, v);
                               });
  const double bytes_of_vector = 0.5 * static_cast<double>(x.get_context().geometry().local_volume()) * x.columns() *
                                 (24.0 * bytes_of_real(precision_name<T>()) + (gpu::is_half<T> ? 4.0 : 0.0));
  // <r0, A p>, <A s, s> and |A s|^2 at the bandwidth of the copy. Where the kernels of A make them, r0 is read in
  // addition to what A reads. Each sum leaves three numbers for four sites, which another kernel reads. Otherwise it
  // reads a vector for each.
  const fermion_action& action = a.full().action();
  const bool in_kernels = a.full().hopping().makes_sums_in_kernels(action.has_clover());
  const double bytes_of_runs =
      2.0 * 2.0 * 3.0 * 8.0 / 4.0 * 0.5 * static_cast<double>(x.get_context().geometry().local_volume()) * x.columns();
  const double bytes_of_sums = in_kernels ? bytes_of_vector + bytes_of_runs : 2.0 * bytes_of_vector;
  return 2.0 * application + first_update + second_update + bytes_of_sums / (1e9 * copy_gbytes_per_s);
}

/// |b - S x| / |b| of the worst column, by the CPU's operator in double on the links of the host.
template <class Outer>
double worst_residual(gpu_lattice& lattice, const gpu_system& system, const gpu::field<Outer>& x,
                      const gpu::field<Outer>& b) {
  const lattice_geometry& geometry = lattice.get_context().geometry();
  const cpu::context ctx(geometry, lattice.get_context().comm());
  const cpu::schur_wilson_clover<double> s(
      std::make_shared<const cpu::wilson_clover<double>>(ctx, lattice.links_on_host(),
                                                         fermion_action::isotropic(system.mass, system.csw)),
      schur_kind::symmetric);
  cpu::field<double> solution(ctx, {spins, colours, site_subset::even, 1}), source = like(solution), r = like(solution);
  spinor_configuration column(geometry);
  double worst = 0.0;
  for (int c = 0; c < x.columns(); ++c) {
    gpu::export_column(column, x, c);
    cpu::import_column(solution, 0, column);
    gpu::export_column(column, b, c);
    cpu::import_column(source, 0, column);
    const double relative = std::sqrt(residual(r, s, solution, source)[0].re / norm2(source)[0].re);
    keep_largest(worst, relative);
  }
  return worst;
}

/// The largest |x| / |b| of a column.
template <class Outer>
double largest_ratio(const gpu::field<Outer>& x, const gpu::field<Outer>& b) {
  const auto xx = host_values(norm2(x)), bb = host_values(norm2(b));
  double largest = 0.0;
  for (std::size_t c = 0; c < xx.size(); ++c) largest = std::max(largest, std::sqrt(xx[c].re / bb[c].re));
  return largest;
}

template <class Outer, class Inner>
solve_report solve_once(const operator_of<Outer>& outer, const operator_of<Inner>& inner, gpu::field<Outer>& x,
                        const gpu::field<Outer>& b, const stopping_rule& rule, double delta) {
  gpu::zero(x);
  if constexpr (std::is_same_v<Outer, Inner>)
    return bicgstab(outer, x, b, rule);
  else
    return reliable_bicgstab<gpu::field<Inner>>(outer, inner, x, b, rule, reliable_updates{.delta = delta});
}

template <class Outer, class Inner>
gpu_solve time_in(gpu_lattice& lattice, const gpu_row& row, const gpu_system& system, verification& checks) {
  const gpu::context& ctx = lattice.get_context();
  const auto outer = make_operator<Outer>(lattice, row, system);
  // Of uniform precision the second one is the first.
  const auto inner = [&] {
    if constexpr (std::is_same_v<Outer, Inner>)
      return outer;
    else
      return make_operator<Inner>(lattice, row, system);
  }();
  gpu::field<Outer> b(ctx, {spins, colours, site_subset::even, row.rhs});
  gpu::random_spinors(b, seed);
  auto x = like(b);

  gpu_solve result;
  result.solution_precision = precision_name<Outer>();
  result.inner_precision = precision_name<Inner>();
  result.tolerance = sizeof(gpu::real_of<Outer>) == 8 ? system.tolerance : 1e-6;
  stopping_rule rule;
  rule.tolerance = result.tolerance;
  rule.check_interval = 10;
  rule.check_lag = 2;
  rule.guess_is_zero = true;
  const auto seconds_of = [&](auto& solution, const auto& source, solve_report& report) {
    ctx.queue().synchronize();
    const stopwatch watch;
    report = solve_once<Outer, Inner>(outer, inner, solution, source, rule, system.delta);
    ctx.queue().synchronize();
    return watch.seconds();
  };
  stopping_rule short_rule = rule;
  short_rule.limit = 20;
  // Tunes, and takes memory; a batch loses its columns on the way, and is tuned for those numbers of them too.
  solve_once<Outer, Inner>(outer, inner, x, b, row.rhs > 1 ? rule : short_rule, system.delta);
  solve_report report;
  std::vector<double> seconds;
  for (int i = 0; i < counted_solves; ++i) {
    // A source of its own for each solve, and nothing of the last solution.
    scale(b, scaling::phases(b, i));
    scale(x, make_scalars(x, std::vector<complex<double>>(static_cast<std::size_t>(row.rhs), scaling::not_a_number)));
    seconds.push_back(seconds_of(x, b, report));
  }
  result.seconds = statistics(seconds);
  result.iterations = report.iterations();
  for (const column_report& column : report.columns)
    result.updates = std::max(result.updates, static_cast<int>(column.updates.size()));
  result.residual = worst_residual(lattice, system, x, b);
  const double sites = 0.5 * static_cast<double>(ctx.geometry().local_volume());
  result.tflops =
      1e-12 * static_cast<double>(report.column_applications) * outer.flops_per_site() * sites / result.seconds.median;
  auto low = like(b, row.rhs, as<gpu::field<Inner>>);
  result.predicted_seconds = result.iterations * predicted_iteration(inner, low, system.copy_gbytes_per_s);
  if (row.rhs > 1) {
    // Each on its own: columns differ in the iterations that they need.
    auto alone = like(b, 1), x_alone = like(b, 1);
    copy(alone, view(b, 0, 1));
    solve_once<Outer, Inner>(outer, inner, x_alone, alone, short_rule, system.delta);
    double one_by_one = 0.0;
    for (int n = 0; n < row.rhs; ++n) {
      copy(alone, view(b, n, 1));
      one_by_one += seconds_of(x_alone, alone, report);
    }
    result.batch_gain = one_by_one / result.seconds.median;
  }
  // The iterated residual of uniform precision parts from the true one by rounding; a reliable update measures the
  // true one.
  // And the operator that solved rounds what the CPU's does not: u |S| |x| / |b| with |S| below 2, some four times.
  const double u = 0.5 * std::numeric_limits<gpu::real_of<Outer>>::epsilon();
  const double rounding = 8.0 * u * largest_ratio(x, b);
  checks.add(row.name, result.residual, (std::is_same_v<Outer, Inner> ? 2.0 : 1.01) * result.tolerance + rounding);
  return result;
}

}  // namespace

gpu_solve time_solve(gpu_lattice& lattice, const gpu_row& row, const gpu_system& system, verification& checks) {
  if (row.operation == "double") return time_in<double, double>(lattice, row, system, checks);
  if (row.operation == "double-single") return time_in<double, float>(lattice, row, system, checks);
  if (row.operation == "double-half") return time_in<double, half>(lattice, row, system, checks);
  return time_in<float, half>(lattice, row, system, checks);
}

}  // namespace plaquette::bench
