// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields of the CUDA library: numbers in and out, columns, precisions; and the order of sites.
#include "gpu/fields/field.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "common/algebra/gamma.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

static_assert(field_batch<gpu::field<half>> && field_batch<gpu::field<float>> && field_batch<gpu::field<double>>);
static_assert(precisions_of_one_field<gpu::field<double>, gpu::field<half>>);
static_assert(precisions_of_one_field<gpu::field<float>, gpu::field<half>>);
static_assert(precisions_of_one_field<gpu::field<double>, gpu::field<float>>);
static_assert(precisions_of_one_field<gpu::field<double>, gpu::field<double>>);

const extents lattices[] = {{2, 2, 2, 2}, {4, 6, 2, 8}, {2, 4, 6, 10}, {6, 6, 6, 6}};

TEST(SiteOrder, NumbersTheSitesOfAParityFromZero) {
  for (const extents& lattice : lattices) {
    const gpu::site_order order(lattice);
    ASSERT_EQ(order.sites, volume(lattice) / 2);
    for (int p = 0; p < 2; ++p)
      for (std::int32_t i = 0; i < order.sites; ++i) {
        const gpu::site_coordinate at = order.coordinate_of(p, i);
        const coordinate x{at.x[0], at.x[1], at.x[2], at.x[3]};
        for (int mu = 0; mu < dimensions; ++mu) ASSERT_TRUE(x[mu] >= 0 && x[mu] < lattice[mu]);
        ASSERT_EQ(parity(x), p);
        ASSERT_EQ(order.index(at), i);
        ASSERT_EQ(order.index(x), x[0] / 2 + lattice[0] / 2 * (x[1] + lattice[1] * (x[2] + lattice[2] * x[3])));
      }
  }
}

TEST(SiteOrder, StepsToTheNeighbourOnTheTorus) {
  for (const extents& lattice : lattices) {
    const gpu::site_order order(lattice);
    for (int p = 0; p < 2; ++p)
      for (std::int32_t i = 0; i < order.sites; ++i) {
        const gpu::site_coordinate at = order.coordinate_of(p, i);
        for (int mu = 0; mu < dimensions; ++mu)
          for (const int sign : {-1, 1}) {
            coordinate x{at.x[0], at.x[1], at.x[2], at.x[3]};
            const bool leaves = x[mu] + sign < 0 || x[mu] + sign >= lattice[mu];
            x[mu] = (x[mu] + sign + lattice[mu]) % lattice[mu];
            const gpu::site_coordinate found = order.coordinate_of(1 - p, order.neighbour(at, mu, sign));
            ASSERT_EQ((coordinate{found.x[0], found.x[1], found.x[2], found.x[3]}), x);
            ASSERT_EQ(order.leaves(at, mu, sign), leaves);
          }
      }
  }
}

TEST(Divisor, DividesAsTheProcessorDoes) {
  random_stream random(5, 0, 0);
  for (const std::int32_t d : {1, 2, 3, 5, 6, 7, 12, 31, 32, 33, 96, 1000003, 0x3fffffff, 0x40000001, 0x7fffffff}) {
    const gpu::divisor by(d);
    for (std::int32_t n : {0, 1, d - 1, d, 0x7ffffffe, 0x7fffffff}) ASSERT_EQ(by.quotient(n), n / d) << n << ' ' << d;
    for (int k = 0; k < 1000; ++k) {
      const auto n = static_cast<std::int32_t>(random.bits() >> 33);
      ASSERT_EQ(by.quotient(n), n / d) << n << ' ' << d;
    }
  }
}

TEST(SpinBasis, MakesTheTimeGammaDiagonalAndExchangesHalvesByGamma5) {
  for (int column = 0; column < spins; ++column) {
    // Images of a unit vector of the new basis under gamma_mu, seen in the new basis; there is one colour.
    const auto image = [&](const spin_matrix& gamma) {
      complex<double> psi[spins] = {}, out[spins] = {};
      psi[column] = {1.0, 0.0};
      gpu::rotate_spin_basis(psi, 1);
      for (int i = 0; i < spins; ++i)
        for (int j = 0; j < spins; ++j) out[i] += gamma(i, j) * psi[j];
      gpu::rotate_spin_basis(out, 1);
      return std::vector<complex<double>>(out, out + spins);
    };
    const auto expect = [&](const spin_matrix& gamma, const std::function<complex<double>(int row)>& expected) {
      const auto found = image(gamma);
      for (int i = 0; i < spins; ++i)
        EXPECT_TRUE(std::sqrt(norm2(found[static_cast<std::size_t>(i)] - expected(i))) <= 4e-16) << i << ' ' << column;
    };
    expect(gamma_matrix(3), [&](int i) { return complex<double>{i != column ? 0.0 : i < 2 ? 1.0 : -1.0, 0.0}; });
    for (int mu = 0; mu < 3; ++mu) expect(gamma_matrix(mu), [&](int i) { return -gamma_matrix(mu)(i, column); });
    expect(gamma_matrix(4), [&](int i) { return complex<double>{(i + 2) % 4 == column ? 1.0 : 0.0, 0.0}; });
  }
}

