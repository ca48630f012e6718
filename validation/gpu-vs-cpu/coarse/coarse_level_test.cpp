// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A level of multigrid of the CUDA library against the CPU library's: coarse operator and its Schur complement, steps
/// between the lattices, orthonormal vectors, Galerkin products.
#include <gtest/gtest.h>

#include "common/error.hpp"
#include "common/random/random_stream.hpp"
#include "cpu_ref/coarse/coarse_operator.hpp"
#include "cpu_ref/coarse/domains.hpp"
#include "cpu_ref/coarse/galerkin.hpp"
#include "cpu_ref/coarse/transfer.hpp"
#include "cpu_ref/coarse/vector_pool.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "gpu/coarse/coarse_operator.hpp"
#include "gpu/coarse/domains.hpp"
#include "gpu/coarse/galerkin.hpp"
#include "gpu/coarse/transfer.hpp"
#include "gpu/coarse/vector_pool.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "validation/gpu-vs-cpu/coarse/coarse_twins.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;
/// Null vectors and coarse matrices are stored in single precision, and summed in it over some hundred numbers.
constexpr double single_bound = 64 * 0x1p-24;

/// Random links, and a diagonal that has an inverse of moderate size.
coarse_matrices random_matrices(const coarse_geometry& geometry, int n, std::uint64_t seed) {
  coarse_matrices m(geometry, n);
  for (std::int64_t s = 0; s < geometry.sites(); ++s) {
    random_stream random(seed, random_stream_id(random_purpose::test, 7), static_cast<std::uint64_t>(s));
    for (int which = 0; which < coarse_matrices_of_a_site; ++which)
      for (int k = 0; k < n * n; ++k) {
        const auto [re, im] = random.gaussians();
        m.matrix(s, which)[k] = {static_cast<float>(0.2 * re), static_cast<float>(0.2 * im)};
      }
    // Large numbers away from the diagonal: pivots are needed.
    for (int i = 0; i < n; ++i) m.matrix(s, 0)[i * n + (i + 1) % n].re += 4.0F;
  }
  return m;
}

template <class T>
class GpuCoarseOperator : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuCoarseOperator, precisions);

TYPED_TEST(GpuCoarseOperator, IsTheCpus) {
  using T = TypeParam;
  for (const extents& coarse : {extents{2, 2, 2, 4}, extents{4, 2, 2, 2}, extents{3, 2, 1, 4}, extents{1, 1, 1, 1}})
    for (const int vectors : {4, 13}) {
      const coarse_pair both({4, 4, 4, 4}, coarse);
      const auto m = random_matrices(*both.geometry, 2 * vectors, 3);
      const auto dm = gpu::import_matrices(both.device, m);
      EXPECT_EQ(gpu::export_matrices(dm).numbers, m.numbers);
      for (const int columns : {1, 5}) {
        const auto in = both.template on_host<T>({2, vectors, site_subset::full, columns}, 1);
        const auto din = both.on_device(in);
        auto out = like(in);
        auto dout = like(din);
        poison_coarse(dout);
        cpu::coarse_operator<T> a(both.host, m);
        gpu::coarse_operator<T> da(both.device, dm);
        // 9 n products each; errors of random sign.
        const double bound = 10 * std::sqrt(18.0 * vectors) * roundoff<T>;
        a.apply(out, in), da.apply(dout, din);
        EXPECT_TRUE(distance_of(dout, out) <= bound) << distance_of(dout, out);
        a.apply_dagger(out, in), da.apply_dagger(dout, din);
        EXPECT_TRUE(distance_of(dout, out) <= bound);
      }
    }
}

