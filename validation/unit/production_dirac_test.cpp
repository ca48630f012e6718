// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The production operators of the CPU against the textbook ones: every instruction set that this machine has, both
/// precisions, odd shapes, batches, boundary conditions, isotropic or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "validation/support/production.hpp"

namespace plaquette::validation {
namespace {

using cpu::context;
using cpu::field;
using cpu::instruction_set;

const std::vector<extents> lattices = {{2, 2, 2, 2}, {4, 2, 2, 2},  {4, 6, 2, 8},
                                       {6, 6, 6, 6}, {2, 6, 10, 2}, {8, 4, 4, 6}};

std::vector<instruction_set> instruction_sets() {
  std::vector<instruction_set> sets{instruction_set::generic};
  for (const auto isa : {instruction_set::avx2, instruction_set::avx512})
    if (cpu::kernels_of(isa).single_precision[0].width > 0) sets.push_back(isa);
  return sets;
}

template <class T>
struct ProductionOperator : testing::Test {
  static constexpr double tolerance = application_multiple * unit_roundoff<T>;
};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(ProductionOperator, precisions);

TYPED_TEST(ProductionOperator, AgreesWithTheTextbook) {
  std::uint64_t seed = 1;
  double worst = 0.0;
  for (const auto isa : instruction_sets())
    for (const extents& lattice : lattices) {
      const lattice_geometry geometry(lattice);
      const communicator comm;
      const context ctx(geometry, comm, 2, isa);
      const auto links = cpu::random_configuration(geometry, ++seed, comm);
      for (const fermion_action& action : actions_to_test())
        for (const reconstruct stored : every_reconstruct) {
          const cpu::wilson_clover<TypeParam> m(ctx, links, action, stored);
          const int columns = 1 + static_cast<int>(seed % 5);
          random_batch<TypeParam> in(ctx, columns, ++seed);
          auto out = like(in.packed);
          for (const bool dagger : {false, true}) {
            poison(out);
            dagger ? m.apply_dagger(out, in.packed) : m.apply(out, in.packed);
            for (int c = 0; c < columns; ++c) {
              spinor_configuration expected(geometry), found(geometry);
              cpu::textbook::apply(expected, in.canonical[static_cast<std::size_t>(c)], links, action, comm, dagger);
              cpu::export_column(found, out, c);
              const double distance = relative_distance(found, expected, comm);
              worst = std::max(worst, distance / (this->tolerance * reconstruction_multiple(stored)));
              ASSERT_TRUE(distance <= this->tolerance * reconstruction_multiple(stored))
                  << distance << ' ' << stored_reals(stored) << " reals, " << cpu::name_of(isa) << ' '
                  << to_string(lattice) << " csw " << action.clover_temporal << " dagger " << dagger;
            }
          }
        }
    }
  this->RecordProperty("worst_share_of_tolerance", std::to_string(worst));
}

TYPED_TEST(ProductionOperator, ThatFollowsOtherLinksIsTheirsToTheBit) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const communicator comm;
  const context ctx(geometry, comm, 2);
  const auto before = cpu::random_configuration(geometry, 21, comm),
             after = cpu::random_configuration(geometry, 22, comm);
  random_batch<TypeParam> in(ctx, 3, 23);
  const auto results = [&](const cpu::wilson_clover<TypeParam>& m) {
    auto out = like(in.packed), solved = like(in.packed.parity(1));
    poison(out), poison(solved);
    m.apply(out, in.packed);
    m.inverse_diagonal().apply(solved, in.packed.parity(1));
    std::vector<spinor_configuration> all;
    for (int c = 0; c < 3; ++c) {
      cpu::export_column(all.emplace_back(geometry), out, c);
      cpu::export_column(all.emplace_back(geometry), solved, c);
    }
    return all;
  };
  for (const fermion_action& action : actions_to_test())
    for (const reconstruct stored : every_reconstruct) {
      cpu::wilson_clover<TypeParam> m(ctx, before, action, stored);
      const auto* const blocks = m.diagonal().blocks(0);
      m.follow(after);
      EXPECT_EQ(m.diagonal().blocks(0), blocks);  // in place
      const auto found = results(m), expected = results(cpu::wilson_clover<TypeParam>(ctx, after, action, stored));
      for (std::size_t k = 0; k < found.size(); ++k) ASSERT_TRUE(same_bits(found[k], expected[k])) << k;
    }
}

/// A_oo^-1 v by Eigen-free means: solves A x = v on odd sites with the packed inverse, checked by the packed A.
TYPED_TEST(ProductionOperator, DiagonalTimesItsInverseIsOne) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const communicator comm;
  const context ctx(geometry, comm);
  const auto links = cpu::random_configuration(geometry, 5, comm);
  for (const fermion_action& action : actions_to_test()) {
    const cpu::wilson_clover<TypeParam> m(ctx, links, action);
    random_batch<TypeParam> in(ctx, 2, 6);
    for (int p = 0; p < 2; ++p) {
      auto x = like(in.packed.parity(p)), y = like(in.packed.parity(p));
      poison(x), poison(y);
      m.inverse_diagonal().apply(x, in.packed.parity(p));
      m.diagonal().apply(y, x);
      spinor_configuration found(geometry);
      cpu::export_column(found, y, 1);
      EXPECT_TRUE(relative_distance(found, in.canonical[1], comm, p) <= 8 * this->tolerance);
    }
  }
}

