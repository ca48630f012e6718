// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The production operators on every legal process grid: the same bits as on one rank.
#include <gtest/gtest.h>

#include "validation/support/process_grids.hpp"
#include "validation/support/production.hpp"

namespace plaquette::validation {
namespace {

using cpu::context;

template <class T>
std::vector<spinor_configuration> results_on(const context& ctx, const fermion_action& action, reconstruct stored,
                                             bool overlap = true) {
  const auto links = cpu::random_configuration(ctx.geometry(), 3, ctx.comm());
  const bool follows = ctx.comm().size() > 1;  // other links first
  const auto m = std::make_shared<cpu::wilson_clover<T>>(
      ctx, follows ? cpu::random_configuration(ctx.geometry(), 5, ctx.comm()) : links, action, stored);
  if (follows) m->follow(links);
  m->hopping().set_overlap(overlap);
  random_batch<T> in(ctx, 3, 4);
  auto out = like(in.packed);
  std::vector<spinor_configuration> results;
  const auto keep = [&](const cpu::field<T>& x) {
    for (int c = 0; c < x.columns(); ++c) cpu::export_column(results.emplace_back(ctx.geometry()), x, c);
  };
  poison(out);
  m->apply(out, in.packed);
  keep(out);
  poison(out);
  m->apply_dagger(out, in.packed);
  keep(out);
  for (const auto kind : {cpu::schur_kind::asymmetric, cpu::schur_kind::symmetric}) {
    const cpu::schur_wilson_clover<T> schur(m, kind);
    auto even = schur.even_like(out);
    poison(even);
    schur.apply(even, in.packed.parity(0));
    keep(even);
    auto again = like(even);  // a chain, so that each application sees the state that the one before left behind
    schur.apply_dagger(again, even);
    schur.apply(even, again);
    keep(even);
    // fewer columns than the buffers were made for
    const auto two = view(in.packed, 1, 2).parity(0);
    auto less = like(two);
    schur.apply(less, two);
    keep(less);
  }
  return results;
}

template <class T>
void compare_all_grids(const extents& global, reconstruct stored = reconstruct::none) {
  const auto world = communicator::world();
  const context alone(lattice_geometry(global), communicator(), 1);
  bool overlap = false;
  for (const fermion_action& action : actions_to_test()) {
    const auto expected = results_on<T>(alone, action, stored);
    for (const extents& grid : legal_grids(global, world.size())) {
      const context ctx(lattice_geometry(global, grid, world.rank()), world, 1);
      // Without overlap on every other grid: the same numbers in another order of work.
      const auto found = results_on<T>(ctx, action, stored, overlap = !overlap);
      for (std::size_t i = 0; i < found.size(); ++i)
        for (std::int64_t s = 0; s < ctx.geometry().local_volume(); ++s) {
          const coordinate x = ctx.geometry().local_coordinate(s);
          const auto &a = found[i](x), &b = expected[i](ctx.geometry().to_global(x));
          for (int k = 0; k < 12; ++k)
            ASSERT_TRUE(a(k / 3, k % 3) == b(k / 3, k % 3))
                << "lattice " << to_string(global) << " grid " << to_string(grid) << " result " << i << " site "
                << to_string(x) << ": " << a(k / 3, k % 3).re << " and " << b(k / 3, k % 3).re;
        }
    }
  }
}

TEST(ProductionOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridInSinglePrecision) {
  for (const extents& global : {extents{4, 4, 4, 8}, extents{4, 12, 4, 6}, extents{8, 4, 2, 8}})
    compare_all_grids<float>(global);
}

TEST(ProductionOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridInDoublePrecision) {
  for (const extents& global : {extents{4, 4, 8, 4}, extents{12, 4, 6, 4}}) compare_all_grids<double>(global);
}

TEST(ProductionOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridInHalfPrecision) {
  compare_all_grids<half>({4, 4, 4, 8});
  compare_all_grids<half>({8, 4, 2, 8}, reconstruct::eight);
}

TEST(ProductionOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridWithFewRealsALink) {
  compare_all_grids<half>({4, 8, 4, 4}, reconstruct::twelve);
  compare_all_grids<float>({4, 4, 4, 8}, reconstruct::twelve);
  compare_all_grids<double>({4, 8, 4, 4}, reconstruct::eight);
}

/// Any number of ranks cuts this one, the primes above 3 too.
TEST(ProductionOperatorOnRanks, GivesTheBitsOfOneRankOnAnyNumberOfRanks) {
  const int ranks = communicator::world().size();
  compare_all_grids<float>({4, 2, 2, 2 * ranks});
  compare_all_grids<double>({2, 2 * ranks, 4, 2});
}

TEST(BlasOnRanks, SumsAgreeWithThoseOfOneRankToRounding) {
  const auto world = communicator::world();
  const extents global{8, 4, 4, 8};
  const context alone(lattice_geometry(global), communicator(), 1);
  const random_batch<double> u(alone, 3, 9), v(alone, 3, 10);
  const auto expected = dot(u.packed, v.packed), size = norm2(u.packed);
  for (const extents& grid : legal_grids(global, world.size())) {
    const context ctx(lattice_geometry(global, grid, world.rank()), world, 1);
    const random_batch<double> u_here(ctx, 3, 9), v_here(ctx, 3, 10);
    const auto found = dot(u_here.packed, v_here.packed);
    // 1024 x 12 terms of size about |u|^2 / n, errors of random sign: sqrt(n) eps times the term, far below this
    for (int c = 0; c < 3; ++c) EXPECT_TRUE(std::sqrt(norm2(found[c] - expected[c])) <= 1e-15 * size[c].re);
  }
}

TEST(ProductionOperatorOnRanks, RefusesLinksWhoseGhostsAreNotCurrent) {
  const auto world = communicator::world();
  const lattice_geometry geometry({4, 4, 4, 4 * world.size()}, {1, 1, 1, world.size()}, world.rank());
  const context ctx(geometry, world, 1);
  const fermion_action action;
  auto links = cpu::random_configuration(geometry, 3, world);
  EXPECT_NO_THROW(cpu::wilson_clover<double>(ctx, links, action));
  // One link of one rank, at a corner of its box, changed after the exchange.
  if (world.rank() == world.size() - 1) links({0, 3, 0, 3})[2] = su3<double>::identity();
  EXPECT_THROW(cpu::wilson_clover<double>(ctx, links, action), std::logic_error);
  exchange_ghosts(links, world);
  EXPECT_NO_THROW(cpu::wilson_clover<float>(ctx, links, action));
  gauge_configuration never(geometry);
  cpu::for_each_site(geometry, [&](const coordinate& x) { never(x) = links(x); });
  EXPECT_THROW(cpu::wilson_clover<double>(ctx, never, action), std::logic_error);
}

TEST(ContextOnRanks, RefusesAGridOfAnotherSize) {
  const auto world = communicator::world();
  EXPECT_THROW(context(lattice_geometry({8, 8, 8, 8}, {2, 2, 2, 4}, 0), world), input_error);
}

}  // namespace
}  // namespace plaquette::validation
