// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Heat bath and over-relaxation of the CUDA library against the CPU library's.
#include "gpu/gauge/heatbath.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>
#include <vector>

#include "common/error.hpp"
#include "cpu_ref/gauge/heatbath.hpp"
#include "gpu/gauge/plaquette.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;
const gauge_action actions[] = {{5.7}, {6.0, 2.5}, {0.4}, {80.0, 0.5}};  // Kennedy-Pendleton and Creutz alike

TEST(GpuOverrelaxation, GivesTheBitsOfTheCpu) {
  // Sums, products, quotients and roots only, without contraction.
  for (const extents& lattice : gauge_lattices)
    for (const gauge_action& action : {actions[0], actions[1]}) {
      const lattice_geometry geometry(lattice);
      auto expected = cpu::random_configuration(geometry, 1, alone);
      auto found = gpu::import_links(gpu_context(lattice), expected);
      cpu::heatbath_updater on_cpu(geometry, alone);
      gpu::heatbath_updater on_gpu(found.get_context());
      for (int n = 0; n < 3; ++n) {
        on_cpu.overrelaxation_sweep(expected, action);
        on_gpu.overrelaxation_sweep(found, action);
      }
      EXPECT_TRUE(same_bits(gpu::export_links(found), expected)) << to_string(lattice);
    }
}

TEST(GpuOverrelaxation, KeepsTheActionAndSU3) {
  const extents lattice{6, 6, 6, 6};
  for (const gauge_action& action : {actions[0], actions[1]}) {
    auto links = gpu::random_configuration(gpu_context(lattice), 2);
    gpu::heatbath_sweep(links, action, 2, 0);
    const double before = gpu::action_value(links, action);
    for (int n = 0; n < 20; ++n) gpu::overrelaxation_sweep(links, action);
    // 20 sweeps round the action of each link, of size 6 beta / 3 * 2 at most, some 100 times; the errors are
    // independent: a few times 12 anisotropy * sqrt(20 * links * 100) epsilon.
    const double links_updated = 20.0 * 4.0 * static_cast<double>(volume(lattice));
    EXPECT_NEAR(gpu::action_value(links, action), before,
                4 * action.beta * action.anisotropy * 4 * std::sqrt(links_updated * 100) * 2 * unit_roundoff);
    EXPECT_LE(gpu::distance_from_su3(links), 32 * unit_roundoff);
  }
}

TEST(GpuHeatBath, OneSweepIsThatOfTheCpuButForDecisionsOnTheEdge) {
  // In the host build nothing differs. On a device log, exp and cos differ in the last places, and an element of SU(2)
  // by some 10 epsilon. A link's difference passes to the staples of those updated later, at most seven times in a
  // sweep. There it grows by the inverse of the staples' sizes, in random fields by ten or so each time at worst. So
  // links agree to 1e-8, unless a number within 1e-15 of the edge was accepted here and rejected there. Then the link
  // is another, and so are those whose staples it is in. Of 10^5 attempts one in 10^10 runs has such a case; one is
  // allowed.
  constexpr double agreement = 1e-8;
  constexpr int allowed = 100;  // a link is in the staples of 18 others, in part of these at a time
  int differing = 0, links_seen = 0;
  double worst = 0.0;
  for (const extents& lattice : gauge_lattices)
    for (const gauge_action& action : actions)
      for (std::uint64_t seed : {3, 4}) {
        const lattice_geometry geometry(lattice);
        auto expected = cpu::random_configuration(geometry, seed, alone);
        auto on_device = gpu::import_links(gpu_context(lattice), expected);
        cpu::heatbath_sweep(expected, action, seed, 5, alone);
        gpu::heatbath_sweep(on_device, action, seed, 5);
        const auto found = gpu::export_links(on_device);
        visit_sites(geometry, [&](const coordinate& x) {
          for (int mu = 0; mu < dimensions; ++mu, ++links_seen) {
            const double d = largest_difference(found(x)[mu], expected(x)[mu]);
            if (!(d <= agreement))
              ++differing;
            else if (d > worst)
              worst = d;
          }
        });
        if (gpu::kernels_run_on_host()) {
          EXPECT_TRUE(same_bits(found, expected));
        }
        EXPECT_LE(gpu::distance_from_su3(on_device), 32 * unit_roundoff);
      }
  std::printf("%d of %d links differ; the others by at most %.1e\n", differing, links_seen, worst);
  EXPECT_LE(differing, allowed);
}

TEST(GpuHeatBath, PlaquetteFollowsTheStrongCouplingSeries) {
  // As in validation/physics/heatbath_test.cpp: beta / 18 + beta^2 / 216, and the next term below 6e-5 beta^4.
  const double beta = 0.6;
  auto links = gpu::unit_configuration(gpu_context({8, 8, 8, 8}));
  gpu::heatbath_updater updater(links.get_context());
  std::vector<double> series;
  for (std::uint64_t n = 0; n < 45; ++n) {
    updater.heatbath_sweep(links, {beta}, 6, n);
    if (n >= 5) series.push_back(gpu::average_plaquette(links));
  }
  double mean = 0.0, scatter = 0.0;
  const double size = static_cast<double>(series.size());
  for (double p : series) mean += p / size;
  for (double p : series) scatter += (p - mean) * (p - mean);
  // At this coupling sweeps are all but independent.
  const double error = std::sqrt(scatter / (size * (size - 1.0)));
  std::printf("%.7f +- %.7f, expected %.7f\n", mean, error, beta / 18.0 + beta * beta / 216.0);
  EXPECT_LE(std::abs(mean - beta / 18.0 - beta * beta / 216.0), 4.0 * error + 6e-5 * std::pow(beta, 4));
  EXPECT_LT(error, 5e-4);
}

