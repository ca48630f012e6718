// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Hermitian Wilson operator of either library on every legal process grid: the same bits as on one rank. Also
/// products of a basis, which are sums over ranks.
#include <gtest/gtest.h>

#include "validation/support/overlap_backend.hpp"
#include "validation/support/process_grids.hpp"
#ifdef PLAQUETTE_TEST_GPU_BACKEND
#include "gpu/halo/halo.hpp"
#include "validation/support/device_ranks.hpp"
#endif

namespace plaquette::validation {
namespace {

using backend::context;

#ifdef PLAQUETTE_TEST_GPU_BACKEND
context alone(const extents& global) { return one_rank(global); }
/// Messages travel in one way, then in another.
context on_ranks(const extents& global, const extents& grid, std::size_t turn) {
  return part_of(global, grid, policies()[turn % policies().size()]);
}
/// If the host sends messages, the result of the hopping term is stored before the rest is added: in 16 bits it is
/// rounded once more.
template <class T>
bool same_bits_as_one_rank(const context& ctx) {
  return !std::is_same_v<T, half> || ctx.halo() == nullptr || !ctx.halo()->has_host_messages();
}
#else
context alone(const extents& global) { return {lattice_geometry(global), communicator(), 1}; }
context on_ranks(const extents& global, const extents& grid, std::size_t) {
  const auto world = communicator::world();
  return {lattice_geometry(global, grid, world.rank()), world, 1};
}
template <class T>
bool same_bits_as_one_rank(const context&) {
  return true;
}
#endif

struct results {
  std::vector<spinor_configuration> columns;
  std::vector<complex<double>> products;
};

/// Two applications, of which the second has all addends and writes over one of them.
template <class T>
results results_on(const context& ctx, reconstruct stored) {
  const auto links = cpu::random_configuration(ctx.geometry(), 3, ctx.comm());
  const backend::hermitian_wilson<T> h(ctx, links, fermion_action::isotropic(-1.4, 0.0), stored);
  random_batch<T> in(ctx, 3, 4);
  auto x = like(in.packed), y = like(in.packed);
  poison(x), poison(y);
  h.apply(x, in.packed);
  copy(y, in.packed);
  h.apply(y, 0.7, x, 0.4, -0.3, &y, 1.1, &in.packed);
  results found;
  for (const auto* const field : {&x, &y})
    for (int c = 0; c < 3; ++c) export_column(found.columns.emplace_back(ctx.geometry()), *field, c);
  if constexpr (!std::is_same_v<T, half>) found.products = inner_products(x, view(y, 0, 2));
  return found;
}

template <class T>
void compare_all_grids(const extents& global, reconstruct stored) {
  const auto expected = results_on<T>(alone(global), stored);
  std::size_t turn = 0;
  for (const extents& grid : legal_grids(global, communicator::world().size())) {
    const context ctx = on_ranks(global, grid, turn++);
    const auto found = results_on<T>(ctx, stored);
    for (std::size_t i = 0; i < found.columns.size(); ++i) {
      if (!same_bits_as_one_rank<T>(ctx)) {
        spinor_configuration here(ctx.geometry());
        for (std::int64_t s = 0; s < ctx.geometry().local_volume(); ++s)
          here.at_site(s) = expected.columns[i](ctx.geometry().to_global(ctx.geometry().local_coordinate(s)));
        EXPECT_TRUE(relative_distance(found.columns[i], here, ctx.comm()) <= application_multiple * unit_roundoff<T>);
        continue;
      }
      for (std::int64_t s = 0; s < ctx.geometry().local_volume(); ++s) {
        const coordinate x = ctx.geometry().local_coordinate(s);
        const auto &a = found.columns[i](x), &b = expected.columns[i](ctx.geometry().to_global(x));
        for (int k = 0; k < spins * colours; ++k)
          ASSERT_TRUE(a(k / colours, k % colours) == b(k / colours, k % colours))
              << to_string(global) << " grid " << to_string(grid) << " result " << i << " site " << to_string(x);
      }
    }
    // The sums of ranks are added in another order.
    for (std::size_t k = 0; k < found.products.size(); ++k) {
      const std::size_t i = k % 3, j = 3 + k / 3;
      const double size = norm(expected.columns[i]) * norm(expected.columns[j]);
      EXPECT_TRUE(std::sqrt(norm2(found.products[k] - expected.products[k])) <= 8 * unit_roundoff<T> * size)
          << to_string(grid) << " product " << k;
    }
  }
}

TEST(HermitianWilsonOnRanks, GivesTheBitsOfOneRankOnEveryGrid) {
  compare_all_grids<float>({4, 4, 4, 8}, reconstruct::twelve);
  compare_all_grids<double>({4, 12, 4, 6}, reconstruct::eight);
  compare_all_grids<half>({8, 4, 2, 8}, reconstruct::none);
}

}  // namespace
}  // namespace plaquette::validation
