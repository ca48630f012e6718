// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What nodal-dg judges a run by: the stable step, the energy, and steps that the textbook makes again.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "common/dg/exact_solutions.hpp"
#include "common/dg/stable_step.hpp"
#include "common/mesh/box_mesh.hpp"
#include "common/mesh/gmsh_file.hpp"
#include "cpu_ref/dg/production.hpp"
#include "miniapps/nodal-dg/energy_balance.hpp"
#include "miniapps/nodal-dg/step_judge.hpp"

namespace plaquette::nodal_dg {
namespace {

dg_domain domain_on(const simplex_mesh& mesh, wave_equations equations, int order, double alpha) {
  dg_problem p;
  p.equations = equations;
  p.upwinding = alpha;
  p.media.assign(mesh.material_tags.size(), medium{});
  p.boundaries.assign(mesh.boundary_tags.size(), boundary_kind::reflecting);
  return make_domain(mesh, partition_mesh(mesh, 1), order, p, communicator());
}

std::vector<double> random_state(const dg_domain& domain) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  std::vector<double> state(static_cast<std::size_t>(domain.state_size()));
  for (double& x : state) x = number(random);
  return state;
}

TEST(DgStableStep, IsTheLargest) {
  using wave_equations::acoustics, wave_equations::maxwell, wave_equations::maxwell_tm;
  for (const auto& [equations, dimension] : {std::pair{acoustics, 3}, {maxwell, 3}, {acoustics, 2}, {maxwell_tm, 2}})
    for (const int order : {1, 2, 4})
      for (const double alpha : {0.0, 1.0})
        for (const double shaking : {0.0, 0.2}) {
          const simplex_mesh mesh = box_mesh({.dimension = dimension, .cells = {2, 2, 2}, .shaking = shaking});
          const dg_domain domain = domain_on(mesh, equations, order, alpha);
          const auto solver = cpu::make_dg_solver(domain, {"double", 1, 1});
          const double largest = largest_stable_step(*solver, domain);
          const auto growth = [&](double dt) {
            solver->set_state(random_state(domain), 0.0);
            solver->advance(300, dt);
            const double before = solver->energy()[0];
            solver->advance(100, dt);
            return solver->energy()[0] / before;
          };
          EXPECT_LE(growth(step_below(largest)), 1.0 + 1e-12)
              << dimension << " " << order << " " << alpha << " " << shaking;
          EXPECT_GT(growth(1.06 * largest), 2.0) << dimension << " " << order << " " << alpha << " " << shaking;
          EXPECT_GT(step_below(largest), 0.89 * largest);
        }
}

/// A cube with slivers: the eigenvector that grows first is not the one that grows fastest at longer steps.
TEST(DgStableStep, IsStableForThousandsOfStepsOnSlivers) {
  for (const int order : {1, 2, 3}) {
    const dg_domain domain = domain_on(read_gmsh(PLAQUETTE_SLIVERS, 3), wave_equations::acoustics, order, 1.0);
    const auto solver = cpu::make_dg_solver(domain, {"double", 1, 1});
    const double largest = largest_stable_step(*solver, domain);
    const auto energy_after = [&](std::int64_t steps, double dt) {
      solver->set_state(random_state(domain), 0.0);
      solver->advance(steps, dt);
      return solver->energy()[0];
    };
    EXPECT_LT(energy_after(4000, largest), energy_after(1, 0.5 * largest)) << order;
    EXPECT_FALSE(energy_after(1000, 1.06 * largest) < 1.0) << order;
  }
}

/// Steps are judged by another solver, whose fluxes are right: in one step, whatever its length or the state.
TEST(DgEnergyBalance, HoldsToRoundingsAndSeesAFluxThatIsTooSmall) {
  for (const auto equations : {wave_equations::acoustics, wave_equations::maxwell})
    for (const int order : {1, 3, 5}) {
      const dg_domain domain = domain_on(box_mesh({.cells = {2, 2, 2}, .shaking = 0.1}), equations, order, 1.0);
      dg_domain wrong = domain;
      for (element_geometry& g : wrong.geometry)
        for (double& scale : g.face_scale) scale *= 0.9;
      const auto right_solver = cpu::make_dg_solver(domain, {"double", 1, 1});
      const auto wrong_solver = cpu::make_dg_solver(wrong, {"double", 1, 1});
      const auto begin = random_state(domain);
      const double dt = stable_time_step(domain), tolerance = 5.0 * (order + 2.0) * 0x1p-53;
      const auto judged = [&](dg_solver& steps, dg_solver& sides) {
        std::vector<double> end(begin.size());
        steps.set_state(begin, 0.0);
        steps.advance(1, dt);
        steps.get_state(end);
        return judge_step(sides, domain, begin, end, 0.0, dt, 0.0, 0.0);
      };
      const auto honest = judged(*right_solver, *right_solver);
      EXPECT_LE(honest.power, tolerance);
      EXPECT_LE(honest.states, tolerance);
      EXPECT_GT(honest.moved, 0.1);
      EXPECT_GT(judged(*wrong_solver, *right_solver).states, 1e-3);
      const auto both = judged(*wrong_solver, *wrong_solver);  // seen by the closed form alone
      EXPECT_LE(both.states, tolerance);
      EXPECT_GT(both.power, 1e-4);
    }
}

TEST(DgStepJudge, SeesOneNumberThatIsWrong) {
  const simplex_mesh mesh = box_mesh({.cells = {2, 2, 2}, .shaking = 0.1});
  const dg_domain domain = domain_on(mesh, wave_equations::maxwell, 3, 1.0);
  const std::vector<std::int32_t> owner(mesh.elements.size(), 0);
  const auto solver = cpu::make_dg_solver(domain, {"double", 1, 1});
  const auto begin = random_state(domain);
  const double dt = stable_time_step(domain);
  solver->set_state(begin, 0.0);
  solver->advance(2, dt);
  std::vector<double> end(begin.size());
  solver->get_state(end);
  const auto verdict = [&](const std::vector<double>& found) {
    return judge_steps(domain, {mesh, owner}, 1, {begin, found, 0.0, {dt, dt}});
  };
  EXPECT_LT(verdict(end).worst, 1e-14);
  EXPECT_GT(verdict(end).moved, 0.1);
  EXPECT_EQ(verdict(end).elements, mesh.size());
  end[end.size() / 3] += 1e-10;
  EXPECT_GT(verdict(end).worst, 1e-11);
  end[end.size() / 3] = std::nan("");
  EXPECT_FALSE(verdict(end).worst < 1.0);
}

/// A mesh so large that elements are drawn.
TEST(DgStepJudge, DrawnElementsHaveAllThatTheirEndDependsOn) {
  const simplex_mesh mesh = box_mesh({.cells = {11, 11, 11}, .periodic = {true, true, true}, .shaking = 0.1});
  const dg_domain domain = domain_on(mesh, wave_equations::acoustics, 4, 1.0);
  const std::vector<std::int32_t> owner(mesh.elements.size(), 0);
  ASSERT_EQ(steps_to_judge(domain, 1, 100), 1);
  const auto solver = cpu::make_dg_solver(domain, {"double", 1, 1});
  const auto begin = random_state(domain);
  const double dt = stable_time_step(domain);
  solver->set_state(begin, 0.0);
  solver->advance(1, dt);
  std::vector<double> end(begin.size());
  solver->get_state(end);
  const auto verdict = judge_steps(domain, {mesh, owner}, 1, {begin, end, 0.0, {dt}});
  EXPECT_LT(verdict.worst, 1e-14);
  EXPECT_LT(verdict.elements, mesh.size());
  EXPECT_GT(verdict.elements, 32);
}

}  // namespace
}  // namespace plaquette::nodal_dg
