// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The memory that the solver needs of a GPU, and the batches that it makes of right-hand sides that do not fit.
#include <gtest/gtest.h>

#include "miniapps/mixed-precision-solver/work_estimate.hpp"

namespace plaquette {
namespace {

solver_options options_in(precision outer, precision inner) {
  solver_options options;
  options.shared.device = "gpu";
  options.shared.rhs = 12;
  options.outer = outer;
  options.inner = inner;
  options.links = options.inner_links = reconstruct::twelve;
  options.shared.action = fermion_action::isotropic(0.1, 1.0);
  return options;
}

double gpu_bytes(const solver_options& options, const lattice_geometry& geometry) {
  return estimate_work(options, geometry, communicator()).gpu_bytes;
}

TEST(WorkEstimate, FitsTheLongLatticeIntoOneH200) {
  const lattice_geometry geometry({32, 32, 32, 256});
  constexpr double h200 = 139.0 * 0x1p30;  // of 139.8 GiB, the memory that a program finds free
  EXPECT_EQ(batch_that_fits(options_in(precision::double_, precision::half), geometry, h200), 6);
  EXPECT_EQ(batch_that_fits(options_in(precision::single, precision::half), geometry, h200), 12);
}

TEST(WorkEstimate, MakesTheFewestBatchesOfOneSizeThatFit) {
  const lattice_geometry geometry({16, 16, 16, 32});
  solver_options options = options_in(precision::double_, precision::half);
  const double all = gpu_bytes(options, geometry);
  EXPECT_EQ(batch_that_fits(options, geometry, all), 12);
  EXPECT_EQ(batch_that_fits(options, geometry, 0.0), 1);
  int before = 12;
  for (double bytes = all; bytes > 0.5 * all; bytes *= 0.98) {
    const int batch = batch_that_fits(options, geometry, bytes);
    EXPECT_LE(batch, before);
    before = batch;
    if (batch == 1) break;
    solver_options in_batches = options;
    in_batches.batch = batch;
    EXPECT_LE(gpu_bytes(in_batches, geometry), bytes) << batch;
  }
  EXPECT_LT(before, 12);
}

TEST(WorkEstimate, CountsWhatTheSolutionIsMadeOf) {
  // Source, solution and residual of 12 columns at least, on the full lattice, and the links once in each precision.
  const lattice_geometry geometry({16, 16, 16, 32});
  const double sites = 16.0 * 16 * 16 * 32, fields = 3.0 * 12 * 24 * 8 * sites, links = 4.0 * 12 * (8 + 2) * sites;
  const double found = gpu_bytes(options_in(precision::double_, precision::half), geometry);
  EXPECT_GT(found, fields + links);
  EXPECT_LT(found, 4.0 * (fields + links) + 0x1p31);
}

}  // namespace
}  // namespace plaquette
