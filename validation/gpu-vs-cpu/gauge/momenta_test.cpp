// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Momenta and rectangles of the CUDA library against the CPU library's.
#include "gpu/gauge/momenta.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/error.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/momenta.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "gpu/gauge/plaquette.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

TEST(GpuMomenta, AreTheCpus) {
  for (const extents& lattice : gauge_lattices) {
    const gpu::context ctx = gpu_context(lattice);
    poison_workspace<gpu::gauge_momenta>(ctx);
    auto found = gpu::random_momenta(ctx, 5, 3);
    const auto expected = cpu::random_momenta(lattice_geometry(lattice), 5, 3, alone);
    // A radius below 9 and a cosine, both with the errors of their functions; a diagonal number is a sum of two.
    EXPECT_TRUE(largest_difference(gpu::export_links(found), expected) <= 2 * 9 * 4 * function_ulps() * unit_roundoff)
        << to_string(lattice);
    gpu::fill_bytes(ctx.queue(), found.sites().begin, 0xff, static_cast<std::size_t>(2 * found.parity_bytes()));
    gpu::refresh_momenta(found, 5, 3);
    EXPECT_TRUE(same_bits(gpu::export_links(found), gpu::export_links(gpu::random_momenta(ctx, 5, 3))));
  }
}

TEST(GpuMomenta, HaveTheCpusEnergyAndSize) {
  for (const extents& lattice : gauge_lattices) {
    const gpu::context ctx = gpu_context(lattice);
    const lattice_geometry geometry(lattice);
    const auto a = cpu::random_momenta(geometry, 5, 3, alone), b = cpu::random_momenta(geometry, 5, 4, alone);
    const auto here = gpu::import_links(ctx, a), there = gpu::import_links(ctx, b);
    const double energy = cpu::kinetic_energy(a, alone);
    // Sums in another order, of numbers of one sign; the terms of a difference have both.
    EXPECT_NEAR(gpu::kinetic_energy(here), energy, 1e-13 * energy) << to_string(lattice);
    EXPECT_NEAR(gpu::kinetic_energy_difference(there, here), cpu::kinetic_energy_difference(b, a, alone),
                1e-13 * energy);
    EXPECT_EQ(gpu::kinetic_energy_difference(here, here), 0.0);
    const force_size found = gpu::size_of_force(here), expected = cpu::size_of_force(a, alone);
    EXPECT_NEAR(found.rms, expected.rms, 1e-13 * expected.rms);
    EXPECT_NEAR(found.largest, expected.largest, 20 * unit_roundoff * expected.largest);
  }
}

TEST(GpuMomenta, ShowANaN) {
  const gpu::context ctx = gpu_context({2, 4, 2, 2});
  auto momenta = cpu::random_momenta(ctx.geometry(), 5, 3, alone);
  momenta.at_site(7)[2](1, 1).im = std::numeric_limits<double>::quiet_NaN();
  const force_size size = gpu::size_of_force(gpu::import_links(ctx, momenta));
  EXPECT_TRUE(std::isnan(size.largest));
  EXPECT_TRUE(std::isnan(size.rms));
  EXPECT_THROW(gpu::kinetic_energy_difference(gpu::random_momenta(ctx, 1, 1),
                                              gpu::random_momenta(gpu_context({2, 2, 2, 2}), 1, 1)),
               input_error);
}

TEST(GpuMeanRectangle, IsTheCpus) {
  for (const extents& lattice : gauge_lattices) {
    const auto links = cpu::weak_field_configuration(lattice_geometry(lattice), 0.3, 7, alone);
    const gpu::context ctx = gpu_context(lattice);
    const auto on_device = gpu::import_links(ctx, links);
    poison_workspace<gpu::gauge_configuration>(ctx);
    EXPECT_NEAR(gpu::mean_rectangle(on_device), cpu::mean_rectangle(links, alone), 1e-13) << to_string(lattice);
  }
}

}  // namespace
}  // namespace plaquette::validation
