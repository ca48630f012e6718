// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The clock of all figures, against another clock of the machine.
#pragma once

#include <string>

#include "common/app/verification.hpp"
#include "common/comms/communicator.hpp"

namespace plaquette {

/// Compares seconds_now() with the raw hardware clock of the kernel (CLOCK_MONOTONIC_RAW on Linux, else the system's),
/// from its making on.
class clock_comparison {
 public:
  clock_comparison();
  /// Adds the check that both have measured the same time, on the rank where they differ most. Collective.
  ///
  /// Rates of two clocks differ by what NTP slews at most, 5e-4: 1% is twenty times that. A reading of the two is off
  /// by the time between them, which counts too where the run is short.
  void add_check(verification& checks, const communicator& world) const;

 private:
  struct reading {
    double now, raw;  ///< seconds
    double apart;     ///< between them, at most
  };
  static reading read();
  reading start_;
};

}  // namespace plaquette
