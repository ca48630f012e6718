// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Coarse lattices on several ranks against one rank: the same operator, the same iterations.
#include <algorithm>
#include <ranges>

#include "common/krylov/bridge.hpp"
#include "common/krylov/flexible_gcr.hpp"
#include "common/multigrid/multigrid_setup.hpp"
#include "common/operators/even_complement.hpp"
#include "common/operators/whole_lattice.hpp"
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/coarse/lattice_gather.hpp"
#include "validation/multigrid/coarse_setting.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette::validation {
namespace {

/// |P^+ M P eta|^2 by matrices on this grid, and its distance from the product of the three.
TEST(CoarseLatticeOnRanks, KeepsItsIdentities) {
  const auto world = communicator::world();
  const extents global{4, 8, 4, 8};
  double size = 0.0;
  for (const extents& grid : legal_grids(global, world.size())) {
    const cpu::context ctx(lattice_geometry(global, grid, world.rank()), world, 1);
    // Boxes of one coarse site where the grid cuts most.
    const coarse_setting s(ctx, typical_actions()[3].action, {2, 2, 2, 2}, 5);
    const auto eta = s.random_coarse(2, 4);
    auto fine = random_fine_field(ctx, 2, 99), m_fine = like(fine);
    s.p.prolong(fine, eta);
    s.fine.apply(m_fine, fine);
    auto expected = like(eta), found = like(eta);
    s.p.restrict_to(expected, m_fine);
    s.coarse.apply(found, eta);
    EXPECT_TRUE(distance(found, expected) <= single_precision_bound) << to_string(grid) << distance(found, expected);
    const double here = host_values(norm2(found))[0].re;
    if (size == 0.0) {
      const cpu::context alone(lattice_geometry(global), communicator(), 1);
      const coarse_setting one(alone, typical_actions()[3].action, {2, 2, 2, 2}, 5);
      auto of_one = like(one.random_coarse(2, 4));
      one.coarse.apply(of_one, one.random_coarse(2, 4));
      size = host_values(norm2(of_one))[0].re;
    }
    EXPECT_TRUE(std::abs(here - size) <= single_precision_bound * size) << to_string(grid);

    const coarse_matrices twisted = with_twist(s.numbers, 0.3);
    twisted_complement(s.fine, 0.3).apply(m_fine, fine);
    s.p.restrict_to(expected, m_fine);
    auto found_twisted = like(eta);
    cpu::coarse_operator<double>(ctx, twisted).apply(found_twisted, eta);
    EXPECT_TRUE(distance(found_twisted, expected) <= single_precision_bound) << to_string(grid);
    const cpu::coarse_schur<double> twisted_schur(ctx, twisted);
    auto twisted_even = twisted_schur.solved_field(2), twisted_source = like(twisted_even), image = like(twisted_even);
    copy(twisted_even, eta.parity(0));
    twisted_schur.prepare_source(twisted_source, found_twisted);
    twisted_schur.apply(image, twisted_even);
    EXPECT_TRUE(distance(image, twisted_source) <= 1e-12) << to_string(grid);

    const cpu::coarse_schur<double> schur(ctx, s.numbers);
    auto x_even = schur.solved_field(2), source = like(x_even), mx = like(x_even);
    copy(x_even, eta.parity(0));
    schur.prepare_source(source, found);
    schur.apply(mx, x_even);
    EXPECT_TRUE(distance(mx, source) <= 1e-12) << to_string(grid);
  }
}

/// Two coarse lattices, one above the other, of random vectors.
struct two_levels {
  coarse_setting above;
  null_space vectors;
  coarse_matrices numbers;

  two_levels(const cpu::context& ctx, const extents& aggregate, const extents& next)
      : above(ctx, typical_actions()[3].action, aggregate, 5),
        vectors(made(ctx, next)),
        numbers(cpu::galerkin_product(ctx, above.numbers, vectors)) {}

