// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The device of a run, as --device and other options say, and the facts, clocks and energy that a program reports of a
/// GPU.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "common/app/options.hpp"
#include "common/app/placement.hpp"
#include "common/app/report.hpp"
#include "common/error.hpp"
#include "library/open_library.hpp"
#include "miniapps/shared/gpu_monitor.hpp"

namespace plaquette {

inline device_kind device_of(const shared_options& options) {
  return options.device == "gpu" ? device_kind::gpu : device_kind::cpu;
}

/// Opens the library of --device. Throws input_error, with one line, if the program was built without CUDA, or if there
/// is no GPU. Collective.
/// \param placement  bad: each rank takes a GPU half the host away from its usual one
std::shared_ptr<const library> open_device(const shared_options& options, const lattice_geometry& geometry,
                                           const communicator& world,
                                           placement_policy placement = placement_policy::none);

/// The GPU of a rank: a monitor of its clocks and energy, and the timing of figures on it.
class gpu_access {
 public:
  gpu_access(std::shared_ptr<const library> device, const shared_options& options)
      : device_(std::move(device)),
        monitor_(device_->facts().pci_bus_id),
        idle_seconds_(options.idle_seconds),
        running_seconds_(options.running_seconds) {}

  const library& device() const { return *device_; }
  const device_facts& facts() const { return device_->facts(); }
  gpu_monitor& monitor() { return monitor_; }
  /// Returns the version of the driver; "unknown" if NVML does not tell.
  std::string driver() const {
    const std::string found = monitor_.driver_version();
    return found.empty() ? "unknown" : found;
  }
  /// Before cool and before sustained figures.
  double idle_seconds() const { return idle_seconds_; }
  double running_seconds() const { return running_seconds_; }

 private:
  std::shared_ptr<const library> device_;
  gpu_monitor monitor_;
  double idle_seconds_, running_seconds_;
};

/// Notes the GPU's part of the report's machine: itself, and the map of ranks to GPUs, cores and links.
void note_gpu(machine_record& machine, const gpu_access& gpu, placement_policy placement);
/// Returns for a person a line on the GPU, one a rank if there are several, and one for everything that is not as it
/// should be.
std::string describe(gpu_access& gpu);
/// Returns the tuner's mode, its choices, the seconds it took.
json_document to_json(const tuning_summary& tuning);

/// Throws memory_error, which says the needed and the free bytes, unless `bytes` bytes are free on the GPU.
void require_gpu_memory(const library& device, double bytes, const std::string& what);

}  // namespace plaquette
