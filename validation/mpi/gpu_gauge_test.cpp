// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The CUDA library without its hopping term on every legal process grid: the bits of one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/dirac/clover_term.hpp"
#include "gpu/dirac/fermion_force.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/gauge_fixing.hpp"
#include "gpu/gauge/gauge_force.hpp"
#include "gpu/gauge/gaussian_smearing.hpp"
#include "gpu/gauge/gradient_flow.hpp"
#include "gpu/gauge/heatbath.hpp"
#include "gpu/gauge/link_smearing.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"
#include "gpu/gauge/momenta.hpp"
#include "gpu/gauge/plaquette.hpp"
#include "gpu/gauge/stout.hpp"
#include "gpu/halo/halo.hpp"
#include "gpu/observables/baryons.hpp"
#include "gpu/observables/correlators.hpp"
#include "gpu/sources/sources.hpp"
#include "validation/support/device_ranks.hpp"
#include "validation/support/process_grids.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

/// For each number of ranks that these tests run on, one of them at least can be cut; boxes of 2 sites a direction are
/// among the parts.
const extents lattices[] = {{4, 4, 4, 8}, {6, 4, 2, 12}, {2, 12, 6, 4}};

/// visit(context of this rank, context of one rank alone) for all grids of all lattices.
template <class Visit>
void for_each_grid(Visit&& visit) {
  int grids = 0;
  for (const extents& lattice : lattices)
    for (const extents& grid : legal_grids(lattice, communicator::world().size())) {
      visit(part_of(lattice, grid), one_rank(lattice));
      ++grids;
    }
  EXPECT_GE(grids, 1);
}

std::string describe(const gpu::context& ctx) {
  return to_string(ctx.geometry().global()) + " on ranks " + to_string(ctx.geometry().grid());
}

template <class Value>
bool same_bits(const Value& a, const Value& b) {
  return std::memcmp(&a, &b, sizeof(Value)) == 0;
}

/// True on all ranks where each rank's sites of `part` have the bits of `whole`.
template <class Value>
bool has_the_bits_of(const site_field<Value>& whole, const site_field<Value>& part, const communicator& comm) {
  double differences = 0.0;
  visit_sites(part.geometry(), [&](const coordinate& x) {
    if (!same_bits(part(x), whole(part.geometry().to_global(x)))) ++differences;
  });
  comm.sum({&differences, 1});
  return differences == 0.0;
}
template <class Value>
bool has_the_bits_of(const std::vector<site_field<Value>>& whole, const std::vector<site_field<Value>>& part,
                     const communicator& comm) {
  bool same = whole.size() == part.size() && !whole.empty();
  for (std::size_t k = 0; same && k < part.size(); ++k) same = has_the_bits_of(whole[k], part[k], comm);
  return same;
}

/// what(context) is one site_field, or several, of that context's lattice.
template <class What>
void expect_the_bits_of_one_rank(What&& what) {
  for (const extents& lattice : lattices) {
    const auto grids = legal_grids(lattice, communicator::world().size());
    if (grids.empty()) continue;
    const auto alone = what(one_rank(lattice));
    for (const extents& grid : grids) {
      const gpu::context ctx = part_of(lattice, grid);
      EXPECT_TRUE(has_the_bits_of(alone, what(ctx), ctx.comm())) << describe(ctx);
    }
  }
}

std::vector<spinor_configuration> exported(const gpu::field<double>& x) {
  std::vector<spinor_configuration> columns;
  for (int c = 0; c < x.columns(); ++c) export_column(columns.emplace_back(x.get_context().geometry()), x, c);
  return columns;
}

gpu::field<double> random_columns(const gpu::context& ctx, int columns, std::uint64_t seed) {
  gpu::field<double> x(ctx, {4, 3, site_subset::full, columns});
  random_spinors(x, seed);
  return x;
}

// --- Ghosts ----------------------------------------------------------------------------------------------------------

/// Links with ghosts as the host can read and change them.
class host_copy {
 public:
  explicit host_copy(gpu::links_with_ghosts& links)
      : queue_(links.get_context().queue()), device_(links.sites()), bytes_(2 * device_.at.parity_stride) {
    chunks_.resize(static_cast<std::size_t>(bytes_ / gpu::chunk_bytes));
    copy_to_host(queue_, chunks_.data(), device_.at.begin, static_cast<std::size_t>(bytes_));
  }
  gpu::ghosted_matrices<dimensions, std::byte> sites() {
    return {{reinterpret_cast<std::byte*>(chunks_.data()), device_.at.parity_stride}, device_.box};
  }
  void write_back() { copy_to_device(queue_, device_.at.begin, chunks_.data(), static_cast<std::size_t>(bytes_)); }

