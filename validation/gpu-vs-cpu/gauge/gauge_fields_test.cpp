// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gauge configurations of the CUDA library against the CPU library's.
#include "gpu/gauge/gauge_fields.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "common/error.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

class GpuGaugeFields : public testing::TestWithParam<extents> {
 protected:
  void SetUp() override { poison_workspace<gpu::gauge_configuration>(ctx); }
  const lattice_geometry geometry{GetParam()};
  const gpu::context ctx = gpu_context(GetParam());
};

TEST_P(GpuGaugeFields, ComeBackAsTheyWere) {
  for (std::uint64_t seed : {1, 2}) {
    const auto links = cpu::random_configuration(geometry, seed, alone);
    EXPECT_TRUE(same_bits(gpu::export_links(gpu::import_links(ctx, links)), links));
    const auto g = cpu::random_gauge_transformation(geometry, seed, alone);
    EXPECT_TRUE(same_bits(gpu::export_transformation(gpu::import_transformation(ctx, g)), g));
  }
}

TEST_P(GpuGaugeFields, CopyIsAnother) {
  const auto links = cpu::random_configuration(geometry, 3, alone);
  auto first = gpu::import_links(ctx, links);
  const auto second = gpu::copy_of(first);
  gpu::fill_bytes(ctx.queue(), first.sites().begin, 0, static_cast<std::size_t>(2 * first.parity_bytes()));
  EXPECT_TRUE(same_bits(gpu::export_links(second), links));
}

TEST_P(GpuGaugeFields, UnitIsUnit) {
  EXPECT_TRUE(same_bits(gpu::export_links(gpu::unit_configuration(ctx)), cpu::unit_configuration(geometry)));
}

// A normal deviate is sqrt(-2 log u) cos(2 pi v). Gram-Schmidt multiplies relative errors of a row by the inverse of
// the part of it that is orthogonal to the row before: near 1, by 1 and a little. For rows of a random direction, of
// 10^4 links one comes to about 10 (the probability of more than a falls with a^-4).
TEST_P(GpuGaugeFields, RandomLinksAreTheCpus) {
  for (std::uint64_t seed : {4, 5, 6}) {
    const auto expected = cpu::random_configuration(geometry, seed, alone);
    const auto found = gpu::export_links(gpu::random_configuration(ctx, seed));
    EXPECT_TRUE(largest_difference(found, expected) <= 10 * 10 * function_ulps() * unit_roundoff);
  }
}

TEST_P(GpuGaugeFields, WeakFieldsAreTheCpus) {
  for (const double noise : {0.0, 0.05, 0.3}) {
    const auto expected = cpu::weak_field_configuration(geometry, noise, 7, alone);
    const auto found = gpu::export_links(gpu::weak_field_configuration(ctx, noise, 7));
    // Deviates of up to 5, two roundings of Gram-Schmidt.
    EXPECT_TRUE(largest_difference(found, expected) <= 5 * 4 * function_ulps() * unit_roundoff);
  }
}

TEST_P(GpuGaugeFields, SeedsMatter) {
  const auto one = gpu::export_links(gpu::random_configuration(ctx, 4));
  EXPECT_FALSE(same_bits(gpu::export_links(gpu::random_configuration(ctx, 5)), one));
}

TEST_P(GpuGaugeFields, ConstantFluxIsTheCpus) {
  for (const auto embedding : {abelian_embedding::all_colours, abelian_embedding::su3})
    for (const std::array<int, 2>& fluxes : {std::array<int, 2>{1, 0}, {0, 1}, {-2, 3}}) {
      const auto expected = cpu::constant_flux_configuration(geometry, fluxes, embedding, alone);
      const auto found = gpu::export_links(gpu::constant_flux_configuration(ctx, fluxes, embedding));
      EXPECT_TRUE(largest_difference(found, expected) <= function_ulps() * unit_roundoff);
    }
}

TEST_P(GpuGaugeFields, RandomTransformationsAreTheCpus) {
  for (std::uint64_t seed : {8, 9}) {
    const auto expected = cpu::random_gauge_transformation(geometry, seed, alone);
    const auto found = gpu::export_transformation(gpu::random_gauge_transformation(ctx, seed));
    double worst = 0.0;
    visit_sites(geometry, [&](const coordinate& x) {
      const double d = largest_difference(found(x), expected(x));
      if (!(d <= worst)) worst = d;
    });
    EXPECT_TRUE(worst <= 10 * 10 * function_ulps() * unit_roundoff);
  }
}

TEST_P(GpuGaugeFields, TransformedLinksAreTheCpusBitForBit) {
  // Products and sums only, without contraction.
  const auto links = cpu::random_configuration(geometry, 10, alone);
  const auto g = cpu::random_gauge_transformation(geometry, 11, alone);
  const auto found = gpu::transformed(gpu::import_links(ctx, links), gpu::import_transformation(ctx, g));
  EXPECT_TRUE(same_bits(gpu::export_links(found), cpu::transformed(links, g, alone)));
}

TEST_P(GpuGaugeFields, TransformedSpinorsAreTheCpus) {
  const auto g = cpu::random_gauge_transformation(geometry, 12, alone);
  for (const site_subset sites : {site_subset::full, site_subset::odd}) {
    gpu::field<double> psi(ctx, {4, 3, sites, 3});
    for (int column = 0; column < 3; ++column)
      import_column(psi, column, cpu::random_spinor(geometry, 13, static_cast<std::uint64_t>(column), alone));
    const gpu::field<double> found = gpu::transformed(psi, gpu::import_transformation(ctx, g));
    for (int column = 0; column < 3; ++column) {
      const auto expected =
          cpu::transformed(cpu::random_spinor(geometry, 13, static_cast<std::uint64_t>(column), alone), g, alone);
      spinor_configuration exported(geometry);
      export_column(exported, found, column);
      visit_sites(geometry, [&](const coordinate& x) {
        const bool is_there = sites == site_subset::full || parity(x) == 1;
        const spinor<double> difference = exported(x) - (is_there ? 1.0 : 0.0) * expected(x);
        // Two rotations of the basis and a product of six roundings.
        EXPECT_TRUE(std::sqrt(norm2(difference)) <= 12 * unit_roundoff * std::sqrt(norm2(expected(x))));
      });
    }
  }
  gpu::field<double> half_spinors(ctx, {2, 3, site_subset::full, 1});
  EXPECT_THROW(gpu::transformed(half_spinors, gpu::import_transformation(ctx, g)), input_error);
}

TEST_P(GpuGaugeFields, DistanceFromSU3IsTheCpusBitForBit) {
  auto links = cpu::random_configuration(geometry, 14, alone);
  const auto both = [&] {
    const double expected = cpu::distance_from_su3(links, alone);
    const double found = gpu::distance_from_su3(gpu::import_links(ctx, links));
    EXPECT_TRUE(found == expected) << found << " and not " << expected;
    return found;
  };
  EXPECT_LE(both(), 32 * unit_roundoff);
  links({1, 0, 1, 1})[3](2, 1).im += 0.25;
  EXPECT_GE(both(), 0.01);
  links({0, 1, 0, 1})[0](0, 2).re = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(gpu::distance_from_su3(gpu::import_links(ctx, links))));
}

TEST_P(GpuGaugeFields, OfAnotherLatticeAreRefused) {
  extents other = GetParam();
  other[3] += 2;
  EXPECT_THROW(gpu::import_links(ctx, cpu::unit_configuration(lattice_geometry(other))), input_error);
}

INSTANTIATE_TEST_SUITE_P(, GpuGaugeFields, testing::ValuesIn(gauge_lattices),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace plaquette::validation
