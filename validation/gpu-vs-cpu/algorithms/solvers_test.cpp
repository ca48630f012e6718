// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The solvers, written once, over the fields of the CUDA library: the same steps and the same solutions as on the CPU.
#include <gtest/gtest.h>

#include "common/krylov/defect_correction.hpp"
#include "common/krylov/multishift_cg.hpp"
#include "common/krylov/reliable_solvers.hpp"
#include "common/krylov/solver_choice.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"

namespace plaquette::validation {
namespace {

/// A x = d x + q <q, x> + e w <w, x>, with fixed q and w and columns' own d: made of vector operations alone. With e =
/// 0 Hermitian, with positive d positive.
template <class Field>
struct two_projectors {
  typename Field::scalars d, e;
  Field q, w;

  void add(Field& out, const Field& in, bool dagger) const {
    zero(out);
    axpy(out, dagger ? conj(d) : d, in);
    axpy(out, dot(q, in), q);
    axpy(out, (dagger ? conj(e) : e) * dot(w, in), w);
  }
  void apply(Field& out, const Field& in) const { add(out, in, false); }
  void apply_dagger(Field& out, const Field& in) const { add(out, in, true); }
};

/// The same operator for a batch of any number of columns, each like the first.
template <class Field>
struct same_in_every_column {
  two_projectors<Field> full;

  void run(Field& out, const Field& in, bool dagger) const {
    const int n = in.columns();
    std::vector<int> keep;
    for (int c = 0; c < n; ++c) keep.push_back(c);
    const two_projectors<Field> op{compacted(full.d, keep), compacted(full.e, keep), view(full.q, 0, n),
                                   view(full.w, 0, n)};
    op.add(out, in, dagger);
  }
  void apply(Field& out, const Field& in) const { run(out, in, false); }
  void apply_dagger(Field& out, const Field& in) const { run(out, in, true); }
};

constexpr int columns = 4;
const field_shape shape{4, 3, site_subset::even, columns};

/// The operator on one side; q and w have the same numbers in every column.
template <class Field, class Context>
same_in_every_column<Field> make_operator(const Context& ctx, complex<double> e) {
  Field q(ctx, shape), w(ctx, shape);
  const std::size_t sites = sites_of(ctx.geometry(), shape);
  for (int c = 0; c < columns; ++c) {
    site_numbers qn = random_numbers(sites, 12, 5, 0), wn = random_numbers(sites, 12, 5, 1);
    double q_norm = 0.0, w_norm = 0.0;
    for (const auto& z : qn) q_norm += norm2(z);
    for (const auto& z : wn) w_norm += norm2(z);
    for (auto& z : qn) z = (1.0 / std::sqrt(q_norm)) * z;
    for (auto& z : wn) z = (1.0 / std::sqrt(w_norm)) * z;
    set_numbers(q, c, qn), set_numbers(w, c, wn);
  }
  const std::vector<complex<double>> d(columns, {1.5, 0.0}), es(columns, e);
  return {{make_scalars(q, d), make_scalars(q, es), q, w}};
}

/// Returns the relative residual of x as a solution, |b - A x| / |b|, by the CPU in double.
template <class T>
double residual_by_cpu(const twin_machines<double>& machines, const gpu::field<T>& x, std::uint64_t seed,
                       complex<double> e) {
  using Field = cpu::field<double>;
  const auto a = make_operator<Field>(machines.cpu, e);
  Field solution(machines.cpu, shape), out(machines.cpu, shape);
  const twins<double> b(machines, shape, seed);
  for (int c = 0; c < columns; ++c) set_numbers(solution, c, numbers_of(x, c));
  a.apply(out, solution);
  Field r = like(out);
  const auto rr = host_values(subtract_norm2(r, b.on_cpu, out)), bb = host_values(norm2(b.on_cpu));
  double worst = 0.0;
  for (std::size_t c = 0; c < columns; ++c) worst = larger_magnitude(worst, std::sqrt(rr[c].re / bb[c].re));
  return worst;
}

TEST(SolversOnTheDevice, FindWhatTheCpuFindsInAsManySteps) {
  const twin_machines<double> machines({4, 6, 2, 8});
  for (const solver_kind kind : {solver_kind::bicgstab, solver_kind::cgne, solver_kind::cgnr, solver_kind::gcr})
    for (const complex<double> e : {complex<double>{}, complex<double>{0.4, 0.9}}) {
      SCOPED_TRACE(name(kind));
      const twins<double> b(machines, shape, 17);
      twins<double> x(machines, shape);
      zero(x.on_cpu), zero(x.on_gpu);
      const stopping_rule rule{.tolerance = 1e-11, .limit = 50, .check_interval = 2};
      const auto on_cpu = solve(kind, make_operator<cpu::field<double>>(machines.cpu, e), x.on_cpu, b.on_cpu, rule);
      const auto on_gpu = solve(kind, make_operator<gpu::field<double>>(machines.gpu, e), x.on_gpu, b.on_gpu, rule);
      EXPECT_TRUE(on_gpu.all_converged());
      EXPECT_EQ(on_gpu.iterations(), on_cpu.iterations());
      // The recomputed residual differs from the iterated one by roundings of a few operations on numbers of norm 1
      // to 3.
      EXPECT_TRUE(residual_by_cpu(machines, x.on_gpu, 17, e) <= 1e-11 + 1e-14);
    }
}

template <class Inner>
void expect_mixed_solution(double tolerance) {
  const twin_machines<double> machines({2, 4, 6, 10});
  const complex<double> e{0.4, 0.9};
  const twins<double> b(machines, shape, 19);
  gpu::field<double> x(machines.gpu, shape);
  zero(x);
  const auto report = reliable_bicgstab<gpu::field<Inner>>(
      make_operator<gpu::field<double>>(machines.gpu, e), make_operator<gpu::field<Inner>>(machines.gpu, e), x,
      b.on_gpu, stopping_rule{.tolerance = tolerance, .limit = 100, .check_interval = 1}, reliable_updates{});
  EXPECT_TRUE(report.all_converged());
  EXPECT_TRUE(residual_by_cpu(machines, x, 19, e) <= tolerance + 1e-14);
}

TEST(SolversOnTheDevice, MixTheirPrecisions) {
  expect_mixed_solution<float>(1e-11);
  expect_mixed_solution<half>(1e-11);
}

TEST(SolversOnTheDevice, CompactTheBatchWhenColumnsConverge) {
  const twin_machines<double> machines({4, 6, 2, 8});
  const twins<double> b(machines, shape, 23);
  gpu::field<double> x(machines.gpu, shape);
  zero(x);
  // Column 1 is loose, so that it leaves first; the others still find their solutions.
  const stopping_rule rule{
      .tolerance = 1e-11, .limit = 50, .check_interval = 1, .column_tolerances = {1e-11, 0.3, 1e-11, 1e-11}};
  const auto report = bicgstab(make_operator<gpu::field<double>>(machines.gpu, {0.4, 0.9}), x, b.on_gpu, rule);
  EXPECT_TRUE(report.all_converged());
  EXPECT_LT(report.columns[1].iterations, report.columns[0].iterations);
  const auto strict = residual_by_cpu(machines, x, 23, {0.4, 0.9});
  EXPECT_TRUE(strict <= 0.3);
  EXPECT_TRUE(report.columns[0].residual <= 1e-11);
}

}  // namespace
}  // namespace plaquette::validation
