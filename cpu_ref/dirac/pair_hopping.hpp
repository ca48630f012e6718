// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The hopping term in double precision by pairs of floats (float_pair.hpp), a site at a time. It is the reference of a
/// fast kernel for hardware with few double units. The textbook in double is its own.
#pragma once

#include <array>

#include "common/algebra/float_pair.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

using pair_links = site_field<std::array<su3<float_pair>, dimensions>>;
using pair_spinors = site_field<spinor<float_pair>>;

/// Returns the links as pairs, ghosts included. Boundary phases and the coefficients of hops are folded in.
pair_links pairs_of(const gauge_configuration& links, const fermion_action& action);
/// Returns the spinors as pairs, ghosts included.
pair_spinors pairs_of(const spinor_configuration& psi);

/// Returns (D psi)(x), the sum over the eight hops of textbook::hop, in pairs alone.
spinor<float_pair> hopping_at_site(const coordinate& x, const pair_spinors& psi, const pair_links& links,
                                   bool dagger = false);

/// Returns the numbers in double.
spinor<double> to_double(const spinor<float_pair>& psi);

}  // namespace plaquette::cpu
