// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Stout smearing of the CUDA library against the CPU library's.
#include "gpu/gauge/stout.hpp"

#include <gtest/gtest.h>

#include "common/error.hpp"
#include "cpu_ref/gauge/stout.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

TEST(GpuStoutSmearing, IsTheCpus) {
  for (const extents& lattice : gauge_lattices)
    for (const stout_smearing& smearing : {stout_smearing{1, 0.1, false}, stout_smearing{3, 0.12, false},
                                           stout_smearing{2, 0.1, true}, stout_smearing{0, 0.1, false}}) {
      const gpu::context ctx = gpu_context(lattice);
      const auto links = cpu::random_configuration(lattice_geometry(lattice), 1, alone);
      const auto expected = cpu::stout_smeared(links, smearing, alone);
      const auto on_device = gpu::import_links(ctx, links);
      poison_workspace<gpu::gauge_configuration>(ctx);
      const auto found = gpu::stout_smeared(on_device, smearing);
      // A step multiplies differences by some 1 + 24 rho (of random links) and adds some 100 roundings.
      const double growth = std::pow(1.0 + 24.0 * smearing.rho, smearing.steps);
      EXPECT_TRUE(largest_difference(gpu::export_links(found), expected) <=
                  100.0 * smearing.steps * growth * unit_roundoff)
          << to_string(lattice) << ", " << smearing.steps << " steps";
      EXPECT_TRUE(largest_difference(gpu::export_links(on_device), links) <= 0.0);  // the input does not change
      if (smearing.spatial)
        visit_sites(links.geometry(), [&](const coordinate& x) { EXPECT_EQ(expected(x)[3], links(x)[3]); });
    }
}

TEST(GpuStoutSmearing, RefusesWhatCannotBe) {
  const auto links = gpu::unit_configuration(gpu_context({2, 2, 2, 2}));
  EXPECT_THROW(gpu::stout_smeared(links, {-1, 0.1, false}), input_error);
  EXPECT_THROW(gpu::stout_smeared(links, {1, -0.1, false}), input_error);
}

}  // namespace
}  // namespace plaquette::validation
