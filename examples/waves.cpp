// SPDX-License-Identifier: BSD-3-Clause
// Sound in a tube with rigid walls, on a mesh of one's own: p = cos(pi x) cos(pi t), u = sin(pi x) sin(pi t).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <plaquette/waves.hpp>

namespace plq = plaquette::api;

int main() try {
  // One's own mesh: three cubes in a row, each of six tetrahedra around the diagonal from its first corner to its last.
  std::vector<double> vertices;
  std::vector<std::int32_t> elements;
  for (int n = 0; n < 16; ++n) vertices.insert(vertices.end(), {n / 4 / 3.0, n / 2 % 2 / 3.0, n % 2 / 3.0});
  for (int cube = 0; cube < 3; ++cube) {
    int step[3] = {1, 2, 4};  // to the next corner in z, y, x
    do {
      elements.insert(elements.end(), {4 * cube, 4 * cube + step[0], 4 * cube + step[0] + step[1], 4 * cube + 7});
    } while (std::next_permutation(step, step + 3));
  }

  plq::wave_solver solver(plq::wave_mesh(vertices, elements), {.order = 5});
  const auto positions = solver.positions();
  std::vector<double> state(solver.size(), 0.0);  // [field][element][node]: p, u, v, w
  for (std::size_t i = 0; i < positions.size(); ++i) state[i] = std::cos(std::numbers::pi * positions[i][0]);
  solver.set_state(state, 0.0);
  const double before = solver.energies()[0];
  const plq::verdict verdict = solver.advance(50, solver.stable_step());
  solver.get_state(state);

  double worst = 0.0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double x = std::numbers::pi * positions[i][0], t = std::numbers::pi * solver.time();
    worst = std::max({worst, std::abs(state[i] - std::cos(x) * std::cos(t)),
                      std::abs(state[positions.size() + i] - std::sin(x) * std::sin(t))});
  }
  std::printf("t = %.4f, energy %.6f of the first, error %.1e\n", solver.time(), solver.energies()[0] / before, worst);
  const bool passed = verdict.passed && worst <= 1e-3;  // (pi / 6)^6 / 6! = 3e-5 of a polynomial
  std::printf("VERIFIED %s (%s)\n", passed ? "PASSED" : "FAILED", verdict.text.c_str());
  return passed ? 0 : 1;
} catch (const plq::error& e) {
  std::fprintf(stderr, "%s: %s\n", plq::text_of(e.which()), e.what());
  return static_cast<int>(e.which());
}