/// With y = M x and any x: the Schur complement of M acts on x_e as the even part of the elimination of y_o.
TYPED_TEST(ProductionOperator, SchurComplementEliminatesOddSites) {
  std::uint64_t seed = 100;
  for (const auto isa : instruction_sets())
    for (const extents& lattice : lattices) {
      const lattice_geometry geometry(lattice);
      const communicator comm;
      const context ctx(geometry, comm, 2, isa);
      const auto links = cpu::weak_field_configuration(geometry, 0.3, ++seed, comm);
      for (const fermion_action& action : actions_to_test()) {
        const auto m = std::make_shared<const cpu::wilson_clover<TypeParam>>(ctx, links, action);
        random_batch<TypeParam> x(ctx, 3, ++seed);
        auto y = like(x.packed);
        m->apply(y, x.packed);
        for (const auto kind : {cpu::schur_kind::asymmetric, cpu::schur_kind::symmetric}) {
          const cpu::schur_wilson_clover<TypeParam> schur(m, kind);
          // Mhat x_e = source(M x): the definition of the even system
          auto source = schur.even_like(y), image = schur.even_like(y);
          poison(source), poison(image);
          schur.prepare_source(source, y);
          schur.apply(image, x.packed.parity(0));
          // and the odd sites come back
          auto rebuilt = like(x.packed);
          poison(rebuilt);
          schur.reconstruct_solution(rebuilt, x.packed.parity(0), y);
          for (int c = 0; c < 3; ++c) {
            spinor_configuration a(geometry), b(geometry), r(geometry);
            cpu::export_column(a, image, c);
            cpu::export_column(b, source, c);
            cpu::export_column(r, rebuilt, c);
            // Three applications, and an inverse of condition below 10 for these fields.
            ASSERT_TRUE(relative_distance(a, b, comm, 0) <= 30 * this->tolerance)
                << relative_distance(a, b, comm, 0) / this->tolerance << ' ' << to_string(lattice);
            ASSERT_TRUE(relative_distance(r, x.canonical[static_cast<std::size_t>(c)], comm) <= 30 * this->tolerance);
          }
        }
      }
    }
}

TYPED_TEST(ProductionOperator, SchurDaggerIsTheAdjoint) {
  std::uint64_t seed = 200;
  for (const extents& lattice : lattices) {
    const lattice_geometry geometry(lattice);
    const communicator comm;
    const context ctx(geometry, comm);
    const auto links = cpu::random_configuration(geometry, ++seed, comm);
    for (const fermion_action& action : actions_to_test()) {
      const auto m = std::make_shared<const cpu::wilson_clover<TypeParam>>(ctx, links, action);
      random_batch<TypeParam> u(ctx, 2, ++seed), v(ctx, 2, ++seed);
      for (const auto kind : {cpu::schur_kind::asymmetric, cpu::schur_kind::symmetric}) {
        const cpu::schur_wilson_clover<TypeParam> schur(m, kind);
        const auto ue = u.packed.parity(0), ve = v.packed.parity(0);
        auto av = like(ve), au = like(ue);
        schur.apply(av, ve);
        schur.apply_dagger(au, ue);
        const auto left = dot(ue, av), right = dot(au, ve), size = norm2(av);
        for (int c = 0; c < 2; ++c) {
          // <u, A v> is a sum of many terms that mostly cancel: its error is of the size of |u| |A v| roundoff.
          const double bound = this->tolerance * std::sqrt(norm2(ue)[c].re * size[c].re);
          EXPECT_TRUE(std::sqrt(norm2(left[c] - right[c])) <= bound);
        }
      }
    }
  }
}

