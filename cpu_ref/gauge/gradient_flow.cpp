// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gradient_flow.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "common/algebra/field_strength.hpp"
#include "common/algebra/stout.hpp"
#include "common/error.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/random/random_matrix.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/staples.hpp"

namespace plaquette::cpu {

gradient_flow::gradient_flow(gauge_configuration links, const communicator& comm)
    : links_(std::move(links)), change_(links_.geometry()), comm_(comm) {
  require_current_ghosts(links_, comm_, "gradient_flow");
}

void gradient_flow::stage(double step, double new_part, double old_part) {
  stop_point();
  // Z = -(anti-Hermitian, traceless part of U times its staples) = i h, h of the adjoint.
  for_each_site(links_.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu) {
      const su3<double> closed = links_(x)[mu] * closing_staples(links_, x, mu, [](int) { return 1.0; });
      change_(x)[mu] = step * new_part * traceless_hermitian_part(adjoint(closed)) + old_part * change_(x)[mu];
    }
  });
  for_each_site(links_.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu)
      links_(x)[mu] = put_into_su3(exponential_of_i_times(change_(x)[mu]) * links_(x)[mu]);
  });
  exchange_ghosts(links_, comm_);
}

// With W_0 = V(t) and Z_i = step Z(W_i):
//   W_1 = exp(1/4 Z_0) W_0,   W_2 = exp(8/9 Z_1 - 17/36 Z_0) W_1,   V(t + step) = exp(3/4 Z_2 - 8/9 Z_1 + 17/36 Z_0)
//   W_2:
// each exponent is the one before it, times a number, plus the new Z.
void gradient_flow::advance(double step) {
  if (!(step > 0.0 && std::isfinite(step)))
    throw input_error("gradient flow: expected a finite positive step, found " + std::to_string(step));
  stage(step, 1.0 / 4.0, 0.0);
  stage(step, 8.0 / 9.0, -17.0 / 9.0);
  stage(step, 3.0 / 4.0, -1.0);
  time_ += step;
}

namespace {

/// i F_munu(x) of the clover, traceless: a Hermitian matrix.
su3<double> clover_at(const gauge_configuration& links, const coordinate& x, int mu, int nu) {
  const auto link = [&](int a, int b, int direction) {
    coordinate at = x;
    at[mu] += a;
    at[nu] += b;
    return links(at)[direction];
  };
  su3<double> h = i_field_strength(sum_of_leaves(link, mu, nu));
  const double third = trace(h).re / 3.0;
  for (int i = 0; i < colours; ++i) h(i, i).re -= third;
  return h;
}

/// tr a b of Hermitian matrices: a real number.
double trace_of_product(const su3<double>& a, const su3<double>& b) {
  double sum = 0.0;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) sum += a(i, j).re * b(i, j).re + a(i, j).im * b(i, j).im;
  return sum;
}

}  // namespace

flow_measurement measure_field_strength(const gauge_configuration& links, const communicator& comm) {
  require_current_ghosts(links, comm, "measure_field_strength");
  const auto [energy, charge] = sum_over_sites<2>(links.geometry(), comm, [&](const coordinate& x) {
    const su3<double> xy = clover_at(links, x, 0, 1), xz = clover_at(links, x, 0, 2), xt = clover_at(links, x, 0, 3),
                      yz = clover_at(links, x, 1, 2), yt = clover_at(links, x, 1, 3), zt = clover_at(links, x, 2, 3);
    double e = 0.0;  // F^a F^a / 4 over all (mu, nu) = sum over mu < nu of tr (i F)^2
    for (const su3<double>* f : {&xy, &xz, &xt, &yz, &yt, &zt}) e += trace_of_product(*f, *f);
    return std::array{e, trace_of_product(xy, zt) - trace_of_product(xz, yt) + trace_of_product(xt, yz)};
  });
  constexpr double terms_alike = 8.0;  // of epsilon, for each of the three
  return {0.0, energy / static_cast<double>(links.geometry().global_volume()),
          charge * terms_alike / (32.0 * std::numbers::pi * std::numbers::pi)};
}

int flow_steps(double from, double last, double step) {
  constexpr double most_steps = 1e6;
  const double steps = std::ceil((last - from) / step * (1.0 - 1e-12));
  if (!(last >= from && step > 0.0 && std::isfinite(step) && steps <= most_steps))
    throw input_error("gradient flow: expected a time from " + std::to_string(from) +
                      " and a positive step, at most a million steps, found time " + std::to_string(last) +
                      " and step " + std::to_string(step));
  return static_cast<int>(steps);
}

std::vector<flow_measurement> flow_history(gradient_flow& flow, double last, double step) {
  std::vector<flow_measurement> history;
  for (int n = 0, steps = flow_steps(flow.time(), last, step); n <= steps; ++n) {
    // Steps that fit but for rounding are left as they are.
    const double left = last - flow.time();
    if (n > 0) flow.advance(n == steps && left < step * (1.0 - 1e-9) ? left : step);
    stop_point();
    history.push_back(measure_field_strength(flow.links(), flow.ranks()));
    history.back().time = n == steps ? last : flow.time();
  }
  return history;
}

double reference_time(std::span<const flow_measurement> history, double level) {
  for (std::size_t i = 1; i < history.size(); ++i) {
    const double below = history[i - 1].scaled_energy(), above = history[i].scaled_energy();
    if (below < level && above >= level)
      return history[i - 1].time + (level - below) / (above - below) * (history[i].time - history[i - 1].time);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace plaquette::cpu
