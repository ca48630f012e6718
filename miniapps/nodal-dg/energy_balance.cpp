// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/energy_balance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"
#include "cpu_ref/dg/textbook.hpp"
#include "miniapps/nodal-dg/step_judge.hpp"

namespace plaquette::nodal_dg {

namespace {

/// Of the first column. dt q.M.F is half the difference of the energies of q + dt F and q - dt F.
double power_defect(const dg_domain& domain, std::span<const double> q, std::span<const double> rhs, double time,
                    double dt, double least) {
  std::vector<double> sum(q.size()), difference(q.size());
  for (std::size_t i = 0; i < q.size(); ++i) {
    sum[i] = q[i] + dt * rhs[i];
    difference[i] = q[i] - dt * rhs[i];
  }
  const double above = energy_of(domain, sum, 1)[0], below = energy_of(domain, difference, 1)[0];
  double rate = cpu::energy_rate(domain, q, cpu::halo_traces(domain, q), time);
  domain.comm.sum({&rate, 1});
  return std::abs(0.5 * (above - below) - dt * rate) / std::max({0.5 * (above + below), least, 1e-300});
}

}  // namespace

step_balance judge_step(dg_solver& solver, const dg_domain& domain, std::span<const double> begin,
                        std::span<const double> end, double time, double dt, double least, double energy) {
  const auto size = static_cast<std::size_t>(domain.state_size());
  std::vector<double> q(begin.begin(), begin.end()), registers(q.size()), rhs(q.size());
  step_balance result;
  for (int s = 0; s < lserk4::stages; ++s) {
    solver.set_state(q, time + lserk4::c[s] * dt);
    solver.right_hand_side(rhs);
    if (s == 0) result.power = power_defect(domain, begin.first(size), std::span(rhs).first(size), time, dt, energy);
    for (std::size_t i = 0; i < q.size(); ++i) {
      registers[i] = lserk4::a[s] * registers[i] + dt * rhs[i];
      q[i] += lserk4::b[s] * registers[i];
    }
  }
  for (int column = 0; column < solver.columns(); ++column) {
    std::array<double, 3> of_column{};  // difference, move, largest number
    auto i = static_cast<std::size_t>(column) * size;
    for (int f = 0; f < domain.fields; ++f)
      for (std::int32_t e = 0; e < domain.elements(); ++e) {
        const double weight = energy_weight(domain, f, e);
        for (int n = 0; n < domain.nodes(); ++n, ++i) {
          of_column[0] = larger_or_nan(of_column[0], weight * std::abs(q[i] - end[i]));
          of_column[1] = larger_or_nan(of_column[1], weight * std::abs(q[i] - begin[i]));
          of_column[2] = std::max({of_column[2], weight * std::abs(q[i]), weight * std::abs(begin[i])});
        }
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
