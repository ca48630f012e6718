// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// For programs that call MPI themselves and hand a group of their ranks to this library. It needs mpi.h; a library
/// built without MPI has no such function.
#pragma once

#include <mpi.h>

#include "common/comms/communicator.hpp"

namespace plaquette {

/// Returns the group of an MPI communicator, ranks in its order. The messages of the library have a duplicate of their
/// own, which ends with the last copy; `group` stays the caller's. MPI must have been started, and `group` must not be
/// MPI_COMM_NULL (std::invalid_argument). Collective over `group`.
communicator communicator_of(MPI_Comm group);

}  // namespace plaquette
