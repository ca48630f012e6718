// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The device's hopping term against the CPU's: precisions, stored reals, parities, dagger, boundary conditions,
/// epilogues, odd shapes, batches, and every way to launch it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/krylov/precision.hpp"
#include "validation/gpu-vs-cpu/dirac/dirac_support.hpp"
#include "validation/support/device_sums.hpp"
#include "validation/support/sanitizer.hpp"

namespace plaquette::validation {
namespace {

const std::vector<extents> lattices = {{2, 2, 2, 2},  {4, 2, 2, 2}, {4, 6, 2, 8},  {6, 6, 6, 6},
                                       {2, 6, 10, 2}, {8, 4, 4, 6}, {2, 2, 16, 16}};
constexpr int batches[] = {1, 5, 12, 16};
constexpr epilogue epilogues[] = {epilogue::store, epilogue::add, epilogue::clover, epilogue::add_clover,
                                  epilogue::clover_x_add};

/// Clover actions of every boundary condition: antiperiodic, periodic, complex phases with anisotropy, and signs in
/// space.
std::vector<fermion_action> actions() {
  auto list = actions_to_test();
  list.erase(list.begin());  // has no blocks
  fermion_action signs = fermion_action::isotropic(0.2, 0.9);
  signs.boundary_phase[1] = {-1.0, 0.0};
  signs.anisotropy = 2.0;
  list.push_back(signs);
  return list;
}

template <class T>
struct DeviceHoppingTerm : testing::Test {};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(DeviceHoppingTerm, precisions);

TYPED_TEST(DeviceHoppingTerm, AgreesWithTheCpuInEveryEpilogue) {
  std::uint64_t seed = 1;
  int case_number = 0;
  double worst = 0.0;
  for (const extents& lattice : lattices) {
    const lattice_geometry geometry(lattice);
    const cpu::context host_ctx(geometry, communicator(), 2);
    const gpu::context ctx = device_context(geometry);
    const auto links = cpu::random_configuration(geometry, ++seed, communicator());
    for (const fermion_action& action : actions())
      for (const reconstruct stored : every_reconstruct) {
        const cpu::wilson_clover<double> host(host_ctx, links, action);
        const gpu::wilson_clover<TypeParam> device(ctx, links, action, stored);
        const int columns = batches[case_number / 4 % 4];
        const columns_on_both<TypeParam> in(host_ctx, ctx, columns, ++seed), x(host_ctx, ctx, columns, ++seed);
        cpu::field<double> expected(host_ctx, in.host.shape());
        gpu::field<TypeParam> storage(ctx, in.storage.shape());
        // Four of the 20 combinations of parity, dagger and epilogue each time; over the loops all, each eleven times.
        for (int i = 0; i < 4; ++i) {
          const int combination = (case_number++ * 7) % 20;
          const int p = combination % 2;
          const bool daggered = combination / 2 % 2 == 1;
          const epilogue finish = epilogues[combination / 4];
          poison(storage);
          auto out = view(storage, 1, columns).parity(p);
          auto expected_out = expected.parity(p);
          const auto host_x = x.host.parity(p);
          const auto device_x = x.device.parity(p);
          const double scale = finish == epilogue::store ? 1.0 : -0.3, a = 1.7;
          host.hopping().apply(expected_out, in.host.parity(1 - p), daggered,
                               {finish, scale, &host_x, a, host.diagonal().blocks(p)});
          device.hopping().apply(out, in.device.parity(1 - p), daggered,
                                 {finish, scale, &device_x, a, device.diagonal().blocks(p)});
          const double distance = worst_distance(out, expected_out);
          const double tolerance = application_tolerance<TypeParam>(stored);
          worst = std::max(worst, distance / tolerance);
          ASSERT_TRUE(distance <= tolerance)
              << distance / tolerance << " of the tolerance, " << to_string(lattice) << ", " << stored_reals(stored)
              << " reals, " << columns << " columns, parity " << p << " dagger " << daggered << " epilogue "
              << static_cast<int>(finish);
        }
      }
  }
  this->RecordProperty("worst_share_of_tolerance", std::to_string(worst));
}

/// The columns next to a view and the other parity are not touched.
TYPED_TEST(DeviceHoppingTerm, WritesNothingButItsOutput) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const cpu::context host_ctx(geometry, communicator());
  const gpu::context ctx = device_context(geometry);
  const gpu::hopping_term<TypeParam> hop(ctx, cpu::random_configuration(geometry, 3, communicator()), fermion_action{});
  const columns_on_both<TypeParam> in(host_ctx, ctx, 3, 4);
  gpu::field<TypeParam> storage(ctx, in.storage.shape());
  const auto mark = cpu::random_spinor(geometry, 5, 0, communicator());
  for (int c = 0; c < storage.columns(); ++c) gpu::import_column(storage, c, mark);
  spinor_configuration before(geometry), after(geometry);
  gpu::export_column(before, storage, 0);
  auto out = view(storage, 1, 3).parity(0);
  hop.apply(out, in.device.parity(1));
  for (const int c : {0, 4}) {
    gpu::export_column(after, storage, c);
    EXPECT_TRUE(same_bits(before, after)) << c;
  }
  gpu::export_column(after, storage.parity(1), 2);
  double changed = 0.0;
  for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
    if (parity(geometry.local_coordinate(s)) == 1) changed += norm2(before.at_site(s) - after.at_site(s));
  EXPECT_EQ(changed, 0.0);
}

/// out may be x.
TYPED_TEST(DeviceHoppingTerm, UpdatesInPlace) {
  const lattice_geometry geometry({6, 6, 6, 6});
  const cpu::context host_ctx(geometry, communicator());
  const gpu::context ctx = device_context(geometry);
  const auto links = cpu::random_configuration(geometry, 6, communicator());
  const gpu::wilson_clover<TypeParam> m(ctx, links, actions()[0]);
  for (const int columns : {1, 5}) {
    const columns_on_both<TypeParam> in(host_ctx, ctx, columns, 7), x(host_ctx, ctx, columns, 8);
    auto alongside = like(in.device.parity(0));
    auto place = x.device.parity(0);
    for (const epilogue finish : {epilogue::add, epilogue::add_clover, epilogue::clover_x_add}) {
      m.hopping().apply(alongside, in.device.parity(1), true, {finish, 0.7, &place, 1.1, m.diagonal().blocks(0)});
      m.hopping().apply(place, in.device.parity(1), true, {finish, 0.7, &place, 1.1, m.diagonal().blocks(0)});
      for (int c = 0; c < columns; ++c) {
        spinor_configuration a(geometry), b(geometry);
        gpu::export_column(a, alongside, c);
        gpu::export_column(b, place, c);
        EXPECT_TRUE(same_bits(a, b)) << static_cast<int>(finish);
      }
    }
  }
}

/// A chain, A to B and back, as a solver makes them: launches that overlap must not read numbers that are not written
/// yet. Errors of n applications add up at most; D has no eigenvalue above 8, and random vectors lose little of their
/// norm in it.
TYPED_TEST(DeviceHoppingTerm, ChainsOfApplicationsAgree) {
  constexpr int length = 20;
  std::uint64_t seed = 50;
  for (const extents& lattice : {extents{8, 4, 4, 6}, extents{4, 6, 2, 8}})
    for (const int columns : {1, 12}) {
      const lattice_geometry geometry(lattice);
      const cpu::context host_ctx(geometry, communicator(), 2);
      const gpu::context ctx = device_context(geometry);
      const auto links = cpu::random_configuration(geometry, ++seed, communicator());
      for (const fermion_action& action : {actions()[0], actions()[1]}) {
        const cpu::hopping_term<double> host(host_ctx, links, action);
        const gpu::hopping_term<TypeParam> device(ctx, links, action, reconstruct::twelve);
        columns_on_both<TypeParam> v(host_ctx, ctx, columns, ++seed);
        auto host_even = v.host.parity(0), host_odd = v.host.parity(1);
        auto even = v.device.parity(0), odd = like(v.device.parity(1));
        poison(odd);
        for (int k = 0; k < length; ++k) {
          host.apply(host_odd, host_even, false, {cpu::epilogue::store, 0.25});
          host.apply(host_even, host_odd, false, {cpu::epilogue::store, 0.25});
          device.apply(odd, even, false, {epilogue::store, 0.25});
          device.apply(even, odd, false, {epilogue::store, 0.25});
        }
        const double tolerance = 2 * length * application_tolerance<TypeParam>(reconstruct::twelve);
        EXPECT_TRUE(worst_distance(even, host_even) <= tolerance) << worst_distance(even, host_even) / tolerance;
      }
    }
}

/// One NaN reaches the eight neighbours, and no other site.
TYPED_TEST(DeviceHoppingTerm, NotANumberIsSeenWhereItBelongs) {
  const lattice_geometry geometry({6, 6, 6, 6});
  const gpu::context ctx = device_context(geometry);
  const auto links = cpu::random_configuration(geometry, 9, communicator());
  const coordinate at{1, 2, 3, 5};  // odd
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const reconstruct stored : every_reconstruct)
      for (const int columns : {1, 3}) {
        const gpu::hopping_term<TypeParam> hop(ctx, links, fermion_action{}, stored);
        spinor_configuration source = cpu::random_spinor(geometry, 10, 0, communicator());
        source(at)(2, 1).im = bad;
        gpu::field<TypeParam> in(ctx, {spins, colours, site_subset::odd, columns});
        for (int c = 0; c < columns; ++c) gpu::import_column(in, c, source);
        gpu::field<TypeParam> out(ctx, {spins, colours, site_subset::even, columns});
        hop.apply(out, in);
        spinor_configuration found(geometry);
        gpu::export_column(found, out, columns - 1);
        for (std::int64_t s = 0; s < geometry.local_volume(); ++s) {
          const coordinate x = geometry.local_coordinate(s);
          int distance = 0;
          for (int mu = 0; mu < dimensions; ++mu) {
            const int d = std::abs(x[mu] - at[mu]);
            distance += std::min(d, 6 - d);
          }
          EXPECT_EQ(std::isfinite(norm2(found(x))), distance != 1) << distance;
        }
      }
}

