// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sources of the CUDA library against the CPU library's.
#include "gpu/sources/sources.hpp"

#include <gtest/gtest.h>

#include "common/error.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

/// The largest difference of a number of the sites that x has; elsewhere the found ones must be zero.
template <class T>
double largest_difference(const gpu::field<T>& x, int column, const spinor_configuration& expected) {
  spinor_configuration found(expected.geometry());
  export_column(found, x, column);
  double worst = 0.0;
  visit_sites(expected.geometry(), [&](const coordinate& at) {
    const site_subset sites = x.shape().sites;
    const bool is_there = sites == site_subset::full || (sites == site_subset::odd) == (parity(at) == 1);
    const double d = std::sqrt(norm2(found(at) - (is_there ? 1.0 : 0.0) * expected(at)));
    if (!(d <= worst)) worst = d;
  });
  return worst;
}

template <class T>
class GpuSource : public testing::Test {};
using precisions = testing::Types<double, float, half>;
TYPED_TEST_SUITE(GpuSource, precisions);

TYPED_TEST(GpuSource, AtAPointOrOnAWallIsTheCpus) {
  using T = TypeParam;
  for (const extents& lattice : gauge_lattices) {
    const lattice_geometry geometry(lattice);
    const gpu::context ctx = gpu_context(lattice);
    for (const site_subset sites : {site_subset::full, site_subset::even, site_subset::odd})
      for (int component = 0; component < spin_colours; ++component) {
        const auto [spin, colour] = component_of_column(component);
        const coordinate at{component % lattice[0], 1, component % lattice[2], lattice[3] - 1};
        gpu::field<T> x(ctx, {4, 3, sites, 2});
        poison(x);
        gpu::point_source(x, 0, at, spin, colour);
        gpu::wall_source(x, 1, at[3], spin, colour);
        // 1 / sqrt 2 stored twice, and two rotations of the basis.
        const double bound = 2 * unit_of<T> + 4 * unit_roundoff;
        EXPECT_TRUE(largest_difference(x, 0, cpu::point_source(geometry, at, spin, colour)) <= bound);
        EXPECT_TRUE(largest_difference(x, 1, cpu::wall_source(geometry, at[3], spin, colour)) <= bound);
      }
  }
}

/// The numbers are 0, 1, i, -1, -i, so a field of one stored number a component has the bits that the host's copy has.
TYPED_TEST(GpuSource, OfNoiseHasTheBitsOfTheCpus) {
  using T = TypeParam;
  for (const extents& lattice : gauge_lattices) {
    const lattice_geometry geometry(lattice);
    const gpu::context ctx = gpu_context(lattice);
    for (const noise_kind kind : {noise_kind::z2, noise_kind::z4})
      for (int component = 0; component < spin_colours; ++component) {
        const auto [spin, colour] = component_of_column(component);
        const noise_description noise{kind, lattice[3] - 1, 7 + static_cast<std::uint64_t>(component)};
        gpu::field<T> x(ctx, {4, 3, site_subset::full, 2});
        poison(x);
        gpu::noise_source(x, 0, noise, spin, colour);
        const spinor_configuration expected = cpu::noise_source(geometry, noise, spin, colour);
        import_column(x, 1, expected);
        EXPECT_TRUE(same_bits(gpu::column_numbers(x, 0), gpu::column_numbers(x, 1)));
        gpu::field<T> odd(ctx, {4, 3, site_subset::odd, 1});
        poison(odd);
        gpu::noise_source(odd, 0, noise, spin, colour);
        EXPECT_TRUE(largest_difference(odd, 0, expected) <= 2 * unit_of<T> + 4 * unit_roundoff);
      }
  }
}

TEST(GpuSources, AsDescribedAreTheCpus) {
  for (const extents& lattice : gauge_lattices) {
    const lattice_geometry geometry(lattice);
    const gpu::context ctx = gpu_context(lattice);
    const auto links = cpu::random_configuration(geometry, 1, alone);
    const auto on_device = gpu::import_links(ctx, links);
    for (const source_kind kind : {source_kind::point, source_kind::wall, source_kind::gaussian}) {
      const source_description source{kind, {1, lattice[1] - 1, 1, 1}, 1.5, 4};
      gpu::field<double> all(ctx, {4, 3, site_subset::full, spin_colours}), some(ctx, {4, 3, site_subset::full, 3});
      gpu::make_sources(all, source, 0, on_device);
      gpu::make_sources(some, source, 5, on_device);
      for (int c = 0; c < 3; ++c) EXPECT_TRUE(same_bits(gpu::column_numbers(some, c), gpu::column_numbers(all, 5 + c)));
      for (const int c : {0, 4, 11}) {
        const auto [spin, colour] = component_of_column(c);
        const auto expected = cpu::make_source(source, spin, colour, links, alone);
        // Rotations of the basis; four steps of smearing, whose numbers are at most 1 and whose errors grow by
        // |1 - 6 h| + 6 h = 1 a step (h = 0.14), each adding some 20 roundings.
        EXPECT_TRUE(largest_difference(all, c, expected) <= (4 + 4 * 20) * unit_roundoff) << name(kind) << ' ' << c;
      }
      gpu::make_source(some, 1, source, 3, 2, on_device);
      EXPECT_TRUE(same_bits(gpu::column_numbers(some, 1), gpu::column_numbers(all, 11)));
      EXPECT_TRUE(same_bits(gpu::column_numbers(some, 2), gpu::column_numbers(all, 7)));
    }
  }
}

TEST(GpuSources, AreRefusedWhereTheyDoNotFit) {
  const gpu::context ctx = gpu_context({4, 4, 2, 2});
  const auto links = gpu::unit_configuration(ctx);
  gpu::field<double> x(ctx, {4, 3, site_subset::full, 2}), odd(ctx, {4, 3, site_subset::odd, 2}),
      chiral(ctx, {2, 3, site_subset::full, 2});
  EXPECT_THROW(gpu::make_sources(x, {.position = {4, 0, 0, 0}}, 0, links), input_error);
  EXPECT_THROW(gpu::make_source(x, 2, {}, 0, 0, links), input_error);
  EXPECT_THROW(gpu::point_source(x, -1, {0, 0, 0, 0}, 0, 0), input_error);
  EXPECT_THROW(gpu::make_sources(odd, {.kind = source_kind::gaussian}, 0, links), input_error);
  EXPECT_THROW(gpu::wall_source(chiral, 0, 0, 0, 0), input_error);
}

}  // namespace
}  // namespace plaquette::validation