template <class T>
struct Field : testing::Test {};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(Field, precisions);

TYPED_TEST(Field, GivesBackWhatWasImported) {
  using T = TypeParam;
  for (const extents& lattice : lattices)
    for (const site_subset sites : {site_subset::full, site_subset::even, site_subset::odd}) {
      const twin_machines<T> machines(lattice);
      gpu::field<T> x(machines.gpu, {4, 3, sites, 3});
      EXPECT_EQ(x.basis(), gpu::spin_basis::time_diagonal);
      poison(x);
      std::vector<spinor_configuration> given;
      for (int c = 0; c < 3; ++c) {
        given.push_back(cpu::random_spinor(machines.geometry, 7, static_cast<std::uint64_t>(c), communicator()));
        gpu::import_column(x, c, given.back());
      }
      for (int c = 0; c < 3; ++c) {
        spinor_configuration back(machines.geometry);
        for (std::int64_t s = 0; s < machines.geometry.local_volume(); ++s) back.at_site(s)(1, 2) = {99.0, 0.0};
        gpu::export_column(back, x, c);
        visit_sites(machines.geometry, [&](const coordinate& at) {
          const spinor<double>& before = given[static_cast<std::size_t>(c)](at);
          const bool here = sites == site_subset::full || parity(at) == (sites == site_subset::odd ? 1 : 0);
          double largest = 0.0;
          for (int k = 0; k < 12; ++k)
            largest = larger_magnitude(larger_magnitude(largest, before(k / 3, k % 3).re), before(k / 3, k % 3).im);
          const double bound = here ? twin_factor * unit_of<T> * largest : 0.0;
          for (int k = 0; k < 12; ++k) {
            const auto wrong = back(at)(k / 3, k % 3) - (here ? before(k / 3, k % 3) : complex<double>{});
            ASSERT_TRUE(std::abs(wrong.re) <= bound && std::abs(wrong.im) <= bound)
                << describe(lattice, x.shape()) << ' ' << wrong.re << ' ' << wrong.im << ' ' << bound;
          }
        });
      }
    }
}

TYPED_TEST(Field, HoldsTheRotatedNumbersInTheOrderOfSites) {
  using T = TypeParam;
  const twin_machines<T> machines({4, 6, 2, 8});
  gpu::field<T> x(machines.gpu, {4, 3, site_subset::full, 2});
  const spinor_configuration given = cpu::random_spinor(machines.geometry, 8, 0, communicator());
  gpu::import_column(x, 1, given);
  const site_numbers numbers = gpu::column_numbers(x, 1);
  const gpu::site_order& order = x.order();
  for (int part = 0; part < 2; ++part)
    for (std::int32_t i = 0; i < order.sites; ++i) {
      const gpu::site_coordinate at = order.coordinate_of(part, i);
      const spinor<double>& psi = given(coordinate{at.x[0], at.x[1], at.x[2], at.x[3]});
      for (int k = 0; k < 6; ++k) {
        const complex<double> above = psi(k / 3, k % 3), below = psi(k / 3 + 2, k % 3);
        const auto* const found =
            numbers.data() +
            (static_cast<std::size_t>(part) * static_cast<std::size_t>(order.sites) + static_cast<std::size_t>(i)) * 12;
        const double bound = cpu::is_half<T> ? 1e-4 : 1e-6;  // of numbers of size 1 to 4
        ASSERT_TRUE(std::sqrt(norm2(found[k] - std::sqrt(0.5) * (above + below))) <= bound);
        ASSERT_TRUE(std::sqrt(norm2(found[k + 6] - std::sqrt(0.5) * (above - below))) <= bound);
      }
    }
}

