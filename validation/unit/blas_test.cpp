// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations on batches against loops over the sites, and the bookkeeping of columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/concepts.hpp"
#include "validation/support/production.hpp"

namespace plaquette::validation {
namespace {

using cpu::context;
using cpu::field;
using cpu::scalars;

static_assert(field_batch<field<half>> && field_batch<field<float>> && field_batch<field<double>>);
static_assert(linear_operator<cpu::wilson_clover<double>, field<double>>);
static_assert(schur_complement<cpu::schur_wilson_clover<float>, field<float>>);

/// A column as numbers, in any fixed order.
template <class T>
std::vector<complex<double>> numbers_of(const field<T>& x, int column) {
  std::vector<complex<double>> numbers;
  const int width = x.layout().width();
  for (int part = 0; part < x.parts(); ++part)
    for (std::int64_t b = 0; b < x.layout().blocks(); ++b)
      for (int k = 0; k < x.components(); ++k)
        for (int lane = 0; lane < width; ++lane) {
          if constexpr (cpu::is_half<T>) {
            const std::uint32_t* const at = x.block(part, b, column) + lane;
            const double scale = std::bit_cast<float>(at[x.components() * width]);
            numbers.push_back(scale * complex_cast<double>(unpack_fixed_point(at[k * width])));
          } else {
            const T* const at = x.block(part, b, column) + 2 * k * width + lane;
            numbers.push_back({static_cast<double>(at[0]), static_cast<double>(at[width])});
          }
        }
  return numbers;
}

/// How far a site may be from its value before it went through a field. A field holds it in another spin basis, its
/// numbers up to sqrt 2 larger and each rounded. On the way back two of these errors add up with factors 1/sqrt 2:
/// twice the rounding of the largest number of the site. In 16 bits that is half a step, and 1% for rounding the scale
/// and the product to float. Each rotation, in double, is an addition and a product with a rounded factor, so that 3 +
/// 6 roundings of 2^-53 come on top.
template <class T>
double way_and_back(const spinor<double>& psi) {
  double largest = 0.0;
  for (int k = 0; k < 12; ++k)
    largest = std::max({largest, std::abs(psi(k / 3, k % 3).re), std::abs(psi(k / 3, k % 3).im)});
  const double rounding = cpu::is_half<T> ? 1.01 / 65534.0 : std::numeric_limits<cpu::real_of<T>>::epsilon() / 2;
  return (2.0 * rounding + 9.0 * 0x1p-53) * largest;
}

template <class T>
struct Blas : testing::Test {
  static constexpr double roundoff = unit_roundoff<T>;
  static constexpr int columns = 3;
  lattice_geometry geometry{{4, 6, 2, 8}};
  communicator comm;
  context ctx{geometry, comm, 2};
  std::uint64_t seed = 11;

  field<T> random() { return random_batch<T>(ctx, columns, ++seed).packed; }
  scalars random_scalars(const field<T>& like) {
    std::vector<complex<double>> values;
    random_stream stream(++seed, 0, 0);
    for (int c = 0; c < columns; ++c) {
      const auto [re, im] = stream.gaussians();
      using real = cpu::real_of<T>;
      values.push_back({static_cast<double>(static_cast<real>(re)), static_cast<double>(static_cast<real>(im))});
    }
    return make_scalars(like, values);
  }