 private:
  null_space made(const cpu::context& ctx, const extents& next) const {
    const auto seeds = above.random_coarse(4, 8);
    null_space v = cpu::gathered(seeds, aggregates(seeds.geometry(), coarsened(seeds.geometry(), next)));
    EXPECT_EQ(cpu::orthonormalise(v, ctx).replaced(), 0);
    return v;
  }
};

bool have_same_bits(const std::vector<complex<float>>& a, const std::vector<complex<float>>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
}

TEST(WholeLatticesOnRanks, HaveTheBitsOfOneRank) {
  const auto world = communicator::world();
  int compared = 0;
  struct {
    extents global, aggregate, next;
  } const cases[] = {{{4, 8, 4, 8}, {2, 2, 2, 2}, {1, 2, 1, 2}},
                     {{12, 2, 4, 12}, {2, 1, 2, 2}, {3, 1, 1, 1}}};  // of the second, boxes may have odd extents
  for (const auto& [global, aggregate, next] : cases) {
    const two_levels one(cpu::context(lattice_geometry(global), communicator(), 1), aggregate, next);
    for (const extents& grid : legal_grids(global, world.size())) {
      const lattice_geometry geometry(global, grid, world.rank());
      bool divides = true;
      for (int mu = 0; mu < dimensions; ++mu)
        divides = divides && geometry.local()[mu] % (aggregate[mu] * next[mu]) == 0;
      if (!divides) continue;
      const cpu::context ctx(geometry, world, 1);
      const two_levels part(ctx, aggregate, next);
      EXPECT_TRUE(have_same_bits(whole_lattice(part.above.numbers, world).numbers, one.above.numbers.numbers));
      EXPECT_TRUE(have_same_bits(whole_lattice(part.numbers, world).numbers, one.numbers.numbers));
      EXPECT_TRUE(have_same_bits(whole_lattice(part.vectors, world).numbers, one.vectors.numbers));
      EXPECT_EQ(whole_lattice(part.vectors, world).blocks.shape(), next);

      // Fields, of fewer columns than there is room for.
      const auto eta = view(part.above.random_coarse(3, 4), 1, 2), expected = view(one.above.random_coarse(3, 4), 1, 2);
      const cpu::lattice_gather ranks(ctx, eta.geometry(), expected.geometry());
      auto whole = like(expected), back = like(eta);
      poison(whole), poison(back);
      ranks.gather(whole, eta);
      EXPECT_EQ(distance(whole, expected), 0.0) << to_string(grid);
      ranks.take_part(back, expected);
      EXPECT_EQ(distance(back, eta), 0.0) << to_string(grid);
      ++compared;
    }
  }
  EXPECT_GE(compared, 1);
}

/// The result of a setup and a solve.
struct outcome {
  int iterations;
  multigrid_setup_report setup;
};

TEST(MultigridOnRanks, HasTheSetupAndTakesTheIterationsOfOneRank) {
  const auto world = communicator::world();
  const extents global{8, 8, 8, 8};
  const auto action = fermion_action::isotropic(-0.15, 1.0);
  const auto run = [&](const cpu::context& ctx, std::size_t whole_from = 0) -> outcome {
    const auto links =
        std::make_shared<gauge_configuration>(cpu::weak_field_configuration(ctx.geometry(), 0.35, 3, ctx.comm()));
    multigrid_parameters p;
    p.coarsenings = {{{2, 2, 2, 2}, 8}, {{2, 2, 2, 2}, 8}};
    p.refinements = 1;
    p.whole_from = whole_from;
    const multigrid<cpu::multigrid_library> mg(cpu::multigrid_library(ctx, links, action), p);
    const auto full = std::make_shared<const cpu::wilson_clover<double>>(ctx, *links, action);
    const cpu::schur_wilson_clover<double> schur(full, schur_kind::asymmetric);
    const auto b = random_fine_field(ctx, 2, 5);
    auto source = schur.even_like(b), even = like(source);
    schur.prepare_source(source, b);
    zero(even);
    stopping_rule rule;
    rule.tolerance = 1e-9;
    rule.limit = 60;
    const auto report = flexible_gcr(schur, even, source, rule, bridge<cpu::field<float>>(mg.cycle(2), source));
    EXPECT_TRUE(report.all_converged());
    return {report.iterations(), mg.report()};
  };
  const outcome of_one = run(cpu::context(lattice_geometry(global), communicator(), 1));
  // Two aggregations by two: extents of a rank are multiples of four.
  auto grids = legal_grids(global, world.size());
  std::erase_if(grids, [&](const extents& grid) {
    return std::ranges::any_of(std::views::iota(0, dimensions), [&](int mu) { return global[mu] / grid[mu] % 4 != 0; });
  });
  ASSERT_FALSE(grids.empty());
  for (std::size_t k = 0; k < std::min<std::size_t>(grids.size(), 3); ++k) {
    const outcome here = run(cpu::context(lattice_geometry(global, grids[k], world.rank()), world, 1));
    // Sums differ by rounding from grid to grid: one iteration more or less where a residual is near the tolerance.
    EXPECT_LE(std::abs(here.iterations - of_one.iterations), 1) << to_string(grids[k]);
    EXPECT_EQ(here.setup.replaced, of_one.setup.replaced);
    // Twenty iterations of BiCGstab in single precision carry rounding on; measured 2e-5.
    const auto same = [&](double a, double b) { EXPECT_TRUE(std::abs(a - b) <= 1e-3 * b) << a / b - 1.0; };
    same(here.setup.least_eigenvalue_estimate, of_one.setup.least_eigenvalue_estimate);
    same(here.setup.largest_of_null_space, of_one.setup.largest_of_null_space);
    for (std::size_t whole_from = 1; whole_from <= 2 && k == 0; ++whole_from) {
      const outcome whole = run(cpu::context(lattice_geometry(global, grids[k], world.rank()), world, 1), whole_from);
      EXPECT_EQ(whole.iterations, here.iterations) << to_string(grids[k]) << " whole from " << whole_from;
      same(whole.setup.least_eigenvalue_estimate, here.setup.least_eigenvalue_estimate);
    }
  }
}

}  // namespace
}  // namespace plaquette::validation