TYPED_TEST(Field, ColumnsAreViewedCopiedAndCompacted) {
  using T = TypeParam;
  const twin_machines<T> machines({2, 4, 6, 10});
  for (const auto& [spins, colours] : {std::pair{4, 3}, std::pair{2, 3}, std::pair{2, 7}}) {
    const field_shape shape{spins, colours, site_subset::full, 7};
    const auto x = twins<T>(machines, shape, 21).on_gpu, u = twins<T>(machines, shape, 22).on_gpu;
    const auto column = [](const gpu::field<T>& f, int c) { return gpu::column_numbers(f, c); };

    auto changed = like(x);
    copy(changed, x);
    const int to[] = {0, 3, 6}, from[] = {4, 2, 6};
    copy_columns(changed, to, u, from);
    for (int c = 0; c < 7; ++c) {
      const bool replaced = c % 3 == 0;
      EXPECT_TRUE(same_bits(column(changed, c), replaced ? column(u, from[c / 3]) : column(x, c))) << c;
    }

    // Between fields and views of other numbers of columns.
    auto small = like(x, 3);
    poison(small);
    const int all[] = {0, 1, 2}, three[] = {1, 4, 6}, two[] = {0, 2};
    copy_columns(small, all, x, three);
    for (int c = 0; c < 3; ++c) EXPECT_TRUE(same_bits(column(small, c), column(x, three[c]))) << c;
    auto part = view(changed, 2, 3);
    copy_columns(part, two, view(small, 1, 2), std::span(all, 2));
    for (int c = 0; c < 2; ++c) EXPECT_TRUE(same_bits(column(changed, 2 + two[c]), column(small, 1 + c))) << c;
    EXPECT_TRUE(same_bits(column(changed, 5), column(x, 5)));

    copy(changed, x);
    const int keep[] = {0, 2, 3, 6}, keep_two[] = {1, 3}, keep_last[] = {1};
    compact(changed, keep);
    ASSERT_EQ(changed.columns(), 4);
    for (int c = 0; c < 4; ++c) EXPECT_TRUE(same_bits(column(changed, c), column(x, keep[c]))) << c;
    // A compacted field is as good as new: operations on it, views and parities of it.
    const auto norms = host_values(norm2(changed)), norms_of_all = host_values(norm2(x));
    for (int c = 0; c < 4; ++c)
      EXPECT_EQ(norms[static_cast<std::size_t>(c)].re, norms_of_all[static_cast<std::size_t>(keep[c])].re);
    EXPECT_TRUE(same_bits(column(view(changed, 2, 2).parity(1), 1), column(x.parity(1), 6)));
    auto other = like(changed);
    ASSERT_EQ(other.columns(), 4);
    poison(other);
    copy(other, changed);
    for (int c = 0; c < 4; ++c) EXPECT_TRUE(same_bits(column(other, c), column(x, keep[c]))) << c;
    compact(changed, keep_two);
    ASSERT_EQ(changed.columns(), 2);
    EXPECT_TRUE(same_bits(column(changed, 0), column(x, 2)));
    EXPECT_TRUE(same_bits(column(changed, 1), column(x, 6)));
    compact(changed, keep_last);
    EXPECT_TRUE(same_bits(column(changed, 0), column(x, 6)));
  }
}

TYPED_TEST(Field, ManyColumnsAreCopiedAndCompacted) {
  using T = TypeParam;
  const twin_machines<T> machines({2, 2, 2, 4});
  const field_shape shape{4, 3, site_subset::even, 300};
  const auto x = twins<T>(machines, shape, 23).on_gpu;
  auto reversed = like(x), odd_ones = like(x);
  poison(reversed);
  std::vector<int> forwards, backwards, keep;
  for (int c = 0; c < 300; ++c) {
    forwards.push_back(c);
    backwards.push_back(299 - c);
    if (c % 2 == 1) keep.push_back(c);
  }
  copy_columns(reversed, forwards, x, backwards);
  copy(odd_ones, x);
  compact(odd_ones, keep);
  ASSERT_EQ(odd_ones.columns(), 150);
  for (const int c : {0, 1, 127, 128, 129, 149}) {
    EXPECT_TRUE(same_bits(gpu::column_numbers(odd_ones, c), gpu::column_numbers(x, 2 * c + 1))) << c;
    EXPECT_TRUE(same_bits(gpu::column_numbers(reversed, c), gpu::column_numbers(x, 299 - c))) << c;
  }
}

