// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every solver on the production operators: one answer, truly.
#include <gtest/gtest.h>

#include "common/krylov/groups.hpp"
#include "common/krylov/schur_solve.hpp"
#include "common/krylov/solver_choice.hpp"
#include "validation/support/production.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

using backend::context;
using backend::field;
using backend::schur_kind;

struct system_to_solve {
  lattice_geometry geometry{{4, 6, 2, 8}};
  communicator comm;
  context ctx = backend::context_with_threads(geometry, comm, 2);
  gauge_configuration links = cpu::weak_field_configuration(geometry, 0.25, 5, comm);
  fermion_action action = fermion_action::isotropic(0.05, 1.2);
};

template <class T>
schur_report solve_with(const system_to_solve& system, solver_kind kind, schur_kind preconditioning, const field<T>& b,
                        field<T>& x, double tolerance, int check_interval = 1) {
  const auto m = std::make_shared<const backend::wilson_clover<T>>(system.ctx, system.links, system.action);
  const backend::schur_wilson_clover<T> schur(m, preconditioning);
  stopping_rule rule;
  rule.tolerance = tolerance;
  rule.limit = 2000;
  rule.check_interval = check_interval;
  zero(x);
  return schur_solve(schur, *m, x, b, rule, [&](const auto& a, auto& even, const auto& source, const auto& inner) {
    return solve(kind, a, even, source, inner, {.restart_length = 12, .relaxation = 0.9});
  });
}

template <class T>
class DiracSolvers : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(DiracSolvers, precisions);

TYPED_TEST(DiracSolvers, AllAgreeOnOneAnswerAndReportItsTrueResidual) {
  using T = TypeParam;
  system_to_solve system;
  const double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-11;
  random_batch<T> b(system.ctx, 3, 8);
  std::vector<spinor_configuration> first;
  for (const auto& [kind, name] : solver_names)
    for (const auto preconditioning : {schur_kind::asymmetric, schur_kind::symmetric}) {
      auto x = like(b.packed);
      const schur_report report = solve_with(system, kind, preconditioning, b.packed, x, tolerance);
      ASSERT_TRUE(report.all_converged()) << name << ": " << report.columns[0].why;
      for (int c = 0; c < 3; ++c) {
        spinor_configuration solution(system.geometry);
        export_column(solution, x, c);
        const double independent = cpu::textbook::relative_residual(b.canonical[static_cast<std::size_t>(c)], solution,
                                                                    system.links, system.action, system.comm);
        // The reported residual is made in T: it is off by a few roundoffs of |M| |x| / |b|, below 100 roundoffs here.
        const double rounding = 100 * std::numeric_limits<T>::epsilon();
        EXPECT_TRUE(independent <= tolerance + rounding) << name << ' ' << independent;
        EXPECT_TRUE(std::abs(report.true_residuals[static_cast<std::size_t>(c)] - independent) <= rounding)
            << name << ' ' << report.true_residuals[static_cast<std::size_t>(c)] << ' ' << independent;
        if (static_cast<int>(first.size()) <= c) first.push_back(solution);
        // |x - x'| <= |M^-1| (|r| + |r'|); the smallest singular value of M is above 0.05 here.
        EXPECT_TRUE(relative_distance(solution, first[static_cast<std::size_t>(c)], system.comm) <=
                    2 * 40 * (tolerance + rounding))
            << name;
      }
    }
}

