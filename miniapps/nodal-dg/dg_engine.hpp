// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who advances the state: the library of the run's device.
#pragma once

#include <memory>

#include "common/dg/dg_solver.hpp"
#include "common/solvers/library.hpp"
#include "miniapps/nodal-dg/nodal_dg_options.hpp"

namespace plaquette::nodal_dg {

/// \param stop  asked during the set-up
std::unique_ptr<dg_solver> make_solver(const library& device, const dg_domain& domain, const nodal_dg_options& options,
                                       const stop_check& stop);

/// Returns the bytes that a solver takes on this rank's device; 0 if the program was built without its library.
double bytes_of_solver(const dg_domain& domain, const nodal_dg_options& options);

}  // namespace plaquette::nodal_dg
