// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Clocks, power and energy of a GPU as its driver reports them through NVML, which is searched for at run time. A
/// program does without NVML if it is missing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/app/report.hpp"

namespace plaquette {

/// Readings of a GPU over a stretch of time. A quantity that the driver does not tell is absent.
struct gpu_window {
  double seconds = 0.0;
  std::vector<double> sm_clock_mhz, memory_clock_mhz;  ///< a reading at each `sample`
  std::optional<double> energy_joule;                  ///< over the whole stretch, idle parts of it included
  std::optional<double> temperature_celsius;           ///< at its end
  /// The counter of energy moves every tenth of a second or so: (seconds since the start, joule) of looks at which it
  /// had moved.
  std::vector<std::pair<double, double>> energy_ticks{};
  /// Returns the mean power between the first and the last of these; none if they lie less than half a second apart.
  std::optional<double> power_watt() const;
};
/// Returns {"seconds", "sm_clock_mhz": {min, median, max}, "memory_clock_mhz", "energy_joule", "power_watt",
/// "temperature_celsius"}, as far as known.
json_document to_json(const gpu_window& window);

/// One GPU. `begin`, looks at moments when it works or has just worked, `end`. Reading costs some tens of microseconds.
class gpu_monitor {
 public:
  /// \param pci_bus_id  as the CUDA runtime writes it: "0000:1b:00.0"
  explicit gpu_monitor(const std::string& pci_bus_id);
  ~gpu_monitor();
  gpu_monitor(const gpu_monitor&) = delete;
  gpu_monitor& operator=(const gpu_monitor&) = delete;

  bool works() const { return state_ != nullptr; }
  /// Returns why the monitor does not work; empty if it does.
  const std::string& trouble() const { return trouble_; }
  /// Of the driver; empty if unknown.
  std::string driver_version() const;

  void begin();
  void sample();
  gpu_window end();

 private:
  struct state;
  std::unique_ptr<state> state_;
  std::string trouble_;
  gpu_window window_;
  double start_seconds_ = 0.0;
  std::optional<double> start_joule_, last_joule_;
};

}  // namespace plaquette