 private:
  gpu::queue queue_;
  gpu::ghosted_matrices<dimensions, std::byte> device_;
  std::int64_t bytes_;
  std::vector<gpu::chunk> chunks_;
};

/// Returns the number of links that differ from the whole lattice's, up to one step outside in every direction.
double wrong_links(gpu::links_with_ghosts& links, const plaquette::gauge_configuration& whole) {
  const lattice_geometry& geometry = links.get_context().geometry();
  host_copy copy(links);
  double wrong = 0.0;
  coordinate x;
  for (x[3] = -1; x[3] <= geometry.local()[3]; ++x[3])
    for (x[2] = -1; x[2] <= geometry.local()[2]; ++x[2])
      for (x[1] = -1; x[1] <= geometry.local()[1]; ++x[1])
        for (x[0] = -1; x[0] <= geometry.local()[0]; ++x[0])
          for (int mu = 0; mu < dimensions; ++mu) {
            const su3<double> found = copy.sites().load({{x[0], x[1], x[2], x[3]}}, mu);
            if (!same_bits(found, whole(geometry.to_global(x))[mu])) ++wrong;
          }
  return wrong;
}

TEST(LinksWithGhosts, AreThoseOfTheWholeLatticeUpToOneStepOutsideCornersIncluded) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const auto whole = export_links(random_configuration(alone, 1));
    gpu::links_with_ghosts links(random_configuration(ctx, 1));
    EXPECT_EQ(wrong_links(links, whole), 0.0) << describe(ctx);
    EXPECT_EQ(links.is_copy(), ctx.comm().size() > 1);
  });
}

TEST(LinksWithGhosts, FollowAChangeOfOneDirectionAndParity) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const int mu = 2, odd = 1;
    const auto other = export_links(random_configuration(alone, 3));
    auto whole = export_links(random_configuration(alone, 2));
    visit_sites(whole.geometry(), [&](const coordinate& x) {
      if (parity(x) == odd) whole(x)[mu] = other(x)[mu];
    });
    gpu::links_with_ghosts links(random_configuration(ctx, 2));
    host_copy copy(links);
    const auto sites = copy.sites();
    visit_sites(ctx.geometry(), [&](const coordinate& x) {
      const auto [box_parity, i] = sites.box.number_of(sites.box.coordinate_of({{x[0], x[1], x[2], x[3]}}));
      if (parity(x) == odd) sites.at.store(box_parity, i, mu, other(ctx.geometry().to_global(x))[mu]);
    });
    copy.write_back();
    links.exchange(mu, odd);
    EXPECT_EQ(wrong_links(links, whole), 0.0) << describe(ctx);
  });
}

/// Sets the links of all ghosts to 1.
void spoil_ghosts(gpu::links_with_ghosts& links) {
  host_copy copy(links);
  const auto sites = copy.sites();
  const gpu::site_order& order = sites.box.order;
  for (int p = 0; p < 2; ++p)
    for (std::int32_t i = 0; i < order.sites; ++i) {
      const gpu::site_coordinate at = order.coordinate_of(p, i);
      bool ghost = false;
      for (int nu = 0; nu < dimensions; ++nu)
        ghost = ghost || (sites.box.shift[nu] == 1 && (at.x[nu] == 0 || at.x[nu] == order.length[nu] - 1));
      for (int mu = 0; ghost && mu < dimensions; ++mu) sites.at.store(p, i, mu, su3<double>::identity());
    }
  copy.write_back();
}

TEST(GhostExchange, InSmallPiecesGivesTheSame) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const auto whole = export_links(random_configuration(alone, 4));
    gpu::links_with_ghosts links(random_configuration(ctx, 4));
    spoil_ghosts(links);
    // Of small faces several chunks fit into a piece, and the last piece may have fewer; of large ones none does.
    constexpr int chunks = dimensions * colours * colours;
    gpu::ghost_exchange(ctx, links.sites().box, 5000)({links.sites().at.begin, chunks}, {.first = 0, .count = chunks});
    EXPECT_EQ(wrong_links(links, whole), 0.0) << describe(ctx);
  });
}