TYPED_TEST(DiracSolvers, ABatchGivesTheBitsOfItsColumnsAlone) {
  using T = TypeParam;
  system_to_solve system;
  random_batch<T> b(system.ctx, 3, 18);
  // columns of different difficulty, so that they leave the batch at different times
  for (int c = 0; c < 3; ++c) {
    auto column = view(b.packed, c, 1);
    if (c == 1) import_column(column, 0, point_source(system.geometry.global(), {1, 2, 0, 3}, 2, 1));
  }
  for (const auto kind : {solver_kind::bicgstab, solver_kind::cgnr}) {
    auto x = like(b.packed);
    solve_with(system, kind, schur_kind::symmetric, b.packed, x, 1e-5);
    for (int c = 0; c < 3; ++c) {
      const auto b_c = view(b.packed, c, 1);
      auto alone = like(b_c), x_c = like(b_c);
      copy(alone, b_c);
      solve_with(system, kind, schur_kind::symmetric, alone, x_c, 1e-5);
      spinor_configuration together(system.geometry), apart(system.geometry);
      export_column(together, x, c);
      export_column(apart, x_c, 0);
      EXPECT_TRUE(same_bits(together, apart)) << c;
    }
  }
}

TYPED_TEST(DiracSolvers, GroupsOfColumnsGiveTheBitsOfTheWholeBatch) {
  using T = TypeParam;
  system_to_solve system;
  random_batch<T> b(system.ctx, 5, 58);
  const auto m = std::make_shared<const backend::wilson_clover<T>>(system.ctx, system.links, system.action);
  const backend::schur_wilson_clover<T> schur(m, schur_kind::asymmetric);
  const auto source = b.packed.parity(0);
  stopping_rule rule;
  rule.column_tolerances = {1e-3, 1e-5, 1e-2, 1e-4, 1e-5};
  auto whole = like(source), x = like(source);
  zero(whole);
  const solve_report expected = bicgstab(schur, whole, source, rule);
  for (const int group : {1, 2, 3, 5, 9}) {
    poison(x);
    zero(x);
    const solve_report found = solve_in_groups(
        group, x, source, rule,
        [&](auto& some, const auto& right, const stopping_rule& part) { return bicgstab(schur, some, right, part); });
    ASSERT_EQ(found.columns.size(), 5u);
    for (int c = 0; c < 5; ++c) {
      const auto n = static_cast<std::size_t>(c);
      EXPECT_EQ(found.columns[n].iterations, expected.columns[n].iterations);
      EXPECT_EQ(found.history[n], expected.history[n]);
      spinor_configuration a(system.geometry), e(system.geometry);
      export_column(a, x, c);
      export_column(e, whole, c);
      EXPECT_TRUE(same_bits(a, e)) << group << ' ' << c;
    }
    EXPECT_EQ(found.column_applications, expected.column_applications);
  }
  EXPECT_EQ(columns_at_once(b.packed, 8), 5);  // a lattice of this size stays in any cache
}

/// The method as it was published, rho = <r0, r> summed in each iteration; iterations to `tolerance`, one column.
template <class T, class Operator>
int iterations_of_published_bicgstab(const Operator& a, const field<T>& b, double tolerance) {
  auto r = like(b), r0 = like(b), p = like(b), v = like(b), t = like(b);
  for (auto* const f : {&r, &r0, &p}) copy(*f, b);
  const double limit = tolerance * tolerance * host_values(norm2(b))[0].re;
  auto rho = dot(r0, r);
  for (int iteration = 1; iteration <= 1000; ++iteration) {
    a.apply(v, p);
    const auto alpha = ratio(rho, dot(r0, v));
    axpy(r, -alpha, v);
    a.apply(t, r);
    const auto omega = ratio(dot(t, r), norm2(t));
    axpy(r, -omega, t);
    const auto rho_new = dot(r0, r);
    bicgstab_direction(p, r, ratio(rho_new, rho) * ratio(alpha, omega), omega, v);
    rho = rho_new;
    if (host_values(norm2(r))[0].re <= limit) return iteration;
  }
  return 1000;
}

