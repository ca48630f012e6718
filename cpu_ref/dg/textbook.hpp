// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The nodal discontinuous Galerkin scheme as the book writes it (Hesthaven, Warburton 2008, chapters 6 and 10): loops
/// over all indices, double, one thread. The oracle of the others.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/dg/dg_solver.hpp"

namespace plaquette::cpu {

/// Returns fields on the other side of the halo's faces: [halo face][field][node of the sender's face]. Collective.
std::vector<double> halo_traces(const dg_domain& domain, std::span<const double> state);

/// Returns the right-hand side of one element at time t, [field][node].
/// \param state  one column, as dg_solver has it
/// \param halo   halo_traces(state)
std::vector<double> textbook_right_hand_side(const dg_domain& domain, std::span<const double> state,
                                             std::span<const double> halo, double t, std::int32_t element);

/// Returns the rate of change of the energy of all elements here at time t: the flow through their faces, and the power
/// of sources. Inside an element the scheme keeps the energy. Of acoustics a face adds the integral of -p n.u + p fp
/// + n.u (n.fu), of Maxwell's equations -n.(E x H) + H.fH + E.fE, with the fluxes f of common/dg/README.md.
/// \param state, halo  as above
double energy_rate(const dg_domain& domain, std::span<const double> state, std::span<const double> halo, double t);

/// Returns all of it behind the interface of solvers. Keeps a reference to the domain.
std::unique_ptr<dg_solver> make_textbook_dg_solver(const dg_domain& domain, int columns = 1);

}  // namespace plaquette::cpu
