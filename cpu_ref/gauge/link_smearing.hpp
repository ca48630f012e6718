// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// APE and HYP smearing of gauge configurations. Stout smearing is in stout.hpp.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Returns the V in SU(3) that maximises Re tr (V^+ x), by its SU(2) subgroups in turn until nothing changes. (Cabibbo,
/// Marinari 1982) It is unique for an x near SU(3); NaN where x holds one.
su3<double> nearest_in_su3(const su3<double>& x);

struct ape_smearing {
  int steps = 1;
  double alpha = 0.5;
  bool spatial = false;  ///< only spatial links are smeared, and with spatial staples
};

/// Returns the links after `steps` of U -> nearest_in_su3((1 - alpha) U + alpha / n sum of the n staples), n = 6, or 4
/// where spatial. (Albanese et al., Phys. Lett. B 192 (1987) 163) Gauge covariant. The same bits on any number of ranks
/// and threads. Links in, and out, have their ghosts filled. Throws input_error for parameters that make no sense.
/// Collective.
gauge_configuration ape_smeared(const gauge_configuration& links, const ape_smearing& smearing,
                                const communicator& comm);

struct hyp_smearing {
  int steps = 1;
  double alpha_1 = 0.75, alpha_2 = 0.6, alpha_3 = 0.3;
};

/// Returns the links after `steps` of hypercubic blocking: APE in three levels, whose staples stay in the hypercubes
/// that share the link. (Hasenfratz, Knechtli, hep-lat/0103029, equations 3 to 5) As `ape_smeared` in all else.
gauge_configuration hyp_smeared(const gauge_configuration& links, const hyp_smearing& smearing,
                                const communicator& comm);

}  // namespace plaquette::cpu
