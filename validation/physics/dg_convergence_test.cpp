// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Nodal DG converges as it should: with h^(N+1) in space and dt^4 in time, and its time steps are stable. In three
/// dimensions orders from 4 on take minutes and have the label "long".
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "common/dg/exact_solutions.hpp"
#include "common/mesh/box_mesh.hpp"
#include "common/mesh/gmsh_file.hpp"
#include "cpu_ref/dg/production.hpp"

namespace plaquette {
namespace {

using wave_equations::acoustics, wave_equations::maxwell, wave_equations::maxwell_tm;

dg_domain walled(const simplex_mesh& mesh, wave_equations equations, int order, double alpha = 1.0) {
  dg_problem p;
  p.equations = equations;
  p.upwinding = alpha;
  p.media.assign(mesh.material_tags.size(), medium{});
  p.boundaries.assign(mesh.boundary_tags.size(), boundary_kind::reflecting);
  return make_domain(mesh, partition_mesh(mesh, 1), order, p, communicator());
}

/// An unstructured mesh of 100 tetrahedra of the box [-1, 1]^3 from Gmsh; of triangles, a shaken one.
simplex_mesh coarse_mesh(int dimension) {
  if (dimension == 3) return read_gmsh(PLAQUETTE_DG_MESHES "/box100.msh");
  return box_mesh({.dimension = 2, .cells = {3, 3, 1}, .shaking = 0.2});
}

double error_after(const simplex_mesh& mesh, wave_equations equations, int order, double time) {
  const dg_domain domain = walled(mesh, equations, order);
  const field_function exact = equations == acoustics ? standing_wave({}, {1, 2, 1}, {}, mesh.dimension)
                               : equations == maxwell ? cavity_mode({}, {1, 1, 2}, {0, 1, 0}, {})
                                                      : cavity_mode_tm({}, {1, 2, 0}, {});
  const auto solver = cpu::make_dg_solver(domain, {"double"});
  solver->set_state(sample(domain, exact, 0.0), 0.0);
  // (w dt)^5 / 120 a step stays below a hundredth of the errors here, up to N = 9.
  const double dt = stable_time_step(domain, order >= 7 ? 0.15 : 0.3);
  const auto steps = static_cast<std::int64_t>(std::ceil(time / dt));
  solver->advance(steps, time / static_cast<double>(steps));
  std::vector<double> state(static_cast<std::size_t>(domain.state_size()));
  solver->get_state(state);
  double sum = 0.0;
  for (const double e : errors_of(domain, state, exact, time).fine) sum += e * e;
  return std::sqrt(sum);
}

/// Refines until two rates in a row are N + 1 to 0.2, or the meshes are used up.
void expect_rate(wave_equations equations, int dimension, int order, int refinements, double time) {
  simplex_mesh mesh = coarse_mesh(dimension);
  double before = error_after(mesh, equations, order, time), rate = 0.0;
  for (int i = 0; i < refinements; ++i) {
    mesh = refined(mesh);
    const double now = error_after(mesh, equations, order, time);
    rate = std::log2(before / now);
    before = now;
  }
  EXPECT_NEAR(rate, order + 1.0, 0.2) << "order " << order << ", error " << before;
}

TEST(DgConvergence, AcousticsInSpace) {
  for (const int order : {1, 2, 3}) expect_rate(acoustics, 3, order, 2, order == 3 ? 0.25 : 0.75);
}
TEST(DgConvergence, MaxwellInSpace) {
  for (const int order : {1, 2, 3}) expect_rate(maxwell, 3, order, 2, 0.25);
}
TEST(DgConvergence, TmInSpace) {
  for (const int order : {1, 2, 3, 4, 5, 6, 7, 8}) expect_rate(maxwell_tm, 2, order, order < 6 ? 3 : 2, 0.25);
}
TEST(DgConvergence, FlatSoundInSpace) {
  for (const int order : {1, 4}) expect_rate(acoustics, 2, order, 3, 0.25);
}

class DgConvergenceLong : public testing::TestWithParam<int> {
 protected:
  double time = GetParam() < 6 ? 0.1 : 0.03;
};
TEST_P(DgConvergenceLong, AcousticsInSpace) { expect_rate(acoustics, 3, GetParam(), 2, time); }
TEST_P(DgConvergenceLong, MaxwellInSpace) { expect_rate(maxwell, 3, GetParam(), 2, time); }
INSTANTIATE_TEST_SUITE_P(HighOrders, DgConvergenceLong, testing::Range(4, 10));

TEST(DgConvergence, FourthOrderInTime) {
  for (const double alpha : {0.0, 1.0}) {
    const simplex_mesh mesh = box_mesh({.cells = {1, 2, 1}, .shaking = 0.1});
    const dg_domain domain = walled(mesh, maxwell, 3, alpha);
    const auto exact = cavity_mode({}, {1, 1, 1}, {0, 1, 0}, {});
    const double dt = stable_time_step(domain, 0.8), time = 64 * dt;
    const auto run = [&](std::int64_t steps) {
      const auto solver = cpu::make_dg_solver(domain, {"double"});
      solver->set_state(sample(domain, exact, 0.0), 0.0);
      solver->advance(steps, time / static_cast<double>(steps));
      std::vector<double> state(static_cast<std::size_t>(domain.state_size()));
      solver->get_state(state);
      return state;
    };
    const auto fine = run(2048);
    const auto error = [&](std::int64_t steps) {
      double sum = 0.0;
      const auto state = run(steps);
      for (std::size_t i = 0; i < state.size(); ++i) sum += (state[i] - fine[i]) * (state[i] - fine[i]);
      return std::sqrt(sum);
    };
    EXPECT_NEAR(std::log2(error(128) / error(256)), 4.0, 0.2) << "alpha " << alpha;
  }
}

TEST(DgConvergence, CentralFluxKeepsEnergyUpToTime) {
  const simplex_mesh mesh = box_mesh({.cells = {1, 2, 1}, .shaking = 0.1});
  const dg_domain domain = walled(mesh, acoustics, 3, 0.0);
  const auto lost = [&](double safety) {
    const auto solver = cpu::make_dg_solver(domain, {"double"});
    solver->set_state(sample(domain, standing_wave({}, {1, 1, 1}, {}, 3), 0.0), 0.0);
    const double before = solver->energy()[0], dt = stable_time_step(domain, safety);
    solver->advance(static_cast<std::int64_t>(std::round(1.0 / dt)), dt);
    return 1.0 - solver->energy()[0] / before;
  };
  // |R(iy)|^2 = 1 - y^6 / 257: the loss goes with dt^5.
  EXPECT_GT(lost(0.4), 0.0);
  EXPECT_NEAR(std::log2(lost(0.4) / lost(0.2)), 5.0, 0.4);
}

TEST(DgStability, TimeStepsAreStableForEveryOrder) {
  for (const int dimension : {2, 3})
    for (int order = 1; order <= 9; ++order)
      for (const double shaking : {0.0, 0.22}) {
        const int cells = dimension == 2 || order <= 3 ? 2 : 1;
        const simplex_mesh mesh = box_mesh({.dimension = dimension,
                                            .cells = {cells, cells, cells},
                                            .periodic = {true, true, true},
                                            .shaking = shaking});
        const dg_domain domain = walled(mesh,
                                        dimension == 2   ? maxwell_tm
                                        : order % 2 == 0 ? maxwell
                                                         : acoustics,
                                        order);
        std::mt19937 random(7);
        std::uniform_real_distribution<double> number(-1.0, 1.0);
        std::vector<double> state(static_cast<std::size_t>(domain.state_size()));
        for (double& x : state) x = number(random);
        const auto solver = cpu::make_dg_solver(domain, {"double"});
        solver->set_state(state, 0.0);
        double before = solver->energy()[0];
        for (int i = 0; i < 2; ++i) {
          solver->advance(100, stable_time_step(domain));
          const double now = solver->energy()[0];
          EXPECT_LE(now, before * (1.0 + 1e-12))
              << dimension << " dimensions, order " << order << ", shaking " << shaking;
          before = now;
        }
      }
}

}  // namespace
}  // namespace plaquette
