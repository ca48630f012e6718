// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Coarse fields of the CUDA library against the CPU library's.
#include "gpu/coarse/coarse_field.hpp"

#include <gtest/gtest.h>

#include "common/krylov/few_fields.hpp"
#include "validation/gpu-vs-cpu/coarse/coarse_twins.hpp"

namespace plaquette::validation {
namespace {

template <class T>
class GpuCoarseField : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuCoarseField, precisions);

struct shape_case {
  extents coarse;
  field_shape shape;
};
/// Odd extents, extents of 1, widths that are no multiple of anything.
const shape_case cases[] = {{{2, 2, 2, 4}, {2, 4, site_subset::full, 3}},
                            {{3, 1, 2, 5}, {2, 7, site_subset::full, 1}},
                            {{4, 4, 2, 2}, {2, 24, site_subset::even, 5}},
                            {{2, 4, 2, 2}, {2, 5, site_subset::odd, 12}}};

std::vector<complex<double>> some_numbers(int columns, double start) {
  std::vector<complex<double>> numbers;
  for (int c = 0; c < columns; ++c) numbers.push_back({start + 0.3 * c, 0.7 - start * c});
  return numbers;
}

/// Handles of both libraries agree: sums of numbers whose magnitudes add to `size`.
template <class S, class D>
void expect_sums(const S& expected, const D& found, double tolerance) {
  const auto e = host_values(expected), f = host_values(found);
  ASSERT_EQ(e.size(), f.size());
  for (std::size_t c = 0; c < e.size(); ++c) {
    EXPECT_TRUE(std::abs(e[c].re - f[c].re) <= tolerance) << e[c].re << " " << f[c].re;
    EXPECT_TRUE(std::abs(e[c].im - f[c].im) <= tolerance) << e[c].im << " " << f[c].im;
  }
}

TYPED_TEST(GpuCoarseField, HasTheRandomNumbersOfTheCpu) {
  for (const auto& [coarse, shape] : cases) {
    const coarse_pair both({4, 4, 4, 4}, coarse);
    const auto expected = both.template on_host<TypeParam>(shape, 5);
    gpu::coarse_field<TypeParam> found(both.device, both.lattice, shape);
    fill_random(found, 5, 0);
    // Logarithm and cosine differ in the last places.
    EXPECT_TRUE(distance_of(found, expected) <= 8 * roundoff<TypeParam>);
  }
}

TYPED_TEST(GpuCoarseField, DoesTheVectorOperationsOfTheCpu) {
  using T = TypeParam;
  for (const auto& [coarse, shape] : cases) {
    const coarse_pair both({4, 4, 4, 4}, coarse);
    auto x = both.template on_host<T>(shape, 1), y = both.template on_host<T>(shape, 2),
         z = both.template on_host<T>(shape, 3);
    const auto u = both.template on_host<T>(shape, 4), v = both.template on_host<T>(shape, 5);
    auto dx = both.on_device(x), dy = both.on_device(y), dz = both.on_device(z);
    const auto du = both.on_device(u), dv = both.on_device(v);
    const auto n = some_numbers(shape.columns, 0.4), m = some_numbers(shape.columns, -0.2);
    const auto a = make_scalars(x, std::span(n)), b = make_scalars(x, std::span(m));
    const auto da = make_scalars(dx, std::span(n)), db = make_scalars(dx, std::span(m));
    // A handful of roundings of numbers whose size an operation multiplies by 10 at most; they follow each other.
    const auto expect_same = [&](const char* what) {
      EXPECT_TRUE(distance_of(dx, x) <= 1000 * roundoff<T>) << what;
      EXPECT_TRUE(distance_of(dy, y) <= 1000 * roundoff<T>) << what;
      EXPECT_TRUE(distance_of(dz, z) <= 1000 * roundoff<T>) << what;
    };
    const auto tolerance = [&](const auto& f) {
      double size = 0.0;
      for (const auto& s : host_values(norm2(f))) size = std::max(size, s.re);
      return 2000 * roundoff<T> * size;
    };
    axpy(x, a, u), axpy(dx, da, du), expect_same("axpy");
    xpay(x, u, b), xpay(dx, du, db), expect_same("xpay");
    scale(x, b), scale(dx, db), expect_same("scale");
    axpy_pair(x, a, u, b, v), axpy_pair(dx, da, du, db, dv), expect_same("axpy_pair");
    expect_sums(dot(u, x), dot(du, dx), tolerance(x) + tolerance(u));
    expect_sums(norm2(x), norm2(dx), tolerance(x));
    expect_sums(axpy_norm2(x, a, v), axpy_norm2(dx, da, dv), 10 * tolerance(x)), expect_same("axpy_norm2");
    expect_sums(subtract_norm2(x, u, v), subtract_norm2(dx, du, dv), tolerance(u)), expect_same("subtract");
    expect_sums(cg_update(x, y, a, u, v), cg_update(dx, dy, da, du, dv), 10 * tolerance(y)), expect_same("cg_update");
    expect_sums(bicgstab_step(x, y, z, a, b, a, u, v), bicgstab_step(dx, dy, dz, da, db, da, du, dv),
                10 * tolerance(y));
    expect_same("bicgstab_step");
    const auto [d1, n1] = dot_norm2(u, x);
    const auto [d2, n2] = dot_norm2(du, dx);
    expect_sums(d1, d2, tolerance(u) + tolerance(x)), expect_sums(n1, n2, tolerance(u));
    const auto [d3, n3] = axpy_dot_norm2(x, a, u, v);
    const auto [d4, n4] = axpy_dot_norm2(dx, da, du, dv);
    expect_sums(d3, d4, 10 * (tolerance(v) + tolerance(x))), expect_sums(n3, n4, 10 * tolerance(x));
    expect_same("axpy_dot_norm2");
    // A coefficient that is an expression without a value yet.
    const auto [p, q] = dot_norm2(u, v);
    const auto [dp, dq] = dot_norm2(du, dv);
    axpy(x, ratio(p, q) * conj(a), u), axpy(dx, ratio(dp, dq) * conj(da), du), expect_same("expression");
    copy(x, u), copy(dx, du), expect_same("copy");
    zero(x), zero(dx);
    for (int c = 0; c < shape.columns; ++c)
      for (const auto& number : numbers_of(dx, c)) EXPECT_EQ(number, complex<double>{});
  }
}

TYPED_TEST(GpuCoarseField, MovesColumns) {
  using T = TypeParam;
  const coarse_pair both({4, 4, 4, 4}, {2, 2, 2, 2});
  const auto x = both.template on_host<T>({2, 6, site_subset::full, 5}, 7);
  auto moved = both.on_device(x);
  auto part = view(moved, 1, 3);
  for (int c = 0; c < 3; ++c) EXPECT_EQ(numbers_of(part, c), numbers_of(x, c + 1));
  const std::vector<int> keep{0, 2};
  compact(part, std::span(keep));  // columns 1 and 3 of the whole, in its places 1 and 2
  EXPECT_EQ(part.columns(), 2);
  EXPECT_EQ(numbers_of(part, 1), numbers_of(x, 3));
  EXPECT_EQ(numbers_of(moved, 2), numbers_of(x, 3));
  EXPECT_EQ(numbers_of(moved, 4), numbers_of(x, 4));
  auto other = like(moved, 4);
  poison_coarse(other);
  const std::vector<int> to{0, 3}, from{4, 1};
  copy_columns(other, std::span(to), both.on_device(x), std::span(from));
  EXPECT_EQ(numbers_of(other, 0), numbers_of(x, 4));
  EXPECT_EQ(numbers_of(other, 3), numbers_of(x, 1));
  const auto odd = both.on_device(x).parity(1);
  EXPECT_EQ(odd.sites(), 8);
  EXPECT_EQ(numbers_of(odd, 2), numbers_of(x.parity(1), 2));
  auto wide = like(odd, 5, as<gpu::coarse_field<double>>);
  convert(wide, odd);
  EXPECT_EQ(numbers_of(wide, 3), numbers_of(odd, 3));
}

TYPED_TEST(GpuCoarseField, FewFieldsAtOnceAreThoseOfTheCpu) {
  for (const auto& [coarse, shape] : cases) {
    const coarse_pair both({4, 4, 4, 4}, coarse);
    const double unit = 64.0 * std::numeric_limits<TypeParam>::epsilon();
    constexpr int fields = 5;
    const auto results = [&](auto r, const auto& make) {
      using Field = decltype(r);
      using S = typename Field::scalars;
      std::vector<Field> v;
      for (std::uint64_t k = 0; k < fields; ++k) v.push_back(make(20 + k));
      const std::span<const Field> all(v);
      std::vector<S> norms;
      for (const Field& one : v) norms.push_back(norm2(one));
      const std::vector<complex<double>> ones(static_cast<std::size_t>(r.columns()), {1.0, 0.0});
      const S mask = make_scalars(r, std::span<const complex<double>>(ones));
      const auto c = least_squares(all, std::as_const(r), unit);
      const auto along = coefficients_along(all, std::span<const S>(norms), std::as_const(r), mask);
      const auto [product, norm] = subtract_combination_dot_norm2(r, std::span<const S>(c), all, v.front());
      Field sum = like(r);
      copy(sum, r);
      add_combination(sum, std::span<const S>(along), all);
      std::vector<std::vector<complex<double>>> values;
      for (const auto& list : {c, along})
        for (const S& one : list) values.push_back(host_values(one));
      values.push_back(host_values(norm));
      return std::tuple(std::move(values), r, sum, host_values(product));
    };
    const auto [expected, r_host, sum_host, none] =
        results(both.template on_host<TypeParam>(shape, 3),
                [&](std::uint64_t seed) { return both.template on_host<TypeParam>(shape, seed); });
    const auto [found, r_device, sum_device, small] =
        results(both.on_device(both.template on_host<TypeParam>(shape, 3)),
                [&](std::uint64_t seed) { return both.on_device(both.template on_host<TypeParam>(shape, seed)); });
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < found.size(); ++k)
      for (std::size_t n = 0; n < found[k].size(); ++n)
        EXPECT_LE(std::sqrt(norm2(found[k][n] - expected[k][n])), unit * (1.0 + std::sqrt(norm2(expected[k][n]))));
    EXPECT_LE(distance_of(r_device, r_host), unit);
    EXPECT_LE(distance_of(sum_device, sum_host), unit);
    for (std::size_t n = 0; n < small.size(); ++n)  // r is orthogonal to the vectors taken out
      EXPECT_LE(std::sqrt(norm2(small[n])), unit * found.back()[n].re);
  }
}

}  // namespace
}  // namespace plaquette::validation
