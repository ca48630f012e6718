// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cycle of multigrid solves, and does so for the reason it is made for.
#include "common/algorithms/bridge.hpp"
#include "common/algorithms/flexible_gcr.hpp"
#include "common/algorithms/multigrid_setup.hpp"
#include "common/io/gauge_file.hpp"
#include "validation/multigrid/coarse_setting.hpp"

namespace plaquette::validation {
namespace {

using cpu_multigrid = multigrid<cpu::multigrid_library>;

/// M x = b with the cycle as preconditioner; returns iterations, and checks the true residual of the full system.
int iterations_with(const cpu_multigrid& mg, const gauge_configuration& links, const fermion_action& action,
                    int columns, double tolerance = 1e-9, int limit = 200) {
  const cpu::context& ctx = mg.library().get_context();
  const auto full = std::make_shared<const cpu::wilson_clover<double>>(ctx, links, action);
  const cpu::schur_wilson_clover<double> schur(full, schur_kind::asymmetric);
  const auto b = random_quarks(ctx, columns, 5);
  auto x = like(b);
  auto source = schur.even_like(b), even = like(source);
  schur.prepare_source(source, b);
  zero(even);
  stopping_rule rule;
  rule.tolerance = 0.5 * tolerance;
  rule.limit = limit;
  rule.guess_is_zero = true;
  const auto report = flexible_gcr(schur, even, source, rule, bridge<cpu::field<float>>(mg.cycle(columns), source));
  EXPECT_TRUE(report.all_converged());
  schur.reconstruct_solution(x, even, b);
  auto mx = like(b);
  full->apply(mx, x);
  // The prepared source is up to about 2 times as long as b.
  EXPECT_TRUE(distance(mx, b) <= 2 * tolerance) << distance(mx, b);
  return report.iterations();
}

struct small_system {
  cpu::context ctx{lattice_geometry({8, 8, 8, 16}), communicator()};
  std::shared_ptr<gauge_configuration> links = std::make_shared<gauge_configuration>(
      read_gauge(PLAQUETTE_DATA_DIR "/beta6.0_8x8x8x16.nersc", ctx.geometry(), ctx.comm()).links);
};

/// A basis of all that an aggregate holds makes P unitary and the coarse operator M itself: one iteration, where the
/// coarse system is solved.
TEST(Multigrid, WithAFullBasisSolvesInOneIteration) {
  const cpu::context ctx(lattice_geometry({4, 2, 2, 2}), communicator());
  const auto links =
      std::make_shared<gauge_configuration>(cpu::weak_field_configuration(ctx.geometry(), 0.3, 3, ctx.comm()));
  const auto action = fermion_action::isotropic(0.1, 1.0);
  multigrid_parameters p;
  p.coarsenings = {{{2, 1, 1, 1}, 12}};
  p.relaxation_iterations = 2;
  p.refinements = 0;
  p.coarsest_steps = 60;
  p.coarsest_tolerance = 1e-7;
  const cpu_multigrid mg(cpu::multigrid_library(ctx, links, action), p);
  EXPECT_EQ(iterations_with(mg, *links, action, 2, 1e-5), 1);
}

TEST(Multigrid, SolvesBatchesAtLightMassInFewIterationsThatDoNotGrow) {
  const small_system system;
  int before = 0;
  for (const double kappa : {0.1340, 0.1352}) {
    const auto action = fermion_action::isotropic(fermion_action::mass_of_kappa(kappa), 1.769);
    const cpu_multigrid mg(cpu::multigrid_library(system.ctx, system.links, action),
                           default_multigrid_parameters(system.ctx.geometry().global(), system.ctx.geometry().local()));
    const int iterations = iterations_with(mg, *system.links, action, 5);
    EXPECT_LE(iterations, 26) << kappa;  // measured 18 and 19; BiCGstab takes 110 and 160 of two applications
    if (before > 0) {
      EXPECT_LE(iterations, before * 1.3);
    }
    before = iterations;
  }
}

/// Random vectors are no null space: the same machinery costs many more iterations.
TEST(Multigrid, WithRandomVectorsIsNoBetterThanItsSmoother) {
  const small_system system;
  const auto action = fermion_action::isotropic(fermion_action::mass_of_kappa(0.1352), 1.769);
  auto p = default_multigrid_parameters(system.ctx.geometry().global(), system.ctx.geometry().local());
  for (auto& c : p.coarsenings) c.vectors = 12;
  const cpu_multigrid good(cpu::multigrid_library(system.ctx, system.links, action), p);
  p.relaxation_iterations = 0;
  p.refinements = 0;
  const cpu_multigrid random(cpu::multigrid_library(system.ctx, system.links, action), p);
  const int few = iterations_with(good, *system.links, action, 1, 1e-6);
  const int many = iterations_with(random, *system.links, action, 1, 1e-6);
  EXPECT_GE(many, 2 * few) << few;
}

/// Every kind of cycle and smoother solves, three levels and odd coarse extents too.
TEST(Multigrid, OfEveryKindSolves) {
  const cpu::context ctx(lattice_geometry({8, 4, 4, 8}), communicator());
  const auto links =
      std::make_shared<gauge_configuration>(cpu::weak_field_configuration(ctx.geometry(), 0.35, 3, ctx.comm()));
  const auto action = fermion_action::isotropic(-0.1, 1.0);
  for (const auto& coarsenings :
       {std::vector<coarsening>{{{2, 2, 2, 2}, 8}, {{2, 2, 2, 2}, 8}}, std::vector<coarsening>{{{8, 4, 4, 2}, 10}},
        std::vector<coarsening>{{{2, 2, 2, 1}, 6}, {{1, 1, 1, 2}, 4}, {{2, 2, 2, 2}, 6}}})
    for (const cycle_kind cycle : {cycle_kind::v, cycle_kind::w, cycle_kind::k})
      for (const smoother_kind smoother : {smoother_kind::mr, smoother_kind::gcr}) {
        multigrid_parameters p;
        p.coarsenings = coarsenings;
        p.cycle = cycle;
        p.smoother = smoother;
        p.steps_before = smoother == smoother_kind::mr ? 2 : 0;
        p.refinements = 1;
        const cpu_multigrid mg(cpu::multigrid_library(ctx, links, action), p);
        EXPECT_LE(iterations_with(mg, *links, action, 1, 1e-9), 40);
      }
}

TEST(MultigridParameters, FollowFromTheLattice) {
  const auto shapes = [](const extents& lattice) {
    std::string text;
    for (const auto& c : default_multigrid_parameters(lattice, lattice).coarsenings)
      text += to_string(c.aggregate) + ":" + std::to_string(c.vectors) + " ";
    return text;
  };
  EXPECT_EQ(shapes({32, 32, 32, 64}), "4x4x4x4:24 2x2x2x2:24 ");
  EXPECT_EQ(shapes({16, 16, 16, 32}), "4x4x4x4:24 2x2x2x2:24 ");
  EXPECT_EQ(shapes({8, 8, 8, 16}), "4x4x4x4:24 ");
  EXPECT_EQ(shapes({4, 4, 4, 4}), "2x2x2x2:24 ");
  EXPECT_EQ(shapes({12, 12, 12, 24}), "3x3x3x4:24 2x2x2x3:24 ");
  EXPECT_EQ(shapes({6, 6, 10, 2}), "3x3x5x1:24 ");
  EXPECT_THROW(parse_coarsenings("4x4x4x4,2x2x2x2", {24, 24, 24}), input_error);
  EXPECT_THROW(parse_coarsenings("4x4x4", {24}), input_error);
  EXPECT_THROW(parse_coarsenings("", {}), input_error);
  EXPECT_THROW(parse_cycle_kind("f"), input_error);
}

}  // namespace
}  // namespace plaquette::validation