TEST(GhostExchange, GivesTheSameByEveryWayAndEveryTime) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const auto whole = export_links(random_configuration(alone, 4));
    for (const gpu::halo_policy policy : policies()) {
      const gpu::context on = part_of(ctx.geometry().global(), ctx.geometry().grid(), policy);
      gpu::links_with_ghosts links(random_configuration(on, 4));
      constexpr int chunks = dimensions * colours * colours;
      const gpu::ghost_exchange exchange(on, links.sites().box);
      for (int n = 0; n < 3; ++n) {  // room for messages is used in turn
        spoil_ghosts(links);
        exchange({links.sites().at.begin, chunks}, {.first = 0, .count = chunks});
        EXPECT_EQ(wrong_links(links, whole), 0.0) << describe(on) << ", " << gpu::name_of(policy) << ", " << n;
      }
    }
  });
}

// --- Gauge fields ----------------------------------------------------------------------------------------------------

TEST(GpuGaugeFieldsOnRanks, HaveTheBitsOfOneRankOnEveryGrid) {
  expect_the_bits_of_one_rank([](const gpu::context& ctx) {
    return std::vector{export_links(random_configuration(ctx, 5)), export_links(weak_field_configuration(ctx, 0.1, 6)),
                       export_links(constant_flux_configuration(ctx, {1, -2}, abelian_embedding::su3)),
                       export_links(unit_configuration(ctx)), export_links(copy_of(random_configuration(ctx, 7)))};
  });
}

TEST(GpuGaugeFieldsOnRanks, AreTransformedToTheBitsOfOneRankOnEveryGrid) {
  expect_the_bits_of_one_rank([](const gpu::context& ctx) {
    return export_links(transformed(random_configuration(ctx, 8), random_gauge_transformation(ctx, 9)));
  });
  expect_the_bits_of_one_rank([](const gpu::context& ctx) {
    return exported(transformed(random_columns(ctx, 2, 10), random_gauge_transformation(ctx, 9)));
  });
}

TEST(GpuGaugeFieldsOnRanks, ComeBackFromTheHostAsTheyWentGhostsIncluded) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const auto whole = export_links(random_configuration(alone, 11));
    const auto g_whole = export_transformation(random_gauge_transformation(alone, 12));
    plaquette::gauge_configuration part(ctx.geometry());
    site_field<su3<double>> g_part(ctx.geometry());
    visit_sites(ctx.geometry(), [&](const coordinate& x) {
      part(x) = whole(ctx.geometry().to_global(x));
      g_part(x) = g_whole(ctx.geometry().to_global(x));
    });
    const auto back = export_links(import_links(ctx, part));
    exchange_ghosts(part, ctx.comm());
    const auto g_back = export_transformation(import_transformation(ctx, g_part));
    exchange_ghosts(g_part, ctx.comm());
    coordinate x;
    int wrong = 0;
    for (x[3] = -1; x[3] <= ctx.geometry().local()[3]; ++x[3])
      for (x[2] = -1; x[2] <= ctx.geometry().local()[2]; ++x[2])
        for (x[1] = -1; x[1] <= ctx.geometry().local()[1]; ++x[1])
          for (x[0] = -1; x[0] <= ctx.geometry().local()[0]; ++x[0])
            if (!same_bits(back(x), part(x)) || !same_bits(g_back(x), g_part(x))) ++wrong;
    EXPECT_EQ(wrong, 0) << describe(ctx);
  });
}

// --- Heat bath -------------------------------------------------------------------------------------------------------

TEST(GpuHeatBathOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  expect_the_bits_of_one_rank(
      [](const gpu::context& ctx) { return export_links(heatbath_configuration(ctx, {5.9, 1.3}, {1, 1}, 1, 21)); });
}

TEST(GpuHeatBathOnRanks, SweepsOfEitherKindGiveTheBitsOfOneRankOnEveryGrid) {
  expect_the_bits_of_one_rank([](const gpu::context& ctx) {
    auto links = random_configuration(ctx, 22);
    overrelaxation_sweep(links, {6.0});
    std::vector<plaquette::gauge_configuration> steps{export_links(links)};
    heatbath_sweep(links, {6.0}, 23, 7);
    steps.push_back(export_links(links));
    return steps;
  });
}

// --- Clover term -----------------------------------------------------------------------------------------------------

