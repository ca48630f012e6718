// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How several ranks of a device work together.
#pragma once

namespace plaquette {

/// How the halo of a field gets to a neighbour.
enum class halo_policy {
  automatic,  ///< the fastest that is there: peer inside a host, else what device_messages finds
  staged,     ///< through pinned buffers of the host and MPI: works anywhere
  peer,       ///< the packing kernel writes into the neighbour's memory; ranks of one host
  mpi,        ///< MPI takes pointers of the device (CUDA-aware)
  nccl        ///< ncclSend and ncclRecv, where the library is found at run time
};

/// How the host waits for the device and for messages: spinning starves others where there are more ranks than cores.
enum class wait_mode { spin, block };

struct rank_options {
  halo_policy policy = halo_policy::automatic;
  wait_mode wait = wait_mode::spin;
  /// Sites whose neighbours are all here are worked on while messages travel.
  bool overlap = true;
  /// Seconds without progress after which a rank says what it waits for and ends the run; 0: never.
  double stall_timeout = 0.0;
};

}  // namespace plaquette
