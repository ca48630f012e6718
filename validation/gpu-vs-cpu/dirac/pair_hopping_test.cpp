// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The device's hopping term by pairs of floats against the CPU's in double: 44 bits, parities, dagger, boundary
/// phases, odd shapes, batches.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/dirac/pair_hopping.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "validation/gpu-vs-cpu/dirac/dirac_support.hpp"

namespace plaquette::validation {
namespace {

constexpr double bound = 0x1p-44;

gpu::field<double> random_numbers(const gpu::context& ctx, site_subset sites, int columns, std::uint64_t seed) {
  gpu::field<double> x(ctx, {spins, colours, sites, columns});
  poison(x);
  for (int c = 0; c < columns; ++c)
    gpu::import_column(x, c, cpu::random_spinor(ctx.geometry(), seed, static_cast<std::uint64_t>(c), communicator()));
  return x;
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
      auto pairs = like(in.device, columns, as<gpu::field<float_pair>>);
      convert(pairs, in.device);
      for (int p = 0; p < 2; ++p)
        for (const bool daggered : {false, true}) {
          cpu::field<double> expected(host_ctx, in.host.shape());
          gpu::field<float_pair> out(ctx, in.device.shape());
          poison(out);
          auto out_p = out.parity(p);
          auto expected_p = expected.parity(p);
          expected_term.apply(expected_p, in.host.parity(1 - p), daggered, {epilogue::store, -0.3});
          gpu::hopping_finish<float_pair> finish;
          finish.scale = -0.3;
          term.apply(out_p, pairs.parity(1 - p), daggered, finish);
          const double distance = worst_distance(out_p, expected_p);
          worst = std::max(worst, distance);
          EXPECT_TRUE(distance <= bound) << to_string(lattice) << " parity " << p << " daggered " << daggered << ": "
                                         << distance;
        }
    }
  }
  EXPECT_GT(worst, 0x1p-53);  // it is not double
}

/// M, both Schur complements and their parts by pairs, against the same in double.
TEST(WilsonCloverByPairs, IsTheOperatorToFortyFourBits) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const gpu::context ctx = device_context(geometry);
  const auto links = gpu::import_links(ctx, cpu::random_configuration(geometry, 3, communicator()));
  double worst = 0.0;
  for (const double csw : {0.0, 1.3}) {
    const fermion_action action = fermion_action::isotropic(0.1, csw);
    const auto m = std::make_shared<const gpu::wilson_clover<double>>(ctx, links, action);
    const auto pairs = std::make_shared<const gpu::wilson_clover<float_pair>>(ctx, links, action);
    const auto compare = [&](const auto& expected_product, const auto& product, site_subset sites) {
      const auto in = random_numbers(ctx, sites, 2, 7);
      auto in_pairs = like(in, 2, as<gpu::field<float_pair>>), found = like(in_pairs);
      convert(in_pairs, in);
      auto expected = like(in), in_double = like(in);
      poison(found);
      expected_product(expected, in);
      product(found, in_pairs);
      convert(in_double, found);
      const auto of_difference = host_values(subtract_norm2(expected, expected, in_double));
      const auto all = host_values(norm2(in_double));
      for (std::size_t c = 0; c < all.size(); ++c) {
        const double distance = std::sqrt(of_difference[c].re / all[c].re);
        worst = std::max(worst, distance);
        EXPECT_TRUE(distance <= bound) << "csw " << csw << ": " << distance;
      }
    };
    const auto compare_operators = [&](const auto& a, const auto& b, site_subset sites) {
      const auto of = [](const auto& op) { return [&op](auto& out, const auto& in) { op.apply(out, in); }; };
      const auto dagger_of = [](const auto& op) {
        return [&op](auto& out, const auto& in) { op.apply_dagger(out, in); };
      };
      compare(of(a), of(b), sites);
      compare(dagger_of(a), dagger_of(b), sites);
    };
    compare_operators(*m, *pairs, site_subset::full);
    for (const schur_kind kind : {schur_kind::asymmetric, schur_kind::symmetric})
      compare_operators(gpu::schur_wilson_clover<double>(m, kind), gpu::schur_wilson_clover<float_pair>(pairs, kind),
                        site_subset::even);
    for (const site_subset sites : {site_subset::even, site_subset::odd}) {
      const auto of = [](const auto& a) { return [&a](auto& out, const auto& in) { a.apply(out, in); }; };
      compare(of(m->diagonal()), of(pairs->diagonal()), sites);
      compare(of(m->inverse_diagonal()), of(pairs->inverse_diagonal()), sites);
    }
  }
  EXPECT_GT(worst, 0x1p-53);  // it is not double
}

