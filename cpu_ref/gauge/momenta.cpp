// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/momenta.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {

void refresh_momenta(gauge_momenta& momenta, std::uint64_t seed, std::uint64_t index) {
  const lattice_geometry& geometry = momenta.geometry();
  for_each_site(geometry, [&](const coordinate& x) {
    random_stream random = momentum_stream(seed, index, static_cast<std::uint64_t>(geometry.global_index(x)));
    for (su3<double>& a : momenta(x)) a = gaussian_momentum(random);
  });
}

gauge_momenta random_momenta(const lattice_geometry& geometry, std::uint64_t seed, std::uint64_t index,
                             const communicator& comm) {
  gauge_momenta momenta(geometry);
  refresh_momenta(momenta, seed, index);
  exchange_ghosts(momenta, comm);
  return momenta;
}

double kinetic_energy(const gauge_momenta& momenta, const communicator& comm) {
  stop_point();
  const auto [sum] = sum_over_sites<1>(momenta.geometry(), comm, [&](const coordinate& x) {
    std::array<double, 1> energy{};
    for (const su3<double>& a : momenta(x)) energy[0] += plaquette::kinetic_energy(a);
    return energy;
  });
  return sum;
}

double kinetic_energy_difference(const gauge_momenta& after, const gauge_momenta& before, const communicator& comm) {
  if (!(after.geometry() == before.geometry()))
    throw input_error("the kinetic energies of two lattices have no difference: " +
                      to_string(after.geometry().global()) + " and " + to_string(before.geometry().global()));
  stop_point();
  const auto [sum] = sum_over_sites<1>(after.geometry(), comm, [&](const coordinate& x) {
    std::array<double, 1> difference{};
    for (int mu = 0; mu < dimensions; ++mu)
      difference[0] += plaquette::kinetic_energy_difference(after(x)[mu], before(x)[mu]);
    return difference;
  });
  return sum;
}

force_size size_of_force(const gauge_momenta& force, const communicator& comm) {
  const lattice_geometry& geometry = force.geometry();
  const std::int64_t rows = geometry.local_volume() / geometry.local()[0];
  std::vector<double> largest_of_rows(static_cast<std::size_t>(rows));
  detail::visit_rows(geometry, 0, rows, [&](const coordinate& x) {
    double& largest = largest_of_rows[static_cast<std::size_t>(geometry.local_index(x) / geometry.local()[0])];
    for (const su3<double>& f : force(x)) keep_largest(largest, plaquette::kinetic_energy(f));
  });
  double largest = 0.0;
  for (const double of_row : largest_of_rows) keep_largest(largest, of_row);
  comm.maximum({&largest, 1});
  const double links = dimensions * static_cast<double>(geometry.global_volume());
  return {std::sqrt(2.0 * kinetic_energy(force, comm) / links), std::sqrt(2.0 * largest)};
}

}  // namespace plaquette::cpu