TYPED_TEST(DiracSolvers, BicgstabTakesTheIterationsOfThePublishedMethod) {
  // Ours knows rho before r is, by sums from which rounding does not go away while r becomes small. Here from heavy
  // quarks, where a solve is over in some iterations, to lighter ones.
  using T = TypeParam;
  const double tolerance = sizeof(T) == 4 ? 1e-7 : 1e-14;
  system_to_solve system;
  for (const double mass : {4.3, 1.5, 0.5, 0.1, -0.1}) {
    system.action = fermion_action::isotropic(mass, 1.2);
    const auto m = std::make_shared<const backend::wilson_clover<T>>(system.ctx, system.links, system.action);
    const backend::schur_wilson_clover<T> schur(m, schur_kind::symmetric);
    int published = 0, ours = 0;
    for (const std::uint64_t seed : {71, 72, 73, 74}) {
      random_batch<T> b(system.ctx, 1, seed);
      const auto source = b.packed.parity(0);
      published += iterations_of_published_bicgstab<T>(schur, source, tolerance);
      auto x = like(source);
      zero(x);
      const solve_report report = bicgstab(schur, x, source, {.tolerance = tolerance, .limit = 1000});
      EXPECT_TRUE(report.all_converged()) << mass << ' ' << report.columns[0].why;
      ours += report.iterations();
    }
    // what rounding does to slow solves
    EXPECT_LE(ours, published + 1 + published / 20) << mass;
    EXPECT_GE(ours, published - 1 - published / 20) << mass;
  }
}

TYPED_TEST(DiracSolvers, TheSolutionDoesNotDependOnHowOftenTheHostLooks) {
  using T = TypeParam;
  system_to_solve system;
  random_batch<T> b(system.ctx, 2, 48);
  for (const auto& [kind, name] : solver_names) {
    auto often = like(b.packed), seldom = like(b.packed);
    EXPECT_TRUE(solve_with(system, kind, schur_kind::symmetric, b.packed, often, 1e-5, 1).all_converged()) << name;
    EXPECT_TRUE(solve_with(system, kind, schur_kind::symmetric, b.packed, seldom, 1e-5, 60).all_converged()) << name;
    for (int c = 0; c < 2; ++c) {
      spinor_configuration x(system.geometry), y(system.geometry);
      export_column(x, often, c);
      export_column(y, seldom, c);
      EXPECT_TRUE(same_bits(x, y)) << name << ' ' << c;
    }
  }
}

TYPED_TEST(DiracSolvers, TheSameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  system_to_solve system;
  std::vector<spinor_configuration> first;
  for (const int threads : {1, 2, 3}) {
    system.ctx = backend::context_with_threads(system.geometry, system.comm, threads);
    random_batch<T> b(system.ctx, 2, 28);
    auto x = like(b.packed);
    solve_with(system, solver_kind::bicgstab, schur_kind::asymmetric, b.packed, x, 1e-5);
    for (int c = 0; c < 2; ++c) {
      spinor_configuration solution(system.geometry);
      export_column(solution, x, c);
      if (threads == 1)
        first.push_back(solution);
      else
        EXPECT_TRUE(same_bits(solution, first[static_cast<std::size_t>(c)])) << threads;
    }
  }
}

TEST(DiracSolversInSingle, CannotBePushedBelowTheFloorOfTheirPrecisionAndSaySo) {
  system_to_solve system;
  random_batch<float> b(system.ctx, 1, 38);
  auto x = like(b.packed);
  const schur_report report = solve_with(system, solver_kind::bicgstab, schur_kind::symmetric, b.packed, x, 1e-10);
  const auto& column = report.columns[0];
  EXPECT_FALSE(column.why.empty());
  EXPECT_EQ(column.at_floor, column.status == solve_status::converged) << column.why;
  EXPECT_EQ(column.at_floor, report.true_residuals[0] <= report.floors[0]);
  EXPECT_TRUE(report.true_residuals[0] <= 100 * std::numeric_limits<float>::epsilon());  // the best there is
  EXPECT_TRUE(report.true_residuals[0] > 1e-10);
  // epsilon |M| |x| / |b|: |M| is above 1 and below 13 here, |x| is about |b|
  EXPECT_TRUE(report.floors[0] > 1e-8 && report.floors[0] < 1e-5) << report.floors[0];
}

}  // namespace
}  // namespace plaquette::validation
