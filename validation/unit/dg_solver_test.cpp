// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The textbook of nodal DG against known properties of the scheme, and the production CPU solver against the textbook.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "common/algebra/largest.hpp"
#include "common/dg/exact_solutions.hpp"
#include "common/error.hpp"
#include "common/mesh/box_mesh.hpp"
#include "cpu_ref/dg/production.hpp"
#include "cpu_ref/dg/textbook.hpp"
#include "validation/support/dg_judging.hpp"

namespace plaquette {
namespace {

using wave_equations::acoustics, wave_equations::maxwell, wave_equations::maxwell_tm;

struct setting {
  wave_equations equations = acoustics;
  int dimension = 3, order = 2;
  double alpha = 1.0;
  bool media = false;     ///< two of them, at random
  bool open = false;      ///< reflecting, absorbing and incident sides, and a source; else walls
  bool periodic = false;  ///< in all directions
};

dg_domain make(const setting& s, unsigned seed) {
  box_shape shape{.dimension = s.dimension, .cells = {2, 1, 2}, .shaking = 0.2, .seed = seed};
  if (s.order > 6) shape.cells = {1, 1, 1};
  if (s.dimension == 2) shape.cells = {3, 4, 1};
  shape.periodic = {s.periodic, s.periodic, s.periodic};
  simplex_mesh mesh = box_mesh(shape);
  dg_problem p;
  p.equations = s.equations;
  p.upwinding = s.alpha;
  std::mt19937 random(seed);
  if (s.media) {
    mesh.material_tags = {0, 7};
    for (auto& m : mesh.materials) m = static_cast<std::int16_t>(random() % 2);
    p.media = {{1.0, 1.0}, {2.5, 1.3}};
  }
  p.boundaries.clear();
  for (std::size_t i = 0; i < mesh.boundary_tags.size(); ++i)
    p.boundaries.push_back(s.open ? static_cast<boundary_kind>(i % 3) : boundary_kind::reflecting);
  if (s.open) {
    p.incident = make_plane_wave(s.equations, s.dimension, {1, 2, 0.5}, {0.3, 0.2, 1}, {});
    p.sources.push_back({{0.1, 0.2, s.dimension == 3 ? 0.3 : 0.0}, 2, 1.7, 1.0, 0.3});
  }
  return make_domain(mesh, partition_mesh(mesh, 1), s.order, p, communicator());
}

std::vector<double> random_state(const dg_domain& domain, int columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  std::vector<double> state(static_cast<std::size_t>(domain.state_size() * columns));
  for (double& x : state) x = number(random);
  return state;
}

double largest(std::span<const double> x) {
  double result = 0.0;
  for (const double value : x) keep_largest(result, std::abs(value));
  return result;
}
double distance(std::span<const double> x, std::span<const double> y) {
  std::vector<double> d(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) d[i] = x[i] - y[i];
  return largest(d);
}

std::vector<setting> systems() { return {{acoustics, 3}, {maxwell, 3}, {acoustics, 2}, {maxwell_tm, 2}}; }

TEST(DgTextbook, KeepsConstantStatesInAPeriodicBox) {
  for (setting s : systems())
    for (const int order : {1, 4, 7}) {
      s.order = order;
      s.periodic = true;
      const dg_domain domain = make(s, 3);
      std::vector<double> state(static_cast<std::size_t>(domain.state_size()));
      for (std::size_t i = 0; i < state.size(); ++i)
        state[i] = 1.0 + static_cast<double>(i / (state.size() / static_cast<std::size_t>(domain.fields)));
      const auto solver = cpu::make_textbook_dg_solver(domain);
      solver->set_state(state, 0.0);
      std::vector<double> rhs(state.size());
      solver->right_hand_side(rhs);
      // Rows of D sum to zero but for Np roundings of entries up to (N + 1)^2, times the metric.
      EXPECT_LT(largest(rhs), 6.0 * 1e-15 * domain.nodes() * (order + 1) * (order + 1) * 20.0);
    }
}

TEST(DgTextbook, ExactForPolynomialsOfItsOrder) {
  // p = x, u = (y, z, x): rhs_p = 0, rhs_u = -(1, 0, 0), without jumps inside.
  const dg_domain domain = make({acoustics, 3, 2}, 5);
  const field_function linear = [](const std::array<double, 3>& x, double, std::span<double> q) {
    q[0] = x[0], q[1] = x[1], q[2] = x[2], q[3] = x[0];
  };
  const auto state = sample(domain, linear, 0.0);
  for (std::int32_t e = 0; e < domain.elements(); ++e) {
    bool inside = true;
    for (const face_link& link : domain.part.links[static_cast<std::size_t>(e)]) inside = inside && !link.is_boundary();
    if (!inside) continue;
    const auto rhs = cpu::textbook_right_hand_side(domain, state, {}, 0.0, e);
    for (int n = 0; n < domain.nodes(); ++n) {
      EXPECT_NEAR(rhs[static_cast<std::size_t>(n)], 0.0, 1e-12);
      EXPECT_NEAR(rhs[static_cast<std::size_t>(domain.nodes() + n)], -1.0, 1e-12);
      EXPECT_NEAR(rhs[static_cast<std::size_t>(2 * domain.nodes() + n)], 0.0, 1e-12);
    }
  }
}

/// Energy changes by the loss at jumps: -alpha / (Z- + Z+) ([first]^2 + Z- Z+ [second]^2) on inner faces, of p and n.u,
/// or of n x E and n x H; on walls -alpha Z (n.u)^2, -alpha |n x E|^2 / Z.
TEST(DgTextbook, EnergyChangesByWhatJumpsTake) {
  for (setting s : systems())
    for (const double alpha : {0.0, 1.0, 0.4})
      for (const bool media : {false, true}) {
        s.alpha = alpha;
        s.media = media;
        s.order = 3;
        const dg_domain domain = make(s, 11);
        const reference_element& ref = domain.reference;
        const auto state = random_state(domain, 1, 17);
        const auto solver = cpu::make_textbook_dg_solver(domain);
        solver->set_state(state, 0.0);
        std::vector<double> rhs(state.size()), sum(state.size()), difference(state.size());
        solver->right_hand_side(rhs);
        for (std::size_t i = 0; i < state.size(); ++i) sum[i] = state[i] + rhs[i], difference[i] = state[i] - rhs[i];
        const double change = 0.5 * (energy_of(domain, sum, 1)[0] - energy_of(domain, difference, 1)[0]);

        const dense_matrix on_faces = ref.mass * ref.lift;
        const auto value = [&](int f, std::int32_t e, int n) {
          return state[static_cast<std::size_t>((std::int64_t{f} * domain.elements() + e) * domain.nodes() + n)];
        };
        double expected = 0.0;
        for (std::int32_t e = 0; e < domain.elements(); ++e)
          for (int face = 0; face < ref.faces(); ++face) {
            const auto at_face = static_cast<std::size_t>(face);
            const face_link& link = domain.part.links[static_cast<std::size_t>(e)][at_face];
            const element_geometry& g = domain.geometry[static_cast<std::size_t>(e)];
            const auto& n = g.normal[at_face];
            const double z = domain.media[static_cast<std::size_t>(e)].impedance();
            const double z_behind = domain.impedance_behind[static_cast<std::size_t>(e)][at_face];
            // The two quantities of a face node: vectors with up to three components.
            std::vector<std::array<double, 6>> jumps;
            for (int m = 0; m < ref.face_nodes; ++m) {
              std::array<double, 6> q{};
              for (int f = 0; f < domain.fields; ++f) {
                const double here = value(f, e, ref.node_of_face(face, m));
                const double there =
                    link.is_boundary()
                        ? 0.0
                        : value(f, link.element, ref.node_of_face(link.face, ref.matching_node(link.orientation, m)));
                q[static_cast<std::size_t>(f)] = link.is_boundary() ? here : there - here;
              }
              std::array<double, 6> j{};
              if (s.equations == acoustics) {
                j[0] = q[0];
                j[3] = n[0] * q[1] + n[1] * q[2] + n[2] * q[3];
                if (link.is_boundary()) j[0] = 0.0;
              } else {
                const bool tm = s.equations == maxwell_tm;
                const std::array<double, 3> h{q[0], q[1], tm ? 0.0 : q[2]},
                    el{tm ? 0.0 : q[3], tm ? 0.0 : q[4], tm ? q[2] : q[5]};
                for (std::size_t i = 0; i < 3; ++i) {
                  j[i] = n[(i + 1) % 3] * el[(i + 2) % 3] - n[(i + 2) % 3] * el[(i + 1) % 3];
                  j[i + 3] = n[(i + 1) % 3] * h[(i + 2) % 3] - n[(i + 2) % 3] * h[(i + 1) % 3];
                  if (link.is_boundary()) j[i + 3] = 0.0;
                }
              }
              jumps.push_back(j);
            }
            double first = 0.0, second = 0.0;  // integrals over the face
            for (int a = 0; a < ref.face_nodes; ++a)
              for (int b = 0; b < ref.face_nodes; ++b) {
                const double weight =
                    on_faces(ref.node_of_face(face, a), face * ref.face_nodes + b) * g.face_scale[at_face] * g.jacobian;
                for (std::size_t i = 0; i < 3; ++i) {
                  first += weight * jumps[static_cast<std::size_t>(a)][i] * jumps[static_cast<std::size_t>(b)][i];
                  second +=
                      weight * jumps[static_cast<std::size_t>(a)][i + 3] * jumps[static_cast<std::size_t>(b)][i + 3];
                }
              }
            if (link.is_boundary())
              expected -= alpha * (s.equations == acoustics ? z * second : first / z);
            else  // each inner face comes twice
              expected -= 0.5 * alpha / (z + z_behind) * (first + z * z_behind * second);
          }
        const double size = energy_of(domain, state, 1)[0] + energy_of(domain, rhs, 1)[0];
        EXPECT_NEAR(change, expected, 1e-13 * size) << "alpha " << alpha << " media " << media;
      }
}

TEST(DgTextbook, EnergyRateIsThatOfTheRightHandSide) {
  for (setting s : systems())
    for (const double alpha : {0.0, 1.0})
      for (const bool open : {false, true}) {
        s.alpha = alpha;
        s.media = true;
        s.open = open;
        const dg_domain domain = make(s, 12);
        const auto state = random_state(domain, 1, 18);
        const auto solver = cpu::make_textbook_dg_solver(domain);
        const double time = 0.35;
        solver->set_state(state, time);
        std::vector<double> rhs(state.size()), sum(state.size()), difference(state.size());
        solver->right_hand_side(rhs);
        for (std::size_t i = 0; i < state.size(); ++i) sum[i] = state[i] + rhs[i], difference[i] = state[i] - rhs[i];
        const double change = 0.5 * (energy_of(domain, sum, 1)[0] - energy_of(domain, difference, 1)[0]);
        const double size = energy_of(domain, state, 1)[0] + energy_of(domain, rhs, 1)[0];
        EXPECT_NEAR(cpu::energy_rate(domain, state, {}, time), change, 1e-13 * size)
            << s.dimension << " dimensions, alpha " << alpha << (open ? ", open" : "");
      }
}

TEST(DgTextbook, DirectionsOfAllFieldsAndReflectionsAgreeWithThePlaneWave) {
  // A plane wave through sides that let it in does not change, to the error of interpolation.
  for (setting s : systems()) {
    s.order = 8;
    s.open = true;
    box_shape shape{.dimension = s.dimension, .cells = {1, 1, 1}, .shaking = 0.0};
    const simplex_mesh mesh = box_mesh(shape);
    dg_problem p;
    p.equations = s.equations;
    p.boundaries.assign(mesh.boundary_tags.size(), boundary_kind::incident);
    p.incident = make_plane_wave(s.equations, s.dimension, {0.5, 0.35, -0.2}, {0.3, 0.2, 1}, {});
    const dg_domain domain = make_domain(mesh, partition_mesh(mesh, 1), 8, p, communicator());
    const auto exact = wave_function(p.incident, domain.fields);
    const auto solver = cpu::make_textbook_dg_solver(domain);
    solver->set_state(sample(domain, exact, 0.3), 0.3);
    const double dt = stable_time_step(domain, 0.2);
    solver->advance(10, dt);
    std::vector<double> state(static_cast<std::size_t>(domain.state_size()));
    solver->get_state(state);
    EXPECT_LT(distance(state, sample(domain, exact, 0.3 + 10 * dt)), 1e-7);
  }
}

class DgProduction : public testing::TestWithParam<std::tuple<int, std::string>> {};

TEST_P(DgProduction, AgreesWithTheTextbook) {
  const auto [order, precision] = GetParam();
  const double u = precision == "single" ? 0x1p-24 : 0x1p-53;
  unsigned seed = 1;
  for (setting s : systems())
    for (const double alpha : {1.0, order % 2 == 0 ? 0.0 : 0.3})
      for (const cpu::instruction_set isa : {cpu::instruction_set::generic, cpu::best_instruction_set()}) {
        s.order = order;
        s.alpha = alpha;
        s.open = s.media = true;
        const dg_domain domain = make(s, ++seed);
        const int columns = 2;
        const auto state = random_state(domain, columns, seed);
        std::vector<double> expected(state.size()), found(state.size(), NAN);
        const auto textbook = cpu::make_textbook_dg_solver(domain, columns);
        const auto fast = cpu::make_dg_solver(domain, {precision, columns, 2, false, isa});
        textbook->set_state(state, 0.37);
        fast->set_state(state, 0.37);
        textbook->right_hand_side(expected);
        fast->right_hand_side(found);
        // Sums of Np + 4 Nfp products: roundings are independent, and the largest result is near the largest sum.
        EXPECT_LT(distance(found, expected), 6.0 * (order + 1) * u * largest(expected));
        textbook->advance(2, 1e-3);
        fast->advance(2, 1e-3);
        textbook->get_state(expected);
        fast->get_state(found);
        EXPECT_LT(distance(found, expected), 16.0 * u * largest(expected));
        EXPECT_NEAR(fast->energy()[1] / textbook->energy()[1], 1.0, 64.0 * u);
      }
}
INSTANTIATE_TEST_SUITE_P(AllOrders, DgProduction,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9),
                                          testing::Values("single", "double")));

