// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Smearing of the CUDA library against the CPU library's.
#include "gpu/gauge/gaussian_smearing.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "common/error.hpp"
#include "cpu_ref/gauge/gaussian_smearing.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

TEST(GpuGaussianSmearing, IsTheCpus) {
  for (const extents& lattice : gauge_lattices)
    for (const int columns : {1, 5, 12})
      for (const int steps : {1, 2, 5}) {
        const lattice_geometry geometry(lattice);
        const gpu::context ctx = gpu_context(lattice);
        const auto links = cpu::random_configuration(geometry, 1, alone);
        const double radius = 1.5;
        gpu::field<double> psi(ctx, {4, 3, site_subset::full, columns});
        for (int c = 0; c < columns; ++c)
          import_column(psi, c, cpu::random_spinor(geometry, 2, static_cast<std::uint64_t>(c), alone));
        const site_numbers before = gpu::column_numbers(psi, columns - 1);
        const gpu::field<double> found = gpu::gaussian_smeared(psi, gpu::import_links(ctx, links), radius, steps);
        EXPECT_TRUE(same_bits(gpu::column_numbers(psi, columns - 1), before));  // the input does not change
        for (int c = 0; c < columns; c += 4) {
          const auto original = cpu::random_spinor(geometry, 2, static_cast<std::uint64_t>(c), alone);
          const auto expected = cpu::gaussian_smeared(original, links, radius, steps, alone);
          spinor_configuration exported(geometry);
          export_column(exported, found, c);
          // A step multiplies errors by |1 - 6 h| + 6 h at most, h = 1.5^2 / (4 steps), and adds some 20 roundings of
          // numbers that grow alike; two rotations of the basis besides. In the norm of the whole field.
          const double h = radius * radius / (4.0 * steps), growth = std::abs(1.0 - 6.0 * h) + 6.0 * h;
          EXPECT_TRUE(norm(sum(exported, {-1.0, 0.0}, expected)) <=
                      (8 + 20 * steps) * std::pow(growth, steps) * unit_roundoff * norm(original))
              << to_string(lattice) << ", " << columns << " columns, " << steps << " steps";
        }
      }
}

TEST(GpuGaussianSmearing, TakesAViewOfColumns) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const gpu::context ctx = gpu_context(geometry.global());
  const auto links = gpu::random_configuration(ctx, 3);
  gpu::field<double> psi(ctx, {4, 3, site_subset::full, 4});
  for (int c = 0; c < 4; ++c)
    import_column(psi, c, cpu::random_spinor(geometry, 4, static_cast<std::uint64_t>(c), alone));
  const auto all = gpu::gaussian_smeared(psi, links, 2.0, 3);
  const auto some = gpu::gaussian_smeared(view(psi, 1, 2), links, 2.0, 3);
  EXPECT_TRUE(same_bits(gpu::column_numbers(some, 1), gpu::column_numbers(all, 2)));
  EXPECT_FALSE(same_bits(gpu::column_numbers(some, 1), gpu::column_numbers(all, 1)));
}

TEST(GpuGaussianSmearing, RefusesWhatItCannotDo) {
  const gpu::context ctx = gpu_context({4, 4, 2, 2});
  const auto links = gpu::unit_configuration(ctx);
  const gpu::field<double> psi(ctx, {4, 3, site_subset::full, 1}), odd(ctx, {4, 3, site_subset::odd, 1}),
      half_spinors(ctx, {2, 3, site_subset::full, 1});
  EXPECT_THROW(gpu::gaussian_smeared(psi, links, 1.0, 0), input_error);
  EXPECT_THROW(gpu::gaussian_smeared(psi, links, std::numeric_limits<double>::quiet_NaN(), 3), input_error);
  EXPECT_THROW(gpu::gaussian_smeared(odd, links, 1.0, 3), input_error);
  EXPECT_THROW(gpu::gaussian_smeared(half_spinors, links, 1.0, 3), input_error);
}

}  // namespace
}  // namespace plaquette::validation