TYPED_TEST(Field, IsConvertedToEveryPrecision) {
  using T = TypeParam;
  std::uint64_t seed = 30;
  for (const extents& lattice : lattices)
    for (const auto& [spins, colours, columns] : {std::tuple{4, 3, 1}, std::tuple{4, 3, 5}, std::tuple{2, 3, 12},
                                                  std::tuple{2, 7, 3}, std::tuple{2, 1, 2}, std::tuple{2, 24, 2}}) {
      const field_shape shape{spins, colours, columns == 5 ? site_subset::odd : site_subset::full, columns};
      SCOPED_TRACE(describe(lattice, shape));
      const twin_machines<double> machines(lattice);
      const auto wide = twins<double>(machines, shape, ++seed).on_gpu;
      gpu::field<T> narrow(machines.gpu, shape);
      gpu::field<double> back(machines.gpu, shape);
      poison(narrow), poison(back);
      convert(narrow, wide);
      convert(back, narrow);
      auto again = like(narrow);
      poison(again);
      convert(again, narrow);
      for (int c = 0; c < columns; ++c) {
        const site_numbers before = gpu::column_numbers(wide, c), stored = gpu::column_numbers(narrow, c),
                           after = gpu::column_numbers(back, c);
        const auto largest = largest_of_sites(before, spins * colours);
        for (std::size_t i = 0; i < before.size(); ++i) {
          if constexpr (cpu::is_half<T>) {
            const double bound = unit_of<T> * largest[i / static_cast<std::size_t>(spins * colours)];
            ASSERT_TRUE(std::abs(after[i].re - before[i].re) <= bound && std::abs(after[i].im - before[i].im) <= bound);
          } else {
            ASSERT_EQ(after[i].re, static_cast<double>(static_cast<T>(before[i].re)));
            ASSERT_EQ(after[i].im, static_cast<double>(static_cast<T>(before[i].im)));
          }
        }
        EXPECT_TRUE(same_bits(stored, after));
        EXPECT_TRUE(same_bits(gpu::column_numbers(again, c), stored));
      }
    }
}

/// A column of 19 MB passes through page-locked memory in several stretches, there and back. Another lies next to it.
TEST(FieldOfTheDevice, LongColumnsComeInStretches) {
  const lattice_geometry geometry({16, 16, 16, 24});
  const gpu::context ctx(geometry, communicator());
  gpu::field<double> x(ctx, {.columns = 2});
  std::vector<complex<double>> numbers(static_cast<std::size_t>(geometry.local_volume()) * spins * colours);
  for (int c = 0; c < 2; ++c) {
    for (std::size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = {static_cast<double>(k) + 0.5 * c, -static_cast<double>(k)};
    gpu::set_column_numbers(x, c, numbers);
  }
  EXPECT_EQ(gpu::column_numbers(x, 1), numbers);
  for (complex<double>& z : numbers) z.re -= 0.5;
  EXPECT_EQ(gpu::column_numbers(x, 0), numbers);
}

TEST(FieldInHalf, HoldsSitesOfEverySize) {
  const twin_machines<half> machines({4, 4, 4, 4});
  for (const auto& [spins, colours] : {std::pair{4, 3}, std::pair{2, 7}}) {
    const field_shape shape{spins, colours, site_subset::even, 1};
    const auto components = static_cast<std::size_t>(spins * colours);
    site_numbers numbers = random_numbers(sites_of(machines.geometry, shape), spins * colours, 90, 0);
    const auto scale_site = [&](std::size_t site, double by) {
      for (std::size_t k = 0; k < components; ++k) numbers[site * components + k] = by * numbers[site * components + k];
    };
    scale_site(3, 0.0);
    scale_site(5, 1e-27);
    scale_site(6, 1e+30);
    scale_site(7, 1e-37);  // below what half holds: a multiple of the smallest scale, here 0
    gpu::field<double> wide(machines.gpu, shape);
    gpu::field<half> narrow(machines.gpu, shape), imported(machines.gpu, shape);
    gpu::set_column_numbers(wide, 0, numbers);
    convert(narrow, wide);
    gpu::set_column_numbers(imported, 0, numbers);
    const auto largest = largest_of_sites(numbers, spins * colours);
    for (const site_numbers& found : {gpu::column_numbers(narrow, 0), gpu::column_numbers(imported, 0)})
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const bool too_small = largest[i / components] > 0.0 && largest[i / components] < 0x1p-94;
        const double bound = unit_of<half> * (too_small ? 0x1p-94 : largest[i / components]);
        ASSERT_TRUE(std::abs(found[i].re - numbers[i].re) <= bound && std::abs(found[i].im - numbers[i].im) <= bound);
      }
  }
}

