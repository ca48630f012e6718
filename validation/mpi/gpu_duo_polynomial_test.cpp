// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The smoother of multigrid for batches on several ranks. With the same norms it gives the bits of one rank, whichever
/// direction is cut and whichever way messages take.
#include "gpu/dirac/duo_polynomial.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "gpu/blas/blas.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/halo/halo.hpp"
#include "validation/support/device_ranks.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette::validation {
namespace {

using gpu::context;

/// A system and a polynomial.
struct smoother {
  std::shared_ptr<const gpu::wilson_clover<half>> full;
  std::unique_ptr<gpu::schur_wilson_clover<half>> system;
  std::unique_ptr<gpu::duo_polynomial> polynomial;

  smoother(const context& ctx, int columns) {
    fermion_action action = fermion_action::isotropic(-0.3, 1.7);
    action.boundary_phase[1] = action.boundary_phase[3] = {-1.0, 0.0};
    full = std::make_shared<const gpu::wilson_clover<half>>(ctx, gpu::weak_field_configuration(ctx, 0.3, 7), action,
                                                            reconstruct::twelve);
    system = std::make_unique<gpu::schur_wilson_clover<half>>(full, schur_kind::asymmetric);
    EXPECT_TRUE(gpu::duo_polynomial::serves(*system, columns));
    // About five steps of Richardson's method with the diagonal, 3.7: four factors, with complex roots.
    const std::vector<double> coefficients{1.35, -0.72, 0.199, -0.0265, 0.00145};
    polynomial = std::make_unique<gpu::duo_polynomial>(*system, columns, coefficients);
  }
};

/// About |r|^2 of every column: sums over ranks would differ by rounding.
gpu::scalars fixed_norms(const gpu::field<half>& r) {
  return make_scalars(
      r, std::vector<complex<double>>(static_cast<std::size_t>(r.columns()),
                                      {12.0 * static_cast<double>(r.get_context().geometry().global_volume()), 0.0}));
}

std::vector<spinor_configuration> columns_of(const gpu::field<half>& x) {
  std::vector<spinor_configuration> found;
  for (int c = 0; c < x.columns(); ++c) gpu::export_column(found.emplace_back(x.get_context().geometry()), x, c);
  return found;
}

std::vector<spinor_configuration> results_on(const context& ctx, int columns, int late_rank = -1) {
  const smoother s(ctx, columns);
  gpu::field<half> in(ctx, {.columns = columns});
  gpu::random_spinors(in, 4);
  const auto r = in.parity(0);
  auto x = like(r);
  copy(x, r);
  s.polynomial->add_to(x, r, fixed_norms(r));
  auto results = columns_of(x);
  const auto keep = [&](const gpu::field<half>& y) {
    for (auto& one : columns_of(y)) results.push_back(std::move(one));
  };
  // Each application sees the state that the one before left behind; in between others use the halo.
  auto more = like(r);
  for (int k = 0; k < 2; ++k) {
    if (ctx.comm().rank() == late_rank) usleep(20000);
    zero(more);
    s.polynomial->add_to(more, x, fixed_norms(x));
    s.system->apply(x, more);
  }
  keep(x);
  if (columns > 1) {
    const auto fewer = view(r, 1, columns - 1);
    auto less = like(fewer);
    zero(less);
    s.polynomial->add_to(less, fewer, fixed_norms(fewer));
    keep(less);
  }
  return results;
}

void expect_same_bits(const std::vector<spinor_configuration>& found, const std::vector<spinor_configuration>& expected,
                      const context& ctx, const std::string& text) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::int64_t s = 0; s < ctx.geometry().local_volume(); ++s) {
      const coordinate x = ctx.geometry().local_coordinate(s);
      const auto &a = found[i](x), &b = expected[i](ctx.geometry().to_global(x));
      for (int k = 0; k < spins * colours; ++k)
        ASSERT_TRUE(a(k / 3, k % 3) == b(k / 3, k % 3)) << text << " result " << i << " site " << to_string(x) << ": "
                                                        << a(k / 3, k % 3).re << " and " << b(k / 3, k % 3).re;
    }
}

void compare_grids(const std::vector<extents>& grids, const extents& global, int columns, int late_rank = -1) {
  const auto expected = results_on(one_rank(global), columns);
  int turn = 0;
  for (const extents& grid : grids)
    for (const gpu::halo_policy policy : policies()) {
      const context ctx = part_of(global, grid, policy, ++turn % 3 != 0);
      expect_same_bits(
          results_on(ctx, columns, late_rank), expected, ctx,
          "lattice " + to_string(global) + " grid " + to_string(grid) + " policy " + std::string(gpu::name_of(policy)));
    }
}

void compare_all_grids(const extents& global, int columns, int late_rank = -1) {
  compare_grids(legal_grids(global, communicator::world().size()), global, columns, late_rank);
}

TEST(DuoPolynomialOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  compare_all_grids({8, 4, 4, 4}, 2);
  compare_all_grids({4, 4, 4, 8}, 3);
}

/// x in halves is 1 on every rank, or extents are no multiples of the tile.
TEST(DuoPolynomialOnRanks, GivesTheBitsOfOneRankOnNarrowBoxes) {
  const int ranks = communicator::world().size();
  compare_all_grids({2 * ranks, 2, 6, 4}, 3);
  compare_all_grids({2, 2, 2 * ranks, 10}, 4);
}

/// Some tiles are away from the cuts.
TEST(DuoPolynomialOnRanks, GivesTheBitsOfOneRankWhereTilesHaveAnInterior) {
  const int ranks = communicator::world().size();
  compare_grids({{1, 1, 1, ranks}}, {4, 4, 4, 24}, 2, ranks - 1);
}

TEST(DuoPolynomialOnRanks, GivesTheBitsOfOneRankWhereTilesHaveAnInterior_OnADevice) {
  compare_all_grids({16, 16, 16, 32}, 4);
  compare_all_grids({32, 16, 16, 16}, 12, 0);
}

/// A recorded application is launched again and again: its number cannot be part of the launch.
TEST(DuoPolynomialOnRanks, GivesTheSameBitsWhenItIsRecorded) {
  const extents global{4, 4, 4, 4};
  for (const extents& grid : legal_grids(global, communicator::world().size()))
    for (const gpu::halo_policy policy : policies()) {
      const context ctx = part_of(global, grid, policy);
      constexpr int columns = 3, times = 3;
      const smoother s(ctx, columns);
      if (!s.full->hopping().recordable()) continue;
      gpu::field<half> in(ctx, {.columns = columns});
      gpu::random_spinors(in, 4);
      const auto r = in.parity(0);
      const auto norms = fixed_norms(r);
      auto x = like(r), y = like(r);
      const auto chain = [&] {
        copy(x, r);
        s.polynomial->add_to(x, y, norms);
        copy(y, x);
      };
      copy(y, r);
      for (int k = 0; k < 2 * times; ++k) chain();
      const auto expected = columns_of(y);
      copy(y, r);
      const gpu::work_graph graph(ctx.queue(), times, chain);
      graph.launch();
      graph.launch();
      const auto found = columns_of(y);
      for (std::size_t c = 0; c < found.size(); ++c)
        for (std::int64_t i = 0; i < ctx.geometry().local_volume(); ++i)
          for (int k = 0; k < spins * colours; ++k)
            ASSERT_TRUE(found[c].at_site(i)(k / 3, k % 3) == expected[c].at_site(i)(k / 3, k % 3))
                << "grid " << to_string(grid) << " column " << c << " site " << i;
    }
}

}  // namespace
}  // namespace plaquette::validation
