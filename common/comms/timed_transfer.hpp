// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long messages and copies take.
#pragma once

#include <cstddef>
#include <string>

namespace plaquette {

/// Messages of one kind and size.
struct timed_transfer {
  std::string kind;  ///< "host_to_device pinned sync", "peer_copy 0 to 1", "mpi", ... (report.schema.json)
  std::size_t bytes = 0;
  double seconds = 0.0;  ///< of one; the median
  int times = 0;
  bool right = false;  ///< what arrived is what was sent
};

}  // namespace plaquette