TYPED_TEST(ProductionOperator, TwoApplicationsGiveTheSameBitsForAnyThreadsAndBatches) {
  const lattice_geometry geometry({8, 4, 4, 6});
  const communicator comm;
  const auto links = cpu::random_configuration(geometry, 77, comm);
  const fermion_action action = actions_to_test()[2];
  for (const reconstruct stored : every_reconstruct) {
    std::vector<spinor_configuration> first;
    for (const int threads : {1, 2, 3, 7}) {
      const context ctx(geometry, comm, threads);
      const cpu::wilson_clover<TypeParam> m(ctx, links, action, stored);
      random_batch<TypeParam> in(ctx, 4, 78);
      auto out = like(in.packed);
      m.apply(out, in.packed);
      for (int c = 0; c < 4; ++c) {
        spinor_configuration whole(geometry), alone(geometry);
        cpu::export_column(whole, out, c);
        auto one = view(in.packed, c, 1);
        auto result = like(one);
        m.apply(result, one);
        cpu::export_column(alone, result, 0);
        EXPECT_TRUE(same_bits(whole, alone));
        if (threads == 1)
          first.push_back(whole);
        else
          EXPECT_TRUE(same_bits(whole, first[static_cast<std::size_t>(c)]));
      }
    }
  }
}

/// The sums that the Schur operator makes during its work agree with sums that are made afterwards.
TYPED_TEST(ProductionOperator, FusedSumsAreThoseOfTheResult) {
  std::uint64_t seed = 300;
  for (const extents& lattice : lattices) {
    const lattice_geometry geometry(lattice);
    const communicator comm;
    const auto links = cpu::random_configuration(geometry, ++seed, comm);
    for (const fermion_action& action : actions_to_test())
      for (const auto kind : {cpu::schur_kind::asymmetric, cpu::schur_kind::symmetric}) {
        std::vector<complex<double>> first;
        for (const int threads : {1, 2, 3}) {
          const context ctx(geometry, comm, threads);
          const auto m = std::make_shared<const cpu::wilson_clover<TypeParam>>(ctx, links, action);
          const cpu::schur_wilson_clover<TypeParam> schur(m, kind);
          random_batch<TypeParam> in(ctx, 3, 301), w(ctx, 3, 302);
          auto out = like(in.packed.parity(0)), again = like(out);
          poison(out);
          const auto [found, size] = schur.apply_dot_norm2(out, in.packed.parity(0), w.packed.parity(0));
          schur.apply(again, in.packed.parity(0));
          const auto expected = dot(again, w.packed.parity(0)), expected_size = norm2(again);
          for (int c = 0; c < 3; ++c) {
            spinor_configuration a(geometry), b(geometry);
            cpu::export_column(a, out, c);
            cpu::export_column(b, again, c);
            EXPECT_TRUE(same_bits(a, b));
            // Sums in double of at most 12 x 1152 terms in another order.
            // In half precision they are made of numbers that are not rounded yet.
            const double relative = cpu::is_half<TypeParam> ? this->tolerance : 1e-13;
            const double bound = relative * std::sqrt(expected_size[c].re * norm2(w.packed.parity(0))[c].re);
            EXPECT_TRUE(std::sqrt(norm2(found[c] - expected[c])) <= bound);
            EXPECT_TRUE(std::abs(size[c].re - expected_size[c].re) <= relative * expected_size[c].re);
          }
          const auto bits = host_values(found);
          if (threads == 1) first = bits;
          EXPECT_TRUE(bits == first) << threads;
        }
      }
  }
}

