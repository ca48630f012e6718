// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A solve on several ranks gives the solution of one rank, and the independent residual agrees there too.
#include <gtest/gtest.h>

#include "common/krylov/bicgstab.hpp"
#include "common/krylov/schur_solve.hpp"
#include "validation/support/process_grids.hpp"
#include "validation/support/production.hpp"

namespace plaquette::validation {
namespace {

using cpu::context;

std::vector<spinor_configuration> solutions_on(const context& ctx, double tolerance) {
  const auto links = cpu::weak_field_configuration(ctx.geometry(), 0.25, 5, ctx.comm());
  const fermion_action action = fermion_action::isotropic(0.05, 1.2);
  const auto m = std::make_shared<const cpu::wilson_clover<double>>(ctx, links, action);
  const cpu::schur_wilson_clover<double> schur(m, cpu::schur_kind::symmetric);
  random_batch<double> b(ctx, 2, 6);
  auto x = like(b.packed);
  zero(x);
  stopping_rule rule;
  rule.tolerance = tolerance;
  rule.limit = 500;
  const auto report =
      schur_solve(schur, *m, x, b.packed, rule, [](const auto& a, auto& even, const auto& source, const auto& inner) {
        return bicgstab(a, even, source, inner);
      });
  EXPECT_TRUE(report.all_converged());
  std::vector<spinor_configuration> solutions;
  for (int c = 0; c < 2; ++c) {
    cpu::export_column(solutions.emplace_back(ctx.geometry()), x, c);
    const double independent = cpu::textbook::relative_residual(b.canonical[static_cast<std::size_t>(c)],
                                                                solutions.back(), links, action, ctx.comm());
    EXPECT_TRUE(independent <= tolerance) << independent;
  }
  return solutions;
}

TEST(SolveOnRanks, GivesTheSolutionOfOneRankOnEveryGrid) {
  const auto world = communicator::world();
  const extents global{4, 6, 4, 8};
  const double tolerance = 1e-11;
  const context alone(lattice_geometry(global), communicator(), 1);
  const auto expected = solutions_on(alone, tolerance);
  const auto grids = legal_grids(global, world.size());
  for (const extents& grid : grids) {
    const context ctx(lattice_geometry(global, grid, world.rank()), world, 1);
    const auto found = solutions_on(ctx, tolerance);
    double sums[2] = {0.0, 0.0};
    for (std::int64_t s = 0; s < ctx.geometry().local_volume(); ++s) {
      const coordinate x = ctx.geometry().local_coordinate(s);
      sums[0] += norm2(found[1](x) - expected[1](ctx.geometry().to_global(x)));
      sums[1] += norm2(found[1](x));
    }
    world.sum(std::span(sums));
    // Reductions differ by rounding from grid to grid, so iterates do; solutions agree to |M^-1| times the residuals.
    EXPECT_TRUE(std::sqrt(sums[0] / sums[1]) <= 2 * 40 * tolerance) << to_string(grid);
  }
}

}  // namespace
}  // namespace plaquette::validation