/// The sums of an application, by its kernels or not.
using sums_of_result = std::optional<std::pair<gpu::scalars, gpu::scalars>>;

/// Sums of the stored numbers: in half precision of the rounded ones.
TYPED_TEST(DeviceHoppingTerm, SumsAreThoseOfTheResult) {
  std::uint64_t seed = 80;
  for (const extents& lattice : lattices) {
    const lattice_geometry geometry(lattice);
    const cpu::context host_ctx(geometry, communicator());
    const gpu::context ctx = device_context(geometry);
    const auto links = cpu::random_configuration(geometry, ++seed, communicator());
    gpu::wilson_clover<TypeParam> m(ctx, links, actions()[0]);
    for (const int columns : {1, 5})
      for (const bool in_kernels : {false, true})
        for (const bool daggered : {false, true}) {
          m.hopping().set_sums_in_kernels(in_kernels);
          const columns_on_both<TypeParam> in(host_ctx, ctx, columns, ++seed), other(host_ctx, ctx, columns, ++seed);
          const auto x = in.device.parity(0), w = other.device.parity(0);
          for (const epilogue finish : epilogues) {
            auto out = like(x);
            poison(out);
            sums_of_result sums;
            m.hopping().apply(out, in.device.parity(1), daggered,
                              {finish, -0.25, &x, 0.8, m.diagonal().blocks(0), &w, &sums});
            expect_sums(host_values(sums->first), host_values(sums->second), out, w, to_string(lattice));
          }
        }
  }
}

