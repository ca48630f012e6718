// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/heatbath.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gaussian_smearing.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/gauge/stout.hpp"

namespace plaquette::cpu {
namespace {

/// Every lattice of these that the ranks can share, on every process grid: the part of each rank.
std::vector<lattice_geometry> all_grids(const communicator& world) {
  std::vector<lattice_geometry> parts;
  for (const extents& global : {extents{8, 4, 4, 16}, extents{4, 6, 2, 8}, extents{4, 4, 8, 8}, extents{6, 4, 12, 4}}) {
    const int ranks = world.size();
    extents grid;
    for (grid[0] = 1; grid[0] <= ranks; ++grid[0])
      for (grid[1] = 1; grid[1] <= ranks; ++grid[1])
        for (grid[2] = 1; grid[2] <= ranks; ++grid[2])
          for (grid[3] = 1; grid[3] <= ranks; ++grid[3]) {
            bool legal = volume(grid) == ranks;
            for (int mu = 0; mu < dimensions; ++mu) legal = legal && global[mu] % (2 * grid[mu]) == 0;
            if (legal) parts.emplace_back(global, grid, world.rank());
          }
  }
  return parts;
}

/// True on all ranks where each rank's part of `field`, ghosts included, has the bits of `whole`, made by one rank
/// alone.
template <class Value>
bool has_the_bits_of(const site_field<Value>& whole, const site_field<Value>& field, const communicator& world) {
  const lattice_geometry& geometry = field.geometry();
  const extents& local = geometry.local();
  double differences = 0.0;
  coordinate x;
  for (x[3] = -1; x[3] <= local[3]; ++x[3])
    for (x[2] = -1; x[2] <= local[2]; ++x[2])
      for (x[1] = -1; x[1] <= local[1]; ++x[1])
        for (x[0] = -1; x[0] <= local[0]; ++x[0])
          if (std::memcmp(&field(x), &whole(geometry.to_global(x)), sizeof(Value)) != 0) ++differences;
  world.sum({&differences, 1});
  return differences == 0.0;
}

/// what(geometry, communicator) on all grids against one rank alone.
template <class What>
void expect_the_same_bits(What&& what) {
  const auto world = communicator::world();
  std::map<extents, decltype(what(std::declval<lattice_geometry>(), world))> alone;  // one a lattice
  for (const lattice_geometry& part : all_grids(world)) {
    const extents& global = part.global();
    if (!alone.contains(global)) alone.emplace(global, what(lattice_geometry(global), communicator()));
    EXPECT_TRUE(has_the_bits_of(alone.at(global), what(part, world), world))
        << to_string(global) << " on ranks " << to_string(part.grid());
  }
  EXPECT_GE(alone.size(), 2u);
}

TEST(HeatBathOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  expect_the_same_bits([](const lattice_geometry& geometry, const communicator& comm) {
    return heatbath_configuration(geometry, {5.9, 1.3}, {1, 1}, 2, 21, comm);
  });
}

TEST(HeatBathOnRanks, GivesTheSameBitsOnTwoThreadsARank) {
  omp_set_num_threads(2);
  const auto world = communicator::world();
  const lattice_geometry part({8, 4, 4, 16}, smallest_surface_grid({8, 4, 4, 16}, world.size()), world.rank());
  const auto two_threads = heatbath_configuration(part, {5.9}, {1, 1}, 1, 22, world);
  omp_set_num_threads(1);
  const auto alone = heatbath_configuration(lattice_geometry(part.global()), {5.9}, {1, 1}, 1, 22, communicator());
  EXPECT_TRUE(has_the_bits_of(alone, two_threads, world));
}

TEST(GaugeFieldsOnRanks, GiveTheBitsOfOneRankOnEveryGrid) {
  expect_the_same_bits([](const lattice_geometry& geometry, const communicator& comm) {
    return random_configuration(geometry, 23, comm);
  });
  expect_the_same_bits([](const lattice_geometry& geometry, const communicator& comm) {
    return weak_field_configuration(geometry, 0.1, 24, comm);
  });
  expect_the_same_bits([](const lattice_geometry& geometry, const communicator& comm) {
    return constant_flux_configuration(geometry, {1, -2}, abelian_embedding::su3, comm);
  });
  expect_the_same_bits([](const lattice_geometry& geometry, const communicator& comm) {
    return transformed(random_configuration(geometry, 25, comm), random_gauge_transformation(geometry, 26, comm), comm);
  });
}

TEST(SpinorsOnRanks, RandomAndSmearedOnesHaveTheBitsOfOneRankOnEveryGrid) {
  expect_the_same_bits([](const lattice_geometry& geometry, const communicator& comm) {
    const auto links = weak_field_configuration(geometry, 0.2, 27, comm);
    return gaussian_smeared(random_spinor(geometry, 28, 3, comm), links, 1.5, 4, comm);
  });
}

TEST(StoutSmearingOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  for (const bool spatial : {false, true})
    expect_the_same_bits([&](const lattice_geometry& geometry, const communicator& comm) {
      return stout_smeared(weak_field_configuration(geometry, 0.2, 30, comm), {2, 0.1, spatial}, comm);
    });
}

TEST(PlaquetteOnRanks, AgreesWithOneRankToRounding) {
  const auto world = communicator::world();
  for (const lattice_geometry& part : all_grids(world)) {
    const auto alone =
        measure_plaquettes(random_configuration(lattice_geometry(part.global()), 29, communicator()), {});
    const auto shared = measure_plaquettes(random_configuration(part, 29, world), world);
    // Averages of the same numbers below 1, of which the sums are taken in another order.
    const double rounding = static_cast<double>(part.global_volume()) * 0x1p-52;
    EXPECT_NEAR(shared.spatial, alone.spatial, rounding);
    EXPECT_NEAR(shared.temporal, alone.temporal, rounding);
  }
}

TEST(PlaquetteOnRanks, IsNaNOnAllRanksWhereALinkOfOneIs) {
  const auto world = communicator::world();
  const lattice_geometry part({8, 4, 4, 16}, smallest_surface_grid({8, 4, 4, 16}, world.size()), world.rank());
  auto links = unit_configuration(part);
  coordinate x;
  if (part.holds({7, 1, 2, 15}, x)) links(x)[3](2, 1).im = std::nan("");
  exchange_ghosts(links, world);
  EXPECT_TRUE(std::isnan(average_plaquette(links, world)));
  EXPECT_TRUE(std::isnan(distance_from_su3(links, world)));
}

}  // namespace
}  // namespace plaquette::cpu
