// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Nodal DG on several ranks gives the same bits as on one.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "common/dg/exact_solutions.hpp"
#include "common/mesh/box_mesh.hpp"
#include "cpu_ref/dg/production.hpp"
#include "cpu_ref/dg/textbook.hpp"

namespace plaquette {
namespace {

TEST(DgRanks, SameBitsAsOneRank) {
  const communicator world = communicator::world();
  for (const auto equations : {wave_equations::acoustics, wave_equations::maxwell, wave_equations::maxwell_tm})
    for (const std::string precision : {"single", "double"}) {
      const std::string method = precision == "single" ? "auto" : "curve";
      const int dimension = equations == wave_equations::maxwell_tm ? 2 : 3;
      // One cell a direction: elements that touch the same neighbour twice, across the period too.
      box_shape shape{.dimension = dimension, .cells = {3, 1, 2}, .periodic = {true, false, true}, .shaking = 0.2};
      if (dimension == 2) shape.cells = {4, 5, 1};
      const simplex_mesh mesh = box_mesh(shape);
      dg_problem p;
      p.equations = equations;
      p.upwinding = equations == wave_equations::acoustics ? 1.0 : 0.3;
      p.boundaries = {boundary_kind::reflecting, boundary_kind::incident, boundary_kind::absorbing};
      if (dimension == 2) p.boundaries.resize(mesh.boundary_tags.size(), boundary_kind::absorbing);
      p.boundaries.resize(mesh.boundary_tags.size());
      p.incident = make_plane_wave(equations, dimension, {1, 2, 0.5}, {0.3, 0.2, 1}, {});
      p.sources.push_back({{0.1, 0.2, dimension == 3 ? 0.3 : 0.0}, 2, 1.7, 1.0, 0.3});
      const dg_domain whole = make_domain(mesh, partition_mesh(mesh, 1), 3, p, communicator());
      const dg_domain part = make_domain(mesh, partition_mesh(mesh, world.size(), method), 3, p, world);

      std::mt19937 random(3);
      std::uniform_real_distribution<double> number(-1.0, 1.0);
      const int columns = 2;
      std::vector<double> state(static_cast<std::size_t>(whole.state_size() * columns));
      for (double& x : state) x = number(random);
      const auto place = [&](const dg_domain& d, int column, int field, std::int32_t e, int n) {
        return static_cast<std::size_t>(((std::int64_t{column} * d.fields + field) * d.elements() + e) * d.nodes() + n);
      };
      std::vector<double> mine(static_cast<std::size_t>(part.state_size() * columns));
      const auto for_each = [&](auto&& body) {
        for (int c = 0; c < columns; ++c)
          for (int f = 0; f < part.fields; ++f)
            for (std::int32_t e = 0; e < part.elements(); ++e)
              for (int n = 0; n < part.nodes(); ++n)
                body(place(part, c, f, e, n), place(whole, c, f, part.part.global[static_cast<std::size_t>(e)], n));
      };
      for_each([&](std::size_t here, std::size_t there) { mine[here] = state[there]; });

      const auto of_all = cpu::make_dg_solver(whole, {precision, columns, 2});
      cpu::dg_options options{precision, columns, 1};
      options.waits_asleep = precision == "single";  // messages may come before or behind the interior
      options.overlap = equations != wave_equations::maxwell;
      const auto of_part = cpu::make_dg_solver(part, options);
      of_all->set_state(state, 0.2);
      of_part->set_state(mine, 0.2);
      of_all->advance(4, 2e-3);
      of_part->advance(4, 2e-3);
      of_all->get_state(state);
      of_part->get_state(mine);
      int different = 0;
      for_each([&](std::size_t here, std::size_t there) { different += mine[here] == state[there] ? 0 : 1; });
      EXPECT_EQ(different, 0) << precision << " " << method;
      EXPECT_NEAR(of_part->energy()[1] / of_all->energy()[1], 1.0, 1e-13);

      // The textbook too.
      const auto book = cpu::make_textbook_dg_solver(part, columns);
      book->set_state(mine, 0.2);
      std::vector<double> expected(mine.size()), found(mine.size());
      book->right_hand_side(expected);
      of_part->set_state(mine, 0.2);
      of_part->right_hand_side(found);
      double worst = 0.0, largest = 0.0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (const double d = std::abs(found[i] - expected[i]); !(d <= worst)) worst = d;
        largest = std::max(largest, std::abs(expected[i]));
      }
      EXPECT_LT(worst, (precision[0] == 's' ? 0x1p-24 : 0x1p-53) * 24.0 * largest);
    }
}

}  // namespace
}  // namespace plaquette