TYPED_TEST(GpuCoarseOperator, HasTheSchurComplementOfTheCpu) {
  using T = TypeParam;
  for (const extents& coarse : {extents{2, 2, 2, 4}, extents{4, 2, 2, 2}, extents{3, 2, 1, 4}})
    for (const int vectors : {4, 13})
      for (const int columns : {1, 12}) {
        const coarse_pair both({4, 4, 4, 4}, coarse);
        const auto m = random_matrices(*both.geometry, 2 * vectors, 4);
        const cpu::coarse_schur<T> a(both.host, m);
        const gpu::coarse_schur<T> da(both.device, gpu::import_matrices(both.device, m));
        const auto b = both.template on_host<T>({2, vectors, site_subset::full, columns}, 1);
        const auto db = both.on_device(b);
        auto even = a.even_like(b), other = a.even_like(b), full = like(b);
        auto deven = da.even_like(db), dother = da.even_like(db), dfull = like(db);
        EXPECT_EQ(even.shape(), deven.shape());
        // X^-1 Y is rounded to single precision here, and X^-1 multiplies errors by its condition.
        constexpr double bound = 400 * 0x1p-24;
        poison_coarse(deven);
        a.prepare_source(even, b), da.prepare_source(deven, db);
        EXPECT_TRUE(distance_of(deven, even) <= bound) << distance_of(deven, even);
        poison_coarse(dother);
        a.apply(other, even), da.apply(dother, deven);
        EXPECT_TRUE(distance_of(dother, other) <= bound) << distance_of(dother, other);
        a.apply_dagger(other, even), da.apply_dagger(dother, deven);
        EXPECT_TRUE(distance_of(dother, other) <= bound) << distance_of(dother, other);
        poison_coarse(dfull);
        a.reconstruct_solution(full, even, b), da.reconstruct_solution(dfull, deven, db);
        EXPECT_TRUE(distance_of(dfull, full) <= bound) << distance_of(dfull, full);
        a.full_residual(other, even), da.full_residual(dother, deven);
        EXPECT_TRUE(distance_of(dother, other) <= bound) << distance_of(dother, other);
        EXPECT_EQ(a.flops(), da.flops());
      }
}

/// With matrices in single precision and in 16 bits.
TEST(GpuCoarseTwist, HasTheMatricesAndTheSchurComplementOfTheCpu) {
  constexpr double mu = 0.3;
  for (const extents& coarse : {extents{2, 2, 2, 4}, extents{3, 2, 1, 4}})
    for (const int vectors : {4, 13}) {
      const coarse_pair both({4, 4, 4, 4}, coarse);
      const auto plain = random_matrices(*both.geometry, 2 * vectors, 4), m = with_twist(plain, mu);
      const auto plain_on_device = gpu::import_matrices(both.device, plain);
      const auto dm = gpu::with_twist(plain_on_device, mu);
      EXPECT_EQ(gpu::export_matrices(dm).numbers, m.numbers);
      EXPECT_EQ(gpu::export_matrices(plain_on_device).numbers, plain.numbers);
      const auto b = both.on_host<float>({2, vectors, site_subset::full, 3}, 1);
      const auto db = both.on_device(b);
      const cpu::coarse_schur<float> a(both.host, m);
      auto even = a.even_like(b), other = a.even_like(b), full = like(b);
      a.prepare_source(even, b), a.apply(other, even), a.reconstruct_solution(full, even, b);
      for (const auto storage : {gpu::coarse_storage::single, gpu::coarse_storage::half}) {
        // X^-1 multiplies errors by its condition.
        const double bound = 400 * (storage == gpu::coarse_storage::single ? 0x1p-24 : 0x1p-12);
        const gpu::coarse_schur<float> da(both.device, dm, storage);
        auto deven = da.even_like(db), dother = da.even_like(db), dfull = like(db);
        poison_coarse(deven), poison_coarse(dother), poison_coarse(dfull);
        da.prepare_source(deven, db), da.apply(dother, deven), da.reconstruct_solution(dfull, deven, db);
        EXPECT_TRUE(distance_of(deven, even) <= bound) << distance_of(deven, even);
        EXPECT_TRUE(distance_of(dother, other) <= bound) << distance_of(dother, other);
        EXPECT_TRUE(distance_of(dfull, full) <= bound) << distance_of(dfull, full);
      }
    }
}

