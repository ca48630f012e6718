// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gauge-covariant Gaussian smearing of spinors in the three spatial directions, on the device.
#pragma once

#include "gpu/fields/field.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Returns (1 + radius^2 / (4 steps) (sum_i [T_i + T_i^+] - 6))^steps psi of every column, where T_i psi(x) = U_i(x)
/// psi(x + i), i = x, y, z: for many steps a Gaussian exp(-r^2 / radius^2) on the unit field. Each time slice stays by
/// itself, each spin too. (Guesken, Nucl. Phys. B (Proc. Suppl.) 17 (1990) 361, in the normalisation of Chroma's
/// GAUGE_INV_GAUSSIAN)
/// Collective; the bits of one rank.
/// \param psi     4 spins, 3 colours, all sites
/// \param radius  sigma, in lattice units
/// \param steps   n, at least 1
/// Throws input_error for a radius that is not a finite number, steps below 1, or a field of another shape.
field<double> gaussian_smeared(const field<double>& psi, const gauge_configuration& links, double radius, int steps);

}  // namespace plaquette::gpu