  /// found == expected to a few roundoffs of the largest term, number by number.
  template <class Formula>
  void expect(const field<T>& found, double largest, Formula&& formula) {
    for (int c = 0; c < columns; ++c) {
      const auto numbers = numbers_of(found, c);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const complex<double> wrong = numbers[i] - formula(c, i);
        ASSERT_TRUE(std::sqrt(norm2(wrong)) <= 8 * roundoff * largest) << c << ' ' << i;
      }
    }
  }
};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(Blas, precisions);

TYPED_TEST(Blas, UpdatesAreTheirFormulas) {
  const auto x0 = this->random(), y0 = this->random(), z0 = this->random(), u = this->random(), v = this->random();
  const auto a = this->random_scalars(u), b = this->random_scalars(u), e = this->random_scalars(u);
  std::vector<std::vector<complex<double>>> xs, ys, zs, us, vs;
  for (int c = 0; c < this->columns; ++c) {
    xs.push_back(numbers_of(x0, c)), ys.push_back(numbers_of(y0, c)), zs.push_back(numbers_of(z0, c));
    us.push_back(numbers_of(u, c)), vs.push_back(numbers_of(v, c));
  }
  const auto fresh = [](const auto& from) {
    auto x = like(from);
    poison(x);
    copy(x, from);
    return x;
  };
  const double large = 100.0;  // normal deviates and a few products of them stay below
  const auto X = [&](int c, std::size_t i) { return xs[static_cast<std::size_t>(c)][i]; };
  const auto Y = [&](int c, std::size_t i) { return ys[static_cast<std::size_t>(c)][i]; };
  const auto Z = [&](int c, std::size_t i) { return zs[static_cast<std::size_t>(c)][i]; };
  const auto U = [&](int c, std::size_t i) { return us[static_cast<std::size_t>(c)][i]; };
  const auto V = [&](int c, std::size_t i) { return vs[static_cast<std::size_t>(c)][i]; };

  auto x = fresh(x0);
  scale(x, a);
  this->expect(x, large, [&](int c, std::size_t i) { return a[c] * X(c, i); });
  x = fresh(x0);
  axpy(x, a, u);
  this->expect(x, large, [&](int c, std::size_t i) { return X(c, i) + a[c] * U(c, i); });
  x = fresh(x0);
  xpay(x, u, a);
  this->expect(x, large, [&](int c, std::size_t i) { return U(c, i) + a[c] * X(c, i); });
  x = fresh(x0);
  axpy_norm2(x, a, u);
  this->expect(x, large, [&](int c, std::size_t i) { return X(c, i) + a[c] * U(c, i); });
  x = fresh(x0);
  axpy_pair(x, a, u, b, v);
  this->expect(x, large, [&](int c, std::size_t i) { return X(c, i) + a[c] * U(c, i) + b[c] * V(c, i); });
  x = fresh(x0);
  subtract_norm2(x, u, v);
  this->expect(x, large, [&](int c, std::size_t i) { return U(c, i) - V(c, i); });
  x = fresh(x0);
  auto y = fresh(y0);
  cg_update(x, y, a, u, v);
  this->expect(x, large, [&](int c, std::size_t i) { return X(c, i) + a[c] * U(c, i); });
  this->expect(y, large, [&](int c, std::size_t i) { return Y(c, i) - a[c] * V(c, i); });
  x = fresh(x0);
  bicgstab_direction(x, u, a, b, v);
  this->expect(x, large, [&](int c, std::size_t i) { return U(c, i) + a[c] * (X(c, i) - b[c] * V(c, i)); });
  x = fresh(x0);
  y = fresh(y0);
  auto z = fresh(z0);
  bicgstab_step(x, y, z, a, b, e, u, v);
  this->expect(x, large, [&](int c, std::size_t i) { return X(c, i) + a[c] * Z(c, i) + b[c] * Y(c, i); });
  this->expect(y, large, [&](int c, std::size_t i) { return Y(c, i) - b[c] * U(c, i); });
  this->expect(z, 2.0 * large,
               [&](int c, std::size_t i) { return Y(c, i) - b[c] * U(c, i) + e[c] * (Z(c, i) - b[c] * V(c, i)); });
  x = fresh(x0);
  axpy_dot_norm2(x, a, u, v);
  this->expect(x, large, [&](int c, std::size_t i) { return X(c, i) + a[c] * U(c, i); });
  zero(x);
  this->expect(x, 0.0, [](int, std::size_t) { return complex<double>{}; });
}

TYPED_TEST(Blas, SumsAreDoubleInEveryPrecision) {
  auto x = this->random(), y = this->random();
  const auto u = this->random(), v = this->random();
  const auto a = this->random_scalars(u);
  const auto sum = [](const auto& p, const auto& q, int c) {
    const auto left = numbers_of(p, c), right = numbers_of(q, c);
    complex<double> total;
    for (std::size_t i = 0; i < left.size(); ++i) total += conj(left[i]) * right[i];
    return total;
  };
  const auto uv = dot(u, v), uu = norm2(u);
  const auto [uv2, uu2] = dot_norm2(u, v);
  const auto xx = axpy_norm2(x, a, u);
  auto z = like(u);
  const auto zz = subtract_norm2(z, u, v);
  auto w = this->random();
  const auto yy = cg_update(w, y, a, u, v);
  auto q = this->random();
  const auto [vq, qq] = axpy_dot_norm2(q, a, u, v);
  auto m = this->random(), n = this->random(), o = this->random();
  const auto nn = bicgstab_step(m, n, o, a, a, a, u, v);
  for (int c = 0; c < this->columns; ++c) {
    // Each sum has n terms of size about 1 a component; n eps bounds its rounding, in double, whatever the fields are.
    // A number of half precision is read as a float; of results, the numbers are summed before they are rounded.
    const double reading = cpu::is_half<TypeParam> ? 2.0 * std::numeric_limits<float>::epsilon() : 0.0;
    const double exact = (40 * 1e-15 + reading) * sum(u, u, c).re;
    const double rounded = cpu::is_half<TypeParam> ? 16 * this->roundoff * sum(u, u, c).re * 10 : exact;
    const auto near = [&](complex<double> found, complex<double> expected, double bound) {
      EXPECT_TRUE(std::sqrt(norm2(found - expected)) <= bound) << found.re << ' ' << expected.re;
    };
    near(uv[c], sum(u, v, c), exact);
    near(uv2[c], sum(u, v, c), exact);
    near(uu[c], sum(u, u, c), exact);
    near(uu2[c], sum(u, u, c), exact);
    near(xx[c], sum(x, x, c), rounded);
    near(zz[c], sum(z, z, c), rounded);
    near(yy[c], sum(y, y, c), rounded);
    near(vq[c], sum(v, q, c), rounded);
    near(qq[c], sum(q, q, c), rounded);
    near(nn[c], sum(n, n, c), rounded);
  }
}

TYPED_TEST(Blas, AStepOfBicgstabHasTheBitsOfItsParts) {
  auto x = this->random(), y = this->random(), z = this->random();
  const auto u = this->random(), v = this->random();
  const auto a = this->random_scalars(u), b = this->random_scalars(u), e = this->random_scalars(u);
  auto x_parts = like(x), y_parts = like(x), z_parts = like(x);
  copy(x_parts, x), copy(y_parts, y), copy(z_parts, z);
  const auto yy = bicgstab_step(x, y, z, a, b, e, u, v);
  axpy_pair(x_parts, a, z_parts, b, y_parts);
  const auto yy_parts = axpy_norm2(y_parts, -b, u);
  bicgstab_direction(z_parts, y_parts, e, b, v);
  for (int c = 0; c < this->columns; ++c) {
    EXPECT_EQ(yy[c], yy_parts[c]) << c;
    EXPECT_TRUE(numbers_of(x, c) == numbers_of(x_parts, c)) << c;
    EXPECT_TRUE(numbers_of(y, c) == numbers_of(y_parts, c)) << c;
    EXPECT_TRUE(numbers_of(z, c) == numbers_of(z_parts, c)) << c;
  }
}

TYPED_TEST(Blas, SumsAreTheSameBitsForAnyNumberOfThreads) {
  for (const extents& lattice : {extents{4, 6, 2, 8}, extents{8, 8, 8, 8}}) {
    const lattice_geometry geometry(lattice);
    std::vector<complex<double>> first;
    for (const int threads : {1, 2, 3, 5, 8}) {
      const context ctx(geometry, communicator(), threads);
      const random_batch<TypeParam> u(ctx, 3, 31), v(ctx, 3, 32);
      const auto found = host_values(dot(u.packed, v.packed));
      if (threads == 1) first = found;
      EXPECT_TRUE(found == first) << threads;
    }
  }
}

TYPED_TEST(Blas, ColumnsAreViewedCopiedAndCompacted) {
  random_batch<TypeParam> batch(this->ctx, 5, 41);
  const auto& x = batch.packed;
  const auto middle = view(x, 1, 3);
  for (int c = 0; c < 3; ++c) EXPECT_TRUE(numbers_of(middle, c) == numbers_of(x, c + 1));

  auto changed = like(x);
  copy(changed, x);
  auto part = view(changed, 2, 2);
  zero(part);
  EXPECT_TRUE(numbers_of(changed, 1) == numbers_of(x, 1));
  EXPECT_EQ(norm2(changed)[2].re, 0.0);
  EXPECT_EQ(norm2(changed)[3].re, 0.0);
  EXPECT_TRUE(numbers_of(changed, 4) == numbers_of(x, 4));

  const int to[] = {0, 3}, from[] = {4, 2};
  copy_columns(changed, to, x, from);
  EXPECT_TRUE(numbers_of(changed, 0) == numbers_of(x, 4));
  EXPECT_TRUE(numbers_of(changed, 3) == numbers_of(x, 2));

  copy(changed, x);
  const int keep[] = {0, 2, 4}, keep_one[] = {1};
  compact(changed, keep);
  ASSERT_EQ(changed.columns(), 3);
  for (int c = 0; c < 3; ++c) EXPECT_TRUE(numbers_of(changed, c) == numbers_of(x, keep[c]));
  compact(changed, keep_one);
  ASSERT_EQ(changed.columns(), 1);
  EXPECT_TRUE(numbers_of(changed, 0) == numbers_of(x, 2));
}

TYPED_TEST(Blas, OneParityIsAViewOfTheFullField) {
  random_batch<TypeParam> batch(this->ctx, 2, 51);
  auto x = batch.packed;
  const double all = norm2(x)[1].re, even = norm2(x.parity(0))[1].re, odd = norm2(x.parity(1))[1].re;
  EXPECT_NEAR(all, even + odd, 1e-12 * all);
  auto odd_sites = x.parity(1);
  zero(odd_sites);
  EXPECT_EQ(norm2(x)[1].re, even);
}

TYPED_TEST(Blas, OnlyRoundingIsLostOnTheWayThroughAField) {
  random_batch<TypeParam> batch(this->ctx, 2, 61);
  spinor_configuration back(this->geometry);
  cpu::export_column(back, batch.packed, 1);
  for (std::int64_t s = 0; s < this->geometry.local_volume(); ++s)
    for (int i = 0; i < spins; ++i)
      for (int c = 0; c < colours; ++c) {
        const spinor<double>& before = batch.canonical[1].at_site(s);
        const complex<double> wrong = back.at_site(s)(i, c) - before(i, c);
        ASSERT_TRUE(std::abs(wrong.re) <= way_and_back<TypeParam>(before));
        ASSERT_TRUE(std::abs(wrong.im) <= way_and_back<TypeParam>(before));
      }
}

TEST(Convert, RoundsToHalfWithinAStepOfEachSite) {
  for (const extents& lattice : {extents{4, 6, 2, 8}, extents{6, 6, 6, 6}}) {
    const lattice_geometry geometry(lattice);
    const context ctx(geometry, communicator(), 2);
    random_batch<double> wide(ctx, 2, 72);
    spinor_configuration special = wide.canonical[1];
    special(coordinate{1, 2, 0, 3}) = {};
    special(coordinate{0, 1, 1, 2}) = 1e-27 * special(coordinate{0, 1, 1, 2});
    special(coordinate{2, 1, 1, 2}) = 1e+30 * special(coordinate{2, 1, 1, 2});
    cpu::import_column(wide.packed, 1, special);
    auto narrow = like(wide.packed, 2, as<field<half>>);
    auto through_single = like(wide.packed, 2, as<field<float>>);
    auto again = like(narrow);
    poison(narrow), poison(through_single), poison(again);
    convert(narrow, wide.packed);
    convert(through_single, narrow);
    convert(again, through_single);
    spinor_configuration back(geometry), twice(geometry);
    cpu::export_column(back, narrow, 1);
    cpu::export_column(twice, again, 1);
    for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
      for (int k = 0; k < 12; ++k) {
        const auto &a = back.at_site(s)(k / 3, k % 3), &b = special.at_site(s)(k / 3, k % 3);
        ASSERT_TRUE(std::abs(a.re - b.re) <= way_and_back<half>(special.at_site(s)));
        ASSERT_TRUE(std::abs(a.im - b.im) <= way_and_back<half>(special.at_site(s)));
        // Once more: the scale may be another by half a step, where the largest number was an imaginary part.
        const auto again = twice.at_site(s)(k / 3, k % 3) - a;
        ASSERT_TRUE(std::abs(again.re) <= 2.0 * way_and_back<half>(special.at_site(s)) &&
                    std::abs(again.im) <= 2.0 * way_and_back<half>(special.at_site(s)));
      }
  }
}

TEST(Convert, KeepsNaNAndInfinityVisibleInHalf) {
  const lattice_geometry geometry({4, 4, 4, 4});
  const context ctx(geometry, communicator(), 2);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    random_batch<double> wide(ctx, 2, 73);
    wide.canonical[0](coordinate{1, 0, 3, 2})(2, 1).im = bad;
    cpu::import_column(wide.packed, 0, wide.canonical[0]);
    auto narrow = like(wide.packed, 2, as<field<half>>);
    convert(narrow, wide.packed);
    EXPECT_FALSE(std::isfinite(norm2(narrow)[0].re));
    EXPECT_TRUE(std::isfinite(norm2(narrow)[1].re));
    // and when a kernel makes it
    auto made = like(wide.packed, 2, as<field<half>>);
    zero(made);
    axpy(made, scalars({{1, 0}, {1, 0}}), narrow);
    EXPECT_FALSE(std::isfinite(norm2(made)[0].re));
    EXPECT_TRUE(std::isfinite(norm2(made)[1].re));
  }
}

