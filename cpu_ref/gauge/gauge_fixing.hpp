// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Landau and Coulomb gauge. (Giusti et al., hep-lat/0104012, section 3, reviews the methods.)
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"

namespace plaquette::cpu {

enum class gauge_condition {
  landau,  ///< all four directions
  coulomb  ///< x, y and z: each time slice by itself
};

struct gauge_fixing_rule {
  double tolerance = 1e-12;  ///< of theta
  int sweep_limit = 10000;
  double overrelaxation = 1.7;  ///< omega, from 1 (steepest) to below 2
};

/// How far links are from a gauge. With A_mu = (U_mu - U_mu^+) / (2i) without its trace, and Delta(x) = sum_mu
/// [A_mu(x-mu) - A_mu(x)], mu over the directions of the condition:
struct gauge_quality {
  double functional = 0.0;  ///< average of Re tr U_mu / 3; 1 on the unit field, a maximum in the gauge
  double theta = 0.0;       ///< average over all sites of tr Delta^2 / 3; 0 in the gauge
};

/// Needs ghosts filled. Collective.
gauge_quality measure_gauge(const gauge_configuration& links, gauge_condition condition, const communicator& comm);

struct fixed_gauge {
  gauge_transformation g;  ///< links = transformed(before, g), ghosts filled; quarks go along: S -> g(x) S g(source)^+
  gauge_configuration links;  ///< ghosts filled
  gauge_quality quality;      ///< of these links, measured again
  int sweeps = 0;
  bool converged = false;  ///< quality.theta <= tolerance
};

/// Returns links in a maximum of the functional, which need not be the highest (Gribov copies). A sweep replaces g(x),
/// a parity at a time, by what maximises the functional in each of its SU(2) subgroups, to the power omega. (Mandula,
/// Ogilvie, Phys. Lett. B 248 (1990) 156) The bits are the same on any number of threads; over process grids the
/// number of sweeps may differ where theta stands at the tolerance. Throws input_error for a rule that makes no sense.
/// Collective.
/// \param links  in SU(3), ghosts filled
fixed_gauge gauge_fixed(const gauge_configuration& links, gauge_condition condition, const gauge_fixing_rule& rule,
                        const communicator& comm);

}  // namespace plaquette::cpu
