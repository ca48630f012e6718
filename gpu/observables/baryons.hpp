// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Baryon correlators from propagators on the device.
#pragma once

#include <vector>

#include "common/algebra/complex.hpp"
#include "common/lattice/momentum_phase.hpp"
#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

/// Returns the proton's C(p, t) of cpu_ref/observables/baryons.hpp, which defines it. Sums are in a fixed order: the
/// same bits run after run; they agree with the CPU library's to rounding. Collective; waits. Throws input_error unless
/// both are propagators on one lattice: 12 columns of 4 spins and 3 colours, all sites.
/// \param up, down  propagators of the two flavours from one source, as in correlators.hpp; the same for equal masses
/// \param parity    +1 or -1
std::vector<complex<double>> nucleon_correlator(const field<double>& up, const field<double>& down, int parity,
                                                const lattice_momentum& momentum);

}  // namespace plaquette::gpu
