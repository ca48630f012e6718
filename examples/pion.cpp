// SPDX-License-Identifier: BSD-3-Clause
// A pion from links of one's own, in C++. Arguments: a file for the links; gpu.
#include <cmath>
#include <cstdio>
#include <plaquette/plaquette.hpp>
#include <string_view>

namespace plq = plaquette::api;

int main(int argc, char** argv) try {
  const plq::lattice lattice({4, 4, 4, 8});
  // One's own links, [t][z][y][x][mu][row][column]: diagonal ones, of two waves.
  std::vector<std::complex<double>> array(36 * lattice.local_volume());
  for (int n = 0; n < 4 * lattice.local_volume(); ++n) {
    const int mu = n % 4, x = n / 4 % 4, y = n / 16 % 4, z = n / 64 % 4, t = n / 256;
    const double a = 0.6 * std::sin(1.571 * (x + 2 * y + z + mu)), b = 0.5 * std::cos(0.785 * (t + mu * x)) - 0.2 * y;
    array[9 * n] = std::polar(1.0, a), array[9 * n + 4] = std::polar(1.0, b),
              array[9 * n + 8] = std::polar(1.0, -a - b);
  }
  const std::span numbers(reinterpret_cast<const double*>(array.data()), 2 * array.size());
  const plq::gauge_field links(lattice, numbers, plq::link_layout::dense(lattice.local()));
  if (argc > 1) links.write(argv[1]);

  const auto device = argc > 2 && std::string_view(argv[2]) == "gpu" ? plq::device::gpu : plq::device::cpu;
  plq::solver solver = plq::make_multigrid_solver(links, {.mass = 0.2, .csw = 1.0}, {.device = device});
  const plq::propagator quark = solver.solve(plq::source{}, {.tolerance = 1e-12});  // a point at the origin
  for (const double value : quark.pion()) std::printf("%.15e\n", value);
  std::printf("VERIFIED %s (%s)\n", quark.verdict().passed ? "PASSED" : "FAILED", quark.verdict().text.c_str());
  return static_cast<int>(quark.report().outcome());
} catch (const plq::error& e) {
  std::fprintf(stderr, "%s: %s\n", plq::text_of(e.which()), e.what());
  return static_cast<int>(e.which());
}
