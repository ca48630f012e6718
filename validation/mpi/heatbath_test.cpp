// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/heatbath.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "cpu_ref/dirac/fermion_force.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gauge_fixing.hpp"
#include "cpu_ref/gauge/gauge_force.hpp"
#include "cpu_ref/gauge/gaussian_smearing.hpp"
#include "cpu_ref/gauge/gradient_flow.hpp"
#include "cpu_ref/gauge/link_smearing.hpp"
#include "cpu_ref/gauge/momenta.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/gauge/stout.hpp"
#include "cpu_ref/observables/baryons.hpp"
#include "cpu_ref/observables/correlators.hpp"

namespace plaquette::cpu {
namespace {

/// Every lattice of these that the ranks can share, on every process grid: the part of each rank.
std::vector<lattice_geometry> all_grids(const communicator& world,
                                        const std::vector<extents>& lattices = {
                                            {8, 4, 4, 16}, {4, 6, 2, 8}, {4, 4, 8, 8}, {6, 4, 12, 4}}) {
  std::vector<lattice_geometry> parts;
  for (const extents& global : lattices) {
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

/// what(geometry, communicator) on these grids against one rank alone.
template <class What>
void expect_the_same_bits_on(const std::vector<lattice_geometry>& parts, What&& what) {
  const auto world = communicator::world();
  std::map<extents, decltype(what(std::declval<lattice_geometry>(), world))> alone;  // one a lattice
  for (const lattice_geometry& part : parts) {
    const extents& global = part.global();
    if (!alone.contains(global)) alone.emplace(global, what(lattice_geometry(global), communicator()));
    EXPECT_TRUE(has_the_bits_of(alone.at(global), what(part, world), world))
        << to_string(global) << " on ranks " << to_string(part.grid());
  }
  EXPECT_FALSE(alone.empty());
}

template <class What>
void expect_the_same_bits(What&& what) {
  const auto parts = all_grids(communicator::world());
  EXPECT_NE(parts.front().global(), parts.back().global());
  expect_the_same_bits_on(parts, what);
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

TEST(GaugeFieldsOnRanks, FlowSmearAndAreFixedWithTheBitsOfOneRank) {
  const auto parts = all_grids(communicator::world(), {{4, 4, 4, 8}});
  const auto links = [](const lattice_geometry& geometry, const communicator& comm) {
    return weak_field_configuration(geometry, 0.2, 31, comm);
  };
  expect_the_same_bits_on(parts, [&](const lattice_geometry& geometry, const communicator& comm) {
    gradient_flow flow(links(geometry, comm), comm);
    flow.advance(0.05);
    return flow.links();
  });
  expect_the_same_bits_on(parts, [&](const lattice_geometry& geometry, const communicator& comm) {
    return hyp_smeared(ape_smeared(links(geometry, comm), {1, 0.5, true}, comm), {}, comm);
  });
  for (const auto condition : {gauge_condition::landau, gauge_condition::coulomb})
    expect_the_same_bits_on(parts, [&](const lattice_geometry& geometry, const communicator& comm) {
      return gauge_fixed(links(geometry, comm), condition, {1e-30, 3, 1.7}, comm).links;
    });
}

TEST(GaugeForceOnRanks, AndMovedLinksHaveTheBitsOfOneRank) {
  const auto parts = all_grids(communicator::world(), {{4, 4, 4, 8}});
  for (const loop_action& action : {loop_action{5.7, 0.0, 1.5}, loop_action{2.3, -0.331}})
    expect_the_same_bits_on(parts, [&](const lattice_geometry& geometry, const communicator& comm) {
      auto links = weak_field_configuration(geometry, 0.2, 34, comm);
      gauge_momenta momenta(geometry);
      for (int n = 0; n < 2; ++n) {
        add_gauge_force(momenta, links, action, 0.1, comm);
        move_links(links, momenta, 0.1, comm);
      }
      return links;
    });
}

/// Complex phases of the boundary, and coefficients that differ by direction.
fermion_action anisotropic_action() {
  fermion_action action{0.2, 1.3, 0.9, 2.5, 1.1};
  action.boundary_phase = {complex<double>{0.6, 0.8}, complex<double>{1, 0}, complex<double>{-0.8, 0.6},
                           complex<double>{-1, 0}};
  return action;
}

clover_configuration blocks_of(const gauge_configuration& links, const fermion_action& action) {
  auto a = make_clover_term(links, action);
  add_to_diagonal(a, action.diagonal());
  return a;
}

TEST(FermionForceOnRanks, HasTheBitsOfOneRankOnEveryGrid) {
  const fermion_action action = anisotropic_action();
  const auto parts = all_grids(communicator::world(), {{4, 4, 4, 8}, {4, 6, 2, 8}, {6, 4, 12, 4}});
  for (const bool of_hops : {true, false})
    expect_the_same_bits_on(parts, [&](const lattice_geometry& geometry, const communicator& comm) {
      const context ctx(geometry, comm, 1);
      const auto links = weak_field_configuration(geometry, 0.2, 38, comm);
      field<double> x(ctx, field_shape{}), y = like(x);
      import_column(x, 0, random_spinor(geometry, 39, 0, comm));
      import_column(y, 0, random_spinor(geometry, 39, 1, comm));
      gauge_momenta momenta = random_momenta(geometry, 37, 2, comm);
      if (of_hops) {
        add_hopping_force(momenta, links, action, x, y, 0.1);
      } else {
        leaf_field z(geometry);
        add_leaves(z, action, x, y, 0.7);
        add_determinant_leaves(z, action, inverse(blocks_of(links, action), comm), 1, 1.0);
        add_clover_force(momenta, links, z, 0.1, comm);
      }
      exchange_ghosts(momenta, comm);
      return momenta;
    });
}

TEST(LogDeterminantOnRanks, AgreesWithOneRankAndNamesTheSite) {
  const auto world = communicator::world();
  const fermion_action action = anisotropic_action();
  const auto on = [&](const lattice_geometry& geometry, const communicator& comm, std::uint64_t seed) {
    return blocks_of(weak_field_configuration(geometry, 0.2, seed, comm), action);
  };
  const lattice_geometry whole({4, 4, 4, 8});
  for (const lattice_geometry& part : all_grids(world, {whole.global()}))
    for (const int parity : {0, 1}) {
      const double expected = log_determinant(on(whole, {}, 38), parity, {});
      // 256 sites in another order.
      EXPECT_NEAR(log_determinant(on(part, world, 38), parity, world), expected, 256 * 0x1p-52 * std::abs(expected));
      EXPECT_NEAR(log_determinant_difference(on(part, world, 38), on(part, world, 40), parity, world),
                  log_determinant_difference(on(whole, {}, 38), on(whole, {}, 40), parity, {}),
                  256 * 0x1p-52 * std::abs(expected));
      auto a = on(part, world, 38);
      coordinate x;
      if (part.holds({1, 3, 0, 7}, x)) a(x).chirality[0].diagonal[3] = -100.0;
      if (parity == 0) continue;
      try {
        log_determinant(a, parity, world);
        ADD_FAILURE();
      } catch (const input_error& e) {
        EXPECT_NE(std::string(e.what()).find("(1, 3, 0, 7)"), std::string::npos) << e.what();
      }
    }
}

TEST(MomentaOnRanks, HaveTheBitsOfOneRankOnEveryGrid) {
  expect_the_same_bits(
      [](const lattice_geometry& geometry, const communicator& comm) { return random_momenta(geometry, 37, 2, comm); });
}

TEST(MomentaOnRanks, AndRectanglesAreMeasuredAsByOneRank) {
  const auto numbers_on = [](const lattice_geometry& geometry, const communicator& comm) {
    const auto a = random_momenta(geometry, 37, 2, comm), b = random_momenta(geometry, 37, 3, comm);
    const force_size size = size_of_force(a, comm);
    return std::vector{kinetic_energy(a, comm) / 8192.0, kinetic_energy_difference(a, b, comm) / 8192.0, size.rms,
                       size.largest, mean_rectangle(weak_field_configuration(geometry, 0.2, 35, comm), comm)};
  };
  const auto alone = numbers_on(lattice_geometry({4, 4, 4, 8}), {});
  for (const lattice_geometry& part : all_grids(communicator::world(), {{4, 4, 4, 8}})) {
    const auto shared = numbers_on(part, communicator::world());
    // Sums of 2048 links, or of 6144 rectangles, in another order: numbers of size 1 to 8.
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(shared[i], alone[i], 8192 * 0x1p-53) << i;
  }
}

TEST(ActionDifferenceOnRanks, AgreesWithOneRankToRounding) {
  const loop_action action{2.3, -0.331};
  const auto on = [&](const lattice_geometry& geometry, const communicator& comm) {
    return action_difference(weak_field_configuration(geometry, 0.2, 35, comm),
                             weak_field_configuration(geometry, 0.2, 36, comm), action, comm);
  };
  const double alone = on(lattice_geometry({4, 4, 4, 8}), {});
  // 512 sites with 18 loops each, of weights up to 2.3 times 3.6, in another order.
  for (const lattice_geometry& part : all_grids(communicator::world(), {{4, 4, 4, 8}}))
    EXPECT_NEAR(on(part, communicator::world()), alone, 512 * 18 * 2.3 * 3.6 * 0x1p-53);
}

TEST(MeasurementsOnRanks, AgreeWithOneRankToRounding) {
  const auto world = communicator::world();
  const extents lattice{4, 4, 4, 8};
  const auto numbers_on = [](const lattice_geometry& geometry, const communicator& comm) {
    const auto links = weak_field_configuration(geometry, 0.2, 32, comm);
    std::vector<spinor_configuration> columns;
    for (std::uint64_t n = 0; n < 12; ++n) columns.push_back(random_spinor(geometry, 33, n, comm));
    const auto strength = measure_field_strength(links, comm);
    const auto quality = measure_gauge(links, gauge_condition::landau, comm);
    std::vector<double> numbers{strength.energy_density, strength.charge, quality.functional, quality.theta};
    const auto take = [&](const std::vector<complex<double>>& correlator) {
      for (const auto& z : correlator) numbers.insert(numbers.end(), {z.re, z.im});
    };
    take(nucleon_correlator(columns, columns, 1, {1, 0, -1}, comm));
    for (int direction = 0; direction < 4; ++direction)
      take(momentum_correlator(columns, gamma_matrix(0), {0, 1, 0}, comm, direction));
    return numbers;
  };
  const auto alone = numbers_on(lattice_geometry(lattice), {});
  double largest = 0.0;
  for (const double number : alone) largest = std::max(largest, std::abs(number));
  for (const lattice_geometry& part : all_grids(world, {lattice})) {
    const auto shared = numbers_on(part, world);
    ASSERT_EQ(shared.size(), alone.size());
    // Sums of 64 to 512 terms in another order.
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(shared[i], alone[i], 64 * 0x1p-52 * largest) << i;
  }
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
