// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Nodal DG on the device against the textbook on the CPU: right-hand sides of random states, steps, energy. Every
/// kernel, order, system and precision; a shaken mesh with all kinds of boundaries, two materials and a source.
#include "gpu/dg/dg_solver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "common/dg/exact_solutions.hpp"
#include "common/error.hpp"
#include "common/mesh/box_mesh.hpp"
#include "cpu_ref/dg/textbook.hpp"
#include "validation/support/dg_judging.hpp"

namespace plaquette::gpu {

namespace {

using choice = dg_solver_options::choice;

struct dg_case {
  wave_equations equations;
  int dimension;
  int order;
  precision stored;
  choice kernel;
  double upwinding = 1.0;
  bool is_uniform = false;
};

std::string name_of(const dg_case& c) {
  std::string name = c.equations == wave_equations::acoustics ? "acoustics"
                     : c.equations == wave_equations::maxwell ? "maxwell"
                                                              : "maxwell_tm";
  name += std::to_string(c.dimension) + "d_order" + std::to_string(c.order) + "_" +
          (c.stored == precision::double_ ? "double" : "single");
  name += c.kernel == choice::products  ? "_products"
          : c.kernel == choice::gather  ? "_gather"
          : c.kernel == choice::classic ? "_classic"
                                        : "_fused";
  if (c.upwinding != 1.0) name += c.upwinding == 0.0 ? "_central" : "_between";
  if (c.is_uniform) name += "_uniform";
  return name;
}

/// Walls: reflecting, absorbing, incident on the sides of x and y; periodic along z. Elements of one half of the box
/// are of another material. (If it is uniform, walls only.)
dg_domain make_test_domain(const dg_case& c) {
  box_shape shape;
  shape.dimension = c.dimension;
  shape.cells = {2, c.order > 4 ? 1 : 2, 3};  // high orders are slow in the textbook
  shape.high = {1.0, 0.8, 1.5};
  shape.periodic = {false, false, c.dimension == 3};
  shape.shaking = 0.2;
  simplex_mesh mesh = box_mesh(shape);
  dg_problem problem;
  problem.equations = c.equations;
  problem.upwinding = c.upwinding;
  problem.boundaries.assign(mesh.boundary_tags.size(), boundary_kind::reflecting);
  if (!c.is_uniform) {
    for (std::size_t b = 0; b < mesh.boundary_tags.size(); ++b) {
      if (mesh.boundary_tags[b] == 2) problem.boundaries[b] = boundary_kind::absorbing;
      if (mesh.boundary_tags[b] == 3) problem.boundaries[b] = boundary_kind::incident;
    }
    mesh.material_tags = {1, 2};
    for (std::size_t e = 0; e < mesh.materials.size(); ++e) mesh.materials[e] = e % 3 == 0 ? 1 : 0;
    problem.media = {medium{1.3, 0.7}, medium{2.5, 1.9}};
    problem.incident = make_plane_wave(c.equations, c.dimension, {3.0, 2.0, c.dimension == 3 ? 1.0 : 0.0},
                                       {0.3, -0.5, 0.8}, problem.media[0]);
    problem.sources = {{{0.31, 0.27, c.dimension == 3 ? 0.4 : 0.0}, 2, 0.9, 1.1, 0.2}};
  }
  return make_domain(mesh, std::vector<std::int32_t>(static_cast<std::size_t>(mesh.size()), 0), c.order, problem,
                     communicator());
}

std::vector<double> random_state(std::size_t size, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  std::vector<double> state(size);
  for (double& x : state) x = number(generator);
  return state;
}

double largest(const std::vector<double>& x) {
  double result = 0.0;
  for (const double v : x) result = std::max(result, std::abs(v));
  return result;
}

/// A sum of n products of numbers rounded to u is off by about sqrt(n) u times a typical product. The largest of many
/// errors is some four times that. With D's rows growing as N^2 all terms are below the largest result.
double tolerance(const dg_domain& domain, precision p) {
  const double terms = 3.0 * domain.nodes() + 4.0 * domain.reference.face_nodes;
  return 8.0 * std::sqrt(terms) * unit_roundoff(p);
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double allowed) {
  ASSERT_EQ(got.size(), expected.size());
  double worst = 0.0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - expected[i]);
    if (!(error <= worst)) worst = error, where = i;
  }
  EXPECT_LE(worst, allowed) << "at number " << where << " of " << got.size() << ": " << got[where] << ", expected "
                            << expected[where];
}

/// Random states, the textbook's results from them, and the solver that is tested.
struct twins {
  static constexpr int columns = 2;
  dg_domain domain;
  std::vector<double> states;
  std::unique_ptr<dg_solver> textbook, device;

  explicit twins(const dg_case& c, unsigned seed)
      : domain(make_test_domain(c)),
        states(random_state(static_cast<std::size_t>(domain.state_size()) * columns, seed)),
        textbook(cpu::make_textbook_dg_solver(domain, columns)),
        device(make_dg_solver(domain, c.stored, columns, queue(), {c.kernel, {}})) {
    // The device rounds its numbers; the textbook gets the same numbers.
    if (c.stored == precision::single)
      for (double& x : states) x = static_cast<double>(static_cast<float>(x));
    textbook->set_state(states, 0.37);
    device->set_state(states, 0.37);
  }
};

class DgOnDevice : public testing::TestWithParam<dg_case> {};

