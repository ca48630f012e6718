// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The pion of two quark masses by the overlap operator, on links that the caller has in an array of its own.
#include <cmath>
#include <complex>
#include <cstdio>
#include <memory>
#include <vector>

#include "common/comms/communicator.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "library/open_library.hpp"

using namespace plaquette;

/// Smooth abelian links, [t][z][y][x][mu][row][column]: U = diag(e^(i a), 1, e^(-i a)).
std::vector<std::complex<double>> my_links(const extents& lattice) {
  std::vector<std::complex<double>> links;
  for (int site = 0; site < lattice[0] * lattice[1] * lattice[2] * lattice[3]; ++site)
    for (int mu = 0; mu < 4; ++mu)
      for (int k = 0; k < 9; ++k)
        links.push_back(k % 4 == 0 ? std::polar(1.0, 0.5 * (1 - k / 4) * std::sin(1.0 + site + 3 * mu)) : 0.0);
  return links;
}

int main() {
  const communicator ranks;  // one
  const lattice_geometry lattice({4, 4, 4, 8});
  const std::vector<std::complex<double>> array = my_links(lattice.global());

  const auto links = std::make_shared<gauge_configuration>(lattice);
  for (std::int64_t site = 0; site < lattice.local_volume(); ++site)  // x runs fastest, as in the array
    for (int mu = 0; mu < 4; ++mu)
      for (int k = 0; k < 9; ++k) {
        const std::complex<double> u = array[static_cast<std::size_t>(36 * site + 9 * mu + k)];
        (*links)(lattice.local_coordinate(site))[mu](k / 3, k % 3) = {u.real(), u.imag()};
      }
  exchange_ghosts(*links, ranks);

  const double rho = 1.4;
  const auto on = open_library(device_kind::cpu, lattice, ranks);
  const auto solver = on->make_overlap_solver(links, {.rho = rho});
  const kernel_modes h_modes = solver->lowest_kernel_modes({.modes = 8});
  const sign_handle sign = solver->sign(h_modes);
  const overlap_modes d_modes = solver->lowest_overlap_modes(sign, {.modes = 4, .tolerance = 1e-6});
  std::printf("%zu modes of H, the first %.6f; index %d\n", h_modes.values.size(), h_modes.values[0], d_modes.index());

  const std::vector<double> masses{0.1, 0.3};
  const vectors_handle sources = solver->sources({.position = {0, 0, 0, 0}});
  const overlap_solutions quarks = solver->solve(sign, d_modes, sources, masses, {.tolerance = 1e-8});
  bool solved = h_modes.complete && d_modes.complete;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const auto propagator = overlap_propagator(lattice, quarks.x[i], sources, masses[i], rho);
    const std::vector<double> pion = cpu::pion_correlator(propagator, ranks);
    for (std::size_t t = 0; t < pion.size(); ++t) std::printf("m %g  t %zu  pion %.8e\n", masses[i], t, pion[t]);
    solved = solved && solver->judge(sign, sources, quarks.x[i], masses[i], 1e-11).residual <= 1e-8;
  }
  return solved ? 0 : 1;
}
