// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bindings/cpp/source/state.hpp"
#include "common/algebra/gamma.hpp"
#include "common/algebra/largest.hpp"
#include "cpu_ref/observables/correlators.hpp"

namespace plaquette::api {
inline namespace v1 {

verdict solve_report::verdict() const {
  api::verdict result;
  result.judged = !columns.empty();
  bool all_passed = !columns.empty();
  std::string failed;
  for (const column_result& c : columns) {
    result.judged = result.judged && !(c.status == "not judged") && c.tolerance > 0.0;
    keep_largest(result.worst, c.reference);
    result.tolerance = std::max(result.tolerance, c.tolerance);
    all_passed = all_passed && c.passed;
    if (!c.passed && failed.empty()) failed = c.status;
  }
  result.passed = result.judged && all_passed;
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "largest residual %.2e, tolerance %.2e", result.worst, result.tolerance);
  result.text = !result.judged  ? std::string("not judged: no residual was recomputed by the reference operator")
                : result.passed ? std::string("passed: ") + numbers
                                : std::string("failed: ") + numbers + " (solver: " + failed + ")";
  return result;
}

code solve_report::outcome() const {
  if (verdict().passed) return code::success;
  const bool stopped = std::ranges::any_of(columns, [](const column_result& c) { return c.status != "converged"; });
  return stopped ? code::no_convergence : code::not_verified;
}

const solve_report& propagator::report() const { return state_->report; }
const api::source& propagator::from() const { return state_->from; }
const lattice& propagator::on() const { return state_->on; }

std::vector<double> propagator::pion() const {
  return guarded([&] { return cpu::pion_correlator(state_->columns, state_->on.get()->comm); });
}
std::vector<double> propagator::rho() const {
  return guarded([&] { return cpu::rho_correlator(state_->columns, state_->on.get()->comm); });
}

namespace {

/// Returns gamma_x^a gamma_y^b gamma_z^c gamma_t^d for a + 2 b + 4 c + 8 d.
spin_matrix gamma_of(meson number) {
  const int bits = static_cast<int>(number);
  if (bits < 0 || bits > 15)
    throw error(code::unusable_input, "correlator: expected a meson from 0 to 15, found " + std::to_string(bits));
  spin_matrix product = spin_matrix::identity();
  for (int mu = 0; mu < dimensions; ++mu)
    if ((bits >> mu & 1) != 0) product = product * gamma_matrix(mu);
  return product;
}

}  // namespace

std::vector<std::complex<double>> propagator::correlator(meson number, const std::array<int, 3>& momentum) const {
  return guarded([&] {
    const spin_matrix gamma = gamma_of(number);
    const std::vector<plaquette::complex<double>> values =
        cpu::momentum_correlator(state_->columns, gamma, momentum, state_->on.get()->comm);
    std::vector<std::complex<double>> result;
    for (const auto& value : values) result.emplace_back(value.re, value.im);
    return result;
  });
}

void propagator::copy_to(std::span<double> numbers, const spinor_layout& layout) const {
  guarded([&] {
    const int columns = static_cast<int>(state_->columns.size());
    require_spinors(numbers, false, columns, layout, state_->on, "array for a propagator");
    for (int n = 0; n < columns; ++n) put_spinor(numbers, state_->columns[static_cast<std::size_t>(n)], n, layout);
  });
}

}  // namespace v1
}  // namespace plaquette::api