fermion_action clover_action() {
  fermion_action action;
  action.mass = 0.1;
  action.clover_spatial = 1.1;
  action.clover_temporal = 0.9;
  return action;
}

TEST(GpuCloverTermOnRanks, AndItsInverseHaveTheBitsOfOneRankOnEveryGrid) {
  expect_the_bits_of_one_rank([](const gpu::context& ctx) {
    const fermion_action action = clover_action();
    auto term = make_clover_term(weak_field_configuration(ctx, 0.3, 31), action);
    std::vector<site_field<clover_block>> terms{export_clover(term)};
    add_to_diagonal(term, action.diagonal());
    terms.push_back(export_clover(inverse(term)));
    return terms;
  });
}

TEST(GpuCloverTermOnRanks, NamesTheFirstSingularSiteOfTheLatticeOnEveryRank) {
  for_each_grid([](const gpu::context& ctx, const gpu::context&) {
    const extents& lattice = ctx.geometry().global();
    auto term = make_clover_term(unit_configuration(ctx), clover_action());
    add_to_diagonal(term, 1.0);
    auto blocks = export_clover(term);
    const auto zero_at = [&](const coordinate& site, int chirality) {
      coordinate here;
      if (ctx.geometry().holds(site, here)) blocks(here).chirality[chirality] = {};
    };
    EXPECT_NO_THROW(inverse(import_clover(ctx, blocks))) << describe(ctx);
    zero_at({lattice[0] - 1, lattice[1] - 1, lattice[2] - 1, lattice[3] - 1}, 0);
    const coordinate first{1, lattice[1] - 1, 1, lattice[3] / 2};
    zero_at(first, 1);
    std::string said;
    try {
      inverse(import_clover(ctx, blocks));
    } catch (const input_error& error) {
      said = error.what();
    }
    EXPECT_NE(said.find("(1, " + std::to_string(first[1]) + ", 1, " + std::to_string(first[3]) + ")"),
              std::string::npos)
        << describe(ctx) << ": " << said;
  });
}

// --- Smeared links ---------------------------------------------------------------------------------------------------

TEST(GpuStoutSmearingOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  expect_the_bits_of_one_rank([](const gpu::context& ctx) {
    return export_links(stout_smeared(weak_field_configuration(ctx, 0.2, 46), {2, 0.1, false}));
  });
}

TEST(GpuGradientFlowOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  expect_the_bits_of_one_rank([](const gpu::context& ctx) {
    gpu::gradient_flow flow(weak_field_configuration(ctx, 0.2, 47));
    flow.advance(0.05);
    return export_links(flow.links());
  });
}

TEST(GpuLinkSmearingOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  expect_the_bits_of_one_rank([](const gpu::context& ctx) {
    const auto links = weak_field_configuration(ctx, 0.2, 50);
    return std::vector{export_links(ape_smeared(links, {2, 0.5, false})), export_links(hyp_smeared(links, {}))};
  });
}

TEST(GpuGaugeFixingOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  for (const auto condition : {gauge_condition::landau, gauge_condition::coulomb})
    expect_the_bits_of_one_rank([&](const gpu::context& ctx) {
      return export_links(gauge_fixed(weak_field_configuration(ctx, 0.2, 51), condition, {1e-30, 3, 1.7}).links);
    });
}

TEST(GpuFieldStrengthOnRanks, AgreesWithOneRankToRounding) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const auto whole = measure_field_strength(weak_field_configuration(alone, 0.2, 48)),
               parts = measure_field_strength(weak_field_configuration(ctx, 0.2, 48));
    // Sums of up to 576 terms in another order; energies are of size 1, charges of size 1 / (4 pi^2) a site.
    EXPECT_NEAR(parts.energy_density, whole.energy_density, 1e3 * 0x1p-53 * whole.energy_density) << describe(ctx);
    EXPECT_NEAR(parts.charge, whole.charge, 1e4 * 0x1p-53) << describe(ctx);
  });
}

// --- Molecular dynamics ----------------------------------------------------------------------------------------------