/// Kernels of many sites take one matrix a site here, and as much shared memory as their sums.
TEST(GpuCoarseSchur, MultipliesByTheInverseOnManySites) {
  for (const int vectors : {8, 24, 32, 40})
    for (const int columns : {2, 12}) {
      const coarse_pair both({4, 4, 4, 4}, {4, 6, 4, 4});
      const auto m = random_matrices(*both.geometry, 2 * vectors, 4);
      const cpu::coarse_schur<float> a(both.host, m);
      const gpu::coarse_schur<float> da(both.device, gpu::import_matrices(both.device, m));
      const auto b = both.on_host<float>({2, vectors, site_subset::full, columns}, 1);
      auto even = a.even_like(b);
      const auto db = both.on_device(b);
      auto deven = da.even_like(db);
      poison_coarse(deven);
      a.prepare_source(even, b), da.prepare_source(deven, db);
      EXPECT_TRUE(distance_of(deven, even) <= 2000 * 0x1p-24) << distance_of(deven, even);
    }
}

TEST(GpuMatrixTiles, RoundToTheNearestNumberOf16Bits) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float x = gpu::float_of_half(bits);
    if (std::isnan(x)) continue;
    EXPECT_EQ(gpu::half_bits(x), bits);
    const float above = gpu::float_of_half(bits + 1);
    if (!std::isfinite(above) || (bits & 0x7fffU) >= 0x7c00U || (bits & 0x7fffU) == 0) continue;
    const auto middle = static_cast<float>((static_cast<double>(x) + above) / 2.0);
    EXPECT_EQ(gpu::half_bits(middle), bits + (bits & 1U));  // to the even one
    EXPECT_EQ(gpu::half_bits(std::nextafter(middle, x)), bits);
    EXPECT_EQ(gpu::half_bits(std::nextafter(middle, above)), bits + 1);
  }
  EXPECT_EQ(gpu::half_bits(1e30F), 0x7c00U);
  EXPECT_TRUE(std::isnan(gpu::float_of_half(gpu::half_bits(std::nanf("")))));
}

TEST(GpuCoarseOperator16Bits, IsThatOfRoundedMatrices) {
  for (const int vectors : {4, 5, 13, 24, 32})
    for (const int columns : {1, 3, 12, 17}) {
      const coarse_pair both({4, 4, 4, 4}, {3, 2, 1, 4});
      auto m = random_matrices(*both.geometry, 2 * vectors, 12);
      const auto dm = gpu::import_matrices(both.device, m);
      for (auto& z : m.numbers)
        z = {gpu::float_of_half(gpu::half_bits(z.re)), gpu::float_of_half(gpu::half_bits(z.im))};
      const auto in = both.on_host<float>({2, vectors, site_subset::full, columns}, 1);
      auto expected = like(in);
      const auto din = both.on_device(in);
      auto found = like(din);
      poison_coarse(found);
      cpu::coarse_operator<float>(both.host, m).apply(expected, in);
      gpu::coarse_operator<float> a(both.device, dm, gpu::coarse_storage::half);
      a.apply(found, din);
      // 9 n products each, errors of random sign; on tensor cores vectors count to 22 bits.
      EXPECT_TRUE(distance_of(found, expected) <= 10 * std::sqrt(18.0 * vectors) * 0x1p-24);
      a.set_kernel(gpu::product_kernel::gather);
      poison_coarse(found);
      a.apply(found, din);
      EXPECT_TRUE(distance_of(found, expected) <= 10 * std::sqrt(18.0 * vectors) * 0x1p-24);
    }
}

/// Lattices of many sites go through blocks that take several. Their number divides nothing here.
TEST(GpuCoarseOperator16Bits, StreamsManySites) {
  constexpr int vectors = 8;
  const coarse_pair both({4, 4, 4, 4}, {7, 9, 9, 10});
  auto m = random_matrices(*both.geometry, 2 * vectors, 12);
  const auto dm = gpu::import_matrices(both.device, m);
  for (auto& z : m.numbers) z = {gpu::float_of_half(gpu::half_bits(z.re)), gpu::float_of_half(gpu::half_bits(z.im))};
  const auto in = both.on_host<float>({2, vectors, site_subset::full, 1}, 1);
  auto expected = like(in);
  const auto din = both.on_device(in);
  auto found = like(din);
  poison_coarse(found);
  cpu::coarse_operator<float>(both.host, m).apply(expected, in);
  gpu::coarse_operator<float>(both.device, dm, gpu::coarse_storage::half).apply(found, din);
  EXPECT_TRUE(distance_of(found, expected) <= 10 * std::sqrt(18.0 * vectors) * 0x1p-24);
}

