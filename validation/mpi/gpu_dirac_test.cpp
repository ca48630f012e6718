// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The device library's operators on every legal process grid: the same bits as on one rank, whichever way the halo
/// takes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "gpu/blas/blas.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/halo/halo.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/device_ranks.hpp"
#include "validation/support/device_sums.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette::validation {
namespace {

using gpu::context;
using gpu::halo_policy;

fermion_action action_called(const std::string& name) {
  for (const named_action& a : typical_actions())
    if (a.name == name) return a.action;
  throw std::invalid_argument("no action " + name);
}

/// NaN wherever a kernel forgets to write.
template <class T>
void poison(gpu::field<T>& x) {
  for (int part = 0; part < x.parts(); ++part)
    gpu::fill_bytes(x.get_context().queue(), x.sites(part).begin, 0xff,
                    static_cast<std::size_t>(x.order().blocks() * x.sites(part).block_stride));
}

/// The table's choice, through the tiles alternately forwards and backwards.
template <class T>
gpu::hopping_launch turning(const gpu::wilson_clover<T>& m, int columns) {
  gpu::hopping_launch how = gpu::default_launch(m.hopping().problem(columns, true));
  how.alternates = true;
  return how;
}

template <class T>
std::vector<spinor_configuration> results_on(const context& ctx, const fermion_action& action, reconstruct stored,
                                             int delayed_rank = -1, bool alternates = false) {
  const auto links = gpu::random_configuration(ctx, 3);
  const bool follows = ctx.comm().size() > 1;  // other links first
  const auto m =
      std::make_shared<gpu::wilson_clover<T>>(ctx, follows ? gpu::random_configuration(ctx, 5) : links, action, stored);
  if (follows) m->follow(links);
  gpu::field<T> in(ctx, {.columns = 3});
  gpu::random_spinors(in, 4);
  if (alternates) m->hopping().set_launch(turning(*m, in.columns()));
  auto out = like(in);
  std::vector<spinor_configuration> results;
  const auto keep = [&](const gpu::field<T>& x) {
    for (int c = 0; c < x.columns(); ++c) gpu::export_column(results.emplace_back(ctx.geometry()), x, c);
  };
  const auto be_late = [&] {
    if (ctx.comm().rank() == delayed_rank) usleep(20000);
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
    auto again = like(even);  // a chain, so that each application sees the state that the one before left behind
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
  if (alternates) m->hopping().set_launch(turning(*m, 1));
  const auto one = view(in, 2, 1);
  auto alone = like(one);
  for (int k = 0; k < 2; ++k) {
    poison(alone);
    m->apply(alone, one);
    keep(alone);
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

/// \param action_name  of a typical action
/// \param stride from one tested grid to the next
template <class T>
void compare_all_grids(const extents& global, const std::string& action_name, reconstruct stored = reconstruct::none,
                       std::size_t stride = 1, bool alternates = false) {
  const auto world = communicator::world();
  const context alone{lattice_geometry(global), communicator()};
  const fermion_action action = action_called(action_name);
  const auto expected = results_on<T>(alone, action, stored);
  int turn = 0;
  const std::vector<extents> grids = legal_grids(global, world.size());
  for (std::size_t g = 0; g < grids.size(); g += stride) {
    const extents& grid = grids[g];
    // Policies and overlap alternately: the same numbers in another order of work.
    const auto count = static_cast<int>(policies().size());
    const halo_policy policy = policies()[static_cast<std::size_t>(turn % count)];
    const bool overlap = turn / count % 2 == 0;
    ++turn;
    const context ctx = part_of(global, grid, policy, overlap);
    expect_same_bits(results_on<T>(ctx, action, stored, -1, alternates), expected, ctx,
                     "lattice " + to_string(global) + " grid " + to_string(grid));
  }
}

TEST(DeviceOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridInSinglePrecision) {
  compare_all_grids<float>({4, 4, 4, 8}, "clover");
  compare_all_grids<float>({4, 12, 4, 6}, "anisotropic", reconstruct::twelve);
}

TEST(DeviceOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridInDoublePrecision) {
  compare_all_grids<double>({4, 4, 8, 4}, "clover_twisted");
  compare_all_grids<double>({8, 4, 2, 8}, "wilson", reconstruct::eight);
}

TEST(DeviceOperatorOnRanks, GivesTheBitsOfOneRankOnEveryGridInHalfPrecision) {
  compare_all_grids<half>({4, 4, 4, 8}, "clover", reconstruct::twelve);
  compare_all_grids<half>({12, 4, 6, 4}, "clover_twisted");
}

TEST(DeviceOperatorOnRanks, GivesTheBitsOfOneRankOnAnyNumberOfRanks) {
  const int ranks = communicator::world().size();
  compare_all_grids<float>({4, 2, 2, 2 * ranks}, "clover_periodic");
  compare_all_grids<half>({2, 2 * ranks, 4, 2}, "anisotropic");
}

/// On the host there are no tiles; the test is left out there (CMakeLists.txt).
TEST(DeviceOperatorOnRanks, GivesTheBitsOfOneRankWhereTilesHaveAnInterior_OnADevice) {
  compare_all_grids<float>({16, 8, 16, 32}, "clover", reconstruct::twelve, 3, true);
  compare_all_grids<half>({16, 16, 8, 32}, "wilson", reconstruct::twelve, 3, true);
  compare_all_grids<double>({16, 8, 16, 24}, "anisotropic", reconstruct::none, 5, true);
}

TEST(DeviceOperatorOnRanks, WaitsForARankThatIsLate) {
  const extents global{4, 4, 4, 8};
  const int ranks = communicator::world().size();
  const auto grids = legal_grids(global, ranks);
  if (grids.empty()) return;
  const fermion_action action = action_called("clover");
  const auto expected = results_on<float>(context{lattice_geometry(global), communicator()}, action, reconstruct::none);
  for (const halo_policy policy : policies())
    for (const bool overlap : {true, false}) {
      const context ctx = part_of(global, grids.front(), policy, overlap);
      expect_same_bits(results_on<float>(ctx, action, reconstruct::none, ranks - 1), expected, ctx, "a late rank");
    }
}

/// A recorded application is launched again and again: its number cannot be part of the launch.
TEST(DeviceOperatorOnRanks, GivesTheSameBitsWhenItIsRecorded) {
  const extents global{4, 4, 4, 8};
  for (const extents& grid : legal_grids(global, communicator::world().size()))
    for (const halo_policy policy : policies()) {
      const context ctx = part_of(global, grid, policy, true);
      const gpu::hopping_term<float> hop(ctx, gpu::random_configuration(ctx, 3), action_called("clover"));
      if (!hop.recordable()) continue;
      gpu::field<float> even(ctx, {.sites = site_subset::even}), odd(ctx, {.sites = site_subset::odd});
      const auto chain = [&] {
        hop.apply(odd, even);
        hop.apply(even, odd, true);
      };
      const auto even_sites = [&] {
        std::vector<spinor_configuration> found(1, spinor_configuration(ctx.geometry()));
        gpu::export_column(found.front(), even, 0);
        return found;
      };
      constexpr int times = 3;
      gpu::random_spinors(even, 7);
      for (int k = 0; k < 2 * times; ++k) chain();
      const auto expected = even_sites();
      gpu::random_spinors(even, 7);
      const gpu::work_graph graph(ctx.queue(), times, chain);
      graph.launch();
      graph.launch();
      const auto found = even_sites();
      for (std::int64_t s = 0; s < ctx.geometry().local_volume(); ++s)
        for (int k = 0; k < spins * colours; ++k)
          ASSERT_TRUE(found[0].at_site(s)(k / 3, k % 3) == expected[0].at_site(s)(k / 3, k % 3))
              << "grid " << to_string(grid) << " site " << s;
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
    for (const halo_policy policy : policies()) {
      const context ctx = part_of(global, grid, policy, true);
      const auto found = sums_on(ctx), again = sums_on(ctx);
      // 1024 x 12 terms of size about |u|^2 / n, errors of random sign: sqrt(n) eps times the term, far below this
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_TRUE(std::sqrt(norm2(found.first[c] - expected.first[c])) <= 1e-15 * expected.second[c].re);
        EXPECT_TRUE(found.first[c] == again.first[c] && found.second[c] == again.second[c]);
      }
    }
}

/// Of the result of an operator, made in its kernels, where messages make a part of it.
template <class T>
void compare_sums_of_operator(const extents& global, std::size_t stride) {
  int turn = 0;
  const std::vector<extents> grids = legal_grids(global, communicator::world().size());
  for (std::size_t g = 0; g < grids.size(); g += stride)
    for (const halo_policy policy : policies())
      for (const bool overlap : {true, false}) {
        ++turn;
        const context ctx = part_of(global, grids[g], policy, overlap);
        const auto m = std::make_shared<gpu::wilson_clover<T>>(ctx, gpu::random_configuration(ctx, 3),
                                                               action_called(turn % 3 == 0 ? "wilson" : "clover"),
                                                               reconstruct::twelve);
        m->hopping().set_sums_in_kernels(true);
        const gpu::schur_wilson_clover<T> schur(m, turn % 4 < 2 ? schur_kind::symmetric : schur_kind::asymmetric);
        for (const int columns : {1, 3}) {
          const auto seed = static_cast<std::uint64_t>(100 * turn + columns);
          gpu::field<T> in(ctx, {.columns = columns}), w(ctx, {.columns = columns});
          gpu::random_spinors(in, seed);
          gpu::random_spinors(w, seed + 1);
          const auto in_even = in.parity(0), w_even = w.parity(0);
          auto out = schur.even_like(in);
          poison(out);
          const auto [dots, sizes] = schur.apply_dot_norm2(out, in_even, w_even);
          const auto found = host_values(dots), found_sizes = host_values(sizes);
          expect_sums(found, found_sizes, out, w_even, "grid " + to_string(grids[g]));
          const auto [again, sizes_again] = schur.apply_dot_norm2(out, in_even, w_even);
          EXPECT_TRUE(host_values(again) == found && host_values(sizes_again) == found_sizes);
        }
      }
}

TEST(DeviceSumsOnRanks, OfAnOperatorAreThoseOfItsResult) {
  compare_sums_of_operator<float>({8, 4, 4, 8}, 1);
  compare_sums_of_operator<half>({8, 4, 4, 8}, 1);
  compare_sums_of_operator<double>({4, 4, 8, 4}, 1);
}

TEST(DeviceSumsOnRanks, OfAnOperatorAreThoseOfItsResultWhereTilesHaveAnInterior_OnADevice) {
  compare_sums_of_operator<float>({16, 8, 16, 32}, 3);
  compare_sums_of_operator<half>({16, 8, 16, 32}, 3);
}

TEST(DeviceContextOnRanks, RefusesAGridOfAnotherSize) {
  const auto world = communicator::world();
  EXPECT_THROW(context(lattice_geometry({8, 8, 8, 8}, {2, 2, 2, 4}, 0), world), input_error);
}

}  // namespace
}  // namespace plaquette::validation
