// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An example of a program outside this repository: the plaquette of the unit field, and the Wilson operator on a
/// constant spinor. It multiplies that by the mass (all eight hops give back the spinor, periodic boundaries).
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "common/comms/communicator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/dirac/wilson_textbook.hpp"
#include "library/open_library.hpp"

namespace {

plaquette::gauge_configuration unit_field(const plaquette::lattice_geometry& geometry,
                                          const plaquette::communicator& comm) {
  plaquette::gauge_configuration links(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    links.at_site(site).fill(plaquette::su3<double>::identity());
  exchange_ghosts(links, comm);
  return links;
}

plaquette::spinor_configuration constant_spinor(const plaquette::lattice_geometry& geometry,
                                                const plaquette::communicator& comm) {
  plaquette::spinor_configuration psi(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) psi.at_site(site)[0][0] = {1.0, 0.0};
  exchange_ghosts(psi, comm);
  return psi;
}

}  // namespace

int main() {
  const plaquette::communicator comm;
  const plaquette::lattice_geometry geometry({4, 2, 2, 6});
  const auto links = unit_field(geometry, comm);
  const auto device = plaquette::open_library(plaquette::device_kind::cpu, geometry, comm);
  const double average = device->import_links(links)->measure().average;

  const double mass = 0.25;
  auto action = plaquette::fermion_action::isotropic(mass, 0.0);
  action.boundary_phase.fill({1.0, 0.0});
  const auto applied =
      plaquette::cpu::textbook::wilson_at_site({1, 0, 1, 5}, constant_spinor(geometry, comm), links, action);

  std::printf("average plaquette of the unit field: %.16g\n", average);
  std::printf("M on a constant spinor: %.16g, the mass being %g\n", applied[0][0].re, mass);
  // Sums of at most 8 products of numbers near 1: a few roundings of 2.2e-16 each.
  const bool right = std::abs(average - 1.0) <= 1e-14 && std::abs(applied[0][0].re - mass) <= 1e-14;
  return right ? 0 : 1;
}