/// A periodic box whose vertices were numbered at random, so that corners of periodic faces come in any order.
dg_domain renumbered_box(const setting& s, unsigned seed) {
  simplex_mesh mesh = box_mesh({.dimension = s.dimension,
                                .cells = {3, 3, s.dimension == 3 ? 3 : 1},
                                .periodic = {true, true, s.dimension == 3},
                                .shaking = 0.2,
                                .seed = seed});
  std::vector<std::int32_t> number(mesh.vertices.size());
  std::iota(number.begin(), number.end(), 0);
  std::shuffle(number.begin(), number.end(), std::mt19937(seed));
  const auto renumbered = [&](std::int32_t v) { return v < 0 ? v : number[static_cast<std::size_t>(v)]; };
  const auto vertices = mesh.vertices;
  for (std::size_t v = 0; v < vertices.size(); ++v) mesh.vertices[static_cast<std::size_t>(number[v])] = vertices[v];
  for (auto& element : mesh.elements) std::ranges::transform(element, element.begin(), renumbered);
  for (auto& pairs : mesh.periodic) {
    vertex_pairs moved;
    for (const auto& [first, second] : pairs) moved.emplace(renumbered(first), renumbered(second));
    pairs = moved;
  }
  connect(mesh, {}, {"renumbered box"});
  dg_problem p;
  p.equations = s.equations;
  p.upwinding = s.alpha;
  p.boundaries.assign(mesh.boundary_tags.size(), boundary_kind::reflecting);
  return make_domain(mesh, partition_mesh(mesh, 1), s.order, p, communicator());
}

