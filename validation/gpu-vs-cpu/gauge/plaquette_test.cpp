// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plaquettes and link traces of the CUDA library against the CPU library's.
#include "gpu/gauge/plaquette.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "cpu_ref/gauge/plaquette.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

/// Of averages over a lattice. A trace divided by 3 is at most 1 and has some 20 roundings. The CPU adds the X sites of
/// a row, and then the rows, each sum at most the whole; the device adds fewer in a row.
double bound(const extents& lattice) {
  const double rows = static_cast<double>(volume(lattice)) / lattice[0];
  return (20.0 + 2.0 * (rows + lattice[0])) * unit_roundoff;
}

TEST(GpuPlaquette, IsTheCpus) {
  for (const extents& lattice : gauge_lattices)
    for (std::uint64_t seed : {1, 2, 3}) {
      const lattice_geometry geometry(lattice);
      const gpu::context ctx = gpu_context(lattice);
      auto links = cpu::weak_field_configuration(geometry, 0.3, seed, alone);
      visit_sites(geometry, [&](const coordinate& x) { links(x)[3] = links(x)[3] * links(x)[0]; });  // t is not x
      exchange_ghosts(links, alone);
      const auto on_device = gpu::import_links(ctx, links);
      const plaquettes expected = cpu::measure_plaquettes(links, alone), found = gpu::measure_plaquettes(on_device);
      EXPECT_TRUE(std::abs(found.spatial - expected.spatial) <= bound(lattice));
      EXPECT_TRUE(std::abs(found.temporal - expected.temporal) <= bound(lattice));
      EXPECT_TRUE(std::abs(found.average - expected.average) <= bound(lattice));
      EXPECT_EQ(gpu::average_plaquette(on_device), found.average);
      EXPECT_TRUE(std::abs(gpu::link_trace(on_device) - cpu::link_trace(links, alone)) <= bound(lattice));
      EXPECT_GT(std::abs(found.spatial - found.temporal), 1e-3);  // a confusion of the two would be seen
    }
}

TEST(GpuPlaquette, IsOneOnTheUnitField) {
  const auto unit = gpu::unit_configuration(gpu_context({4, 6, 2, 8}));
  const plaquettes found = gpu::measure_plaquettes(unit);
  EXPECT_EQ(found.spatial, 1.0);
  EXPECT_EQ(found.temporal, 1.0);
  EXPECT_EQ(found.average, 1.0);
  EXPECT_EQ(gpu::link_trace(unit), 1.0);
}

TEST(GpuPlaquette, HasTheSameBitsEveryTime) {
  const auto links = gpu::random_configuration(gpu_context({6, 6, 6, 6}), 4);
  const plaquettes first = gpu::measure_plaquettes(links);
  for (int n = 0; n < 5; ++n) {
    const plaquettes again = gpu::measure_plaquettes(links);
    EXPECT_EQ(again.spatial, first.spatial);
    EXPECT_EQ(again.temporal, first.temporal);
  }
}

TEST(GpuPlaquette, ShowsANaN) {
  const extents lattice{4, 4, 2, 2};
  auto links = cpu::unit_configuration(lattice_geometry(lattice));
  links({1, 2, 0, 1})[3](1, 1).im = std::numeric_limits<double>::quiet_NaN();
  const auto on_device = gpu::import_links(gpu_context(lattice), links);
  EXPECT_TRUE(std::isnan(gpu::average_plaquette(on_device)));
  EXPECT_FALSE(std::isnan(gpu::measure_plaquettes(on_device).spatial));
}

}  // namespace
}  // namespace plaquette::validation