TEST(FieldOfTheDevice, RefusesWhatItCannotBe) {
  const twin_machines<float> machines({4, 4, 4, 4});
  EXPECT_THROW(gpu::field<float>(machines.gpu, {0, 3, site_subset::full, 1}), std::invalid_argument);
  EXPECT_THROW(gpu::field<float>(machines.gpu, {4, 3, site_subset::full, -1}), std::invalid_argument);
  gpu::field<float> x(machines.gpu, {4, 3, site_subset::even, 2});
  EXPECT_THROW(view(x, 1, 2), std::logic_error);
  EXPECT_THROW(x.parity(0), std::logic_error);
  EXPECT_THROW(gpu::import_column(x, 2, spinor_configuration(machines.geometry)), std::logic_error);
  EXPECT_THROW(gpu::context(machines.geometry, communicator(), 99), input_error);
}

TEST(MemoryPool, GivesMemoryOfFieldsThatAreGoneToTheNext) {
  const twin_machines<float> machines({4, 4, 4, 4});
  const field_shape shape{4, 3, site_subset::even, 2};
  const std::byte* first = nullptr;
  {
    gpu::field<float> x(machines.gpu, shape);
    first = x.sites(0).begin;
  }
  const std::size_t before = machines.gpu.workspace().in_use();
  gpu::field<float> y(machines.gpu, shape);
  EXPECT_EQ(y.sites(0).begin, first);
  EXPECT_EQ(machines.gpu.workspace().in_use() - before,
            4U * 6 * 512 * 2);  // 4 blocks of 6 chunks of 32 sites, 2 columns
  const auto half_of_it = y;
  gpu::field<float> z(machines.gpu, shape);
  EXPECT_NE(z.sites(0).begin, first);
}

/// A pool that cuts pieces, under requests of all sizes in random order.
TEST(MemoryPool, HandsOutPiecesThatDoNotOverlapAndGrowTogetherAgain) {
  const auto pool = std::make_shared<gpu::memory_pool>(0, true);
  std::vector<std::pair<std::shared_ptr<std::byte>, std::size_t>> held;
  random_stream random(3, 0, 0);
  std::size_t in_use = 0;
  const auto rounded = [](std::size_t bytes) { return std::max<std::size_t>((bytes + 255) / 256 * 256, 256); };
  for (int step = 0; step < 2000; ++step) {
    if (held.size() < 20 || random.bits() % 2 == 0) {
      const std::size_t bytes = random.bits() % (std::size_t{1} << (4 + random.bits() % 19));  // up to 4 MiB
      auto memory = pool->take(bytes);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 256, 0U);
      for (const auto& [other, size] : held)
        ASSERT_TRUE(memory.get() + rounded(bytes) <= other.get() || other.get() + rounded(size) <= memory.get());
      in_use += rounded(bytes);
      held.emplace_back(std::move(memory), bytes);
    } else {
      const std::size_t which = random.bits() % held.size();
      in_use -= rounded(held[which].second);
      std::swap(held[which], held.back());
      held.pop_back();
    }
    ASSERT_EQ(pool->in_use(), in_use);
    ASSERT_LE(pool->in_use(), pool->reserved());
    ASSERT_LE(pool->in_use(), pool->most_in_use());
  }
  held.clear();
  EXPECT_EQ(pool->in_use(), 0U);
}

TEST(MemoryPool, AsksTheDriverOnceForFieldsOfChangingSizes) {
  const auto pool = std::make_shared<gpu::memory_pool>(0, true);
  constexpr std::size_t column = std::size_t{3} << 20;
  {
    const auto all = pool->take(12 * column);
  }
  const std::size_t reserved = pool->reserved();
  for (const int columns : {12, 5, 1, 7, 11, 3}) {
    auto some = pool->take(static_cast<std::size_t>(columns) * column);
    const auto rest = columns < 12 ? pool->take(static_cast<std::size_t>(12 - columns) * column) : nullptr;
    EXPECT_EQ(pool->reserved(), reserved) << columns;
    if (columns % 2 == 1) some.reset();  // the left one of two neighbours goes first, or the right one
  }
  const auto again = pool->take(12 * column);
  EXPECT_EQ(pool->reserved(), reserved);
  const auto more = pool->take(column);
  EXPECT_EQ(pool->reserved(), reserved + column);
}

}  // namespace
}  // namespace plaquette::validation
