// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gradient_flow.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "common/algebra/field_strength.hpp"
#include "common/error.hpp"
#include "common/gauge/smearing.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu {

gradient_flow::gradient_flow(gauge_configuration links, const communicator& comm)
    : links_(std::move(links)), exponents_(links_.geometry()), comm_(comm) {
  require_current_ghosts(links_, comm_, "gradient_flow");
}

void gradient_flow::advance(double step) {
  if (!(step > 0.0 && std::isfinite(step)))
    throw input_error("gradient flow: expected a finite positive step, found " + std::to_string(step));
  for (const flow_stage& stage : flow_stages) {
    stop_point();
    for_each_site(links_.geometry(), [&](const coordinate& x) {
      for (int mu = 0; mu < dimensions; ++mu)
        exponents_(x)[mu] = flow_exponent(link_reader{links_}, x, mu, step, stage, exponents_(x)[mu]);
    });
    for_each_site(links_.geometry(), [&](const coordinate& x) {
      for (int mu = 0; mu < dimensions; ++mu) links_(x)[mu] = link_moved_along(exponents_(x)[mu], links_(x)[mu]);
    });
    exchange_ghosts(links_, comm_);
  }
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

}  // namespace

flow_measurement measure_field_strength(const gauge_configuration& links, const communicator& comm) {
  require_current_ghosts(links, comm, "measure_field_strength");
  const auto [energy, charge] = sum_over_sites<2>(links.geometry(), comm, [&](const coordinate& x) {
    const su3<double> xy = clover_at(links, x, 0, 1), xz = clover_at(links, x, 0, 2), xt = clover_at(links, x, 0, 3),
                      yz = clover_at(links, x, 1, 2), yt = clover_at(links, x, 1, 3), zt = clover_at(links, x, 2, 3);
    double e = 0.0;  // F^a F^a / 4 over all (mu, nu) = sum over mu < nu of tr (i F)^2
    for (const su3<double>* f : {&xy, &xz, &xt, &yz, &yt, &zt}) e += real_trace_with_adjoint(*f, *f);
    return std::array{
        e, real_trace_with_adjoint(xy, zt) - real_trace_with_adjoint(xz, yt) + real_trace_with_adjoint(xt, yz)};
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
