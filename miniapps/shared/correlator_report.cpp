// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/correlator_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace plaquette {

void check_correlator(verification& checks, const std::string& name, const std::vector<double>& correlator) {
  double largest = 0.0, smallest = std::numeric_limits<double>::infinity();
  for (const double c : correlator)
    if (c > 0.0) largest = std::max(largest, c), smallest = std::min(smallest, c);
  // A heavy quark's solution is found before the Krylov space has reached all times; it is 0 where it has not been.
  const bool fades = smallest <= 0x1p-53 * largest;
  const auto bad = std::ranges::count_if(correlator, [fades](double c) {
    const bool is_faded = fades && c == 0.0;
    return !(c > 0.0 || is_faded) || !std::isfinite(c);
  });
  checks.add(name + " correlator is positive", static_cast<double>(bad), 0.0);
}

void print_correlators(const std::vector<double>& pion, const std::vector<double>& rho) {
  fmt::print("\n     t              pion               rho   (sum over space; t as on the lattice)\n");
  for (std::size_t t = 0; t < pion.size(); ++t) fmt::print("{:6}  {:16.10e}  {:16.10e}\n", t, pion[t], rho[t]);
}

void note_correlators(app_run& run, const std::vector<double>& pion, const std::vector<double>& rho, int source_time) {
  run.result.observables = {{"pion", pion}, {"rho", rho}, {"source_time", source_time}};
  check_correlator(run.result.checks, "pion", pion);
  if (run.is_root()) print_correlators(pion, rho);
}

}  // namespace plaquette
