// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The textbook operator, the clover term and the independent residual on every legal process grid.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette::validation {
namespace {

struct textbook_results {
  gauge_configuration links;
  spinor_configuration x, forward, adjoint;
  cpu::clover_configuration clover;
  double residual;
};

textbook_results results_on(const lattice_geometry& geometry, const communicator& comm, const fermion_action& action) {
  textbook_results r{cpu::random_configuration(geometry, 5, comm),
                     cpu::random_spinor(geometry, 6, 0, comm),
                     spinor_configuration(geometry),
                     spinor_configuration(geometry),
                     cpu::clover_configuration(geometry),
                     0.0};
  cpu::textbook::apply(r.forward, r.x, r.links, action, comm);
  cpu::textbook::apply(r.adjoint, r.x, r.links, action, comm, true);
  r.clover = cpu::make_clover_term(r.links, action);
  spinor_configuration b = cpu::random_spinor(geometry, 6, 1, comm);
  r.residual = cpu::textbook::relative_residual(b, r.x, r.links, action, comm);
  return r;
}

template <class Value>
bool same_bits(const Value& a, const Value& b) {
  return std::memcmp(&a, &b, sizeof(Value)) == 0;
}

TEST(textbook_on_process_grids, gives_the_bits_of_one_rank) {
  const auto world = communicator::world();
  for (const extents& lattice : {extents{4, 4, 4, 8}, extents{2, 6, 4, 4}, extents{12, 2, 4, 2}})
    for (const named_action& a : typical_actions()) {
      const textbook_results expected = results_on(lattice_geometry(lattice), communicator(), a.action);
      for (const extents& grid : legal_grids(lattice, world.size())) {
        const lattice_geometry geometry(lattice, grid, world.rank());
        const textbook_results found = results_on(geometry, world, a.action);
        visit_sites(geometry, [&](const coordinate& x) {
          const coordinate at = geometry.to_global(x);
          ASSERT_TRUE(same_bits(found.forward(x), expected.forward(at))) << a.name << " " << to_string(grid);
          ASSERT_TRUE(same_bits(found.adjoint(x), expected.adjoint(at))) << a.name << " " << to_string(grid);
          ASSERT_TRUE(same_bits(found.clover(x), expected.clover(at))) << a.name << " " << to_string(grid);
        });
        // Two sums of V squares in another order: at most log2(rows) + ranks roundings each, halved by the square root.
        const double allowed = 32 * std::numeric_limits<double>::epsilon() * expected.residual;
        ASSERT_TRUE(std::abs(found.residual - expected.residual) <= allowed) << a.name << " " << to_string(grid);
      }
    }
}

TEST(textbook_on_process_grids, sees_a_nan_that_another_rank_holds) {
  const auto world = communicator::world();
  const extents lattice{4, 4, 4, 8};
  const fermion_action action = fermion_action::isotropic(0.1, 1.0);
  for (const extents& grid : legal_grids(lattice, world.size())) {
    const lattice_geometry geometry(lattice, grid, world.rank());
    const gauge_configuration links = cpu::random_configuration(geometry, 5, world);
    spinor_configuration x = cpu::random_spinor(geometry, 6, 0, world), b = x;
    coordinate local;
    if (geometry.holds({3, 3, 3, 7}, local)) x(local)(0, 0).re = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(cpu::textbook::relative_residual(b, x, links, action, world)));
  }
}

}  // namespace
}  // namespace plaquette::validation
