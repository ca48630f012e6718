// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Correlators of a propagator in a run's checks, table and report.
#pragma once

#include <string>
#include <vector>

#include "common/app/verification.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Adds: all of a correlator's values are finite and positive, as they are for mesons whose source and sink agree. Or
/// 0, in a correlator that falls below 2^-53 of its largest value somewhere else.
void check_correlator(verification& checks, const std::string& name, const std::vector<double>& correlator);

/// Adds: pion and rho at each time against their definitions, the largest difference as a share of the pion there. They
/// are sums over x of tr [ S S^+ ] and of Re tr [ gamma_i S gamma_i gamma_5 S^+ gamma_5 ] / 3, with products of spin
/// matrices. Collective.
/// \param columns  the twelve of the propagator
void check_correlators_by_definition(verification& checks, const std::vector<double>& pion,
                                     const std::vector<double>& rho, const std::vector<spinor_configuration>& columns,
                                     const communicator& comm);

/// Prints a line a time.
void print_correlators(const std::vector<double>& pion, const std::vector<double>& rho);

/// Puts pion and rho into the report, checks the pion and prints both.
void note_correlators(app_run& run, const std::vector<double>& pion, const std::vector<double>& rho, int source_time);

}  // namespace plaquette
