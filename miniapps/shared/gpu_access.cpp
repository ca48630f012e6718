// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/gpu_access.hpp"

#include <fmt/core.h>

#include <utility>

#include "common/app/memory.hpp"
#include "common/app/provenance.hpp"
#include "gpu/context.hpp"
#include "gpu/device/machine_speed.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette {

namespace {

class gpu_in_use final : public gpu_access {
 public:
  gpu_in_use(gpu_facts facts, std::unique_ptr<gpu_monitor> monitor, const shared_options& options, gpu::context ctx)
      : gpu_access(std::move(facts), std::move(monitor), options), context_(std::move(ctx)) {}

  const gpu::context& context() const override { return context_; }
  void finish() const override { context_.queue().synchronize(); }
  double seconds_of(int times, const std::function<void()>& launch) const override {
    return times * gpu::seconds_a_launch(context_.queue(), times, launch);
  }
  double free_bytes() const override {
    if (gpu::kernels_run_on_host()) return available_memory();
    return static_cast<double>(gpu::memory_of_device(context_.queue().device()).available);
  }
  double copy_gbytes_per_s() const override {
    constexpr double bytes_on_host = 0x1p22;  // a loop of a test, no measurement
    const double bytes = gpu::kernels_run_on_host() ? bytes_on_host : gpu::bytes_beyond_caches;
    if (copy_ == 0.0) copy_ = gpu::copy_gbytes_per_s(context_.queue(), bytes);
    return copy_;
  }
  json_document tuning() const override {
    const gpu::tuner& tuner = context_.tuner();
    json_document choices = json_document::array();
    for (const gpu::tuning_record& used : tuner.used())
      choices.push_back({{"kernel", to_string(used.key)},
                         {"choice", used.name},
                         {"candidates", used.candidates},
                         {"gain", used.gain},
                         {"origin", std::string(name_of(used.origin))}});
    return {{"mode", std::string(name_of(tuner.mode()))},
            {"file", tuner.file()},
            {"seconds", tuner.seconds_spent()},
            {"choices", choices}};
  }

 private:
  gpu::context context_;
  mutable double copy_ = 0.0;
};

gpu_facts facts_of(const gpu::device_description& device, const gpu_monitor& monitor) {
  const std::string driver = monitor.driver_version();
  return {.name = device.name,
          .driver = driver.empty() ? "unknown" : driver,
          .cuda = fmt::format("{} (runtime {})", device.driver_version, device.runtime_version),
          .pci_bus_id = device.pci_bus_id,
          .multiprocessors = device.multiprocessors,
          .memory_bytes = static_cast<double>(device.memory_bytes)};
}

std::shared_ptr<gpu::tuner> tuner_of(const shared_options& options, const gpu_facts& facts) {
  gpu::tuning_options how;
  how.mode = gpu::tuning_mode_from(options.tune);
  how.file = options.tune_file.empty() ? gpu::default_tuning_file() : options.tune_file;
  how.device = facts.name;
  how.version = build_information().version;
  return std::make_shared<gpu::tuner>(how);
}

}  // namespace

bool has_gpu_library() { return true; }

std::unique_ptr<gpu_access> open_gpu(const shared_options& options, const lattice_geometry& geometry,
                                     const communicator& world) {
  if (options.device != "gpu") return nullptr;
  if (world.size() > 1)
    throw input_error(
        fmt::format("--device gpu: expected one rank (this version drives one GPU), found {}", world.size()));
  if (gpu::device_count() == 0) throw input_error("--device gpu: no GPU was found (or no driver for it)");
  constexpr int device = 0;
  const gpu::device_description description = gpu::describe_device(device);
  auto monitor = std::make_unique<gpu_monitor>(description.pci_bus_id);
  const gpu_facts facts = facts_of(description, *monitor);
  return std::make_unique<gpu_in_use>(facts, std::move(monitor), options,
                                      gpu::context(geometry, world, device, tuner_of(options, facts)));
}

}  // namespace plaquette
