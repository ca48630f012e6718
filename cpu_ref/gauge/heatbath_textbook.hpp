// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Heat bath and over-relaxation link by link: the oracle of heatbath.hpp, with the same bits.
#pragma once

#include <cstdint>

#include "common/comms/communicator.hpp"
#include "common/lattice/gauge_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu::textbook {

/// Makes the `number`-th combined sweep: heat baths of Cabibbo and Marinari in the three SU(2) subgroups, then
/// reflections in them. One direction and one parity at a time. (Phys. Lett. 119B (1982) 387; Creutz, Phys. Rev. D36
/// (1987) 515) Collective.
/// \param links  with ghosts filled, before and after
void combined_sweep(gauge_configuration& links, const gauge_action& action, const sweep_plan& plan, std::uint64_t seed,
                    std::uint64_t number, const communicator& comm);

}  // namespace plaquette::cpu::textbook