/// With every epilogue, into the field that it adds to as well.
TEST(PairHoppingTerm, KnowsTheEpilogues) {
  const lattice_geometry geometry({4, 4, 2, 6});
  const gpu::context ctx = device_context(geometry);
  const auto links = gpu::import_links(ctx, cpu::random_configuration(geometry, 5, communicator()));
  const fermion_action action = fermion_action::isotropic(0.1, 1.3);
  const gpu::wilson_clover<double> m(ctx, links, action);
  const gpu::wilson_clover<float_pair> pairs(ctx, links, action);
  const auto in = random_numbers(ctx, site_subset::even, 2, 11), x = random_numbers(ctx, site_subset::odd, 2, 12),
             w = random_numbers(ctx, site_subset::odd, 2, 13);
  const auto in_pairs = [](const gpu::field<double>& from) {
    auto to = like(from, from.columns(), as<gpu::field<float_pair>>);
    convert(to, from);
    return to;
  };
  const auto x_pairs = in_pairs(x), w_pairs = in_pairs(w), source = in_pairs(in);
  for (const epilogue finish :
       {epilogue::store, epilogue::add, epilogue::clover, epilogue::add_clover, epilogue::clover_x_add})
    for (const bool in_place : {false, true}) {
      std::optional<std::pair<gpu::scalars, gpu::scalars>> expected_sums, sums;
      auto expected = like(x), found = like(x);
      m.hopping().apply(expected, in, false, {finish, -0.7, &x, 0.3, m.diagonal().blocks(1), &w, &expected_sums});
      auto out = like(x_pairs);
      if (in_place)
        copy(out, x_pairs);
      else
        poison(out);
      pairs.hopping().apply(
          out, source, false,
          {finish, -0.7, in_place ? &out : &x_pairs, 0.3, pairs.diagonal().blocks(1), &w_pairs, &sums});
      convert(found, out);
      const auto all = host_values(norm2(expected)), difference = host_values(subtract_norm2(found, found, expected));
      const auto dots = host_values(sums->first), expected_dots = host_values(expected_sums->first);
      for (std::size_t c = 0; c < all.size(); ++c) {
        EXPECT_TRUE(std::sqrt(difference[c].re / all[c].re) <= bound) << static_cast<int>(finish) << " " << in_place;
        EXPECT_TRUE(std::sqrt(norm2(dots[c] - expected_dots[c])) <= 4.0 * bound * all[c].re);
      }
    }
}

TEST(PairHoppingTerm, RefusesWhatItCannotDo) {
  const lattice_geometry geometry({2, 2, 2, 2});
  const gpu::context ctx = device_context(geometry);
  const auto links = gpu::unit_configuration(ctx);
  const gpu::pair_hopping_term term(ctx, links, fermion_action::isotropic(0.1, 0.0));
  gpu::field<float_pair> x(ctx, {spins, colours, site_subset::even, 1}), y(ctx, {spins, colours, site_subset::odd, 1});
  EXPECT_THROW(term.apply(x, like(x)), std::logic_error);
  EXPECT_THROW(term.apply(x, y, false, {epilogue::add}), std::logic_error);
  EXPECT_THROW(term.apply(x, y, false, {epilogue::clover}), std::logic_error);
}

}  // namespace
}  // namespace plaquette::validation
