// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The gradient (Wilson) flow of gauge configurations on the device, and measurements along it. (Luescher,
/// arXiv:1006.4518)
#pragma once

#include "common/gauge/flow_history.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Returns the energy density and the charge of the links; the time is 0. Sums are in a fixed order: the same bits run
/// after run. Collective; waits.
flow_measurement measure_field_strength(const gauge_configuration& links);

/// Flows links by dV/dt = -g_0^2 (dS_w / dV) V, S_w the Wilson action (equation 1.4): an infinitesimal stout smearing.
/// The bits of one rank on any process grid.
class gradient_flow {
 public:
  /// Takes links in SU(3); their time is 0. Keeps a copy, and room for two more fields of links. Throws memory_error.
  explicit gradient_flow(const gauge_configuration& links);

  /// Makes one step by the Runge-Kutta scheme of third order of appendix C. (equation C.2) The error of a time is of
  /// order step^3. Throws input_error unless the step is a finite positive number. Collective.
  void advance(double step);

  double time() const { return time_; }  ///< t in units of a^2; links are smeared over a radius of sqrt(8 t)
  const gauge_configuration& links() const { return links_; }
  flow_measurement measure() const { return measure_field_strength(links_); }

 private:
  gauge_configuration links_, next_, exponents_;
  double time_ = 0.0;
};

}  // namespace plaquette::gpu
