// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Energy of a host as its kernel tells it: RAPL (/sys/class/powercap), else counters and meters of /sys/class/hwmon.
/// Where nothing can be read a program does without it, and says so.
#pragma once

#include <memory>
#include <string>

#include "common/app/report.hpp"

namespace plaquette {

class communicator;

/// What has been counted since a host_energy was made.
struct energy_reading {
  double seconds = 0.0, joule = 0.0;
};

/// All counters of this host that can be read. They are read now and then in a thread, so that one that overflows
/// (in ten minutes or so) loses nothing.
class host_energy {
 public:
  explicit host_energy(const std::string& root = "/sys/class");
  ~host_energy();
  host_energy(const host_energy&) = delete;
  host_energy& operator=(const host_energy&) = delete;

  /// Returns what is read, such as "RAPL package-0, dram"; empty where nothing can be.
  const std::string& source() const;
  /// Returns why there is no energy; empty where there is. A counter may fail in the middle of a run.
  std::string trouble() const;
  /// Reads all counters.
  energy_reading now();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Returns {"seconds", "energy_joule", "power_watt", "source"} of all hosts since `before`, or {"none"} and why.
/// Collective; each rank has a part of its host's.
json_document energy_since(const energy_reading& before, host_energy& host, const communicator& world);

}  // namespace plaquette