TEST(GpuGaugeForceOnRanks, AndMovedLinksHaveTheBitsOfOneRankOnEveryGrid) {
  for (const loop_action& action : {loop_action{5.7, 0.0, 1.5}, loop_action{2.3, -0.331}})
    expect_the_bits_of_one_rank([&](const gpu::context& ctx) {
      auto links = weak_field_configuration(ctx, 0.2, 49), momenta = copy_of(links);
      fill_bytes(ctx.queue(), momenta.sites().begin, 0, static_cast<std::size_t>(2 * momenta.parity_bytes()));
      for (int n = 0; n < 2; ++n) {
        add_gauge_force(momenta, links, action, 0.1);
        move_links(links, momenta, 0.1);
      }
      return std::vector{export_links(momenta), export_links(links)};
    });
}

/// Complex phases of the boundary, and coefficients that differ by direction.
fermion_action anisotropic_action() {
  fermion_action action{0.2, 1.3, 0.9, 2.5, 1.1};
  action.boundary_phase = {complex<double>{0.6, 0.8}, complex<double>{1, 0}, complex<double>{-0.8, 0.6},
                           complex<double>{-1, 0}};
  return action;
}

gpu::clover_configuration blocks_of(const gpu::gauge_configuration& links, const fermion_action& action) {
  auto a = make_clover_term(links, action);
  add_to_diagonal(a, action.diagonal());
  return a;
}

TEST(GpuFermionForceOnRanks, HasTheBitsOfOneRankOnEveryGrid) {
  const fermion_action action = anisotropic_action();
  expect_the_bits_of_one_rank([&](const gpu::context& ctx) {
    const auto links = weak_field_configuration(ctx, 0.2, 54);
    const auto x = random_columns(ctx, 2, 55), y = random_columns(ctx, 2, 57);
    auto hops = random_momenta(ctx, 50, 2), clover = random_momenta(ctx, 50, 3);
    add_hopping_force(hops, links, action, x, y, 0.1);
    gpu::leaf_field z(ctx);
    clear(z);
    add_leaves(z, action, x, y, 0.7);
    add_determinant_leaves(z, action, inverse(blocks_of(links, action)), 1, 1.0);
    add_clover_force(clover, links, z, 0.1);
    return std::vector{export_links(hops), export_links(clover)};
  });
}

TEST(GpuLogDeterminantOnRanks, AgreesWithOneRankAndNamesTheSite) {
  const fermion_action action = anisotropic_action();
  for_each_grid([&](const gpu::context& ctx, const gpu::context& alone) {
    const auto on = [&](const gpu::context& c, std::uint64_t seed) {
      return blocks_of(weak_field_configuration(c, 0.2, seed), action);
    };
    for (const int parity : {0, 1}) {
      const double expected = log_determinant(on(alone, 54), parity);
      // Sums over half of the sites, in another order.
      const double rounding = 0x1p-52 * static_cast<double>(ctx.geometry().global_volume());
      EXPECT_NEAR(log_determinant(on(ctx, 54), parity), expected, rounding * std::abs(expected)) << describe(ctx);
      EXPECT_NEAR(log_determinant_difference(on(ctx, 54), on(ctx, 58), parity),
                  log_determinant_difference(on(alone, 54), on(alone, 58), parity), rounding * std::abs(expected));
    }
    auto a = export_clover(on(ctx, 54));
    const extents& lattice = ctx.geometry().global();
    coordinate x;
    const coordinate wrong{1, lattice[1] - 1, 0, lattice[3] - 1};  // odd
    if (ctx.geometry().holds(wrong, x)) a(x).chirality[0].diagonal[3] = -100.0;
    try {
      log_determinant(import_clover(ctx, a), parity(wrong));
      ADD_FAILURE() << describe(ctx);
    } catch (const input_error& e) {
      EXPECT_NE(std::string(e.what()).find("(1, " + std::to_string(wrong[1]) + ", 0, "), std::string::npos) << e.what();
    }
  });
}

TEST(GpuMomentaOnRanks, HaveTheBitsOfOneRankOnEveryGridAndItsMeasures) {
  expect_the_bits_of_one_rank([](const gpu::context& ctx) { return export_links(random_momenta(ctx, 50, 2)); });
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const auto here = random_momenta(ctx, 50, 2), whole = random_momenta(alone, 50, 2);
    const double energy = kinetic_energy(whole);
    // Sums in another order.
    EXPECT_NEAR(kinetic_energy(here), energy, 1e-13 * energy) << describe(ctx);
    EXPECT_NEAR(kinetic_energy_difference(here, random_momenta(ctx, 50, 3)),
                kinetic_energy_difference(whole, random_momenta(alone, 50, 3)), 1e-13 * energy)
        << describe(ctx);
    EXPECT_EQ(size_of_force(here).largest, size_of_force(whole).largest) << describe(ctx);
    EXPECT_NEAR(size_of_force(here).rms, size_of_force(whole).rms, 1e-13 * size_of_force(whole).rms);
    EXPECT_NEAR(mean_rectangle(weak_field_configuration(ctx, 0.2, 49)),
                mean_rectangle(weak_field_configuration(alone, 0.2, 49)), 1e-13)
        << describe(ctx);
  });
}

