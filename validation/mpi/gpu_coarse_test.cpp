// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A level of multigrid of the CUDA library on every process grid: what one rank makes of it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "gpu/coarse/coarse_operator.hpp"
#include "gpu/coarse/galerkin.hpp"
#include "gpu/coarse/transfer.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "validation/support/device_ranks.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette::validation {
namespace {

constexpr int vectors = 4, columns = 3;

/// Vectors of random fields, the coarse operator, and what it and its Schur complement make of a random field.
struct level {
  gpu::coarse_matrices matrices;
  gpu::coarse_field<float> applied, solved;

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
        solved(like(applied)) {
    auto in = like(applied);
    fill_random(in, 63, 0);
    gpu::coarse_operator<float>(ctx, matrices).apply(applied, in);
    const gpu::coarse_schur<float> schur(ctx, matrices);
    auto even = schur.even_like(in), image = schur.even_like(in);
    schur.prepare_source(even, in);
    schur.apply(image, even);
    schur.reconstruct_solution(solved, image, in);
  }
};

std::vector<complex<double>> numbers_of(const gpu::coarse_field<float>& x, int column) {
  std::vector<complex<double>> numbers(static_cast<std::size_t>(x.sites() * x.components()));
  export_column(std::span(numbers), x, column);
  return numbers;
}

/// Compares the sites of this rank with those of the whole lattice; the largest difference of all ranks.
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
      ++compared;
    }
  }
  EXPECT_GE(compared, 1);
}

}  // namespace
}  // namespace plaquette::validation