TEST(Convert, RoundsToSingleAndBackExactly) {
  for (const extents& lattice : {extents{4, 6, 2, 8}, extents{6, 6, 6, 6}}) {
    const context ctx(lattice_geometry(lattice), communicator(), 2);
    const random_batch<double> wide(ctx, 2, 71);
    field<float> narrow(ctx, wide.packed.shape());
    field<double> back(ctx, wide.packed.shape());
    poison(narrow), poison(back);
    convert(narrow, wide.packed);
    convert(back, narrow);
    for (int c = 0; c < 2; ++c) {
      const auto before = numbers_of(wide.packed, c), after = numbers_of(back, c);
      for (std::size_t i = 0; i < before.size(); ++i)
        ASSERT_EQ(after[i].re, static_cast<double>(static_cast<float>(before[i].re)));
    }
  }
}

TEST(Scalars, AreNumbersOfEachColumn) {
  const scalars a({{1, 2}, {3, -1}, {0, 0}}), b({{2, 0}, {0, 1}, {0, 0}});
  EXPECT_EQ((a * b)[1], (complex<double>{1, 3}));
  EXPECT_EQ(ratio(a, b)[0], (complex<double>{0.5, 1}));
  EXPECT_EQ(ratio(a, b)[2], (complex<double>{0, 0}));
  EXPECT_EQ(conj(a)[0], (complex<double>{1, -2}));
  const double limits[] = {0.5, 3.0, -1.0};
  const scalars mask = where_above(a, limits);
  EXPECT_EQ(mask[0].re, 1.0);
  EXPECT_EQ(mask[1].re, 0.0);
  EXPECT_EQ(mask[2].re, 1.0);
  const scalars nan({{std::nan(""), 0}});
  EXPECT_EQ(where_above(nan, std::span(limits, 1))[0].re, 0.0);
  const int keep[] = {0, 2};
  EXPECT_EQ(compacted(a, keep).columns(), 2);
}

TEST(Execution, IsSharedByLattices) {
  const context ctx(lattice_geometry({4, 4, 4, 8}), communicator(), 2);
  const context other = ctx.on(lattice_geometry({8, 4, 6, 4}));
  EXPECT_EQ(&other.workspace(), &ctx.workspace());
  EXPECT_EQ(other.threads(), 2);
  EXPECT_EQ(other.isa(), ctx.isa());
  EXPECT_EQ(other.geometry().global(), (extents{8, 4, 6, 4}));
  EXPECT_THROW(ctx.on(lattice_geometry({8, 4, 6, 4}, {2, 1, 1, 1}, 0)), input_error);
  const std::byte* memory = nullptr;
  {
    const field<double> x(ctx, {spins, colours, site_subset::even, 2});
    memory = reinterpret_cast<const std::byte*>(x.block(0, 0, 0));
  }
  // As many sites: the memory of the field that is gone.
  const field<double> y(ctx.on(lattice_geometry({8, 4, 4, 4})), {spins, colours, site_subset::even, 2});
  EXPECT_EQ(reinterpret_cast<const std::byte*>(y.block(0, 0, 0)), memory);
}

}  // namespace
}  // namespace plaquette::validation
