// SPDX-License-Identifier: BSD-3-Clause
// A quark propagator from links of one's own: array -> action -> multigrid -> 12 columns -> pion.
// examples/CMakeLists.txt builds it. Arguments: a file for the links, and the word gpu for a GPU.
#include <cmath>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "common/io/gauge_file.hpp"
#include "common/io/link_array.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "library/open_library.hpp"
using namespace plaquette;

int main(int argc, char** argv) {
  const communicator comm;
  const lattice_geometry geometry({4, 4, 4, 8});
  // One's own links: t fastest, an array for each direction, column-major. Here diagonal ones, of two waves.
  const auto layout = dense_layout(geometry.local(), site_order_of_array::t_fastest, direction_of_array::outer,
                                   matrix_of_array::column_major);
  std::vector<double> array(72 * geometry.local_volume(), 0.0);
  for (int mu = 0; mu < 4; ++mu)
    for (int site = 0; site < geometry.local_volume(); ++site) {
      const int t = site % 8, z = site / 8 % 4, y = site / 32 % 4, x = site / 128;
      const double a = 0.6 * std::sin(1.571 * (x + 2 * y + z + mu)), b = 0.5 * std::cos(0.785 * (t + mu * x)) - 0.2 * y;
      const double phases[3] = {a, b, -a - b};
      for (int c = 0; c < 3; ++c) {
        double* const number = &array[18 * (mu * geometry.local_volume() + site) + 8 * c];
        number[0] = std::cos(phases[c]), number[1] = std::sin(phases[c]);
      }
    }
  const auto links = std::make_shared<const gauge_configuration>(import_links(geometry, array, layout, comm));
  if (argc > 1) write_ildg(argv[1], *links, comm);

  const auto action = fermion_action::isotropic(0.2, 1.0);
  const bool on_gpu = argc > 2 && std::string_view(argv[2]) == "gpu";
  const auto on = open_library(on_gpu ? device_kind::gpu : device_kind::cpu, geometry, comm);
  const auto solver = on->make_multigrid_solver(links, {.action = action});
  solver->set_up(on->default_parameters());
  solver->make_sources({}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {1.0, 0.0});  // points at the origin
  solver->solve({.tolerance = 1e-12});
  spinor_configuration column(geometry);
  double worst = 0.0;  // |b - M x| / |b| by an operator that had no part in the solve
  for (int n = 0; n < 12; ++n) {
    solver->get_solution(n, column);
    const auto r =
        cpu::textbook::relative_residual(cpu::point_source(geometry, {}, n / 3, n % 3), column, *links, action, comm);
    if (!(r <= worst)) worst = r;
  }
  const vectors quark = on->copy_of(solver->solutions());  // on the device, as is the sum over sites
  for (const double value : on->contract(quark)->pion()) std::printf("%.15e\n", value);
  std::printf("VERIFIED %s (largest residual %.1e)\n", worst <= 2e-12 ? "PASSED" : "FAILED", worst);
  return worst <= 2e-12 ? 0 : 1;
}
