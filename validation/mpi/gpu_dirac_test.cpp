// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The device library's operators on every legal process grid: the same bits as on one rank, whichever way the halo
/// takes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "gpu/blas/blas.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/halo/halo.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette::validation {
namespace {

using gpu::context;
using gpu::halo_policy;

constexpr halo_policy policies[] = {halo_policy::peer, halo_policy::staged};

context on_grid(const extents& global, const extents& grid, halo_policy policy, bool overlap) {
  const auto world = communicator::world();
  gpu::rank_options options;
  options.policy = policy;
  options.overlap = overlap;
  options.wait = gpu::wait_mode::block;
  const int device = world.rank() % gpu::device_count();
  return context(lattice_geometry(global, grid, world.rank()), world, device, nullptr, options);
}

std::vector<fermion_action> actions_to_test() {
  std::vector<fermion_action> actions;
  for (const named_action& a : typical_actions())
    if (a.name == "clover" || a.name == "clover_twisted" || a.name == "anisotropic") actions.push_back(a.action);
  return actions;
}

/// NaN wherever a kernel forgets to write.
template <class T>
void poison(gpu::field<T>& x) {
  for (int part = 0; part < x.parts(); ++part)
    gpu::fill_bytes(x.get_context().queue(), x.sites(part).begin, 0xff,
                    static_cast<std::size_t>(x.order().blocks() * x.sites(part).block_stride));
}

template <class T>
std::vector<spinor_configuration> results_on(const context& ctx, const fermion_action& action, reconstruct stored,
                                             int delayed_rank = -1) {
  const auto links = gpu::random_configuration(ctx, 3);
  const auto m = std::make_shared<gpu::wilson_clover<T>>(ctx, links, action, stored);
  gpu::field<T> in(ctx, {.columns = 3});
  gpu::random_spinors(in, 4);
  auto out = like(in);
  std::vector<spinor_configuration> results;
  const auto keep = [&](const gpu::field<T>& x) {
    for (int c = 0; c < x.columns(); ++c) gpu::export_column(results.emplace_back(ctx.geometry()), x, c);
  };
  const auto be_late = [&] {
    if (ctx.comm().rank() == delayed_rank) usleep(20'000);
  };
  poison(out);
  m->apply(out, in);
  keep(out);
  be_late();
  poison(out);
  m->apply_dagger(out, in);
  keep(out);
  for (const auto kind : {schur_kind::asymmetric, schur_kind::symmetric}) {
    const gpu::schur_wilson_clover<T> schur(m, kind);
    auto even = schur.even_like(out);
    poison(even);
    schur.apply(even, in.parity(0));
    keep(even);
    auto again = like(even);  // a chain, so that what one application leaves behind is seen by the next
    for (int k = 0; k < 3; ++k) {
      be_late();
      schur.apply_dagger(again, even);
      schur.apply(even, again);
    }
    keep(even);
    // fewer columns than the zones were made for
    const auto two = view(in, 1, 2).parity(0);
    auto less = like(two);
    schur.apply(less, two);
    keep(less);
  }
  return results;
}

void expect_same_bits(const std::vector<spinor_configuration>& found, const std::vector<spinor_configuration>& expected,
                      const context& ctx, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::int64_t s = 0; s < ctx.geometry().local_volume(); ++s) {
      const coordinate x = ctx.geometry().local_coordinate(s);
      const auto &a = found[i](x), &b = expected[i](ctx.geometry().to_global(x));
      for (int k = 0; k < spins * colours; ++k)
        ASSERT_TRUE(a(k / 3, k % 3) == b(k / 3, k % 3)) << what << " result " << i << " site " << to_string(x) << ": "
                                                        << a(k / 3, k % 3).re << " and " << b(k / 3, k % 3).re;
    }
}

template <class T>
void compare_all_grids(const extents& global, reconstruct stored = reconstruct::none) {
  const auto world = communicator::world();
  const context alone{lattice_geometry(global), communicator()};
  int turn = 0;
  for (const fermion_action& action : actions_to_test()) {
    const auto expected = results_on<T>(alone, action, stored);
    for (const extents& grid : legal_grids(global, world.size())) {
      // Policies and overlap in turns: the same numbers in another order of work.
      const halo_policy policy = policies[turn % 2];
      const bool overlap = turn / 2 % 2 == 0;
      ++turn;
      const context ctx = on_grid(global, grid, policy, overlap);
      expect_same_bits(results_on<T>(ctx, action, stored), expected, ctx,
                       "lattice " + to_string(global) + " grid " + to_string(grid));
    }
  }
}

TEST(DeviceOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridInSinglePrecision) {
  compare_all_grids<float>({4, 4, 4, 8});
  compare_all_grids<float>({4, 12, 4, 6}, reconstruct::twelve);
}

TEST(DeviceOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridInDoublePrecision) {
  compare_all_grids<double>({4, 4, 8, 4});
  compare_all_grids<double>({8, 4, 2, 8}, reconstruct::eight);
}

TEST(DeviceOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridInHalfPrecision) {
  compare_all_grids<half>({4, 4, 4, 8}, reconstruct::twelve);
  compare_all_grids<half>({12, 4, 6, 4});
}

TEST(DeviceOperatorOnRanks, GivesTheBitsOfOneRankOnAnyNumberOfRanks) {
  const int ranks = communicator::world().size();
  compare_all_grids<float>({4, 2, 2, 2 * ranks});
  compare_all_grids<half>({2, 2 * ranks, 4, 2});
}

TEST(DeviceOperatorOnRanks, WaitsForARankThatIsLate) {
  const extents global{4, 4, 4, 8};
  const int ranks = communicator::world().size();
  const auto grids = legal_grids(global, ranks);
  if (grids.empty()) return;
  const fermion_action action = actions_to_test().back();
  const auto expected = results_on<float>(context{lattice_geometry(global), communicator()}, action, reconstruct::none);
  for (const halo_policy policy : policies)
    for (const bool overlap : {true, false}) {
      const context ctx = on_grid(global, grids.front(), policy, overlap);
      expect_same_bits(results_on<float>(ctx, action, reconstruct::none, ranks - 1), expected, ctx, "a late rank");
    }
}

TEST(DeviceSumsOnRanks, AgreeWithThoseOfOneRankToRoundingAndRepeatTheirBits) {
  const auto world = communicator::world();
  const extents global{8, 4, 4, 8};
  const auto sums_on = [](const context& ctx) {
    gpu::field<double> u(ctx, {.columns = 3}), v(ctx, {.columns = 3});
    gpu::random_spinors(u, 9);
    gpu::random_spinors(v, 10);
    return std::pair(host_values(dot(u, v)), host_values(norm2(u)));
  };
  const auto expected = sums_on(context{lattice_geometry(global), communicator()});
  for (const extents& grid : legal_grids(global, world.size()))
    for (const halo_policy policy : policies) {
      const context ctx = on_grid(global, grid, policy, true);
      const auto found = sums_on(ctx), again = sums_on(ctx);
      // 1024 x 12 terms of size about |u|^2 / n, errors of random sign: sqrt(n) eps times the term, far below this
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_TRUE(std::sqrt(norm2(found.first[c] - expected.first[c])) <= 1e-15 * expected.second[c].re);
        EXPECT_TRUE(found.first[c] == again.first[c] && found.second[c] == again.second[c]);
      }
    }
}

TEST(DeviceContextOnRanks, RefusesAGridOfAnotherSize) {
  const auto world = communicator::world();
  EXPECT_THROW(context(lattice_geometry({8, 8, 8, 8}, {2, 2, 2, 4}, 0), world), input_error);
}

}  // namespace
}  // namespace plaquette::validation
