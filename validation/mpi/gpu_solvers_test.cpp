// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Solves of the device library on process grids: the solution of one rank, as far as the residuals allow. The same
/// bits in every run, whichever way the halo and the sums take.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>
#include <string>

#include "common/krylov/mixed_solve.hpp"
#include "common/krylov/schur_solve.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "validation/support/device_ranks.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette::validation {
namespace {

using gpu::context;
using gpu::halo_policy;

const extents lattice{4, 6, 4, 8};

/// Heavy enough that |M^-1| is known on any configuration: the hops of two opposite directions have norm 2 together,
/// the hops of all directions 4 after the factor 1/2. |F| <= 1 in each of six planes, so that |C| <= 3 csw. Hence Re
/// <x, M x> >= (4 + m - 3 csw - 4) |x|^2.
constexpr double mass = 0.6, csw = 0.1, inverse_norm = 1.0 / (mass - 3.0 * csw);
/// |M| <= 4 + m + 3 csw + 4
constexpr double operator_norm = 8.0 + mass + 3.0 * csw;

/// Columns that need different numbers of iterations: a zero one leaves at once, rough ones early.
template <class T>
std::vector<double> tolerances() {
  const double tight = std::is_same_v<T, double> ? 1e-12 : 1e-6;
  return {tight, 1e-2, tight, std::sqrt(tight)};
}
constexpr int zero_column = 2;

context alone() { return context(lattice_geometry(lattice), communicator()); }

context on_grid(const extents& grid, halo_policy policy, bool overlap) {
  return part_of(lattice, grid, policy, overlap);
}

/// The first and the last of the grids: cut in few and in other directions.
std::vector<extents> some_grids(int ranks) {
  const auto all = legal_grids(lattice, ranks);
  return all.size() < 2 ? all : std::vector<extents>{all.front(), all.back()};
}

struct solved {
  std::vector<spinor_configuration> solutions;
  std::vector<double> residuals, source_norms, norms;  ///< |b - M x| / |b| in double by the textbook; |b|; |x|
  schur_report report;
};

double norm_of(const spinor_configuration& psi, const communicator& comm) {
  const auto sum = cpu::sum_over_sites<1>(
      psi.geometry(), comm, [&](const coordinate& x) -> std::array<double, 1> { return {norm2(psi(x))}; });
  return std::sqrt(sum[0]);
}

template <class Outer, class Inner>
solved solve_on(const context& ctx, solver_kind kind) {
  const auto links = cpu::random_configuration(ctx.geometry(), 5, ctx.comm());
  const fermion_action action = fermion_action::isotropic(mass, csw);
  const auto m = std::make_shared<const gpu::wilson_clover<Outer>>(ctx, links, action, reconstruct::twelve);
  const auto m_inner = std::make_shared<const gpu::wilson_clover<Inner>>(ctx, links, action, reconstruct::twelve);
  const gpu::schur_wilson_clover<Outer> schur(m, schur_kind::symmetric);
  const gpu::schur_wilson_clover<Inner> schur_inner(m_inner, schur_kind::symmetric);
  stopping_rule rule;
  rule.column_tolerances = tolerances<Outer>();
  rule.check_interval = 4;
  rule.limit = 500;
  gpu::field<Outer> b(ctx, {.columns = static_cast<int>(rule.column_tolerances.size())});
  gpu::random_spinors(b, 6);
  auto no_source = view(b, zero_column, 1);
  zero(no_source);
  auto x = like(b);
  zero(x);
  const mixed_precision_defaults defaults =
      default_parameters(precision_of<gpu::field<Outer>>, precision_of<gpu::field<Inner>>);
  const reliable_updates updates{.delta = defaults.delta, .longest_interval = defaults.longest_interval};
  solved result;
  result.report = schur_solve(schur, *m, x, b, rule,
                              [&](const auto& a, auto& even, const auto& source, const auto& part) {
                                return solve_mixed<gpu::field<Inner>>(kind, mixed_scheme::reliable, a, schur_inner,
                                                                      even, source, part, updates);
                              },
                              {.operator_norm = operator_norm});
  for (int c = 0; c < b.columns(); ++c) {
    spinor_configuration source(ctx.geometry());
    gpu::export_column(source, b, c);
    gpu::export_column(result.solutions.emplace_back(ctx.geometry()), x, c);
    result.source_norms.push_back(norm_of(source, ctx.comm()));
    result.norms.push_back(norm_of(result.solutions.back(), ctx.comm()));
    result.residuals.push_back(c == zero_column ? 0.0
                                                : cpu::textbook::relative_residual(source, result.solutions.back(),
                                                                                   links, action, ctx.comm()));
  }
  return result;
}

/// Solved by the first rank, for all.
template <class Outer, class Inner>
solved solve_alone(solver_kind kind) {
  const auto world = communicator::world();
  solved result;
  if (world.rank() == 0) result = solve_on<Outer, Inner>(alone(), kind);
  const std::size_t columns = tolerances<Outer>().size();
  result.solutions.resize(columns, spinor_configuration(lattice_geometry(lattice)));
  result.residuals.resize(columns);
  world.broadcast(std::as_writable_bytes(std::span(result.residuals)), 0);
  for (spinor_configuration& x : result.solutions)
    for (std::int64_t s = 0; s < x.geometry().local_volume(); ++s)
      world.broadcast(std::as_writable_bytes(std::span(&x.at_site(s), 1)), 0);
  return result;
}

/// By every rank: of the whole lattice.
double distance(const spinor_configuration& found, const spinor_configuration& expected, const communicator& comm) {
  const lattice_geometry& here = found.geometry();
  const auto sum = cpu::sum_over_sites<1>(here, comm, [&](const coordinate& x) -> std::array<double, 1> {
    return {norm2(found(x) - expected(here.to_global(x)))};
  });
  return std::sqrt(sum[0]);
}

void expect_same_bits(const solved& a, const solved& b, const std::string& what) {
  for (std::size_t c = 0; c < a.solutions.size(); ++c) {
    EXPECT_EQ(a.report.history[c], b.report.history[c]) << what << " column " << c;
    const lattice_geometry& here = a.solutions[c].geometry();
    bool same = true;
    for (std::int64_t s = 0; s < here.local_volume(); ++s) {
      const auto &u = a.solutions[c](here.local_coordinate(s)), &v = b.solutions[c](here.local_coordinate(s));
      for (int k = 0; k < spins * colours; ++k) same = same && u(k / 3, k % 3) == v(k / 3, k % 3);
    }
    EXPECT_TRUE(same) << what << " column " << c;
  }
}

template <class T>
constexpr double roundoff = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;

/// What rounding leaves of the residual of a solution in T, as miniapps/mixed-precision-solver/README.md has it. The
/// residual is rounded at each update, x is rounded itself, and so are M x and the difference.
template <class T>
double floor_of(const solved& s, std::size_t c) {
  const double additions = 3.0 + static_cast<double>(s.report.columns[c].updates.size());
  return std::sqrt(additions) * roundoff<T> * operator_norm * s.norms[c] / s.source_norms[c];
}

template <class Outer, class Inner>
void compare_with_one_rank(solver_kind kind) {
  const auto world = communicator::world();
  const solved expected = solve_alone<Outer, Inner>(kind);
  for (const extents& grid : some_grids(world.size())) {
    const solved found = solve_on<Outer, Inner>(on_grid(grid, halo_policy::peer, true), kind);
    expect_same_bits(found, solve_on<Outer, Inner>(on_grid(grid, halo_policy::staged, false), kind), to_string(grid));
    ASSERT_TRUE(found.report.all_converged()) << to_string(grid);
    const std::vector<double> requested = tolerances<Outer>();
    for (std::size_t c = 0; c < requested.size(); ++c) {
      const std::string where = "grid " + to_string(grid) + " column " + std::to_string(c);
      const double apart = distance(found.solutions[c], expected.solutions[c], world);
      if (c == zero_column) {
        EXPECT_TRUE(apart == 0.0) << where;
        EXPECT_EQ(found.report.columns[c].iterations, 0) << where;
        continue;
      }
      const double b = found.source_norms[c], floor = floor_of<Outer>(found, c);
      EXPECT_TRUE(found.residuals[c] <= requested[c] + floor) << where << ": " << found.residuals[c];
      // M (x - x') = r' - r; the two residuals are known to the rounding of the textbook.
      const double known = 4.0 * 0x1p-53 * operator_norm * found.norms[c];
      EXPECT_TRUE(apart <= inverse_norm * ((found.residuals[c] + expected.residuals[c]) * b + known))
          << where << ": " << apart << " of " << found.norms[c];
      // The bound means something: the solutions agree to the requested tolerance.
      EXPECT_TRUE(apart <= inverse_norm * operator_norm * 2.0 * (requested[c] + floor) * found.norms[c]) << where;
      if (!std::is_same_v<Outer, Inner>) {
        EXPECT_FALSE(found.report.columns[c].updates.empty()) << where;
      }
    }
    // The columns left the batch one after the other.
    EXPECT_LT(found.report.columns[1].iterations, found.report.columns[3].iterations) << to_string(grid);
    EXPECT_LT(found.report.columns[3].iterations, found.report.columns[0].iterations) << to_string(grid);
  }
}

TEST(DeviceSolveOnRanks, GivesTheSolutionOfOneRankInDouble) {
  compare_with_one_rank<double, double>(solver_kind::bicgstab);
}
TEST(DeviceSolveOnRanks, GivesTheSolutionOfOneRankInDoubleSingle) {
  compare_with_one_rank<double, float>(solver_kind::bicgstab);
}
TEST(DeviceSolveOnRanks, GivesTheSolutionOfOneRankInDoubleHalf) {
  compare_with_one_rank<double, half>(solver_kind::bicgstab);
}
TEST(DeviceSolveOnRanks, GivesTheSolutionOfOneRankInSingle) {
  compare_with_one_rank<float, float>(solver_kind::bicgstab);
}
TEST(DeviceSolveOnRanks, GivesTheSolutionOfOneRankInSingleHalf) {
  compare_with_one_rank<float, half>(solver_kind::bicgstab);
}
TEST(DeviceSolveOnRanks, RepeatsItsBits) {
  const context ctx = on_grid(some_grids(communicator::world().size()).back(), halo_policy::automatic, true);
  const solved first = solve_on<float, half>(ctx, solver_kind::bicgstab);
  expect_same_bits(solve_on<float, half>(ctx, solver_kind::bicgstab), first, "again");
}
TEST(DeviceSolveOnRanks, GivesTheSolutionOfOneRankWithTheAdjoint) {
  compare_with_one_rank<double, half>(solver_kind::cgnr);
}

}  // namespace
}  // namespace plaquette::validation