TEST(GpuActionDifferenceOnRanks, AgreesWithOneRankToRounding) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    for (const loop_action& action : {loop_action{5.7, 0.0, 1.5}, loop_action{2.3, -0.331}}) {
      const auto on = [&](const gpu::context& c) {
        return action_difference(weak_field_configuration(c, 0.3, 52), weak_field_configuration(c, 0.3, 53), action);
      };
      // Up to 576 sites with 18 loops each, in another order.
      EXPECT_NEAR(on(ctx), on(alone), action.beta * 10.0 * 576 * 18 * 0x1p-53 * 10) << describe(ctx);
    }
  });
}

// --- Spinors ---------------------------------------------------------------------------------------------------------

TEST(GpuSpinorsOnRanks, RandomOnesHaveTheBitsOfOneRankOnEveryGrid) {
  expect_the_bits_of_one_rank([](const gpu::context& ctx) { return exported(random_columns(ctx, 3, 41)); });
}

TEST(GpuSmearingOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  for (const int steps : {1, 4})
    expect_the_bits_of_one_rank([&](const gpu::context& ctx) {
      const auto psi = random_columns(ctx, 3, 42);
      return exported(gaussian_smeared(psi, weak_field_configuration(ctx, 0.2, 43), 1.5, steps));
    });
}

TEST(GpuSmearingOnRanks, TakesAViewOfColumnsAndLeavesWhatIsSmeared) {
  for_each_grid([](const gpu::context& ctx, const gpu::context&) {
    const auto psi = random_columns(ctx, 4, 44);
    const auto before = exported(psi);
    const auto links = weak_field_configuration(ctx, 0.2, 45);
    const auto all = exported(gaussian_smeared(psi, links, 1.0, 3));
    const auto some = exported(gaussian_smeared(view(psi, 1, 2), links, 1.0, 3));
    const std::vector<spinor_configuration> middle{all[1], all[2]}, after = exported(psi);
    int wrong = 0;
    visit_sites(ctx.geometry(), [&](const coordinate& x) {
      for (std::size_t c = 0; c < 2; ++c) wrong += same_bits(some[c](x), middle[c](x)) ? 0 : 1;
      for (std::size_t c = 0; c < 4; ++c) wrong += same_bits(before[c](x), after[c](x)) ? 0 : 1;
    });
    EXPECT_EQ(wrong, 0) << describe(ctx);
  });
}

TEST(GpuSourcesOnRanks, HaveTheBitsOfOneRankOnEveryGrid) {
  for (const source_kind kind : {source_kind::point, source_kind::wall, source_kind::gaussian})
    expect_the_bits_of_one_rank([&](const gpu::context& ctx) {
      const extents& lattice = ctx.geometry().global();
      source_description source;
      source.kind = kind;
      source.position = {1, lattice[1] - 1, 1, lattice[3] / 2};
      source.smearing_radius = 1.2;
      source.smearing_steps = 3;
      gpu::field<double> x(ctx, {4, 3, site_subset::full, 3});
      make_sources(x, source, 5, weak_field_configuration(ctx, 0.2, 46));
      return exported(x);
    });
}

// --- Sums ------------------------------------------------------------------------------------------------------------

/// n numbers of magnitude 1 and less, added in two orders and divided by n, differ by less than 2 n roundings of 1.
double rounding_of_average(double n) { return 2.0 * n * 0x1p-53; }

TEST(GpuPlaquetteOnRanks, AgreesWithOneRankToRounding) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const auto links = random_configuration(ctx, 51), whole = random_configuration(alone, 51);
    const auto volume = static_cast<double>(ctx.geometry().global_volume());
    const plaquettes found = measure_plaquettes(links), expected = measure_plaquettes(whole);
    EXPECT_NEAR(found.spatial, expected.spatial, rounding_of_average(3 * volume)) << describe(ctx);
    EXPECT_NEAR(found.temporal, expected.temporal, rounding_of_average(3 * volume)) << describe(ctx);
    EXPECT_NEAR(found.average, expected.average, rounding_of_average(6 * volume)) << describe(ctx);
    EXPECT_NEAR(link_trace(links), link_trace(whole), rounding_of_average(4 * volume)) << describe(ctx);
    EXPECT_EQ(distance_from_su3(links), distance_from_su3(whole)) << describe(ctx);
  });
}

