// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Landau and Coulomb gauge on the device.
#pragma once

#include "common/lattice/gauge_condition.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Sums are in a fixed order: the same bits run after run. Collective; waits.
gauge_quality measure_gauge(const gauge_configuration& links, gauge_condition condition);

struct fixed_gauge {
  gauge_transformation g;  ///< links = transformed(before, g); quarks go along: S -> g(x) S g(source)^+
  gauge_configuration links;
  gauge_quality quality;  ///< of these links, measured again
  int sweeps = 0;
  bool converged = false;  ///< quality.theta <= tolerance
};

/// Returns links in a maximum of the functional, which need not be the highest (Gribov copies). A sweep is the CPU
/// library's; where theta stands at the tolerance, the number of sweeps may differ from it, and over process grids.
/// Throws input_error for a rule that makes no sense. Collective.
/// \param links  in SU(3)
fixed_gauge gauge_fixed(const gauge_configuration& links, gauge_condition condition, const gauge_fixing_rule& rule);

}  // namespace plaquette::gpu