TEST(ProductionOperatorErrors, FewRealsOfALinkThatIsNotInSU3AreRefused) {
  const lattice_geometry geometry({4, 4, 4, 4});
  const communicator comm;
  const context ctx(geometry, comm);
  auto links = cpu::random_configuration(geometry, 8, comm);
  links(coordinate{1, 2, 3, 0})[2](2, 1).re += 1e-3;
  exchange_ghosts(links, comm);
  EXPECT_NO_THROW(cpu::hopping_term<float>(ctx, links, fermion_action{}));
  EXPECT_NO_THROW(cpu::hopping_term<half>(ctx, links, fermion_action{}));
  EXPECT_THROW(cpu::hopping_term<float>(ctx, links, fermion_action{}, reconstruct::twelve), input_error);
  EXPECT_THROW(cpu::hopping_term<half>(ctx, links, fermion_action{}, reconstruct::eight), input_error);
  // Of determinant one, the third row being the product of the others, and yet not unitary.
  su3<double> stretched = su3<double>::identity();
  stretched(0, 0).re = 2.0;
  stretched(1, 1).re = 0.5;
  links(coordinate{1, 2, 3, 0})[2] = stretched;
  exchange_ghosts(links, comm);
  EXPECT_THROW(cpu::hopping_term<double>(ctx, links, fermion_action{}, reconstruct::twelve), input_error);
  EXPECT_THROW(cpu::hopping_term<double>(ctx, links, fermion_action{}, reconstruct::eight), input_error);
  EXPECT_THROW(cpu::hopping_term<half>(ctx, links, fermion_action{}), input_error);
  links(coordinate{1, 2, 3, 0})[2](0, 0).re = std::nan("");
  exchange_ghosts(links, comm);
  EXPECT_THROW(cpu::hopping_term<half>(ctx, links, fermion_action{}), input_error);
}

/// Half precision keeps its relative accuracy over the range of scales that it has.
TEST(ProductionOperatorRange, HalfPrecisionIsAsGoodFarFromOne) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const communicator comm;
  for (const auto isa : instruction_sets()) {
    const context ctx(geometry, comm, 2, isa);
    const auto links = cpu::random_configuration(geometry, 9, comm);
    const fermion_action action = actions_to_test()[1];
    const cpu::wilson_clover<half> m(ctx, links, action);
    for (const double scale : {1e-27, 1e-12, 1e12, 1e26}) {
      spinor_configuration in = cpu::random_spinor(geometry, 10, 0, comm), expected(geometry), found(geometry);
      for (std::int64_t s = 0; s < geometry.local_volume(); ++s) in.at_site(s) = scale * in.at_site(s);
      in(coordinate{1, 1, 1, 1}) = {};
      field<half> packed(ctx, {}), out(ctx, {}), twice(ctx, {});
      poison(packed), poison(out), poison(twice);
      cpu::import_column(packed, 0, in);
      m.apply(out, packed);
      cpu::export_column(found, out, 0);
      cpu::textbook::apply(expected, in, links, action, comm, false);
      // Squares of such numbers leave even double's range: compared after scaling back.
      for (auto* x : {&found, &expected})
        for (std::int64_t s = 0; s < geometry.local_volume(); ++s) x->at_site(s) = (1.0 / scale) * x->at_site(s);
      EXPECT_TRUE(relative_distance(found, expected, comm) <= 1e-4) << scale;
      zero(twice);
      axpy(twice, cpu::scalars({{2.0, 0.0}}), packed);
      cpu::export_column(found, twice, 0);
      for (std::int64_t s = 0; s < geometry.local_volume(); ++s) {
        found.at_site(s) = (0.5 / scale) * found.at_site(s);
        expected.at_site(s) = (1.0 / scale) * in.at_site(s);
      }
      EXPECT_TRUE(relative_distance(found, expected, comm) <= 1e-4) << scale;
    }
  }
}

TEST(ProductionOperatorErrors, FieldsThatDoNotFitAreRefused) {
  const lattice_geometry geometry({4, 4, 4, 4});
  const communicator comm;
  const context ctx(geometry, comm);
  const auto links = cpu::unit_configuration(geometry);
  const cpu::hopping_term<float> hop(ctx, links, fermion_action{});
  field<float> full(ctx, {}), two(ctx, {spins, colours, site_subset::full, 2});
  auto even = full.parity(0), odd_pair = two.parity(1);
  EXPECT_THROW(hop.apply(even, full.parity(0)), std::logic_error);
  EXPECT_THROW(hop.apply(even, odd_pair), std::logic_error);
  EXPECT_THROW(hop.apply(full, full.parity(0)), std::logic_error);
  EXPECT_THROW(hop.apply(even, full.parity(1), false, {cpu::epilogue::add}), std::logic_error);
  EXPECT_THROW(hop.apply(even, full.parity(1), false, {cpu::epilogue::clover}), std::logic_error);
}

}  // namespace
}  // namespace plaquette::validation