TEST(GpuPlaquetteOnRanks, IsNaNOnAllRanksWhereALinkOfOneIs) {
  for_each_grid([](const gpu::context& ctx, const gpu::context&) {
    auto links = export_links(unit_configuration(ctx));
    const extents& lattice = ctx.geometry().global();
    coordinate x;
    if (ctx.geometry().holds({1, lattice[1] - 1, 0, lattice[3] - 1}, x)) links(x)[3](2, 1).im = std::nan("");
    EXPECT_TRUE(std::isnan(average_plaquette(import_links(ctx, links)))) << describe(ctx);
    EXPECT_TRUE(std::isnan(distance_from_su3(import_links(ctx, links)))) << describe(ctx);
  });
}

TEST(GpuCorrelatorsOnRanks, AgreeWithOneRankToRounding) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const auto s = random_columns(ctx, 12, 52), whole = random_columns(alone, 12, 52);
    const auto pion = pion_correlator(s), expected_pion = pion_correlator(whole);
    const auto rho = rho_correlator(s), expected_rho = rho_correlator(whole);
    const auto times = static_cast<std::size_t>(ctx.geometry().global()[3]);
    ASSERT_EQ(pion.size(), times) << describe(ctx);
    ASSERT_EQ(rho.size(), times) << describe(ctx);
    // A slice has n terms of a sum; the magnitudes of either correlator's are together at most twice the pion's.
    const double n = 144.0 * static_cast<double>(ctx.geometry().global_volume()) / static_cast<double>(times);
    for (std::size_t t = 0; t < times; ++t) {
      EXPECT_NEAR(pion[t], expected_pion[t], 2.0 * n * 0x1p-53 * expected_pion[t]) << describe(ctx) << ", t = " << t;
      EXPECT_NEAR(rho[t], expected_rho[t], 4.0 * n * 0x1p-53 * expected_pion[t]) << describe(ctx) << ", t = " << t;
    }
  });
}

/// Only the order of additions differs, of terms with random signs.
TEST(GpuCorrelatorsOnRanks, WithMomentaAgreeWithOneRankToRounding) {
  for_each_grid([](const gpu::context& ctx, const gpu::context& alone) {
    const auto s = random_columns(ctx, 12, 53), whole = random_columns(alone, 12, 53);
    const auto expect = [&](const auto& found, const auto& expected, const auto& sizes, double roundings) {
      ASSERT_EQ(found.size(), expected.size()) << describe(ctx);
      for (std::size_t k = 0; k < found.size(); ++k)
        EXPECT_TRUE(std::sqrt(norm2(found[k] - expected[k])) <= roundings * 0x1p-53 * sizes[k])
            << describe(ctx) << ", slice " << k << ": " << std::sqrt(norm2(found[k] - expected[k])) / sizes[k] * 0x1p53
            << " roundings";
    };
    for (int direction = 0; direction < dimensions; ++direction) {
      std::vector<double> sizes;
      for (const auto& sum : momentum_correlator(whole, gamma_matrix(4), {}, direction)) sizes.push_back(sum.re);
      for (const lattice_momentum& p : {lattice_momentum{}, lattice_momentum{1, -2, 3}})
        expect(momentum_correlator(s, {gamma_matrix(0), gamma_matrix(1)}, p, direction),
               momentum_correlator(whole, {gamma_matrix(0), gamma_matrix(1)}, p, direction), sizes, 0.6);
    }
    // A site's |S|^2 is near 288 in all slices, and so is |S|^3 near its power.
    std::vector<double> sizes;
    for (const double sum : pion_correlator(whole)) sizes.push_back(sum * std::sqrt(288.0));
    for (const lattice_momentum& p : {lattice_momentum{}, lattice_momentum{1, -2, 3}})
      expect(nucleon_correlator(s, s, 1, p), nucleon_correlator(whole, whole, 1, p), sizes, 0.4);
  });
}

}  // namespace
}  // namespace plaquette::validation
