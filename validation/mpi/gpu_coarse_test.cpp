// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A level of multigrid of the CUDA library on every process grid, against one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/operators/coarse_matrices.hpp"
#include "cpu_ref/coarse/coarse_operator.hpp"
#include "gpu/coarse/coarse_operator.hpp"
#include "gpu/coarse/galerkin.hpp"
#include "gpu/coarse/lattice_gather.hpp"
#include "gpu/coarse/transfer.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "validation/support/device_ranks.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette::validation {
namespace {

constexpr int vectors = 4, columns = 3;

/// Vectors of random fields, the coarse operator, and its application and its Schur complement's solution on a random
/// field.
struct level {
  gpu::coarse_matrices matrices;
  gpu::coarse_field<float> applied, solved, twisted;  ///< the last: by M + i mu gamma_5

  level(const gpu::context& ctx, const extents& aggregate) : level(ctx, made(ctx, aggregate)) {}

 private:
  static gpu::null_space made(const gpu::context& ctx, const extents& aggregate) {
    gpu::field<float> seeds(ctx, {spins, colours, site_subset::full, vectors});
    random_spinors(seeds, 61, 0);
    const aggregates blocks(ctx.geometry(), coarsened(ctx.geometry(), aggregate));
    auto v = gathered(seeds, std::make_shared<const gpu::aggregate_tables>(ctx, blocks, false));
    EXPECT_EQ(orthonormalise(v).replaced(), 0);
    return v;
  }
  level(const gpu::context& ctx, const gpu::null_space& v)
      : matrices(galerkin_product(gpu::weak_field_configuration(ctx, 0.3, 62), fermion_action::isotropic(0.2, 1.0), v)),
        applied(gpu::transfer<float>(ctx, v).coarse_like(columns)),
        solved(like(applied)),
        twisted(like(applied)) {
    auto in = like(applied);
    fill_random(in, 63, 0);
    gpu::coarse_operator<float>(ctx, matrices).apply(applied, in);
    const gpu::coarse_schur<float> schur(ctx, matrices);
    auto even = schur.even_like(in), image = schur.even_like(in);
    schur.prepare_source(even, in);
    schur.apply(image, even);
    schur.reconstruct_solution(solved, image, in);
    const gpu::coarse_schur<float> twisted_schur(ctx, with_twist(matrices, 0.3));
    twisted_schur.prepare_source(even, in);
    twisted_schur.apply(image, even);
    twisted_schur.reconstruct_solution(twisted, image, in);
  }
};

std::vector<complex<double>> numbers_of(const gpu::coarse_field<float>& x, int column) {
  std::vector<complex<double>> numbers(static_cast<std::size_t>(x.sites() * x.components()));
  export_column(std::span(numbers), x, column);
  return numbers;
}

/// Compares the sites of this rank with the same sites of the whole lattice; the largest difference of all ranks.
double largest_difference(const gpu::coarse_field<float>& part, const gpu::coarse_field<float>& whole) {
  const coarse_geometry &here = part.geometry(), &all = whole.geometry();
  double worst = 0.0;
  for (int c = 0; c < part.columns(); ++c) {
    const auto a = numbers_of(part, c), b = numbers_of(whole, c);
    for (std::int64_t s = 0; s < here.sites(); ++s) {
      const std::int64_t there = all.site(coordinate_of(here.global_index(s), all.global()));
      for (int k = 0; k < part.components(); ++k) {
        const double d = std::sqrt(norm2(a[static_cast<std::size_t>(s * part.components() + k)] -
                                         b[static_cast<std::size_t>(there * part.components() + k)]));
        if (!(d <= worst)) worst = d;
      }
    }
  }
  part.get_execution().comm().maximum({&worst, 1});
  return worst;
}

TEST(GpuCoarseOnRanks, IsWhatOneRankMakesOfIt) {
  struct {
    extents lattice, aggregate;
  } const cases[] = {{{4, 4, 4, 8}, {2, 2, 2, 2}},
                     {{4, 8, 4, 8}, {2, 1, 2, 2}},
                     {{6, 4, 4, 12}, {3, 2, 2, 2}},
                     {{4, 2, 12, 4}, {2, 1, 2, 2}}};  // of the last, boxes of ranks have odd extents
  int compared = 0;
  for (const auto& [lattice, aggregate] : cases) {
    for (const extents& grid : legal_grids(lattice, communicator::world().size())) {
      const gpu::context ctx =
          part_of(lattice, grid, policies()[static_cast<std::size_t>(compared) % policies().size()]);
      bool divides = true;
      for (int mu = 0; mu < dimensions; ++mu) divides = divides && ctx.geometry().local()[mu] % aggregate[mu] == 0;
      if (!divides) {
        EXPECT_THROW(coarsened(ctx.geometry(), aggregate), input_error);
        continue;
      }
      const level part(ctx, aggregate), whole(one_rank(lattice), aggregate);
      // The same operations in the same order: the same bits.
      EXPECT_EQ(largest_difference(part.applied, whole.applied), 0.0) << to_string(grid);
      EXPECT_EQ(largest_difference(part.solved, whole.solved), 0.0) << to_string(grid);
      EXPECT_EQ(largest_difference(part.twisted, whole.twisted), 0.0) << to_string(grid);
      ++compared;
    }
  }
  EXPECT_GE(compared, 1);
}

/// Returns what `work` throws as input_error.
template <class Work>
std::string message_of(const Work& work) {
  try {
    work();
  } catch (const input_error& error) {
    return error.what();
  }
  return {};
}

TEST(CoarseDiagonalOnRanks, ThatIsSingularOnOneRankIsRefusedByAll) {
  const auto world = communicator::world();
  const gpu::context ctx = part_of({4, 4, 4, 4 * world.size()}, {1, 1, 1, world.size()}, policies().front());
  const cpu::execution host(world, 1);
  coarse_matrices matrices(coarsened(ctx.geometry(), {2, 2, 2, 2}), 2 * vectors);
  const auto set_diagonal = [&](std::int64_t site, float number) {
    for (int i = 0; i < matrices.n; ++i) matrices.matrix(site, 0)[i * matrices.n + i] = {number, 0.0F};
  };
  for (std::int64_t site = 0; site < matrices.geometry.sites(); ++site) set_diagonal(site, 2.0F);
  const auto on_cpu = [&] { return message_of([&] { cpu::coarse_products<float>(host, matrices); }); };
  const auto on_gpu = [&] { return message_of([&] { gpu::inverse_diagonals(gpu::import_matrices(ctx, matrices)); }); };
  EXPECT_EQ(on_cpu() + on_gpu(), "");
  if (world.rank() == world.size() - 1) set_diagonal(1, 0.0F);
  const std::string sentence = on_gpu();
  EXPECT_NE(sentence.find("the coarse operator's diagonal has no inverse at some site"), std::string::npos) << sentence;
  EXPECT_EQ(on_cpu(), sentence);
}

/// Makes a random field's columns, from the same numbers on any grid.
gpu::coarse_field<float> random_field(const gpu::execution& on, const coarse_geometry& geometry, int columns,
                                      std::uint64_t seed) {
  gpu::coarse_field<float> x(on, std::make_shared<const gpu::coarse_lattice>(on, geometry),
                             {chiralities, vectors, site_subset::full, columns});
  fill_random(x, seed, 0);
  return x;
}

double distance_of(const gpu::coarse_field<float>& a, const gpu::coarse_field<float>& b) {
  double worst = 0.0;
  for (int c = 0; c < a.columns(); ++c) {
    const auto x = numbers_of(a, c), y = numbers_of(b, c);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double d = std::sqrt(norm2(x[k] - y[k]));
      if (!(d <= worst)) worst = d;
    }
  }
  return worst;
}

