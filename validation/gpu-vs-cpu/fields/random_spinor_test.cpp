// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random spinors of the CUDA library against the CPU library's.
#include "gpu/fields/random_spinor.hpp"

#include <gtest/gtest.h>

#include "common/error.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

template <class T>
class GpuRandomSpinor : public testing::Test {};
using precisions = testing::Types<double, float, half>;
TYPED_TEST_SUITE(GpuRandomSpinor, precisions);

TYPED_TEST(GpuRandomSpinor, IsTheCpus) {
  using T = TypeParam;
  for (const extents& lattice : gauge_lattices)
    for (const site_subset sites : {site_subset::full, site_subset::even, site_subset::odd}) {
      const lattice_geometry geometry(lattice);
      const gpu::context ctx = gpu_context(lattice);
      const field_shape shape{4, 3, sites, 3};
      gpu::field<T> expected(ctx, shape), found(ctx, shape);
      poison(found);
      for (int c = 0; c < 3; ++c)
        import_column(expected, c, cpu::random_spinor(geometry, 6, 10 + static_cast<std::uint64_t>(c), alone));
      gpu::random_spinors(found, 6, 10);
      for (int c = 0; c < 3; ++c) {
        const site_numbers a = gpu::column_numbers(found, c), b = gpu::column_numbers(expected, c);
        const std::vector<double> largest = largest_of_sites(b, 12);
        double worst = 0.0;
        for (std::size_t k = 0; k < a.size(); ++k) {
          const double d = std::sqrt(norm2(a[k] - b[k])) / largest[k / 12];
          if (!(d <= worst)) worst = d;
        }
        // Two deviates, each off by some ulps of logarithm, root and cosine (largest numbers of a site are above 1, so
        // that deviates and their sums are at most 6 times them). Stored, that may round to a neighbour.
        const double deviates = 6 * 2 * function_ulps() * unit_roundoff;
        const double stored = function_ulps() > 0.0 ? 2 * unit_of<T> * std::sqrt(2.0) : 0.0;
        EXPECT_TRUE(worst <= deviates + stored) << describe(lattice, shape) << ": " << worst;
      }
    }
}

TYPED_TEST(GpuRandomSpinor, ColumnsAreIndependentOfTheBatch) {
  using T = TypeParam;
  const gpu::context ctx = gpu_context({4, 6, 2, 8});
  gpu::field<T> batch(ctx, {4, 3, site_subset::full, 5}), one(ctx, {4, 3, site_subset::full, 1});
  gpu::random_spinors(batch, 7);
  gpu::random_spinor(one, 0, 7, 3);
  EXPECT_TRUE(same_bits(gpu::column_numbers(batch, 3), gpu::column_numbers(one, 0)));
  EXPECT_FALSE(same_bits(gpu::column_numbers(batch, 2), gpu::column_numbers(one, 0)));
  EXPECT_THROW(gpu::random_spinor(one, 1, 7, 3), input_error);
  gpu::field<T> other(ctx, {2, 3, site_subset::full, 1});
  EXPECT_THROW(gpu::random_spinor(other, 0, 7, 3), input_error);
}

}  // namespace
}  // namespace plaquette::validation
