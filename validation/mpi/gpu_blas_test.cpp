// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums of vector operations of the CUDA library on every legal process grid: the sums of one rank, the same bits on
/// all ranks and run after run.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "gpu/blas/blas.hpp"
#include "gpu/dirac/hopping_term.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "validation/support/device_ranks.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette::validation {
namespace {

/// Every kind of sum, one list a column and kind, of random fields of three columns after the operations.
template <class T>
std::vector<complex<double>> all_sums(const gpu::context& ctx) {
  const field_shape shape{spins, colours, site_subset::even, 3};
  gpu::field<T> x(ctx, shape), y(ctx, shape), z(ctx, shape), u(ctx, shape), v(ctx, shape), w(ctx, shape);
  std::uint64_t stream = 0;
  for (gpu::field<T>* f : {&x, &y, &u, &v, &w, &z}) gpu::random_spinors(*f, 51, stream++ * 10);
  const auto a = make_scalars(x, std::vector<complex<double>>{{0.5, 0.25}, {-1.0, 0.5}, {0.125, 2.0}});
  std::vector<gpu::scalars> list{norm2(u), dot(u, v)};
  const auto take = [&](const std::pair<gpu::scalars, gpu::scalars>& two) {
    list.push_back(two.first);
    list.push_back(two.second);
  };
  take(dot_norm2(u, v));
  list.push_back(axpy_norm2(x, a, u));
  list.push_back(subtract_norm2(w, u, v));
  // a quotient of sums is a coefficient of the next operation
  list.push_back(cg_update(x, y, ratio(list[1], list[0]), u, v));
  take(axpy_dot_norm2(x, a, u, w));
  const auto quotient = ratio(list[0], list[4]);
  list.push_back(bicgstab_step(x, y, z, a, quotient, quotient * a, v, w));
  take(dot_norm2(z, u));
  std::vector<complex<double>> all;
  for (const auto& values : host_values(std::span<const gpu::scalars>(list)))
    all.insert(all.end(), values.begin(), values.end());
  return all;
}

bool same_bits(const std::vector<complex<double>>& a, const std::vector<complex<double>>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
}

template <class T>
struct SumsOnRanks : testing::Test {};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(SumsOnRanks, precisions);

TYPED_TEST(SumsOnRanks, AreThoseOfOneRankAndTheSameOnAll) {
  using T = TypeParam;
  const auto world = communicator::world();
  int grids = 0;
  for (const extents& lattice : {extents{4, 4, 4, 8}, extents{6, 4, 2, 12}, extents{2, 12, 6, 4}})
    for (const extents& grid : legal_grids(lattice, world.size())) {
      ++grids;
      const auto expected = all_sums<T>(one_rank(lattice)), found = all_sums<T>(part_of(lattice, grid));
      ASSERT_EQ(found.size(), expected.size());
      EXPECT_TRUE(same_bits(found, all_sums<T>(part_of(lattice, grid)))) << to_string(grid);
      // Sums of fewer than 2^15 terms in another order. The coefficients that are quotients of sums change with them.
      // A stored number changes by a rounding if it lies between two numbers. A dot product is small against the norms.
      const double size = expected[0].re, tolerance = (gpu::is_half<T> ? 1e-5 : sizeof(T) == 4 ? 1e-7 : 1e-14) * size;
      for (std::size_t k = 0; k < found.size(); ++k)
        EXPECT_TRUE(std::abs(found[k].re - expected[k].re) <= 20.0 * tolerance &&
                    std::abs(found[k].im - expected[k].im) <= 20.0 * tolerance)
            << to_string(lattice) << " on " << to_string(grid) << ", number " << k << ": " << found[k].re << " and "
            << expected[k].re << ", " << found[k].im << " and " << expected[k].im;
      std::vector<double> largest, least;
      for (const complex<double>& z : found)
        for (const double part : {z.re, z.im}) {
          largest.push_back(part);
          least.push_back(-part);
        }
      world.maximum(largest);
      world.maximum(least);
      for (std::size_t k = 0; k < largest.size(); ++k) EXPECT_EQ(largest[k], -least[k]) << k;
    }
  EXPECT_GE(grids, 1);
}

TYPED_TEST(SumsOnRanks, OfMoreColumnsThanKernelsAddOverRanksAreTheSame) {
  using T = TypeParam;
  constexpr int many = 40, few = 3;
  const extents lattice{4, 12, 4, 8};
  for (const extents& grid : legal_grids(lattice, communicator::world().size())) {
    const gpu::context ctx = part_of(lattice, grid);
    EXPECT_FALSE(ctx.kernels_sum_over_ranks(many));
    gpu::field<T> u(ctx, {spins, colours, site_subset::even, many}), v(ctx, u.shape());
    gpu::random_spinors(u, 8);
    gpu::random_spinors(v, 9);
    for (int first = 0; first + few <= many; first += 17) {
      const auto of_many = host_values(dot(u, v)), of_few = host_values(dot(view(u, first, few), view(v, first, few)));
      EXPECT_TRUE(same_bits({of_many.begin() + first, of_many.begin() + first + few}, of_few))
          << first << " on " << to_string(grid);
    }
  }
}

TYPED_TEST(SumsOnRanks, WhoseHandlesAreDroppedDisturbNobody) {
  using T = TypeParam;
  const auto world = communicator::world();
  const extents lattice{4, 12, 4, 8};
  const auto grids = legal_grids(lattice, world.size());
  EXPECT_FALSE(grids.empty());
  for (const extents& grid : grids) {
    const gpu::context ctx = part_of(lattice, grid);
    gpu::field<T> u(ctx, {spins, colours, site_subset::even, 2});
    gpu::random_spinors(u, 7);
    const auto expected = host_values(norm2(u));
    for (int dropped = 0; dropped < 7; ++dropped) {  // as many as wait for each other, and more
      for (int k = 0; k < dropped; ++k) static_cast<void>(dot(u, u));
      // Takes the memory that those would have given back.
      const auto numbers = make_scalars(u, std::vector<complex<double>>{{1.5, 0.0}, {-2.5, 0.5}});
      const auto sums = norm2(u);
      const auto kept = host_values(numbers), found = host_values(sums);
      EXPECT_EQ(kept[0].re, 1.5);
      EXPECT_EQ(kept[1].im, 0.5);
      EXPECT_TRUE(same_bits(found, expected)) << dropped;
      EXPECT_TRUE(same_bits(host_values(sums), expected)) << "asked for twice, " << dropped;
    }
    for (int k = 0; k < 3; ++k) static_cast<void>(norm2(u));  // wait for ever: the context ends first
  }
}

/// A hopping term on a lattice, and the fields it goes between.
struct hopping_on {
  gpu::field<double> even, odd;
  gpu::hopping_term<double> hop;

