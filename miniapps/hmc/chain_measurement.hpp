// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Observables of the links of a chain, at an interval of trajectories: by the CPU library, but for a gradient flow on
/// a GPU.
#pragma once

#include "common/algebra/complex.hpp"
#include "common/comms/communicator.hpp"
#include "common/gauge/flow_history.hpp"
#include "common/lattice/site_field.hpp"
#include "common/solvers/library.hpp"

namespace plaquette {

/// Observables of one configuration.
struct chain_measurement {
  double spatial = 0.0, temporal = 0.0;  ///< plaquettes
  double rectangle = 0.0;                ///< mean Re tr R / 3 of all 1x2 rectangles
  complex<double> polyakov{};            ///< mean tr P / 3 of the loops around the lattice in time
  double t0 = 0.0;                       ///< reference time of the gradient flow; 0 if t^2 E does not pass 0.3
  double charge = 0.0;                   ///< topological charge at the end of the flow
  double seconds = 0.0;                  ///< of measuring
};

/// Returns the mean of tr P / 3, P the product of the links in time at a site of space. The bits are the same on any
/// process grid. Collective.
complex<double> polyakov_loop(const gauge_configuration& links, const communicator& comm);

/// Returns the flow time at which sqrt(8 t) is a third of the shortest extent.
double flow_time_of(const extents& lattice);

/// Measures all of them; the flow goes to `flow_time` in steps of 0.02, on the device of the library. Ghosts must be
/// filled. Throws error of a stopped run. Collective.
chain_measurement measure_chain(const gauge_configuration& links, double flow_time, const library& on);

}  // namespace plaquette
