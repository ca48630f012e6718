// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// APE and HYP smearing of the CUDA library against the CPU library's.
#include "gpu/gauge/link_smearing.hpp"

#include <gtest/gtest.h>

#include "common/error.hpp"
#include "cpu_ref/gauge/link_smearing.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

/// A step adds some hundred roundings, and ends an iteration that changes by less than 1e-15; links near 1 keep
/// differences as they are.
constexpr double bound_of_a_step = 400.0 * 2.0 * unit_roundoff;

TEST(GpuLinkSmearing, IsTheCpus) {
  for (const extents& lattice : {extents{2, 2, 2, 2}, extents{6, 2, 4, 10}}) {
    const gpu::context ctx = gpu_context(lattice);
    const auto links = cpu::weak_field_configuration(lattice_geometry(lattice), 0.2, 1, alone);
    const auto on_device = gpu::import_links(ctx, links);
    poison_workspace<gpu::gauge_configuration>(ctx);
    for (const ape_smearing& ape : {ape_smearing{2, 0.6, false}, ape_smearing{1, 0.5, true}, ape_smearing{0}})
      EXPECT_TRUE(largest_difference(gpu::export_links(gpu::ape_smeared(on_device, ape)),
                                     cpu::ape_smeared(links, ape, alone)) <= ape.steps * bound_of_a_step)
          << to_string(lattice) << ", APE " << ape.steps;
    for (const int steps : {0, 1, 2})
      EXPECT_TRUE(largest_difference(gpu::export_links(gpu::hyp_smeared(on_device, {steps})),
                                     cpu::hyp_smeared(links, {steps}, alone)) <= 3 * steps * bound_of_a_step)
          << to_string(lattice) << ", HYP " << steps;
    EXPECT_TRUE(largest_difference(gpu::export_links(on_device), links) <= 0.0);
  }
}

TEST(GpuLinkSmearing, RefusesWhatCannotBe) {
  const auto links = gpu::unit_configuration(gpu_context({2, 2, 2, 2}));
  EXPECT_THROW(gpu::ape_smeared(links, {1, -0.1, false}), input_error);
  EXPECT_THROW(gpu::hyp_smeared(links, {-1}), input_error);
}

}  // namespace
}  // namespace plaquette::validation