TEST(GpuCoarseSchur, RefusesADiagonalWithoutInverse) {
  const coarse_pair both({4, 4, 4, 4}, {2, 2, 2, 2});
  for (const float damage : {0.0F, std::numeric_limits<float>::quiet_NaN()}) {
    auto m = random_matrices(*both.geometry, 8, 5);
    for (int i = 0; i < 8; ++i) m.matrix(9, 0)[i * 8 + 3] = {damage, damage};
    EXPECT_THROW(gpu::coarse_schur<float>(both.device, gpu::import_matrices(both.device, m)), input_error);
  }
}

/// A lattice of quarks, its aggregates, orthonormal vectors of random fields, and the coarse operator.
struct level_setting {
  cpu::context host;
  gpu::context device;
  gauge_configuration links;
  fermion_action action;
  cpu::field<float> seeds;
  null_space vectors;

  level_setting(const extents& lattice, const extents& aggregate, int count)
      : host(lattice_geometry(lattice), alone),
        device(lattice_geometry(lattice), alone),
        links(cpu::weak_field_configuration(lattice_geometry(lattice), 0.3, 11, alone)),
        seeds(host, {spins, colours, site_subset::full, count}),
        vectors(raw(aggregate)) {
    action.mass = 0.1;
    action.clover_spatial = 0.9;
    action.clover_temporal = 1.1;
    action.anisotropy = 1.5;
    action.nu = 1.2;
    action.boundary_phase[1] = {0.0, 1.0};
    cpu::orthonormalise(vectors, host);
  }
  null_space raw(const extents& aggregate) {
    for (int c = 0; c < seeds.columns(); ++c)
      import_column(seeds, c, cpu::random_spinor(host.geometry(), 3, static_cast<std::uint64_t>(c), alone));
    return cpu::gathered(seeds, aggregates(host.geometry(), coarsened(host.geometry(), aggregate)));
  }
};

double largest_difference(const std::vector<complex<float>>& a, const std::vector<complex<float>>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (const float d : {a[k].re - b[k].re, a[k].im - b[k].im})
      if (!(std::abs(d) <= worst)) worst = std::abs(d);
  return worst;
}

struct level_case {
  extents lattice, aggregate;
  int vectors;
};
/// Odd coarse extents, aggregates across one direction only, aggregates of the whole lattice.
const level_case levels[] = {{{4, 4, 4, 8}, {2, 2, 2, 2}, 4},
                             {{6, 4, 2, 4}, {3, 2, 2, 1}, 5},
                             {{4, 4, 4, 4}, {4, 2, 1, 4}, 6},
                             {{2, 2, 4, 4}, {2, 2, 4, 4}, 7}};

TEST(GpuTransfer, HasTheOrthonormalVectorsOfTheCpu) {
  for (const auto& [lattice, aggregate, count] : levels) {
    level_setting s(lattice, aggregate, count);
    const auto tables = std::make_shared<const gpu::aggregate_tables>(
        s.device, aggregates(s.host.geometry(), coarsened(s.host.geometry(), aggregate)), false);
    gpu::field<float> seeds(s.device, s.seeds.shape());
    for (int c = 0; c < count; ++c)
      import_column(seeds, c, cpu::random_spinor(s.host.geometry(), 3, static_cast<std::uint64_t>(c), alone));
    auto v = gpu::gathered(seeds, tables);
    EXPECT_LE(largest_difference(gpu::export_null_space(v).numbers, s.raw(aggregate).numbers), 8 * 0x1p-24);
    EXPECT_EQ(gpu::orthonormalise(v).replaced(), 0);
    // Both are the Q of V = Q R; the condition of random vectors is small.
    EXPECT_LE(largest_difference(gpu::export_null_space(v).numbers, s.vectors.numbers), 100 * 0x1p-24);
  }
}