TEST(GpuHeatBath, PlaquetteAtBeta5_7IsThePublishedOne) {
  // 0.549 to three digits. The host build would take a minute for 8^4: it shows the CPU's bits instead, above and
  // below.
  if (gpu::kernels_run_on_host()) GTEST_SKIP() << "for a device";
  auto links = gpu::unit_configuration(gpu_context({8, 8, 8, 8}));
  gpu::heatbath_updater updater(links.get_context());
  constexpr int bins = 16, of_bin = 10;
  std::array<double, bins> means{};
  for (std::uint64_t n = 0; n < 40 + bins * of_bin; ++n) {
    updater.combined_sweep(links, {5.7}, {1, 4}, 3, n);
    if (n >= 40) means[(n - 40) / of_bin] += gpu::average_plaquette(links) / of_bin;
  }
  double mean = 0.0, scatter = 0.0;
  for (double m : means) mean += m / bins;
  for (double m : means) scatter += (m - mean) * (m - mean);
  const double error = std::sqrt(scatter / (bins * (bins - 1.0)));
  std::printf("%.6f +- %.6f, published 0.549\n", mean, error);
  EXPECT_LE(std::abs(mean - 0.549), 4.0 * error + 5e-4);
  EXPECT_LT(error, 2e-3);
}

TEST(GpuHeatBath, ARunIsThatOfTheCpuBitForBitInTheHostBuildAndContinuesAnywhere) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const gpu::context ctx = gpu_context(geometry.global());
  const auto at_once = gpu::heatbath_configuration(ctx, {5.9, 1.5}, {1, 2}, 4, 7);
  if (gpu::kernels_run_on_host()) {
    EXPECT_TRUE(
        same_bits(gpu::export_links(at_once), cpu::heatbath_configuration(geometry, {5.9, 1.5}, {1, 2}, 4, 7, alone)));
  }
  auto links = gpu::heatbath_configuration(ctx, {5.9, 1.5}, {1, 2}, 3, 7);
  gpu::heatbath_updater(ctx).combined_sweep(links, {5.9, 1.5}, {1, 2}, 7, 3);
  EXPECT_TRUE(same_bits(gpu::export_links(links), gpu::export_links(at_once)));
}

TEST(GpuHeatBath, SeedsAndSweepNumbersMatter) {
  const gpu::context ctx = gpu_context({4, 4, 2, 2});
  const auto one_sweep = [&](std::uint64_t seed, std::uint64_t number) {
    auto links = gpu::unit_configuration(ctx);
    gpu::heatbath_sweep(links, {6.0}, seed, number);
    return gpu::export_links(links);
  };
  const auto links = one_sweep(1, 0);
  EXPECT_TRUE(same_bits(one_sweep(1, 0), links));
  EXPECT_FALSE(same_bits(one_sweep(2, 0), links));
  EXPECT_FALSE(same_bits(one_sweep(1, 1), links));
}

TEST(GpuHeatBath, ActionIsTheCpus) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const auto links = cpu::weak_field_configuration(geometry, 0.2, 8, alone);
  const auto on_device = gpu::import_links(gpu_context(geometry.global()), links);
  for (const gauge_action& action : actions) {
    const double expected = cpu::action_value(links, action, alone);
    // Plaquettes agree to 120 u (their test); 1 - plaquette is above 0.1 here.
    EXPECT_NEAR(gpu::action_value(on_device, action), expected, 1200 * unit_roundoff * expected);
  }
}

TEST(GpuHeatBath, RefusesActionsAndFieldsItCannotUse) {
  auto links = gpu::unit_configuration(gpu_context({4, 4, 2, 2}));
  gpu::heatbath_updater updater(links.get_context());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const gauge_action& action :
       {gauge_action{-1.0}, gauge_action{nan}, gauge_action{6.0, 0.0}, gauge_action{6.0, nan}}) {
    EXPECT_THROW(updater.heatbath_sweep(links, action, 1, 0), input_error);
    EXPECT_THROW(updater.overrelaxation_sweep(links, action), input_error);
  }
  auto other = gpu::unit_configuration(gpu_context({4, 4, 4, 2}));
  EXPECT_THROW(updater.heatbath_sweep(other, {6.0}, 1, 0), input_error);
}

TEST(GpuHeatBath, ANaNInALinkIsNotHidden) {
  const lattice_geometry geometry({4, 4, 2, 2});
  auto links = cpu::unit_configuration(geometry);
  links({1, 1, 1, 1})[2](0, 0).re = std::numeric_limits<double>::quiet_NaN();
  auto on_device = gpu::import_links(gpu_context(geometry.global()), links);
  gpu::heatbath_sweep(on_device, {6.0}, 1, 0);
  EXPECT_TRUE(std::isnan(gpu::average_plaquette(on_device)));
}

}  // namespace
}  // namespace plaquette::validation
