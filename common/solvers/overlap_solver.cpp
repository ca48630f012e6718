// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/overlap_solver.hpp"

namespace plaquette {

fermion_action kernel_action(const overlap_settings& settings) {
  fermion_action action = fermion_action::isotropic(-settings.rho, 0.0);
  action.boundary_phase = settings.boundary_phase;
  return action;
}

void links_of_overlap::require_current(const std::string& what, int follows) const {
  require_current();
  if (follows != follows_)
    throw input_error("overlap solver: expected " + what + " of the links that it follows, found earlier ones: make " +
                      "them again after follow(links)");
}

void overlap_solver::follow(const link_field& links) {
  require_same_library(links.mark(), mark(), "links", "this overlap solver");
  follow_checked(links);
  followed_->note(links);
}

void overlap_solver::follow_checked(const link_field&) {
  throw input_error("this overlap solver: expected links that stay as they are, found links to follow");
}

void subtract_contact_term(spinor_configuration& x, const spinor_configuration& b, double mass, double rho) {
  const double contact = -0.5 / rho, stretch = 1.0 / (1.0 - 0.5 * mass / rho);
  for (std::int64_t site = 0; site < x.geometry().local_volume(); ++site) {
    const coordinate at = x.geometry().local_coordinate(site);
    x(at) = stretch * (x(at) + contact * b(at));
  }
}

void subtract_contact_term(std::vector<spinor_configuration>& x, const vectors_handle& b, double mass, double rho) {
  if (x.empty()) return;
  spinor_configuration source(x.front().geometry());
  for (std::size_t c = 0; c < x.size(); ++c) {
    b->get(static_cast<int>(c), source);
    subtract_contact_term(x[c], source, mass, rho);
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