TEST(DgProductionFaces, MayLieOnEachOtherInAnyWay) {
  std::set<int> ways;
  for (setting s : systems())
    for (const double alpha : {1.0, 0.4}) {
      s.alpha = alpha;
      s.order = 3;
      const dg_domain domain = renumbered_box(s, 4);
      for (const auto& links : domain.part.links)
        for (int f = 0; f < domain.reference.faces(); ++f) ways.insert(links[static_cast<std::size_t>(f)].orientation);
      const auto state = random_state(domain, 1, 8);
      std::vector<double> expected(state.size()), found(state.size(), NAN);
      const auto textbook = cpu::make_textbook_dg_solver(domain);
      const auto fast = cpu::make_dg_solver(domain, {"double", 1, 2});
      textbook->set_state(state, 0.0);
      fast->set_state(state, 0.0);
      textbook->right_hand_side(expected);
      fast->right_hand_side(found);
      EXPECT_LT(distance(found, expected), 6.0 * (s.order + 1) * 0x1p-53 * largest(expected));
    }
  EXPECT_EQ(ways.size(), static_cast<std::size_t>(face_orientations));
}

TEST(DgProductionBits, AnyNumberOfThreadsAndNeighboursInTheBatch) {
  setting s{maxwell, 3, 3};
  s.open = s.media = true;
  const dg_domain domain = make(s, 5);
  const auto state = random_state(domain, 1, 9);
  std::vector<double> twice(state), one(state.size()), both(2 * state.size());
  twice.insert(twice.end(), state.rbegin(), state.rend());
  const auto alone = cpu::make_dg_solver(domain, {"single", 1, 1});
  const auto batch = cpu::make_dg_solver(domain, {"single", 2, 3});
  alone->set_state(state, 0.0);
  batch->set_state(twice, 0.0);
  alone->advance(5, 1e-3);
  batch->advance(5, 1e-3);
  alone->get_state(one);
  batch->get_state(both);
  EXPECT_EQ(distance(one, std::span(both).first(one.size())), 0.0);
  EXPECT_GT(distance(one, std::span(both).subspan(one.size())), 0.1);
}

