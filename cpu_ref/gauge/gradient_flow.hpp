// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The gradient (Wilson) flow of gauge configurations, and measurements along it. (Luescher, arXiv:1006.4518)
#pragma once

#include "common/comms/communicator.hpp"
#include "common/gauge/flow_history.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

using plaquette::flow_history;
using plaquette::flow_measurement;
using plaquette::flow_steps;
using plaquette::reference_time;

/// Returns the energy density and the charge of the links; the time is 0. A constant self-dual field in SU(3) of fluxes
/// (1, 1) has the charge +2, and the overlap operator the index -2. Ghosts must be filled. Collective.
flow_measurement measure_field_strength(const gauge_configuration& links, const communicator& comm);

/// Flows links by dV/dt = -g_0^2 (dS_w / dV) V, S_w the Wilson action (equation 1.4): an infinitesimal stout smearing.
/// The bits are the same on any number of ranks and threads.
class gradient_flow {
 public:
  /// Takes links in SU(3) with ghosts filled; their time is 0. Keeps a copy of the communicator.
  gradient_flow(gauge_configuration links, const communicator& comm);

  /// Makes one step by the Runge-Kutta scheme of third order of appendix C. (equation C.2) The error of a time is of
  /// order step^3. Throws input_error unless the step is a finite positive number. Collective.
  void advance(double step);

  double time() const { return time_; }  ///< t in units of a^2; links are smeared over a radius of sqrt(8 t)
  const gauge_configuration& links() const { return links_; }
  const communicator& ranks() const { return comm_; }
  flow_measurement measure() const { return measure_field_strength(links_, comm_); }

 private:
  gauge_configuration links_, exponents_;
  communicator comm_;
  double time_ = 0.0;
};

}  // namespace plaquette::cpu
