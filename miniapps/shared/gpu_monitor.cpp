// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/gpu_monitor.hpp"

#include <dlfcn.h>

#include "common/app/timing.hpp"

namespace plaquette {

namespace {

/// As much of NVML's interface as is used here; its names and numbers are fixed (nvml.h of the CUDA toolkit).
using nvml_device = struct nvmlDevice_st*;
constexpr int nvml_success = 0;
constexpr int nvml_clock_sm = 1, nvml_clock_memory = 2;
constexpr int nvml_temperature_gpu = 0;

struct nvml_functions {
  int (*init)();
  int (*shutdown)();
  int (*device_by_bus_id)(const char*, nvml_device*);
  int (*driver_version)(char*, unsigned);
  int (*clock)(nvml_device, int kind, unsigned* mhz);
  int (*energy)(nvml_device, unsigned long long* millijoule);
  int (*temperature)(nvml_device, int sensor, unsigned* celsius);
  const char* (*error_text)(int);
};

/// True if the library has them all.
bool find_functions(void* library, nvml_functions& f) {
  const auto find = [library](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find(f.init, "nvmlInit_v2") && find(f.shutdown, "nvmlShutdown") &&
         find(f.device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2") &&
         find(f.driver_version, "nvmlSystemGetDriverVersion") && find(f.clock, "nvmlDeviceGetClockInfo") &&
         find(f.energy, "nvmlDeviceGetTotalEnergyConsumption") && find(f.temperature, "nvmlDeviceGetTemperature") &&
         find(f.error_text, "nvmlErrorString");
}

/// The driver's counter of energy moves every tenth of a second or so.
constexpr double shortest_for_energy = 0.5;

json_document spread(const std::vector<double>& values) {
  const sample_statistics s = statistics(values);
  return {{"min", s.min}, {"median", s.median}, {"max", s.max}};
}

}  // namespace

struct gpu_monitor::state {
  void* library = nullptr;
  nvml_functions nvml{};
  nvml_device device = nullptr;
  bool started = false;

  ~state() {
    if (started) nvml.shutdown();
    if (library) dlclose(library);
  }

  /// Returns a reading, or none if the device reports none.
  template <class Number, class Function, class... Arguments>
  std::optional<double> read(Function function, Arguments... arguments) const {
    Number value{};
    if (function(device, arguments..., &value) != nvml_success) return std::nullopt;
    return static_cast<double>(value);
  }
  std::optional<double> joule() const {
    const auto millijoule = read<unsigned long long>(nvml.energy);
    return millijoule ? std::optional(1e-3 * *millijoule) : std::nullopt;
  }
};

gpu_monitor::gpu_monitor(const std::string& pci_bus_id) {
  auto s = std::make_unique<state>();
  s->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (s->library == nullptr) {
    trouble_ = "libnvidia-ml.so.1 was not found";
    return;
  }
  if (!find_functions(s->library, s->nvml)) {
    trouble_ = "libnvidia-ml.so.1 lacks a function";
    return;
  }
  int status = s->nvml.init();
  s->started = status == nvml_success;
  if (s->started) status = s->nvml.device_by_bus_id(pci_bus_id.c_str(), &s->device);
  if (status != nvml_success) {
    trouble_ = std::string("NVML: ") + s->nvml.error_text(status);
    return;
  }
  state_ = std::move(s);
}

gpu_monitor::~gpu_monitor() = default;

std::string gpu_monitor::driver_version() const {
  char text[96] = {};
  return works() && state_->nvml.driver_version(text, sizeof text) == nvml_success ? text : "";
}

void gpu_monitor::begin() {
  window_ = {};
  last_joule_ = start_joule_ = works() ? state_->joule() : std::nullopt;
  start_seconds_ = seconds_now();
}

void gpu_monitor::sample() {
  if (!works()) return;
  if (const auto mhz = state_->read<unsigned>(state_->nvml.clock, nvml_clock_sm)) window_.sm_clock_mhz.push_back(*mhz);
  if (const auto mhz = state_->read<unsigned>(state_->nvml.clock, nvml_clock_memory))
    window_.memory_clock_mhz.push_back(*mhz);
  const auto joule = state_->joule();
  if (!joule || joule == last_joule_) return;
  last_joule_ = joule;
  window_.energy_ticks.emplace_back(seconds_now() - start_seconds_, *joule);
}

gpu_window gpu_monitor::end() {
  sample();
  window_.seconds = seconds_now() - start_seconds_;
  if (!works()) return window_;
  const auto joule = state_->joule();
  if (joule && start_joule_) window_.energy_joule = *joule - *start_joule_;
  window_.temperature_celsius = state_->read<unsigned>(state_->nvml.temperature, nvml_temperature_gpu);
  return window_;
}

std::optional<double> gpu_window::power_watt() const {
  if (energy_ticks.empty()) return std::nullopt;
  const auto& [first_seconds, first_joule] = energy_ticks.front();
  const auto& [last_seconds, last_joule] = energy_ticks.back();
  if (last_seconds - first_seconds < shortest_for_energy) return std::nullopt;
  return (last_joule - first_joule) / (last_seconds - first_seconds);
}

json_document to_json(const gpu_window& window) {
  json_document document{{"seconds", window.seconds}};
  if (!window.sm_clock_mhz.empty()) document["sm_clock_mhz"] = spread(window.sm_clock_mhz);
  if (!window.memory_clock_mhz.empty()) document["memory_clock_mhz"] = spread(window.memory_clock_mhz);
  if (window.temperature_celsius) document["temperature_celsius"] = *window.temperature_celsius;
  if (window.energy_joule && window.seconds >= shortest_for_energy) {
    document["energy_joule"] = *window.energy_joule;
    document["power_watt"] = *window.energy_joule / window.seconds;
  }
  return document;
}

}  // namespace plaquette