TEST(GpuTransfer, ReplacesAVectorThatAddsNothing) {
  level_setting s({4, 4, 4, 8}, {2, 2, 2, 4}, 4);
  auto raw = s.raw({2, 2, 2, 4});
  for (std::size_t k = 0; k < raw.numbers.size(); k += 4) raw.numbers[k + 2] = raw.numbers[k] + raw.numbers[k + 1];
  auto v = gpu::import_null_space(s.device, raw, false);
  const auto found = gpu::orthonormalise(v);
  EXPECT_EQ(found.replaced(), 2 * raw.blocks.coarse().sites());
  for (int k = 0; k < 4; ++k) EXPECT_EQ(found.is_useless(k), k == 2) << k;
  // Orthonormal after all: P^+ P = 1.
  const gpu::transfer<float> p(s.device, v);
  auto x = p.coarse_like(2);
  fill_random(x, 4, 0);
  gpu::field<float> fine(s.device, {spins, colours, site_subset::full, 2});
  auto back = like(x);
  p.prolong(fine, x);
  p.restrict_to(back, fine);
  EXPECT_TRUE(distance_of(back, x) <= single_bound) << distance_of(back, x);

  null_space many(raw.blocks, 6, 200);
  auto too_many = gpu::import_null_space(s.device, many, false);
  EXPECT_THROW(gpu::orthonormalise(too_many), input_error);
}

template <class Field>
Field fine_field(const level_setting& s, const field_shape& shape, std::uint64_t seed);
template <>
cpu::field<double> fine_field(const level_setting& s, const field_shape& shape, std::uint64_t seed) {
  cpu::field<double> x(s.host, shape);
  for (int c = 0; c < shape.columns; ++c)
    import_column(x, c, cpu::random_spinor(s.host.geometry(), seed, static_cast<std::uint64_t>(c), alone));
  return x;
}

/// Random vectors of which the first few count most and the last repeats another, so that the cut is clear.
null_space stage_of(const level_setting& s, const extents& aggregate, int count, std::uint64_t seed) {
  cpu::field<float> v(s.host, {spins, colours, site_subset::full, count});
  for (int c = 0; c < count; ++c)
    import_column(v, c,
                  cpu::random_spinor(s.host.geometry(), seed, static_cast<std::uint64_t>(c % (count - 1)), alone));
  return cpu::gathered(v, aggregates(s.host.geometry(), coarsened(s.host.geometry(), aggregate)));
}

/// The pool after two stages: the same singular values, and the same span by its projector on a random field.
TEST(GpuVectorPool, IsTheCpus) {
  std::vector<level_case> all(std::begin(levels), std::end(levels));
  all.push_back({{4, 4, 2, 4}, {4, 4, 2, 4}, 24});
  all.push_back({{2, 4, 2, 4}, {2, 4, 2, 4}, 64});  // a Gram matrix beyond the memory that a block shares
  for (const auto& [lattice, aggregate, count] : all) {
    level_setting s(lattice, aggregate, count);
    std::vector<double> weights;
    for (int k = 0; k < count; ++k) weights.push_back(2 * k < count ? 100.0 + k : 1.0 + k);
    null_space host_kept = stage_of(s, aggregate, count, 31), host = stage_of(s, aggregate, count, 32);
    auto kept = gpu::import_null_space(s.device, host_kept, false),
         device = gpu::import_null_space(s.device, host, false);
    const auto first = cpu::take_leading_vectors(nullptr, {}, host_kept, weights, s.host);
    const auto dfirst = gpu::take_leading_vectors(nullptr, {}, kept, weights);
    EXPECT_EQ(first.rank, count - 1);
    EXPECT_EQ(dfirst.rank, count - 1);
    for (double& w : weights) w *= 2.0;
    const auto second = cpu::take_leading_vectors(&host_kept, first, host, weights, s.host);
    const auto dsecond = gpu::take_leading_vectors(&kept, dfirst, device, weights);
    EXPECT_EQ(second.rank, count);
    EXPECT_EQ(dsecond.rank, count);
    std::vector<double> sizes(second.numbers.size());
    gpu::copy_to_host(s.device.queue(), sizes.data(), dsecond.numbers.get(), sizes.size() * sizeof(double));
    for (std::size_t k = 0; k < sizes.size(); ++k)
      EXPECT_TRUE(std::abs(sizes[k] - second.numbers[k]) <= 64 * 0x1p-24 * second.numbers[k]) << k;
    // Vectors of the second stage that count are in the span, in both libraries alike.
    null_space found = gpu::export_null_space(device);
    EXPECT_EQ(cpu::orthonormalise(found, s.host).replaced(), 0);
    EXPECT_EQ(cpu::orthonormalise(host, s.host).replaced(), 0);
    const cpu::transfer<double> p(s.host, host), dp(s.host, found);
    const auto projected = [&](const cpu::transfer<double>& by) {
      auto x = fine_field<cpu::field<double>>(s, {spins, colours, site_subset::full, 2}, 5);
      auto coarse = by.coarse_like(2);
      by.restrict_to(coarse, x);
      by.prolong(x, coarse);
      return x;
    };
    const auto x = projected(p), dx = projected(dp);
    auto difference = like(x);
    const auto d2 = host_values(subtract_norm2(difference, dx, x)), x2 = host_values(norm2(x));
    // Rounding of vectors, times the largest singular value by the gap to the first that is left out.
    for (std::size_t c = 0; c < 2; ++c) EXPECT_TRUE(d2[c].re <= 1e-8 * x2[c].re) << std::sqrt(d2[c].re / x2[c].re);
  }
}