TEST_P(DgOnDevice, TheRightHandSideIsTheTextbooks) {
  for (unsigned seed = 1; seed <= (GetParam().order > 4 ? 1U : 2U); ++seed) {
    twins t(GetParam(), seed);
    std::vector<double> expected(t.states.size()), got(t.states.size(), std::nan(""));
    t.textbook->right_hand_side(expected);
    t.device->right_hand_side(got);
    expect_near(got, expected, tolerance(t.domain, GetParam().stored) * largest(expected));
    std::vector<double> state(t.states.size());
    t.device->get_state(state);
    EXPECT_EQ(state, t.states);
  }
}

class DgStepsOnDevice : public testing::TestWithParam<dg_case> {};

TEST_P(DgStepsOnDevice, StepsAreTheTextbooks) {
  twins t(GetParam(), 3);
  const double dt = stable_time_step(t.domain, 0.5);
  const int steps = 2;
  t.textbook->advance(steps, dt);
  t.device->advance(steps, dt);
  EXPECT_NEAR(t.device->time(), 0.37 + steps * dt, 1e-14);
  std::vector<double> expected(t.states.size()), got(t.states.size());
  t.textbook->get_state(expected);
  t.device->get_state(got);
  // dt |rhs| is about the size of the state; ten stages add their errors.
  expect_near(got, expected, 10.0 * tolerance(t.domain, GetParam().stored) * std::max(1.0, largest(expected)));
  const std::vector<double> energies = t.device->energy(), exact = energy_of(t.domain, got, twins::columns);
  for (int c = 0; c < twins::columns; ++c)
    EXPECT_NEAR(energies[static_cast<std::size_t>(c)], exact[static_cast<std::size_t>(c)],
                1e-12 * exact[static_cast<std::size_t>(c)]);
}

class DgJudgingOnDevice : public testing::TestWithParam<dg_case> {};

TEST_P(DgJudgingOnDevice, IsTheTextbooks) {
  twins t(GetParam(), 4);
  test::expect_judges_alike(*t.device, *t.textbook, t.domain, t.states, 10.0 * tolerance(t.domain, GetParam().stored));
}

std::vector<dg_case> cases() {
  std::vector<dg_case> all;
  for (const precision p : {precision::double_, precision::single}) {
    for (const wave_equations equations : {wave_equations::acoustics, wave_equations::maxwell}) {
      for (int order = 1; order <= 9; ++order) {
        all.push_back({equations, 3, order, p, choice::fused});
        all.push_back({equations, 3, order, p, choice::fused, order == 3 ? 0.6 : 0.0});
      }
      for (const int order : {1, 4}) all.push_back({equations, 3, order, p, choice::fused, 1.0, true});
      for (const choice kernel : {choice::gather, choice::classic}) {
        for (const int order : {1, 3, 9})
          if (order < 9 || kernel == choice::classic) all.push_back({equations, 3, order, p, kernel});
        all.push_back({equations, 3, 2, p, kernel, 0.0});
      }
    }
    for (const choice kernel : {choice::gather, choice::classic}) {
      all.push_back({wave_equations::acoustics, 2, 4, p, kernel});
      all.push_back({wave_equations::maxwell_tm, 2, 3, p, kernel});
      all.push_back({wave_equations::maxwell_tm, 2, 9, p, kernel, 0.0});
    }
    for (const int order : {1, 4, 9}) all.push_back({wave_equations::maxwell_tm, 2, order, p, choice::products});
    all.push_back({wave_equations::acoustics, 2, 3, p, choice::products, 0.0});
    all.push_back({wave_equations::acoustics, 3, 2, p, choice::products});
    all.push_back({wave_equations::maxwell, 3, 3, p, choice::products});
  }
  return all;
}
std::vector<dg_case> low_cases() {
  std::vector<dg_case> low = cases();
  std::erase_if(low, [](const dg_case& c) { return c.order > 4; });
  return low;
}
INSTANTIATE_TEST_SUITE_P(All, DgOnDevice, testing::ValuesIn(cases()),
                         [](const auto& information) { return name_of(information.param); });

INSTANTIATE_TEST_SUITE_P(LowOrders, DgStepsOnDevice, testing::ValuesIn(low_cases()),
                         [](const auto& information) { return name_of(information.param); });

/// Judging does not depend on the kernel of a stage.
std::vector<dg_case> judged_cases() {
  std::vector<dg_case> judged = cases();
  std::erase_if(judged, [](const dg_case& c) { return c.order != 2 && (c.dimension == 3 || c.order > 4); });
  return judged;
}
INSTANTIATE_TEST_SUITE_P(LowOrders, DgJudgingOnDevice, testing::ValuesIn(judged_cases()),
                         [](const auto& information) { return name_of(information.param); });

TEST(DgOnDeviceRefuses, WhatNoKernelCanDo) {
  const queue q;
  const dg_domain flat = make_test_domain({wave_equations::acoustics, 2, 2, precision::single, choice::fused});
  EXPECT_FALSE(has_fused_stage(flat, precision::single));
  EXPECT_THROW(make_dg_solver(flat, precision::single, 1, q, {choice::fused, {}}), input_error);
  EXPECT_THROW(make_dg_solver(flat, precision::half, 1, q), input_error);
  EXPECT_THROW(make_dg_solver(flat, precision::single, 0, q), input_error);
  const dg_domain high = make_test_domain({wave_equations::acoustics, 3, 10, precision::single, choice::gather});
  EXPECT_THROW(make_dg_solver(high, precision::single, 1, q), input_error);
}

}  // namespace

}  // namespace plaquette::gpu
