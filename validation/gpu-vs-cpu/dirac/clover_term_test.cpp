// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The clover term of the CUDA library and its inverse against the CPU library's.
#include "gpu/dirac/clover_term.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "common/error.hpp"
#include "common/random/random_stream.hpp"
#include "cpu_ref/dirac/clover_term.hpp"
#include "gpu/dirac/invert_hermitian.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"
#include "validation/support/actions.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;
using host_clover = site_field<clover_block>;

/// The largest difference of a number, and the largest number of b.
struct comparison {
  double difference = 0.0, size = 0.0;
};
comparison compare(const host_clover& a, const host_clover& b) {
  comparison worst;
  const auto look = [&](const complex<double>& x, const complex<double>& y) {
    const double d = std::sqrt(norm2(x - y)), s = std::sqrt(norm2(y));
    if (!(d <= worst.difference)) worst.difference = d;
    if (!(s <= worst.size)) worst.size = s;
  };
  visit_sites(a.geometry(), [&](const coordinate& x) {
    for (int chirality = 0; chirality < 2; ++chirality)
      for (int i = 0; i < chiral_rows; ++i)
        for (int j = 0; j <= i; ++j) look(a(x).chirality[chirality](i, j), b(x).chirality[chirality](i, j));
  });
  return worst;
}

class GpuCloverTerm : public testing::TestWithParam<named_action> {};

TEST_P(GpuCloverTerm, IsTheCpus) {
  for (const extents& lattice : gauge_lattices)
    for (std::uint64_t seed : {1, 2}) {
      const auto links = random_links(lattice, seed);
      const gpu::context ctx = gpu_context(lattice);
      poison_workspace<gpu::clover_configuration>(ctx);
      const auto expected = cpu::make_clover_term(links, GetParam().action);
      const auto found = gpu::export_clover(gpu::make_clover_term(gpu::import_links(ctx, links), GetParam().action));
      const comparison worst = compare(found, expected);
      // Sums of at most four planes of four leaves, each number of a leaf below 1 with some 20 roundings; with and
      // without contraction.
      const double c = std::max(std::abs(GetParam().action.clover_coefficient(0, 1)),
                                std::abs(GetParam().action.clover_coefficient(0, 3)));
      EXPECT_TRUE(worst.difference <= 4 * c * 20 * unit_roundoff) << worst.difference / unit_roundoff;
      EXPECT_TRUE(GetParam().action.has_clover() == (worst.size > 0.1));
    }
}

TEST_P(GpuCloverTerm, HasTheInverseOfTheCpu) {
  for (const extents& lattice : gauge_lattices) {
    const auto links = weak_links(lattice, 0.2, 3);  // no eigenvalue of A near zero
    const gpu::context ctx = gpu_context(lattice);
    poison_workspace<gpu::clover_configuration>(ctx);
    auto term = cpu::make_clover_term(links, GetParam().action);
    cpu::add_to_diagonal(term, GetParam().action.diagonal());
    auto on_device = gpu::make_clover_term(gpu::import_links(ctx, links), GetParam().action);
    gpu::add_to_diagonal(on_device, GetParam().action.diagonal());
    EXPECT_TRUE(compare(gpu::export_clover(on_device), term).difference <= 400 * unit_roundoff);
    const comparison worst = compare(gpu::export_clover(gpu::inverse(on_device)), cpu::inverse(term, communicator()));
    // Two eliminations of a 6x6 matrix whose condition number is below 10.
    EXPECT_TRUE(worst.difference <= 2 * 6 * 10 * unit_roundoff * worst.size) << worst.difference / unit_roundoff;
  }
}

INSTANTIATE_TEST_SUITE_P(, GpuCloverTerm, testing::ValuesIn(typical_actions()),
                         [](const auto& info) { return info.param.name; });

TEST(GpuCloverTermField, ComesBackAsItWas) {
  for (const extents& lattice : gauge_lattices) {
    const auto term = cpu::make_clover_term(random_links(lattice, 4), fermion_action::isotropic(0.0, 1.3));
    const auto back = gpu::export_clover(gpu::import_clover(gpu_context(lattice), term));
    EXPECT_EQ(compare(back, term).difference, 0.0);
  }
  EXPECT_THROW(gpu::import_clover(gpu_context({4, 4, 2, 2}), host_clover(lattice_geometry({4, 4, 2, 4}))), input_error);
}