/// Null vectors as floats of 11 bits. (They are below 1: the smallest number of 16 bits is 2^-37 of that here.)
void round_to_16_bits(null_space& v) {
  const auto rounded = [](float x) { return gpu::float_of_half(gpu::half_bits(0x1p13F * x)) * 0x1p-13F; };
  for (auto& z : v.numbers) z = {rounded(z.re), rounded(z.im)};
}

/// Those above, and numbers of vectors that fill whole tiles of tensor cores and warps, or nearly.
template <class T>
void expect_fine_transfer(double bound, gpu::coarse_storage storage = gpu::coarse_storage::single) {
  std::vector<level_case> all(std::begin(levels), std::end(levels));
  all.push_back({{4, 4, 2, 4}, {4, 4, 2, 4}, 24});
  all.push_back({{2, 4, 2, 8}, {2, 2, 2, 4}, storage == gpu::coarse_storage::single ? 18 : 20});
  for (const int count : {32, 36, 48}) all.push_back({{2, 4, 2, 4}, {2, 4, 2, 4}, count});
  for (const auto& [lattice, aggregate, count] : all) {
    level_setting s(lattice, aggregate, count);
    const gpu::transfer<float> dp(s.device, gpu::import_null_space(s.device, s.vectors, false), storage);
    if (storage == gpu::coarse_storage::half) round_to_16_bits(s.vectors);
    const cpu::transfer<double> p(s.host, s.vectors);
    for (const auto sites : {site_subset::full, site_subset::even, site_subset::odd})
      for (const int columns : {1, count < 18 ? 3 : 13}) {
        const field_shape shape{spins, colours, sites, columns};
        auto fine = fine_field<cpu::field<double>>(s, shape, 5);
        gpu::field<T> dfine(s.device, shape);
        for (int c = 0; c < columns; ++c)
          import_column(dfine, c, cpu::random_spinor(s.host.geometry(), 5, static_cast<std::uint64_t>(c), alone));
        auto coarse = p.coarse_like(columns);
        auto dcoarse = dp.coarse_like(columns);
        poison_coarse(dcoarse);
        p.restrict_to(coarse, fine), dp.restrict_to(dcoarse, dfine);
        EXPECT_TRUE(distance_of(dcoarse, coarse) <= bound) << distance_of(dcoarse, coarse);
        const auto distance_of_fine = [&](int c) {
          spinor_configuration a(s.host.geometry()), b(s.host.geometry());
          export_column(a, fine, c);
          export_column(b, dfine, c);
          return norm(sum(b, {-1.0, 0.0}, a)) / norm(a);
        };
        p.add_prolonged(fine, coarse), dp.add_prolonged(dfine, dcoarse);
        for (int c = 0; c < columns; ++c) EXPECT_TRUE(distance_of_fine(c) <= bound) << distance_of_fine(c);
        p.prolong(fine, coarse), dp.prolong(dfine, dcoarse);
        for (int c = 0; c < columns; ++c) EXPECT_TRUE(distance_of_fine(c) <= bound) << distance_of_fine(c);
      }
  }
}

TEST(GpuTransfer, BetweenQuarksAndACoarseLatticeIsTheCpus) {
  expect_fine_transfer<float>(single_bound);
  expect_fine_transfer<double>(single_bound);
  expect_fine_transfer<half>(4 * 0x1p-15);  // 16 bits, of the largest number of a site
}

