// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/energy_balance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/algebra/compensated_sum.hpp"
#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"
#include "cpu_ref/dg/textbook.hpp"
#include "miniapps/nodal-dg/step_judge.hpp"

namespace plaquette::nodal_dg {

namespace {

/// Of one column: dt q.M.F, and the energies of q and dt F. Each element's numbers are made by one thread, and added in
/// the order of elements.
std::array<double, 3> products_of(const dg_domain& domain, std::span<const double> q, std::span<const double> rhs,
                                  double dt) {
  const dense_matrix columns = transposed(domain.reference.mass);
  const auto nodes = static_cast<std::size_t>(domain.nodes()), elements = static_cast<std::size_t>(domain.elements());
  std::array<std::vector<double>, 3> of_element;
  for (auto& numbers : of_element) numbers.resize(elements);
#pragma omp parallel
  {
    std::vector<double> mass_q(nodes), mass_f(nodes);
#pragma omp for schedule(static)
    for (std::int32_t e = 0; e < domain.elements(); ++e) {
      std::array<double, 3> sum{};
      for (int f = 0; f < domain.fields; ++f) {
        const auto at = (static_cast<std::size_t>(f) * elements + static_cast<std::size_t>(e)) * nodes;
        multiply_by_mass(domain, columns, q.data() + at, mass_q.data());
        multiply_by_mass(domain, columns, rhs.data() + at, mass_f.data());
        std::array<double, 3> product{};
        for (std::size_t i = 0; i < nodes; ++i) {
          product[0] += q[at + i] * mass_f[i];
          product[1] += q[at + i] * mass_q[i];
          product[2] += rhs[at + i] * mass_f[i];
        }
        const double constant = energy_constant(domain, f, e);
        for (std::size_t k = 0; k < 3; ++k) sum[k] += constant * product[k];
      }
      const double jacobian = domain.geometry[static_cast<std::size_t>(e)].jacobian;
      for (std::size_t k = 0; k < 3; ++k) of_element[k][static_cast<std::size_t>(e)] = jacobian * sum[k];
    }
  }
  std::array<double, 3> total{};
  for (std::size_t k = 0; k < 3; ++k) total[k] = compensated_sum(of_element[k]);
  domain.comm.sum(total);
  return {dt * total[0], 0.5 * total[1], 0.5 * dt * dt * total[2]};
}

/// Of the first column.
///
/// Sums over elements are compensated: their number does not come in. A term of an element is dt q.M.F, or dt times the
/// power through its faces. As dt is stable, it is at most some times the energy of the element and its neighbours, and
/// it is known to some roundings of that. So the difference is some roundings of the whole energy.
double power_defect(const dg_domain& domain, std::span<const double> q, std::span<const double> rhs, double time,
                    double dt, double least) {
  const auto [power, of_state, of_change] = products_of(domain, q, rhs, dt);
  double rate = cpu::energy_rate(domain, q, cpu::halo_traces(domain, q), time);
  domain.comm.sum({&rate, 1});
  return std::abs(power - dt * rate) / std::max({of_state + of_change, least, 1e-300});
}

/// Makes `largest` the larger ones of both, number by number.
void keep_largest(std::array<double, 3>& largest, const std::array<double, 3>& x) {
  for (std::size_t k = 0; k < 3; ++k) largest[k] = larger_or_nan(largest[k], x[k]);
}

}  // namespace

step_balance step_balancer::operator()(dg_solver& solver, const dg_domain& domain, std::span<const double> begin,
                                       std::span<const double> end, double time, double dt, double least,
                                       double energy) {
  const auto size = static_cast<std::size_t>(domain.state_size());
  const auto all = static_cast<std::int64_t>(begin.size());
  for (auto* numbers : {&state_, &register_, &rhs_}) numbers->resize(begin.size());
  step_balance result;
  for (int s = 0; s < lserk4::stages; ++s) {
    const std::span<const double> before = s == 0 ? begin : std::span<const double>(state_);
    solver.set_state(before, time + lserk4::c[s] * dt);
    solver.right_hand_side(rhs_);
    if (s == 0) result.power = power_defect(domain, begin.first(size), std::span(rhs_).first(size), time, dt, energy);
#pragma omp parallel for schedule(static)
    for (std::int64_t n = 0; n < all; ++n) {
      const auto i = static_cast<std::size_t>(n);
      register_[i] = (s == 0 ? 0.0 : lserk4::a[s] * register_[i]) + dt * rhs_[i];
      state_[i] = before[i] + lserk4::b[s] * register_[i];
    }
  }
  for (int column = 0; column < solver.columns(); ++column) {
    const std::size_t first = static_cast<std::size_t>(column) * size;
    std::array<double, 3> of_column{};  // difference, move, largest number
#pragma omp parallel
    {
      std::array<double, 3> of_thread{};
      for (int f = 0; f < domain.fields; ++f)
#pragma omp for schedule(static) nowait
        for (std::int32_t e = 0; e < domain.elements(); ++e) {
          const double weight = energy_weight(domain, f, e);
          const auto nodes = static_cast<std::size_t>(domain.nodes());
          auto i = first + (static_cast<std::size_t>(f) * static_cast<std::size_t>(domain.elements()) +
                            static_cast<std::size_t>(e)) *
                               nodes;
          for (std::size_t n = 0; n < nodes; ++n, ++i) {
            const double expected = state_[i];
            keep_largest(of_thread, {weight * std::abs(expected - end[i]), weight * std::abs(expected - begin[i]),
                                     weight * std::max(std::abs(expected), std::abs(begin[i]))});
          }
        }
#pragma omp critical
      keep_largest(of_column, of_thread);
    }
    domain.comm.maximum(of_column);
    if (column == 0) {
      result.moved = of_column[1];
      result.largest = of_column[2];
    }
    const double scale = std::max({of_column[2], std::ldexp(least, -column), 1e-300});
    result.states = larger_or_nan(result.states, of_column[0] / scale);
  }
  return result;
}

}  // namespace plaquette::nodal_dg
