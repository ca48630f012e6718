// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Measurements along the gradient flow. (Luescher, arXiv:1006.4518)
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/number_text.hpp"
#include "common/stop_point.hpp"

namespace plaquette {

/// Averages and sums of the clover field strength (field_strength.hpp) without its trace, F = F^a T^a.
struct flow_measurement {
  double time = 0.0;
  double energy_density = 0.0;  ///< <E> = F^a_munu F^a_munu / 4, in units of a^-4 (equation 3.1)
  double charge = 0.0;          ///< epsilon_munurhosigma tr F_munu F_rhosigma / (32 pi^2), summed over the lattice

  /// Returns t^2 <E>.
  double scaled_energy() const { return time * time * energy_density; }
};

/// Returns the measurement of sums that add_field_strength made over all sites; the time is 0.
inline flow_measurement measurement_of(double energy, double charge, std::int64_t global_volume) {
  constexpr double terms_alike = 8.0;  // of epsilon, for each of the three
  return {0.0, energy / static_cast<double>(global_volume),
          charge * terms_alike / (32.0 * std::numbers::pi * std::numbers::pi)};
}

/// Throws input_error unless the step is a finite positive number.
inline void require_usable_flow_step(double step) {
  if (!(step > 0.0 && std::isfinite(step)))
    throw input_error("gradient flow: expected a finite positive step, found " + number_text(step));
}

/// Returns the steps from a time to `last`, the last of which may be shorter. Throws input_error for times that make no
/// sense or for more than a million steps.
inline int flow_steps(double from, double last, double step) {
  constexpr double most_steps = 1e6;
  const double steps = std::ceil((last - from) / step * (1.0 - 1e-12));
  if (!(last >= from && step > 0.0 && std::isfinite(step) && steps <= most_steps))
    throw input_error("gradient flow: expected a time from " + number_text(from) +
                      " and a positive step, at most a million steps, found time " + number_text(last) + " and step " +
                      number_text(step));
  return static_cast<int>(steps);
}

/// Advances a flow of either library to the time `last`; the last step is as long as what is left. Returns the
/// measurements where it begins and after each step. Throws as `flow_steps` does. Collective.
/// \param flow       has time(), advance(step) and measure()
/// \param step_done  called after each step, if it is a function
template <class Flow>
std::vector<flow_measurement> flow_history(Flow& flow, double last, double step,
                                           const std::function<void()>& step_done = {}) {
  std::vector<flow_measurement> history;
  for (int n = 0, steps = flow_steps(flow.time(), last, step); n <= steps; ++n) {
    // Steps that fit but for rounding are left as they are.
    const double left = last - flow.time();
    if (n > 0) flow.advance(n == steps && left < step * (1.0 - 1e-9) ? left : step);
    if (n > 0 && step_done) step_done();
    stop_point();
    history.push_back(flow.measure());
    history.back().time = n == steps ? last : flow.time();
  }
  return history;
}

/// Returns the time t_0 where t^2 <E> passes `level` upwards for the first time, between measurements by a straight
/// line (equation 2.1: 0.3); NaN where it does not.
inline double reference_time(std::span<const flow_measurement> history, double level = 0.3) {
  for (std::size_t i = 1; i < history.size(); ++i) {
    const double below = history[i - 1].scaled_energy(), above = history[i].scaled_energy();
    if (below < level && above >= level)
      return history[i - 1].time + (level - below) / (above - below) * (history[i].time - history[i - 1].time);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace plaquette
