// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The gradient (Wilson) flow of gauge configurations, and what is measured along it. (Luescher, arXiv:1006.4518)
#pragma once

#include <span>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Flows links by dV/dt = -g_0^2 (dS_w / dV) V, S_w the Wilson action (equation 1.4): an infinitesimal stout smearing.
/// The bits are the same on any number of ranks and threads.
class gradient_flow {
 public:
  /// Takes links in SU(3) with ghosts filled; they are those of time 0. Keeps a copy of the communicator.
  gradient_flow(gauge_configuration links, const communicator& comm);

  /// Makes one step by the Runge-Kutta scheme of third order of appendix C. (equation C.2) The error of a time is of
  /// order step^3. Throws input_error unless the step is a finite positive number. Collective.
  void advance(double step);

  double time() const { return time_; }  ///< t in units of a^2; links are smeared over a radius of sqrt(8 t)
  const gauge_configuration& links() const { return links_; }
  const communicator& ranks() const { return comm_; }

 private:
  gauge_configuration links_, exponents_;
  communicator comm_;
  double time_ = 0.0;
};

/// Averages and sums of the clover field strength (field_strength.hpp) without its trace, F = F^a T^a.
struct flow_measurement {
  double time = 0.0;
  double energy_density = 0.0;  ///< <E> = F^a_munu F^a_munu / 4, in units of a^-4 (equation 3.1)
  double charge = 0.0;          ///< epsilon_munurhosigma tr F_munu F_rhosigma / (32 pi^2), summed over the lattice

  /// Returns t^2 <E>.
  double scaled_energy() const { return time * time * energy_density; }
};

/// Returns what the links have; the time is 0. A constant self-dual field in SU(3) of fluxes (1, 1) has the charge +2,
/// and the overlap operator the index -2. Ghosts must be filled. Collective.
flow_measurement measure_field_strength(const gauge_configuration& links, const communicator& comm);

/// Returns the steps from a time to `last`, the last of which may be shorter. Throws input_error for times that make no
/// sense or for more than a million steps.
int flow_steps(double from, double last, double step);

/// Advances a flow to the time `last`; the last step is as long as what is left. Returns the measurements where it
/// begins and after each step. Throws as `flow_steps` does. Collective.
std::vector<flow_measurement> flow_history(gradient_flow& flow, double last, double step);

/// Returns the time t_0 where t^2 <E> passes `level` upwards for the first time, between measurements by a straight
/// line (equation 2.1: 0.3); NaN where it does not.
double reference_time(std::span<const flow_measurement> history, double level = 0.3);

}  // namespace plaquette::cpu