/// For lattices that the cache holds, and as if it held nothing.
std::vector<gpu::hopping_launch> every_candidate(gpu::hopping_problem problem) {
  auto list = gpu::candidates(problem);
  problem.cache_bytes = 0;
  for (const gpu::hopping_launch& how : gpu::candidates(problem))
    if (std::find(list.begin(), list.end(), how) == list.end()) list.push_back(how);
  return list;
}

/// How an application ends, and which it is.
struct way_of_applying {
  epilogue finish;
  bool daggered;
};

std::vector<way_of_applying> ways_of_applying(bool with_clover) {
  std::vector<way_of_applying> list;
  for (const epilogue finish : epilogues)
    for (const bool daggered : {false, true})
      if (with_clover == (finish != epilogue::store && finish != epilogue::add)) list.push_back({finish, daggered});
  return list;
}

/// Launches, backwards too if they may turn, give the bits of the variant that gathers.
template <class T>
void expect_bits_of_gather(const gpu::queue& q, gpu::wilson_clover<T>& m, const columns_on_both<T>& in,
                           const way_of_applying& way, const std::vector<gpu::hopping_launch>& launches,
                           const std::string& where) {
  const auto x = in.device.parity(0);
  const auto run = [&](const gpu::hopping_launch& how, bool backwards) {
    m.hopping().set_launch(how);
    auto out = like(x);
    poison(out);
    while (q.next_is_reversed() == backwards) {
    }
    m.hopping().apply(out, in.device.parity(1), way.daggered, {way.finish, -0.25, &x, 0.8, m.diagonal().blocks(0)});
    return out;
  };
  const auto expected = run(gpu::hopping_launch{}, false);
  for (const gpu::hopping_launch& how : launches)
    for (const bool backwards : {false, true}) {
      if (backwards && !how.alternates) continue;
      auto found = run(how, backwards);
      auto difference = like(found);
      for (const auto& sum : host_values(subtract_norm2(difference, found, expected)))
        ASSERT_EQ(sum.re, 0.0) << how.name() << (backwards ? ", backwards, " : ", ") << where << ", epilogue "
                               << static_cast<int>(way.finish) << " dagger " << way.daggered;
    }
}

