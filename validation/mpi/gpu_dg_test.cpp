// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Nodal DG on devices gives the same bits on several ranks as on one. The result of an element does not depend on its
/// neighbours in memory.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "common/dg/exact_solutions.hpp"
#include "common/mesh/box_mesh.hpp"
#include "gpu/dg/dg_solver.hpp"

namespace plaquette::gpu {

namespace {

constexpr int columns = 2;

struct domains {
  dg_domain whole, part;
};

domains make_domains(wave_equations equations, int order, const char* method) {
  const communicator world = communicator::world();
  const int dimension = equations == wave_equations::maxwell_tm ? 2 : 3;
  box_shape shape;
  shape.dimension = dimension;
  shape.cells = dimension == 3 ? std::array<int, 3>{3, 2, 4} : std::array<int, 3>{5, 4, 1};
  shape.periodic = {true, false, dimension == 3};
  shape.shaking = 0.2;
  simplex_mesh mesh = box_mesh(shape);
  mesh.material_tags = {1, 2};
  for (std::size_t e = 0; e < mesh.materials.size(); ++e) mesh.materials[e] = e % 4 == 0 ? 1 : 0;
  dg_problem problem;
  problem.equations = equations;
  problem.media = {medium{}, medium{2.0, 0.8}};
  problem.boundaries.assign(mesh.boundary_tags.size(), boundary_kind::incident);
  problem.boundaries[0] = boundary_kind::absorbing;
  problem.incident = make_plane_wave(equations, dimension, {1.0, 2.0, dimension == 3 ? 0.5 : 0.0}, {0.3, 0.2, 1.0}, {});
  problem.sources.push_back({{0.1, 0.2, dimension == 3 ? 0.3 : 0.0}, 2, 1.7, 1.0, 0.3});
  return {make_domain(mesh, partition_mesh(mesh, 1), order, problem, communicator()),
          make_domain(mesh, partition_mesh(mesh, world.size(), method), order, problem, world)};
}

/// body(place in the part's state, place in the whole's) for all numbers of the part.
template <class Body>
void for_each_number(const domains& d, const Body& body) {
  const auto place = [](const dg_domain& domain, int column, int field, std::int64_t element, int node) {
    return static_cast<std::size_t>(
        ((std::int64_t{column} * domain.fields + field) * domain.elements() + element) * domain.nodes() + node);
  };
  for (int c = 0; c < columns; ++c)
    for (int f = 0; f < d.part.fields; ++f)
      for (std::int32_t e = 0; e < d.part.elements(); ++e)
        for (int n = 0; n < d.part.nodes(); ++n)
          body(place(d.part, c, f, e, n), place(d.whole, c, f, d.part.part.global[static_cast<std::size_t>(e)], n));
}

TEST(DgOnDevices, SeveralRanksGiveTheBitsOfOne) {
  using enum dg_solver_options::choice;
  for (const auto equations : {wave_equations::acoustics, wave_equations::maxwell, wave_equations::maxwell_tm})
    for (const char* method : {"auto", "curve"})
      for (const precision p : {precision::single, precision::double_}) {
        const int order = p == precision::single ? 2 : 3;
        const domains d = make_domains(equations, order, method);
        std::mt19937 generator(3);
        std::uniform_real_distribution<double> number(-1.0, 1.0);
        std::vector<double> state(static_cast<std::size_t>(d.whole.state_size() * columns));
        for (double& x : state) x = number(generator);
        std::vector<double> mine(static_cast<std::size_t>(d.part.state_size() * columns));
        for_each_number(d, [&](std::size_t here, std::size_t there) { mine[here] = state[there]; });

        const queue q;
        const auto of_all = make_dg_solver(d.whole, p, columns, q);
        const auto of_part = make_dg_solver(d.part, p, columns, q, {automatic, {halo_policy::staged}});
        of_all->set_state(state, 0.2);
        of_part->set_state(mine, 0.2);
        std::vector<double> rhs(state.size()), my_rhs(mine.size());
        of_all->right_hand_side(rhs);
        of_part->right_hand_side(my_rhs);
        of_all->advance(2, 2e-3);
        of_part->advance(2, 2e-3);
        of_all->get_state(state);
        of_part->get_state(mine);
        int different = 0;
        for_each_number(d, [&](std::size_t here, std::size_t there) {
          if (!(mine[here] == state[there]) || !(my_rhs[here] == rhs[there])) ++different;
        });
        EXPECT_EQ(different, 0) << "order " << order << ", " << name(p) << ", " << method;
        const double energy = of_all->energy()[1];
        EXPECT_NEAR(of_part->energy()[1], energy, 1e-13 * energy);
      }
}

}  // namespace

}  // namespace plaquette::gpu