  explicit hopping_on(const gpu::context& ctx)
      : even(ctx, {spins, colours, site_subset::even, 3}),
        odd(ctx, {spins, colours, site_subset::odd, 3}),
        hop(ctx, gpu::weak_field_configuration(ctx, 0.2, 61), fermion_action::isotropic(0.1, 0.0)) {
    gpu::random_spinors(even, 62);
  }
};

/// Sums on one lattice are coefficients on the other, and back. `read` may bring numbers to the host.
template <class Read>
std::vector<complex<double>> sums_in_turn(hopping_on& a, hopping_on& b, const Read& read) {
  a.hop.apply(a.odd, a.even);
  const auto of_a = read(ratio(norm2(a.odd), norm2(a.even)), b.even);
  b.hop.apply(b.odd, b.even);
  scale(b.odd, of_a);
  const auto of_b = read(norm2(b.odd), a.even);
  a.hop.apply(a.even, a.odd);
  scale(a.even, of_b);
  b.hop.apply(b.even, b.odd);
  auto all = host_values(norm2(a.even)), others = host_values(norm2(b.even));
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

TEST(OneExecution, ServesSeveralLatticesThatAreWorkedOnInTurn) {
  const auto world = communicator::world();
  const extents lattice{4, 4, 4, 16}, other{4, 12, 4, 8};
  for (const extents& grid : legal_grids(lattice, world.size())) {
    bool fits = true;
    for (int mu = 0; mu < dimensions; ++mu) fits = fits && other[mu] % (2 * grid[mu]) == 0;
    if (!fits) continue;
    const gpu::context ctx = part_of(lattice, grid), same = ctx.on(lattice_geometry(other, grid, world.rank()));
    EXPECT_EQ(&same.workspace(), &ctx.workspace());
    EXPECT_EQ(same.queue().native(), ctx.queue().native());
    EXPECT_EQ(same.geometry().global(), other);
    hopping_on a(ctx), b(same);
    const auto found = sums_in_turn(a, b, [](const gpu::scalars& numbers, const auto&) { return numbers; });
    // An execution for each: one waits before the other goes on.
    const auto finish = [&](const hopping_on& of) {
      of.even.get_context().queue().synchronize();
      world.barrier();
    };
    finish(a);
    hopping_on c(part_of(lattice, grid));
    finish(c);
    hopping_on d(part_of(other, grid));
    finish(d);
    const auto expected = sums_in_turn(c, d, [&](const gpu::scalars& numbers, const auto& field) {
      const auto values = host_values(numbers);
      finish(c);
      finish(d);
      return make_scalars(field, values);
    });
    EXPECT_TRUE(same_bits(found, expected)) << to_string(grid);
  }
}

}  // namespace
}  // namespace plaquette::validation