TEST(DgProductionBits, TheRightHandSideLeavesTheStateAlone) {
  const dg_domain domain = make({acoustics, 3, 2}, 5);
  const auto state = random_state(domain, 1, 9);
  std::vector<double> first(state.size()), second(state.size()), rhs(state.size());
  for (auto* result : {&first, &second}) {
    const auto solver = cpu::make_dg_solver(domain, {"double", 1, 2});
    solver->set_state(state, 0.0);
    solver->advance(1, 1e-3);
    if (result == &second) solver->right_hand_side(rhs);
    solver->advance(1, 1e-3);
    solver->get_state(*result);
  }
  EXPECT_EQ(first, second);
}

TEST(DgProductionJudging, IsTheTextbooks) {
  for (setting s : systems())
    for (const char* precision : {"double", "single"}) {
      SCOPED_TRACE(std::string(precision) + " " + std::to_string(s.dimension));
      s.order = s.dimension == 3 ? 2 : 4;
      s.media = s.open = true;
      const dg_domain domain = make(s, 5);
      constexpr int columns = 2;
      auto states = random_state(domain, columns, 6);
      const bool single = std::string(precision) == "single";
      if (single)
        for (double& x : states) x = static_cast<double>(static_cast<float>(x));
      const auto textbook = cpu::make_textbook_dg_solver(domain, columns);
      const auto solver = cpu::make_dg_solver(domain, {precision, columns, 2});
      // Five stages, each a sum of some 3 Np + 4 Nfp terms.
      const double terms = 3.0 * domain.nodes() + 4.0 * domain.reference.face_nodes;
      test::expect_judges_alike(*solver, *textbook, domain, states,
                                40.0 * std::sqrt(terms) * (single ? 0x1p-24 : 0x1p-53));
    }
}

TEST(DgProductionErrors, UnusableOptionsAreRefused) {
  const dg_domain domain = make({acoustics, 3, 1}, 5);
  EXPECT_THROW(cpu::make_dg_solver(domain, {"half"}), input_error);
  EXPECT_THROW(cpu::make_dg_solver(domain, {"double", 0}), input_error);
  dg_problem p;
  const simplex_mesh mesh = box_mesh({.dimension = 2, .cells = {1, 1, 1}, .periodic = {true, true, false}});
  p.equations = maxwell;
  EXPECT_THROW(make_domain(mesh, partition_mesh(mesh, 1), 1, p, communicator()), input_error);
  p.equations = maxwell_tm;
  p.media = {{1.0, -1.0}};
  EXPECT_THROW(make_domain(mesh, partition_mesh(mesh, 1), 1, p, communicator()), input_error);
}

}  // namespace
}  // namespace plaquette
