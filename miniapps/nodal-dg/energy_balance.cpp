// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/energy_balance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/algebra/compensated_sum.hpp"
#include "common/dg/exact_solutions.hpp"
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

}  // namespace

step_balance step_balancer::operator()(dg_solver& solver, const dg_domain& domain, const dg_snapshot& begin,
                                       const dg_snapshot& end, double time, double dt, double least, double energy) {
  const auto size = static_cast<std::size_t>(domain.state_size());
  state_.resize(size * static_cast<std::size_t>(solver.columns()));
  rhs_.resize(state_.size());
  solver.restore(begin, time);
  solver.get_state(state_);
  const std::vector<step_difference> differences = solver.repeat_step(domain, begin, end, time, dt, rhs_);
  step_balance result;
  result.power = power_defect(domain, std::span(state_).first(size), std::span(rhs_).first(size), time, dt, energy);
  for (int column = 0; column < solver.columns(); ++column) {
    const step_difference& here = differences[static_cast<std::size_t>(column)];
    std::array<double, 3> of_column{here.differs, here.moved, here.largest};
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

step_balance judge_step(dg_solver& solver, const dg_domain& domain, std::span<const double> begin,
                        std::span<const double> end, double time, double dt, double least, double energy) {
  const auto at_begin = solver.new_snapshot(domain), at_end = solver.new_snapshot(domain);
  solver.set_state(begin, time);
  solver.save(*at_begin);
  solver.set_state(end, time + dt);
  solver.save(*at_end);
  return step_balancer()(solver, domain, *at_begin, *at_end, time, dt, least, energy);
}

}  // namespace plaquette::nodal_dg
