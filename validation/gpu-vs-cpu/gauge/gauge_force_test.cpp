// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gauge forces and moving links of the CUDA library against the CPU library's.
#include "gpu/gauge/gauge_force.hpp"

#include <gtest/gtest.h>

#include "common/algebra/matrix_parts.hpp"
#include "common/error.hpp"
#include "cpu_ref/gauge/gauge_force.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

plaquette::gauge_configuration random_momenta(const lattice_geometry& geometry, std::uint64_t seed) {
  auto momenta = cpu::random_configuration(geometry, seed, alone);
  visit_sites(geometry, [&](const coordinate& x) {
    for (su3<double>& a : momenta(x)) a = 2.0 * traceless_antihermitian_part(a);
  });
  exchange_ghosts(momenta, alone);
  return momenta;
}

const loop_action actions[] = {{5.7}, {5.9, 0.0, 2.5}, {2.3, -0.331}};

TEST(GpuGaugeForce, IsTheCpus) {
  for (const extents& lattice : gauge_lattices)
    for (const loop_action& action : actions) {
      const gpu::context ctx = gpu_context(lattice);
      const lattice_geometry geometry(lattice);
      const auto links = cpu::random_configuration(geometry, 1, alone), start = random_momenta(geometry, 2);
      auto expected = start;
      cpu::add_gauge_force(expected, links, action, 0.3, alone);
      const auto on_device = gpu::import_links(ctx, links);
      auto found = gpu::import_links(ctx, start);
      poison_workspace<gpu::gauge_configuration>(ctx);
      gpu::add_gauge_force(found, on_device, action, 0.3);
      // Sums of 6 staples, and 18 of rectangles, of some 100 roundings each.
      const double size = 0.3 * action.beta * (1.0 + 26.0 * std::abs(action.c1));
      EXPECT_TRUE(largest_difference(gpu::export_links(found), expected) <= 100.0 * size * unit_roundoff)
          << to_string(lattice) << ", c1 " << action.c1;
      EXPECT_TRUE(largest_difference(expected, start) > 0.1 * size);
      EXPECT_TRUE(largest_difference(gpu::export_links(on_device), links) <= 0.0);
    }
}

TEST(GpuMovedLinks, HaveTheBitsOfTheCpus) {
  for (const extents& lattice : gauge_lattices)
    for (const double step : {0.1, -1.5, 1e-9}) {
      const gpu::context ctx = gpu_context(lattice);
      const lattice_geometry geometry(lattice);
      auto links = cpu::random_configuration(geometry, 3, alone);
      const auto momenta = random_momenta(geometry, 4);
      auto found = gpu::import_links(ctx, links);
      gpu::move_links(found, gpu::import_links(ctx, momenta), step);
      cpu::move_links(links, momenta, step, alone);
      EXPECT_TRUE(same_bits(gpu::export_links(found), links)) << to_string(lattice) << ", step " << step;
    }
}

TEST(GpuActionDifference, IsTheCpus) {
  for (const extents& lattice : gauge_lattices)
    for (const loop_action& action : actions) {
      const gpu::context ctx = gpu_context(lattice);
      const auto before = cpu::weak_field_configuration(lattice_geometry(lattice), 0.3, 5, alone),
                 after = cpu::weak_field_configuration(lattice_geometry(lattice), 0.3, 6, alone);
      const auto here = gpu::import_links(ctx, before), there = gpu::import_links(ctx, after);
      poison_workspace<gpu::gauge_configuration>(ctx);
      // 18 loops at each site, of some 100 roundings each, summed in another order.
      const double size = action.beta * (1.0 + 20.0 * std::abs(action.c1)) * static_cast<double>(volume(lattice));
      EXPECT_NEAR(gpu::action_difference(there, here, action), cpu::action_difference(after, before, action, alone),
                  18 * 100 * size * unit_roundoff)
          << to_string(lattice) << ", c1 " << action.c1;
      EXPECT_EQ(gpu::action_difference(here, here, action), 0.0);
    }
}

TEST(GpuGaugeForce, RefusesWhatCannotBe) {
  auto links = gpu::unit_configuration(gpu_context({2, 2, 2, 2}));
  auto momenta = gpu::copy_of(links), other = gpu::unit_configuration(gpu_context({2, 2, 2, 4}));
  EXPECT_THROW(gpu::add_gauge_force(momenta, links, {-1.0}, 1.0), input_error);
  EXPECT_THROW(gpu::add_gauge_force(momenta, links, {6.0, -0.331, 2.0}, 1.0), input_error);
  EXPECT_THROW(gpu::add_gauge_force(other, links, {6.0}, 1.0), input_error);
  EXPECT_THROW(gpu::move_links(links, other, 1.0), input_error);
}

}  // namespace
}  // namespace plaquette::validation