TEST(GpuCloverTermInverse, NamesTheFirstSingularSite) {
  const extents lattice{4, 2, 6, 2};
  const gpu::context ctx = gpu_context(lattice);
  auto term = cpu::make_clover_term(unit_links(lattice), fermion_action::isotropic(0.0, 1.0));
  cpu::add_to_diagonal(term, 4.0);
  EXPECT_NO_THROW(gpu::inverse(gpu::import_clover(ctx, term)));
  term({2, 0, 5, 1}).chirality[0].diagonal[0] = 0.0;
  term({3, 1, 4, 0}).chirality[1].diagonal[2] = 0.0;
  term({1, 1, 5, 0}).chirality[1].diagonal[2] = 0.0;
  const auto message = [&] {
    try {
      gpu::inverse(gpu::import_clover(ctx, term));
    } catch (const input_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  std::string expected;
  try {
    cpu::inverse(term, communicator());
  } catch (const input_error& e) {
    expected = e.what();
  }
  EXPECT_NE(expected.find("(3, 1, 4, 0)"), std::string::npos);
  EXPECT_EQ(message(), expected);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    cpu::clover_configuration spoilt = cpu::make_clover_term(unit_links(lattice), fermion_action::isotropic(0.0, 1.0));
    cpu::add_to_diagonal(spoilt, 4.0);
    spoilt({0, 1, 2, 1}).chirality[0].diagonal[4] = bad;
    EXPECT_THROW(gpu::inverse(gpu::import_clover(ctx, spoilt)), input_error);
  }
}

/// A random Hermitian matrix; none of its eigenvalues need be positive, and a diagonal number may be zero.
hermitian_6x6 random_block(std::uint64_t number, bool zero_diagonal) {
  random_stream random(5, random_stream_id(random_purpose::test), number);
  hermitian_6x6 block;
  for (double& d : block.diagonal) d = zero_diagonal ? 0.0 : random.gaussians().first;
  for (complex<double>& z : block.lower) {
    const auto [re, im] = random.gaussians();
    z = {re, im};
  }
  return block;
}

TEST(GaussJordan6x6, InvertsMatricesThatAreNotPositive) {
  for (std::uint64_t number = 0; number < 200; ++number) {
    const hermitian_6x6 block = random_block(number, number % 2 == 1);
    gpu::gauss_jordan_6x6 elimination(block);
    ASSERT_TRUE(elimination.invert());
    const hermitian_6x6 inverse = elimination.result();
    double size = 0.0, inverse_size = 0.0, worst = 0.0;
    for (int i = 0; i < chiral_rows; ++i)
      for (int j = 0; j < chiral_rows; ++j) {
        size += norm2(block(i, j));
        inverse_size += norm2(inverse(i, j));
        complex<double> product;
        for (int k = 0; k < chiral_rows; ++k) product += block(i, k) * inverse(k, j);
        if (i == j) product.re -= 1.0;
        const double d = std::sqrt(norm2(product));
        if (!(d <= worst)) worst = d;
      }
    // Elimination with the largest pivots: a few n u times the condition number.
    EXPECT_TRUE(worst <= 4 * 6 * unit_roundoff * std::sqrt(size * inverse_size)) << number;
  }
}

TEST(GaussJordan6x6, RefusesAMatrixOfRankFive) {
  for (std::uint64_t number = 0; number < 20; ++number) {
    // Row and column `twin` are copies of another: exactly dependent, up to rounding of the elimination.
    hermitian_6x6 full = random_block(number, false), block;
    const int twin = 1 + static_cast<int>(number % 5), of = 0;
    const auto source = [&](int i) { return i == twin ? of : i; };
    for (int i = 0; i < chiral_rows; ++i) {
      block.diagonal[i] = full.diagonal[source(i)];
      for (int j = 0; j < i; ++j) block.lower[hermitian_6x6::lower_index(i, j)] = full(source(i), source(j));
    }
    EXPECT_FALSE(gpu::gauss_jordan_6x6(block).invert()) << number;
  }
}

}  // namespace
}  // namespace plaquette::validation