/// Of `list` the entries first, first + step, first + 2 step and so on.
std::vector<gpu::hopping_launch> every_nth(const std::vector<gpu::hopping_launch>& list, std::size_t first,
                                           std::size_t step) {
  std::vector<gpu::hopping_launch> some;
  for (std::size_t l = first; l < list.size(); l += step) some.push_back(list[l]);
  return some;
}

/// One launch of each kernel, and of each number of groups that share links.
std::vector<gpu::hopping_launch> one_of_each_kernel(const std::vector<gpu::hopping_launch>& list) {
  std::vector<gpu::hopping_launch> some;
  for (const gpu::hopping_launch& how : list)
    if (std::none_of(some.begin(), some.end(), [&](const gpu::hopping_launch& one) {
          return one.variant == how.variant && one.links_once == how.links_once && one.warps == how.warps &&
                 one.whole_links == how.whole_links && one.groups == how.groups;
        }))
      some.push_back(how);
  return some;
}

/// Every launch with every way; under a sanitizer on smaller lattices, and each launch with one way, the next launch
/// with the next. On the host one launch of each kernel.
template <class T>
void compare_launches(int columns, reconstruct stored) {
  const bool on_host = gpu::kernels_run_on_host();
  if (on_host && stored != reconstruct::twelve) GTEST_SKIP() << "the host has the fast variants of 12 reals";
  std::uint64_t seed = 120 + static_cast<std::uint64_t>(20 * columns + stored_reals(stored));
  const bool all = !under_sanitizer() && !on_host;
  using list = std::vector<extents>;
  for (const extents& lattice : all ? list{{4, 6, 2, 8}, {16, 8, 8, 8}, {12, 6, 10, 4}, {4, 6, 8, 8}, {2, 2, 16, 16}}
                                : on_host ? list{{4, 6, 2, 8}, {16, 4, 4, 4}}
                                          : list{{4, 6, 2, 8}, {16, 4, 4, 4}, {12, 6, 4, 4}, {4, 4, 8, 8}}) {
    const lattice_geometry geometry(lattice);
    const cpu::context host_ctx(geometry, communicator());
    const gpu::context ctx = device_context(geometry);
    const auto links = cpu::random_configuration(geometry, ++seed, communicator());
    gpu::wilson_clover<T> m(ctx, links, actions()[0], stored);
    const columns_on_both<T> in(host_ctx, ctx, columns, ++seed);
    const std::string where = to_string(lattice) + ", " + std::to_string(stored_reals(stored)) + " reals, " +
                              std::to_string(columns) + " columns";
    for (const bool clover : {false, true}) {
      const auto every = every_candidate(m.hopping().problem(columns, clover));
      const auto launches = on_host ? one_of_each_kernel(every) : every;
      const auto ways = ways_of_applying(clover);
      for (std::size_t w = 0; w < ways.size(); ++w)
        expect_bits_of_gather(ctx.queue(), m, in, ways[w],
                              all || on_host ? launches : every_nth(launches, w, ways.size()), where);
    }
  }
}

struct launches_of {
  precision of;
  int columns;
  reconstruct stored;
};

std::vector<launches_of> every_kind_of_launches() {
  std::vector<launches_of> list;
  for (const precision of : {precision::half, precision::single, precision::double_})
    for (const int columns : {1, 2, 5, 12})
      for (const reconstruct stored : every_reconstruct) list.push_back({of, columns, stored});
  return list;
}

