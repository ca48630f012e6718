// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Landau and Coulomb gauge. (Giusti et al., hep-lat/0104012, section 3, reviews the methods.)
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/gauge_condition.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"

namespace plaquette::cpu {

using plaquette::gauge_condition;
using plaquette::gauge_fixing_rule;
using plaquette::gauge_quality;

/// Needs ghosts filled. Collective.
gauge_quality measure_gauge(const gauge_configuration& links, gauge_condition condition, const communicator& comm);

struct fixed_gauge {
  gauge_transformation g;  ///< links = transformed(before, g), ghosts filled; quarks go along: S -> g(x) S g(source)^+
  gauge_configuration links;  ///< ghosts filled
  gauge_quality quality;      ///< of these links, measured again
  int sweeps = 0;
  bool converged = false;  ///< quality.theta <= tolerance
};

/// Returns links in a maximum of the functional, which need not be the highest (Gribov copies). A sweep multiplies
/// g(x), a parity at a time, with an element of each SU(2) subgroup: the one that maximises the functional, to the
/// power omega. (Mandula, Ogilvie, Phys. Lett. B 248 (1990) 156) The bits are the same on any number of threads; over
/// process grids the number of sweeps may differ where theta stands at the tolerance. Throws input_error for a rule
/// that makes no sense. Collective.
/// \param links  in SU(3), ghosts filled
fixed_gauge gauge_fixed(const gauge_configuration& links, gauge_condition condition, const gauge_fixing_rule& rule,
                        const communicator& comm);

}  // namespace plaquette::cpu
