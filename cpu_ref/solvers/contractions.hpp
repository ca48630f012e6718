// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The contractions of `library`, on fields of the host.
#pragma once

#include <memory>
#include <span>

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"
#include "common/solvers/contractions.hpp"
#include "common/solvers/vectors.hpp"

namespace plaquette::cpu {

/// Returns contractions of twelve columns, which must outlive them. Throws input_error for others.
std::unique_ptr<contractions> make_contractions(std::span<const spinor_configuration> columns,
                                                const communicator& comm);

/// Returns contractions of a copy of vectors. Throws input_error unless the vectors are a propagator.
std::unique_ptr<contractions> make_contractions(const vectors& quark, const communicator& comm);

}  // namespace plaquette::cpu
