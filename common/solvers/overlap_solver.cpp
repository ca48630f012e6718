// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/overlap_solver.hpp"

namespace plaquette {

fermion_action kernel_action(const overlap_settings& settings) {
  fermion_action action = fermion_action::isotropic(-settings.rho, 0.0);
  action.boundary_phase = settings.boundary_phase;
  return action;
}

void subtract_contact_term(std::vector<spinor_configuration>& x, const vectors_handle& b, double mass, double rho) {
  const double contact = -0.5 / rho, stretch = 1.0 / (1.0 - 0.5 * mass / rho);
  if (x.empty()) return;
  const lattice_geometry& geometry = x.front().geometry();
  spinor_configuration source(geometry);
  for (std::size_t c = 0; c < x.size(); ++c) {
    b->get(static_cast<int>(c), source);
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
      const coordinate at = geometry.local_coordinate(site);
      x[c](at) = stretch * (x[c](at) + contact * source(at));
    }
  }
}

std::vector<spinor_configuration> overlap_propagator(const lattice_geometry& geometry, const vectors_handle& x,
                                                     const vectors_handle& b, double mass, double rho) {
  std::vector<spinor_configuration> columns(static_cast<std::size_t>(count(x)), spinor_configuration(geometry));
  for (int c = 0; c < count(x); ++c) x->get(c, columns[static_cast<std::size_t>(c)]);
  subtract_contact_term(columns, b, mass, rho);
  return columns;
}

}  // namespace plaquette