TEST(GpuTransfer, HasNullVectorsIn16Bits) {
  expect_fine_transfer<float>(single_bound, gpu::coarse_storage::half);
  expect_fine_transfer<half>(4 * 0x1p-15, gpu::coarse_storage::half);
}

TEST(GpuTransfer, BetweenCoarseLatticesIsTheCpus) {
  const extents lattice{4, 4, 4, 8}, coarse{4, 2, 4, 6}, aggregate{2, 1, 2, 3};
  const coarse_pair both(lattice, coarse);
  const aggregates blocks(*both.geometry, coarsened(*both.geometry, aggregate));
  const auto seeds = both.on_host<double>({2, 6, site_subset::full, 4}, 8);
  auto v = cpu::gathered(seeds, blocks);
  const auto tables = std::make_shared<const gpu::aggregate_tables>(both.device, blocks, true);
  auto dv = gpu::gathered(both.on_device(seeds), tables);
  EXPECT_EQ(gpu::export_null_space(dv).numbers, v.numbers);
  cpu::orthonormalise(v, both.host);
  gpu::orthonormalise(dv);
  EXPECT_LE(largest_difference(gpu::export_null_space(dv).numbers, v.numbers), 100 * 0x1p-24);
  const cpu::transfer<double> p(both.host, v);
  const gpu::transfer<double> dp(both.device, dv);
  for (const auto sites : {site_subset::full, site_subset::even}) {
    auto fine = both.on_host<double>({2, 6, sites, 3}, 9);
    auto dfine = both.on_device(fine);
    auto x = p.coarse_like(3);
    auto dx = dp.coarse_like(3);
    poison_coarse(dx);
    p.restrict_to(x, fine), dp.restrict_to(dx, dfine);
    EXPECT_TRUE(distance_of(dx, x) <= single_bound);
    p.add_prolonged(fine, x), dp.add_prolonged(dfine, dx);
    EXPECT_TRUE(distance_of(dfine, fine) <= single_bound);
    p.prolong(fine, x), dp.prolong(dfine, dx);
    EXPECT_TRUE(distance_of(dfine, fine) <= single_bound);
  }
  // Null vectors in 16 bits.
  const gpu::transfer<double> packed(both.device, gpu::import_null_space(both.device, v, true),
                                     gpu::coarse_storage::half);
  auto rounded = v;
  round_to_16_bits(rounded);
  const auto fine = both.on_host<double>({2, 6, site_subset::full, 3}, 9);
  auto x = p.coarse_like(3);
  auto dx = packed.coarse_like(3);
  cpu::transfer<double>(both.host, rounded).restrict_to(x, fine), packed.restrict_to(dx, both.on_device(fine));
  EXPECT_TRUE(distance_of(dx, x) <= single_bound);
  // Coarse operators of coarse operators.
  const auto m = random_matrices(*both.geometry, 12, 6);
  auto expected = cpu::galerkin_product(both.host, m, v);
  const auto found = gpu::export_matrices(
      gpu::galerkin_product(gpu::import_matrices(both.device, m), gpu::import_null_space(both.device, v, true)));
  EXPECT_LE(largest_difference(found.numbers, expected.numbers), 40 * single_bound);
}

/// The largest shapes that kernels of batches take.
TEST(GpuTransfer, BetweenCoarseLatticesOfManyVectorsIsTheCpus) {
  const coarse_pair both({4, 4, 4, 8}, {2, 2, 2, 4});
  const aggregates blocks(*both.geometry, coarsened(*both.geometry, {2, 2, 2, 2}));
  for (const int vectors : {36, 48}) {
    auto v = cpu::gathered(both.on_host<float>({2, vectors, site_subset::full, vectors}, 8), blocks);
    cpu::orthonormalise(v, both.host);
    for (const auto storage : {gpu::coarse_storage::single, gpu::coarse_storage::half}) {
      const gpu::transfer<float> dp(both.device, gpu::import_null_space(both.device, v, true), storage);
      if (storage == gpu::coarse_storage::half) round_to_16_bits(v);
      const cpu::transfer<float> p(both.host, v);
      for (const int columns : {1, 3, 13}) {
        auto fine = both.on_host<float>({2, vectors, site_subset::full, columns}, 9);
        auto dfine = both.on_device(fine);
        auto x = p.coarse_like(columns);
        auto dx = dp.coarse_like(columns);
        poison_coarse(dx);
        p.restrict_to(x, fine), dp.restrict_to(dx, dfine);
        EXPECT_TRUE(distance_of(dx, x) <= single_bound) << distance_of(dx, x);
        p.add_prolonged(fine, x), dp.add_prolonged(dfine, dx);
        EXPECT_TRUE(distance_of(dfine, fine) <= single_bound) << distance_of(dfine, fine);
      }
    }
  }
}