TEST(GpuLatticeGather, BringsThePartsOfAllRanksTogether) {
  int compared = 0;
  const extents lattices[] = {{4, 4, 4, 8}, {6, 2, 2, 4}, {3, 3, 2, 8}};
  for (const extents& global : lattices)
    for (const extents& grid :
         legal_grids({2 * global[0], 2 * global[1], 2 * global[2], 2 * global[3]}, communicator::world().size()))
      for (const gpu::halo_policy policy : policies()) {
        bool divides = true;
        for (int mu = 0; mu < dimensions; ++mu) divides = divides && global[mu] % grid[mu] == 0;
        if (!divides) continue;
        extents fine = global;
        for (int& length : fine) length *= 2;
        const gpu::context ctx = part_of(fine, grid, policy);
        const gpu::execution alone = ctx.execution().alone();
        const coarse_geometry part(global, grid, ctx.comm().rank()), all(global, {1, 1, 1, 1}, 0);
        const gpu::lattice_gather ranks(ctx, part, all);
        // Several in a row, without a wait: rooms take turns, and grow.
        std::vector<gpu::coarse_field<float>> wholes, parts;
        for (int round = 0; round < 5; ++round) {
          const int columns = round < 3 ? 2 : 3;
          const auto seed = static_cast<std::uint64_t>(70 + round);
          // Columns in the midst of wider fields.
          wholes.push_back(view(random_field(alone, all, 5, 1), 1, columns));
          parts.push_back(view(random_field(ctx, part, 5, 2), 2, columns));
          ranks.gather(wholes.back(), view(random_field(ctx, part, 4, seed), 1, columns));
          ranks.take_part(parts.back(), wholes.back());
        }
        for (int round = 0; round < 5; ++round) {
          const int columns = round < 3 ? 2 : 3;
          const auto seed = static_cast<std::uint64_t>(70 + round), k = static_cast<std::uint64_t>(round);
          EXPECT_EQ(distance_of(wholes[k], view(random_field(alone, all, 4, seed), 1, columns)), 0.0);
          EXPECT_EQ(distance_of(parts[k], view(random_field(ctx, part, 4, seed), 1, columns)), 0.0);
        }
        ++compared;
      }
  EXPECT_GE(compared, 1);
}

}  // namespace
}  // namespace plaquette::validation
