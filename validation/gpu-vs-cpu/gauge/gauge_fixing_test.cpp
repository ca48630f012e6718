// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gauge fixing of the CUDA library against the CPU library's.
#include "gpu/gauge/gauge_fixing.hpp"

#include <gtest/gtest.h>

#include "common/error.hpp"
#include "cpu_ref/gauge/gauge_fixing.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

TEST(GpuGaugeFixing, MakesTheSweepsOfTheCpu) {
  for (const extents& lattice : {extents{2, 2, 2, 2}, extents{4, 6, 2, 8}})
    for (const auto condition : {gauge_condition::landau, gauge_condition::coulomb}) {
      const gpu::context ctx = gpu_context(lattice);
      const auto links = cpu::weak_field_configuration(lattice_geometry(lattice), 0.3, 1, alone);
      const auto on_device = gpu::import_links(ctx, links);
      poison_workspace<gpu::gauge_configuration>(ctx);
      constexpr int sweeps = 4;
      const auto expected = cpu::gauge_fixed(links, condition, {1e-30, sweeps, 1.7}, alone);
      const auto found = gpu::gauge_fixed(on_device, condition, {1e-30, sweeps, 1.7});
      EXPECT_EQ(found.sweeps, sweeps);
      EXPECT_FALSE(found.converged);
      // A sweep has some hundred roundings, and hands a difference on with a factor of 3 at most.
      const double bound = 100.0 * std::pow(3.0, sweeps) * unit_roundoff;
      EXPECT_TRUE(largest_difference(gpu::export_links(found.links), expected.links) <= bound) << to_string(lattice);
      EXPECT_NEAR(found.quality.functional, expected.quality.functional, bound);
      EXPECT_NEAR(found.quality.theta, expected.quality.theta, 10.0 * bound);
      const auto before = cpu::measure_gauge(links, condition, alone);
      EXPECT_NEAR(gpu::measure_gauge(on_device, condition).theta, before.theta, 10.0 * bound);
      EXPECT_LT(found.quality.theta, 0.5 * before.theta);
      EXPECT_TRUE(largest_difference(gpu::export_links(gpu::transformed(on_device, found.g)),
                                     gpu::export_links(found.links)) <= 0.0);
    }
}

TEST(GpuGaugeFixing, OfATransformedUnitFieldGivesItBack) {
  const gpu::context ctx = gpu_context({2, 4, 2, 6});
  const auto links = transformed(gpu::unit_configuration(ctx), gpu::random_gauge_transformation(ctx, 5));
  const auto fixed = gpu::gauge_fixed(links, gauge_condition::landau, {1e-20, 2000, 1.7});
  EXPECT_TRUE(fixed.converged) << fixed.sweeps << " " << fixed.quality.theta;
  // 1 - functional is of second order in the remaining gradient, as theta is.
  EXPECT_NEAR(fixed.quality.functional, 1.0, 1e-14);
}

TEST(GpuGaugeFixing, RefusesWhatCannotBe) {
  const auto links = gpu::unit_configuration(gpu_context({2, 2, 2, 2}));
  EXPECT_THROW(gpu::gauge_fixed(links, gauge_condition::landau, {0.0, 10, 1.5}), input_error);
  EXPECT_THROW(gpu::gauge_fixed(links, gauge_condition::landau, {1e-12, 10, 2.0}), input_error);
}

}  // namespace
}  // namespace plaquette::validation
