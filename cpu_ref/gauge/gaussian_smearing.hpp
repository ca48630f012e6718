// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gauge-covariant Gaussian smearing of a spinor in the three spatial directions.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Returns (1 + radius^2 / (4 steps) (sum_i [T_i + T_i^+] - 6))^steps psi, where T_i psi(x) = U_i(x) psi(x + i), i = x,
/// y, z: for many steps a Gaussian exp(-r^2 / radius^2) on the unit field. Each time slice stays by itself, each spin
/// too. (Guesken, Nucl. Phys. B (Proc. Suppl.) 17 (1990) 361, in the normalisation of Chroma's GAUGE_INV_GAUSSIAN)
/// \param psi     any ghosts
/// \param links   ghosts filled
/// \param radius  sigma, in lattice units
/// \param steps   n, at least 1
/// Returns a field with its ghosts filled. Throws input_error for a radius that is not a finite number or steps
/// below 1. Collective.
spinor_configuration gaussian_smeared(const spinor_configuration& psi, const gauge_configuration& links, double radius,
                                      int steps, const communicator& comm);

}  // namespace plaquette::cpu