std::string name_of(const testing::TestParamInfo<launches_of>& info) {
  return std::string(name(info.param.of)) + "_" + std::to_string(stored_reals(info.param.stored)) + "_reals_" +
         std::to_string(info.param.columns) + "_columns";
}

/// Whatever the tuner chooses, the result is the same bits. (In many tests: each is a part that sanitizers end.)
struct DeviceHoppingLaunches : testing::TestWithParam<launches_of> {};

TEST_P(DeviceHoppingLaunches, GiveTheSameBits) {
  const auto& [of, columns, stored] = GetParam();
  switch (of) {
    case precision::half:
      return compare_launches<half>(columns, stored);
    case precision::single:
      return compare_launches<float>(columns, stored);
    case precision::double_:
    case precision::pairs:
      return compare_launches<double>(columns, stored);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceHoppingLaunches, testing::ValuesIn(every_kind_of_launches()), name_of);

/// Nor does it change the sums of the result, for runs of four sites, two and one; nor do tiles that cut through runs.
template <class T>
void compare_sums_of_launches(int columns) {
  if (gpu::kernels_run_on_host()) GTEST_SKIP() << "on the host there is one way to launch";
  std::uint64_t seed = 150 + static_cast<std::uint64_t>(columns);
  for (const extents& lattice : {extents{16, 8, 4, 8}, extents{12, 6, 10, 4}, extents{6, 4, 2, 8}}) {
    const lattice_geometry geometry(lattice);
    const cpu::context host_ctx(geometry, communicator());
    const gpu::context ctx = device_context(geometry);
    gpu::wilson_clover<T> m(ctx, cpu::random_configuration(geometry, ++seed, communicator()), actions()[0],
                            reconstruct::twelve);
    m.hopping().set_sums_in_kernels(true);
    const columns_on_both<T> in(host_ctx, ctx, columns, ++seed), w_storage(host_ctx, ctx, columns + 2, ++seed);
    const auto x = in.device.parity(0), w = view(w_storage.device, 1, columns).parity(0);
    for (const epilogue finish : {epilogue::add, epilogue::add_clover}) {
      auto out = like(x);
      const auto run = [&](const gpu::hopping_launch& how, bool daggered, bool backwards = false) {
        m.hopping().set_launch(how);
        poison(out);
        while (ctx.queue().next_is_reversed() == backwards) {
        }
        sums_of_result sums;
        m.hopping().apply(out, in.device.parity(1), daggered,
                          {finish, -0.25, &x, 0.8, m.diagonal().blocks(0), &w, &sums});
        return std::pair(host_values(sums->first), host_values(sums->second));
      };
      std::vector<decltype(run({}, false))> expected;
      for (const bool daggered : {false, true}) {
        expected.push_back(run({}, daggered));
        expect_sums(expected.back().first, expected.back().second, out, w, to_string(lattice));
      }
      auto launches = every_candidate(m.hopping().problem(columns, finish == epilogue::add_clover));
      auto cutting = launches.front();
      for (int& length : cutting.tile) length = 1;
      cutting.tile[0] = 3;
      launches.push_back(cutting);
      // D and D^+ alternately: the numbers that the launch before has left in memory are never right.
      for (const gpu::hopping_launch& how : launches)
        for (const bool backwards : {false, true})
          for (const bool daggered : {false, true})
            ASSERT_TRUE(run(how, daggered, backwards) == expected[daggered])
                << how.name() << ", " << to_string(lattice) << ", " << columns << " columns, dagger " << daggered;
    }
  }
}

TYPED_TEST(DeviceHoppingTerm, SumsOfOneColumnAreTheSameBitsForEveryLaunch) { compare_sums_of_launches<TypeParam>(1); }
TYPED_TEST(DeviceHoppingTerm, SumsOfABatchAreTheSameBitsForEveryLaunch) { compare_sums_of_launches<TypeParam>(5); }

/// Threads of a block, shared memory and the shape of tiles stay within the limits of the kernels, whatever the
/// lattice.
TEST(DeviceHoppingLaunch, EveryCandidateFitsItsKernel) {
  for (const extents& local :
       {extents{2, 2, 2, 2}, extents{4, 6, 2, 8}, extents{12, 6, 10, 4}, extents{24, 24, 24, 32}, extents{600, 4, 4, 4},
        extents{2, 2, 2, 1024}, extents{34, 14, 22, 6}, extents{4, 6, 8, 8}, extents{2, 2, 16, 64}})
    for (const int bytes : {2, 4, 8})
      for (const reconstruct stored : every_reconstruct)
        for (const int columns : {1, 2, 4, 12, 33})
          for (const bool clover : {false, true}) {
            const gpu::hopping_problem problem{local, columns, bytes, stored, clover, 50 << 20};
            const auto list = gpu::candidates(problem);
            ASSERT_FALSE(list.empty());
            EXPECT_EQ(list.front(), gpu::default_launch(problem));
            for (const gpu::hopping_launch& how : list) {
              const bool batch = how.variant == gpu::hopping_variant::batch;
              EXPECT_EQ(batch, columns > 1);
              const int threads = how.sites() * how.groups;
              EXPECT_TRUE(threads >= 1 && threads <= gpu::most_threads(bytes)) << how.name();
              EXPECT_LE(how.tile[2] * how.tile[3] * how.groups, 64) << how.name();
              EXPECT_EQ(how.tile[2] & (how.tile[2] - 1), 0) << how.name();
              const int of_link = how.whole_links ? 18 * 4 : stored_reals(stored) * bytes;
              EXPECT_TRUE(!how.whole_links || (how.groups > 1 && bytes == 2)) << how.name();
              EXPECT_TRUE(how.parts == 1 || columns % how.parts == 0) << how.name();
              const int of_site = 8 * of_link + (clover ? 72 * bytes + 8 : 0);
              const int shared = (how.sites() + 31) / 32 * 32 * of_site;
              EXPECT_TRUE(!batch || shared <= 227 * 1024) << how.name();
            }
          }
}

TEST(DeviceHoppingLaunch, WithoutSharedMemoryABatchIsGathered) {
  gpu::hopping_problem problem{{8, 8, 8, 8}, 12, 8, reconstruct::none, true, 50 << 20};
  problem.shared_bytes = 16 << 10;
  EXPECT_EQ(gpu::default_launch(problem).variant, gpu::hopping_variant::gather);
}

TEST(DeviceHoppingTermErrors, LinksThatCannotBeStoredAreRefused) {
  const lattice_geometry geometry({4, 4, 4, 4});
  const gpu::context ctx = device_context(geometry);
  auto links = cpu::random_configuration(geometry, 8, communicator());
  links(coordinate{1, 2, 3, 0})[2](2, 1).re += 1e-3;
  EXPECT_NO_THROW(gpu::hopping_term<float>(ctx, links, fermion_action{}));
  EXPECT_NO_THROW(gpu::hopping_term<half>(ctx, links, fermion_action{}));
  EXPECT_THROW(gpu::hopping_term<float>(ctx, links, fermion_action{}, reconstruct::twelve), input_error);
  EXPECT_THROW(gpu::hopping_term<half>(ctx, links, fermion_action{}, reconstruct::eight), input_error);
  links(coordinate{1, 2, 3, 0})[2](0, 0).re = 1.5;
  EXPECT_THROW(gpu::hopping_term<half>(ctx, links, fermion_action{}), input_error);
  links(coordinate{1, 2, 3, 0})[2](0, 0).re = std::nan("");
  EXPECT_THROW(gpu::hopping_term<half>(ctx, links, fermion_action{}), input_error);
}

TEST(DeviceHoppingTermErrors, FieldsThatDoNotFitAreRefused) {
  const lattice_geometry geometry({4, 4, 4, 4});
  const gpu::context ctx = device_context(geometry);
  const gpu::hopping_term<float> hop(ctx, cpu::unit_configuration(geometry), fermion_action{});
  gpu::field<float> full(ctx, {}), two(ctx, {spins, colours, site_subset::full, 2});
  auto even = full.parity(0), odd_pair = two.parity(1);
  EXPECT_THROW(hop.apply(even, full.parity(0)), std::logic_error);
  EXPECT_THROW(hop.apply(even, odd_pair), std::logic_error);
  EXPECT_THROW(hop.apply(full, full.parity(0)), std::logic_error);
  EXPECT_THROW(hop.apply(even, full.parity(1), false, {epilogue::add}), std::logic_error);
  EXPECT_THROW(hop.apply(even, full.parity(1), false, {epilogue::clover}), std::logic_error);
}

}  // namespace
}  // namespace plaquette::validation
