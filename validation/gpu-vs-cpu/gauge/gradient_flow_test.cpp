// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The gradient flow of the CUDA library, and its measurements, against the CPU library's.
#include "gpu/gauge/gradient_flow.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "common/error.hpp"
#include "cpu_ref/gauge/gradient_flow.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

TEST(GpuGradientFlow, IsTheCpus) {
  for (const extents& lattice : gauge_lattices)
    for (const double step : {0.1}) {
      const gpu::context ctx = gpu_context(lattice);
      const auto links = cpu::random_configuration(lattice_geometry(lattice), 1, alone);
      cpu::gradient_flow expected(links, alone);
      const auto on_device = gpu::import_links(ctx, links);
      poison_workspace<gpu::gauge_configuration>(ctx);
      gpu::gradient_flow found(on_device);
      constexpr int steps = 2;
      for (int n = 0; n < steps; ++n) {
        expected.advance(step);
        found.advance(step);
      }
      EXPECT_EQ(found.time(), expected.time());
      // A step multiplies differences by at most some 1 + 24 step and adds some 300 roundings.
      const double bound = 300.0 * steps * std::pow(1.0 + 24.0 * step, steps) * unit_roundoff;
      EXPECT_TRUE(largest_difference(gpu::export_links(found.links()), expected.links()) <= bound)
          << to_string(lattice) << ", step " << step;
      EXPECT_TRUE(largest_difference(gpu::export_links(on_device), links) <= 0.0);  // a copy flows
      const flow_measurement a = found.measure(), b = expected.measure();
      // A site has six field strengths of some 100 roundings, and of sizes up to 2.
      const double sites = static_cast<double>(volume(lattice));
      EXPECT_NEAR(a.energy_density, b.energy_density, 6.0 * 4.0 * (10.0 * bound + (100.0 + sites) * unit_roundoff));
      EXPECT_NEAR(a.charge, b.charge, sites * (10.0 * bound + (100.0 + sites) * unit_roundoff));
    }
}

TEST(GpuGradientFlow, HasTheHistoryOfTheCpus) {
  const extents lattice{4, 4, 2, 4};
  const auto links = cpu::weak_field_configuration(lattice_geometry(lattice), 0.3, 2, alone);
  cpu::gradient_flow on_host(links, alone);
  gpu::gradient_flow on_device(gpu::import_links(gpu_context(lattice), links));
  const auto expected = flow_history(on_host, 0.35, 0.1), found = flow_history(on_device, 0.35, 0.1);
  ASSERT_EQ(found.size(), 5u);
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t n = 0; n < found.size(); ++n) {
    EXPECT_EQ(found[n].time, expected[n].time);
    EXPECT_NEAR(found[n].energy_density, expected[n].energy_density, 1e-12);
    EXPECT_NEAR(found[n].charge, expected[n].charge, 1e-12);
    if (n > 0) {
      EXPECT_LT(found[n].energy_density, found[n - 1].energy_density);
    }
  }
}

TEST(GpuFieldStrength, OfAConstantFluxIsTheClosedForm) {
  const gpu::context ctx = gpu_context({4, 6, 8, 4});
  for (const std::array<int, 2> fluxes : {std::array{1, 1}, std::array{1, -2}}) {
    const auto found =
        gpu::measure_field_strength(gpu::constant_flux_configuration(ctx, fluxes, abelian_embedding::su3));
    const double pi = std::acos(-1.0);
    const double xy = std::sin(2.0 * pi * fluxes[0] / 24.0), zt = std::sin(2.0 * pi * fluxes[1] / 32.0);
    // Sums of 768 terms of size 1.
    EXPECT_NEAR(found.energy_density, 2.0 * (xy * xy + zt * zt), 1e3 * unit_roundoff);
    EXPECT_NEAR(found.charge, 768 * 2.0 * xy * zt / (4.0 * pi * pi), 1e4 * unit_roundoff);
  }
}

TEST(GpuGradientFlow, RefusesWhatCannotBe) {
  gpu::gradient_flow flow(gpu::unit_configuration(gpu_context({2, 2, 2, 2})));
  for (const double step : {0.0, -0.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(flow.advance(step), input_error);
}

}  // namespace
}  // namespace plaquette::validation
