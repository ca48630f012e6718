// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What nodal-dg judges a run by: the stable step, the energy, and steps that the textbook makes again.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "common/dg/exact_solutions.hpp"
#include "common/mesh/box_mesh.hpp"
#include "cpu_ref/dg/production.hpp"
#include "miniapps/nodal-dg/energy_balance.hpp"
#include "miniapps/nodal-dg/stable_step.hpp"
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

TEST(DgEnergyBalance, SeesWhatTheRateDoesNotSay) {
  const auto energy = [](double t) { return 1.0 - 0.01 * std::sin(t) * std::sin(t); };
  const auto balance_with = [&](double off) {
    energy_balance balance;
    for (int i = 0; i <= 40; ++i) {
      const double t = 0.05 * i;
      balance.note(t, i, energy(t) + (i >= 20 ? off : 0.0), -0.01 * std::sin(2.0 * t), 0.0);
    }
    return balance.judge(0x1p-53, 0.0, 0.0);
  };
  const auto honest = balance_with(0.0), wrong = balance_with(1e-4);
  EXPECT_LE(honest.defect, honest.tolerance);
  EXPECT_LT(honest.tolerance, 1e-5);
  EXPECT_GT(wrong.defect, wrong.tolerance);
  const auto lost = balance_with(std::nan(""));
  EXPECT_FALSE(lost.defect <= lost.tolerance);
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
