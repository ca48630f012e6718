// SPDX-License-Identifier: BSD-3-Clause
#include "common/dg/stable_step.hpp"

#include <cmath>
#include <complex>
#include <vector>

#include "common/dg/lserk4.hpp"
#include "common/random/random_stream.hpp"

namespace plaquette {

namespace {

/// |R(z)|: what a step makes of y' = z y.
double growth_of(std::complex<double> z) {
  std::complex<double> y = 1.0, k = 0.0;
  for (int s = 0; s < lserk4::stages; ++s) {
    k = lserk4::a[s] * k + z * y;
    y += lserk4::b[s] * k;
  }
  return std::abs(y);
}

/// The modulus x beyond the stable region at which |R(x direction)| is so large.
double modulus_of(double growth, std::complex<double> direction) {
  double low = 3.0, high = 1e4;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (growth_of(middle * direction) < growth ? low : high) = middle;
  }
  return low;
}

/// Random numbers that depend on the element alone, and not on ranks; far above what sources and incident waves bring.
std::vector<double> random_states(const dg_domain& domain, int columns) {
  std::vector<double> states(static_cast<std::size_t>(domain.state_size() * columns));
#pragma omp parallel for schedule(static)
  for (std::int32_t e = 0; e < domain.elements(); ++e) {
    random_stream random(1, random_stream_id(random_purpose::test, 0xd6),
                         static_cast<std::uint64_t>(domain.part.global[static_cast<std::size_t>(e)]));
    for (int f = 0; f < domain.fields; ++f)
      for (int n = 0; n < domain.nodes(); ++n)
        states[static_cast<std::size_t>((std::int64_t{f} * domain.elements() + e) * domain.nodes() + n)] =
            0x1p20 * (2.0 * random.uniform() - 1.0);
  }
  return states;
}

}  // namespace

double largest_stable_step(dg_solver& solver, const dg_domain& domain, const std::function<void()>& between) {
  constexpr int most_tries = 8, most_rounds = 10;
  constexpr double well_beyond = 1.3;  // times the stable step: there the largest eigenvalue soon outgrows the others
  constexpr double slope = 7.0;        // of log |R| over that of the step near the limit: 4.5 to 8.5, by direction
  const bool central = domain.problem.upwinding == 0.0;
  const std::complex<double> direction = central ? std::complex<double>(0.0, 1.0) : std::complex<double>(-1.0, 0.0);
  const double known = stable_time_step(domain, 1.0), limit = modulus_of(1.0, direction);
  const std::vector<double> states = random_states(domain, solver.columns());
  if (between) between();
  const auto advance = [&](int steps, double dt) {
    for (int step = 0; step < steps; ++step) {
      solver.advance(1, dt);
      if (between) between();
    }
  };
  const auto growth_after = [&](int to_settle, int measured, double dt) {
    advance(to_settle, dt);
    const double before = solver.energy()[0];
    advance(measured, dt);
    return std::pow(solver.energy()[0] / before, 0.5 / measured);
  };
  double dt = 2.2 * known;
  for (int i = 0; i < most_tries; ++i) {
    solver.set_state(states, 0.0);
    if (between) between();
    double growth = growth_after(3, 1, dt);
    if (!std::isfinite(growth)) {
      dt *= 0.5;
      continue;
    }
    if (growth < 1.5) {
      dt *= 1.5;
      continue;
    }
    dt *= well_beyond * limit / modulus_of(growth, direction);
    solver.set_state(states, 0.0);
    growth = growth_after(14, 4, dt);
    if (!(growth > 1.0 && std::isfinite(growth))) continue;
    // The eigenvector is there: it now shows at which step it neither grows nor decays, whatever its eigenvalue's
    // phase.
    double largest = dt * limit / modulus_of(growth, direction);
    for (int correction = 0; correction < 2; ++correction)
      largest *= std::pow(growth_after(1, 6, largest), -1.0 / slope);
    if (!std::isfinite(largest)) continue;
    // Another eigenvector may be the first to grow, one that did not outgrow the others beyond: by the phase of its
    // eigenvalue. Steps of this length from all eigenvectors leave those that grow.
    solver.set_state(states, 0.0);
    constexpr double none = 1.002;  // a step that is 0.03% too long: far below what is uncertain
    for (int quiet = 0, round = 0; quiet < 2 && round < most_rounds; ++round) {
      growth = growth_after(round == 0 ? 28 : 2, 4, largest);
      quiet = growth > none ? 0 : quiet + 1;
      if (growth > none) largest *= std::pow(growth, -1.0 / slope);
    }
    constexpr double uncertain = 0.01;  // of what was measured, on meshes with slivers
    if (std::isfinite(largest)) return (1.0 - uncertain) * largest;
  }
  return known;
}

double step_below(double largest) {
  const double step = step_safety * largest;
  const double digit = std::pow(10.0, std::floor(std::log10(step)) - 2.0);
  return std::floor(step / digit) * digit;
}

}  // namespace plaquette