TEST(GpuDomains, AreTheCpus) {
  level_setting s({8, 4, 4, 8}, {2, 2, 2, 2}, 4);
  const auto links = gpu::import_links(s.device, s.links);
  const auto full = std::make_shared<const cpu::wilson_clover<float>>(s.host, s.links, s.action);
  const auto dfull = std::make_shared<const gpu::wilson_clover<float>>(s.device, links, s.action);
  const cpu::schur_wilson_clover<float> schur(full, schur_kind::asymmetric);
  const gpu::schur_wilson_clover<float> dschur(dfull, schur_kind::asymmetric);
  const extents shape{2, 2, 4, 4};
  const auto domains = cpu::fine_domains(schur, s.links, shape);
  const auto ddomains = gpu::fine_domains(dschur, links, shape);
  const field_shape even{spins, colours, site_subset::even, 1};
  cpu::field<float> x(s.host, even), y(s.host, even);
  gpu::field<float> dx(s.device, even), dy(s.device, even);
  const auto in = cpu::random_spinor(s.host.geometry(), 5, 0, alone);
  import_column(x, 0, in);
  import_column(dx, 0, in);
  const auto expect_same = [&](const any_operator<cpu::field<float>>& a, const any_operator<gpu::field<float>>& da) {
    a.apply(y, x);
    da.apply(dy, dx);
    spinor_configuration p(s.host.geometry()), q(s.host.geometry());
    export_column(p, y, 0);
    export_column(q, dy, 0);
    EXPECT_TRUE(norm(sum(q, {-1.0, 0.0}, p)) <= single_bound * norm(p));
  };
  expect_same(domains.inside, ddomains.inside);
  for (const std::size_t colour : {0, 1}) expect_same(domains.colours[colour], ddomains.colours[colour]);

  const coarse_pair both({8, 4, 4, 8}, {4, 2, 2, 4});
  const auto m = random_matrices(*both.geometry, 8, 4);
  const auto coarse = cpu::coarse_domains(both.host, m, {2, 1, 2, 2});
  const auto dcoarse =
      gpu::coarse_domains(gpu::import_matrices(both.device, m), {2, 1, 2, 2}, gpu::coarse_storage::single);
  const auto u = both.on_host<float>({2, 4, site_subset::even, 3}, 1);
  auto v = like(u);
  const auto du = both.on_device(u);
  auto dv = like(du);
  coarse.inside.apply(v, u), dcoarse.inside.apply(dv, du);
  EXPECT_TRUE(distance_of(dv, v) <= 400 * 0x1p-24) << distance_of(dv, v);
  for (const std::size_t colour : {0, 1}) {
    coarse.colours[colour].apply(v, u), dcoarse.colours[colour].apply(dv, du);
    EXPECT_TRUE(distance_of(dv, v) == 0.0);
  }
}

TEST(GpuGalerkinProduct, IsTheCpus) {
  for (const auto& [lattice, aggregate, count] : levels) {
    const level_setting s(lattice, aggregate, count);
    const auto expected = cpu::galerkin_product(s.host, s.links, s.action, s.vectors);
    const auto found = gpu::export_matrices(gpu::galerkin_product(gpu::import_links(s.device, s.links), s.action,
                                                                  gpu::import_null_space(s.device, s.vectors, false)));
    // Numbers of size 5 and less.
    EXPECT_LE(largest_difference(found.numbers, expected.numbers), 5 * single_bound) << to_string(lattice);
  }
}

}  // namespace
}  // namespace plaquette::validation
