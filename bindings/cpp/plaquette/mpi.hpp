// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// For callers with MPI: lattices over a group of their ranks.
#pragma once

#include <mpi.h>

#include "plaquette/plaquette.hpp"

namespace plaquette::api {

/// Returns options for a lattice over the ranks of `group`, which stays the caller's. MPI must have been started.
inline lattice_options over(MPI_Comm group, lattice_options options = {}) {
  options.fortran_communicator = static_cast<int>(MPI_Comm_c2f(group));
  return options;
}

}  // namespace plaquette::api
