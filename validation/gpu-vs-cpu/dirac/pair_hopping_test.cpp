// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The device's hopping term by pairs of floats against the CPU's in double: 44 bits, parities, dagger, boundary
/// phases, odd shapes, batches.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "gpu/dirac/pair_hopping.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "validation/gpu-vs-cpu/dirac/dirac_support.hpp"

namespace plaquette::validation {
namespace {

constexpr double bound = 0x1p-44;

gpu::field<double> random_pairs(const gpu::context& ctx, site_subset sites, int columns, std::uint64_t seed) {
  gpu::field<double> x(ctx, {spins, colours, sites, columns});
  poison(x);
  for (int c = 0; c < columns; ++c)
    gpu::import_column(x, c, cpu::random_spinor(ctx.geometry(), seed, static_cast<std::uint64_t>(c), communicator()));
  return x;
}

TEST(PairsOnTheDevice, KeepFortyEightBits) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const gpu::context ctx = device_context(geometry);
  const auto x = random_pairs(ctx, site_subset::full, 3, 1);
  auto pairs = like(x);
  gpu::to_pairs(pairs, x);
  auto back = like(x);
  poison(back);
  gpu::to_doubles(back, pairs);
  double worst = 0.0;
  for (int c = 0; c < 3; ++c) {
    const auto found = gpu::column_numbers(back, c), expected = gpu::column_numbers(x, c);
    for (std::size_t k = 0; k < found.size(); ++k)
      worst = std::max(worst, std::abs(found[k].re - expected[k].re) / std::abs(expected[k].re));
  }
  EXPECT_TRUE(worst <= 0x1p-48) << worst;
  EXPECT_GT(worst, 0x1p-53);  // they were pairs
}

TEST(PairHoppingTerm, IsTheHoppingTermToFortyFourBits) {
  std::uint64_t seed = 10;
  double worst = 0.0;
  for (const extents& lattice : {extents{2, 2, 2, 2}, extents{4, 6, 2, 8}, extents{2, 6, 10, 2}, extents{8, 4, 4, 6}}) {
    const lattice_geometry geometry(lattice);
    const cpu::context host_ctx(geometry, communicator(), 2);
    const gpu::context ctx = device_context(geometry);
    const auto links = cpu::random_configuration(geometry, ++seed, communicator());
    fermion_action periodic = fermion_action::isotropic(0.1, 0.0), signs = periodic, phases = periodic;
    periodic.boundary_phase[3] = {1.0, 0.0};
    signs.boundary_phase[1] = {-1.0, 0.0};
    signs.anisotropy = 2.0;
    phases.boundary_phase[0] = {0.6, -0.8};
    for (const fermion_action& action : {fermion_action::isotropic(0.1, 0.0), periodic, signs, phases}) {
      const cpu::hopping_term<double> expected_term(host_ctx, links, action);
      const gpu::pair_hopping_term term(ctx, gpu::import_links(ctx, links), action);
      const int columns = 1 + static_cast<int>(seed % 3);
      const columns_on_both<double> in(host_ctx, ctx, columns, ++seed);
      auto pairs = like(in.device);
      gpu::to_pairs(pairs, in.device);
      for (int p = 0; p < 2; ++p)
        for (const bool daggered : {false, true}) {
          cpu::field<double> expected(host_ctx, in.host.shape());
          gpu::field<double> out(ctx, in.device.shape());
          poison(out);
          auto out_p = out.parity(p);
          auto expected_p = expected.parity(p);
          expected_term.apply(expected_p, in.host.parity(1 - p), daggered, {epilogue::store, -0.3});
          gpu::hopping_finish<double> finish;
          finish.scale = -0.3;
          term.apply(out_p, pairs.parity(1 - p), daggered, finish);
          gpu::to_doubles(out_p, out_p);
          const double distance = worst_distance(out_p, expected_p);
          worst = std::max(worst, distance);
          EXPECT_TRUE(distance <= bound) << to_string(lattice) << " parity " << p << " daggered " << daggered << ": "
                                         << distance;
        }
    }
  }
  EXPECT_GT(worst, 0x1p-53);  // it is not double
}

/// M and both Schur complements whose products are by pairs, against those in double.
TEST(WilsonCloverByPairs, IsTheOperatorToFortyFourBits) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const gpu::context ctx = device_context(geometry);
  const auto links = gpu::import_links(ctx, cpu::random_configuration(geometry, 3, communicator()));
  double worst = 0.0;
  for (const double csw : {0.0, 1.3})
    for (const bool daggered : {false, true}) {
      const fermion_action action = fermion_action::isotropic(0.1, csw);
      const auto m = std::make_shared<const gpu::wilson_clover<double>>(ctx, links, action);
      const auto pairs = std::make_shared<gpu::wilson_clover<double>>(ctx, links, action);
      pairs->hopping().use_pairs(links);
      const auto compare = [&](const auto& expected_operator, const auto& found_operator, site_subset sites) {
        const auto in = random_pairs(ctx, sites, 2, 7);
        auto expected = like(in), found = like(in);
        poison(found);
        if (daggered) {
          expected_operator.apply_dagger(expected, in);
          found_operator.apply_dagger(found, in);
        } else {
          expected_operator.apply(expected, in);
          found_operator.apply(found, in);
        }
        const auto of_difference = host_values(subtract_norm2(expected, expected, found));
        const auto all = host_values(norm2(found));
        for (std::size_t c = 0; c < all.size(); ++c) {
          const double distance = std::sqrt(of_difference[c].re / all[c].re);
          worst = std::max(worst, distance);
          EXPECT_TRUE(distance <= bound) << "csw " << csw << " daggered " << daggered << ": " << distance;
        }
      };
      compare(*m, *pairs, site_subset::full);
      for (const schur_kind kind : {schur_kind::asymmetric, schur_kind::symmetric})
        compare(gpu::schur_wilson_clover<double>(m, kind), gpu::schur_wilson_clover<double>(pairs, kind),
                site_subset::even);
    }
  EXPECT_GT(worst, 0x1p-53);  // it is not double
}

TEST(PairHoppingTerm, RefusesWhatItCannotDo) {
  const lattice_geometry geometry({2, 2, 2, 2});
  const gpu::context ctx = device_context(geometry);
  const auto links = gpu::unit_configuration(ctx);
  const gpu::pair_hopping_term term(ctx, links, fermion_action::isotropic(0.1, 0.0));
  gpu::field<double> x(ctx, {spins, colours, site_subset::even, 1});
  EXPECT_THROW(term.apply(x, like(x)), std::logic_error);
}

}  // namespace
}  // namespace plaquette::validation
