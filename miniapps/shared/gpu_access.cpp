// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/gpu_access.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "common/app/memory.hpp"
#include "common/app/provenance.hpp"
#include "common/app/timing.hpp"
#include "gpu/comms/rank_map.hpp"
#include "gpu/context.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/machine_speed.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/solvers.hpp"
#include "gpu/tuning/kernel_sources.hpp"
#include "gpu/tuning/tuner.hpp"
#include "miniapps/shared/device_timing.hpp"

namespace plaquette {

namespace {

class gpu_in_use final : public gpu_access {
 public:
  gpu_in_use(gpu_facts facts, std::unique_ptr<gpu_monitor> monitor, const shared_options& options, gpu::context ctx)
      : gpu_access(std::move(facts), std::move(monitor), options), context_(std::move(ctx)) {}

  const gpu::context& context() const override { return context_; }
  std::unique_ptr<propagator_solver> make_propagator_solver(std::shared_ptr<const gauge_configuration> links,
                                                            const propagator_settings& settings) const override {
    return gpu::make_propagator_solver(context_, std::move(links), settings);
  }
  std::unique_ptr<multigrid_solver> make_multigrid_solver(std::shared_ptr<const gauge_configuration> links,
                                                          const multigrid_settings& settings) const override {
    return gpu::make_multigrid_solver(context_, std::move(links), settings);
  }
  std::unique_ptr<overlap_solver> make_overlap_solver(std::shared_ptr<const gauge_configuration> links,
                                                      const overlap_settings& settings) const override {
    return gpu::make_overlap_solver(context_, std::move(links), settings);
  }
  std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const lattice_geometry& geometry,
                                                              const communicator& comm,
                                                              const gauge_configuration& links,
                                                              const hybrid_action& action) const override {
    const bool is_of_run = geometry == context_.geometry() && comm.size() == context_.comm().size();
    return gpu::make_molecular_dynamics(is_of_run ? context_ : gpu::context(geometry, comm, context_.queue().device()),
                                        links, action);
  }
  void finish() const override { context_.queue().synchronize(); }
  double seconds_of(int times, const std::function<void()>& launch) const override {
    if (comm().size() == 1) return times * gpu::seconds_a_launch(context_.queue(), times, launch);
    // By the host's clock: the host itself may be part of what moves the halo.
    start_together();
    const stopwatch watch;
    for (int i = 0; i < times; ++i) launch();
    finish();
    return largest(watch.seconds());
  }
  std::function<double(int)> prepared(const std::function<void()>& launch, bool recordable) const override {
    if (!recordable) return gpu_access::prepared(launch, false);
    finish();
    const double rough = seconds_of(2, launch) / 2;
    const int in_graph = std::max(stretch_length(rough > 0.0 ? graph_seconds / rough : 1.0, 17), shortest_stretch);
    // Sums over ranks that wait for company belong to what was queued before, and those of `launch` to it.
    context_.complete_sums();
    const auto graph = std::make_shared<const gpu::work_graph>(context_.queue(), in_graph, [this, launch] {
      launch();
      context_.complete_sums();
    });
    return [this, graph](int times) {
      const int launches = (times + graph->times() - 1) / graph->times();
      start_together();
      const double of_one = gpu::seconds_a_launch(context_.queue(), launches, [&graph] { graph->launch(); });
      return largest(of_one * times / graph->times());
    };
  }
  double sum_over_ranks(double here) const override {
    std::array<double, 1> of_all{here};
    comm().sum(std::span(of_all));
    return of_all[0];
  }
  bool on_any_rank(bool here) const override { return largest(here ? 1.0 : 0.0) > 0.0; }
  double free_bytes() const override {
    if (gpu::kernels_run_on_host()) return available_memory();
    return static_cast<double>(gpu::memory_of_device(context_.queue().device()).available);
  }
  double copy_gbytes_per_s() const override {
    constexpr double bytes_on_host = 0x1p22;  // a loop of a test, no measurement
    const double bytes = gpu::kernels_run_on_host() ? bytes_on_host : gpu::bytes_beyond_caches;
    if (copy_ == 0.0) {
      start_together();
      std::array<double, 1> of_all{gpu::copy_gbytes_per_s(context_.queue(), context_.workspace(), bytes)};
      comm().sum(std::span(of_all));
      copy_ = of_all[0];
    }
    return copy_;
  }
  double fma_gflops(bool in_double) const override {
    double& known = fma_[in_double ? 1 : 0];
    if (known == 0.0 && !gpu::kernels_run_on_host()) {
      start_together();
      const gpu::queue& q = context_.queue();
      known = sum_over_ranks(in_double ? gpu::fma_gflops<double>(q) : gpu::fma_gflops<float>(q));
    }
    return known;
  }
  double tuning_seconds() const override { return context_.tuner().seconds_spent(); }
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
  static constexpr double graph_seconds = 0.002;

  const communicator& comm() const { return context_.comm(); }
  /// All ranks' queues are empty, and they know it of each other.
  void start_together() const {
    if (comm().size() == 1) return;
    finish();
    comm().barrier();
  }
  double largest(double here) const {
    std::array<double, 1> of_all{here};
    comm().maximum(std::span(of_all));
    return of_all[0];
  }

  gpu::context context_;
  mutable double copy_ = 0.0;
  mutable std::array<double, 2> fma_{};  ///< single, double
};

json_document to_json(const gpu::rank_map& map, placement_policy placement) {
  json_document ranks = json_document::array();
  for (int rank = 0; rank < map.size(); ++rank) {
    const gpu::rank_place& place = map.place(rank);
    json_document links = json_document::object();
    for (int other = 0; other < map.size(); ++other)
      if (other != rank && map.place(other).host == place.host)
        links[std::to_string(other)] = std::string(name_of(map.link(rank, other)));
    ranks.push_back({{"rank", rank},
                     {"host", place.host},
                     {"device", place.device},
                     {"gpu", place.gpu},
                     {"pci_bus_id", place.pci_bus_id},
                     {"cores", place.cores},
                     {"cores_near_gpu", place.cores_near_gpu},
                     {"links", links}});
  }
  return {{"placement", name(placement)}, {"remarks", map.remarks()}, {"ranks", ranks}};
}

/// The usual one, or, where that is to be bad, the one half the host away.
gpu::rank_map choose_devices(const communicator& world, placement_policy placement) {
  gpu::rank_map usual(world);
  if (placement != placement_policy::bad) return usual;
  const gpu::rank_place& own = usual.place(world.rank());
  const int devices = std::max(own.devices_on_host, 1);
  return gpu::rank_map(world, (own.device + devices / 2) % devices);
}

int ranks_on_device_of(const gpu::rank_map& map, int rank) {
  int sharing = 0;
  for (int other = 0; other < map.size(); ++other)
    sharing += other == rank || map.link(rank, other) == gpu::gpu_link::same_gpu ? 1 : 0;
  return sharing;
}

gpu::rank_options rank_options_of(const shared_options& options, int ranks) {
  using enum gpu::halo_policy;
  gpu::rank_options result;
  result.policy = options.halo == "staged" ? staged
                  : options.halo == "peer" ? peer
                  : options.halo == "mpi"  ? mpi
                  : options.halo == "nccl" ? nccl
                                           : automatic;
  result.wait = options.wait == "block" ? gpu::wait_mode::block : gpu::wait_mode::spin;
  result.overlap = options.overlap;
  result.stall_timeout = ranks > 1 ? options.stall_timeout : 0.0;
  return result;
}

gpu_facts facts_of(const gpu::device_description& device, const gpu_monitor& monitor) {
  const std::string driver = monitor.driver_version();
  return {.name = device.name,
          .driver = driver.empty() ? "unknown" : driver,
          .cuda = fmt::format("{} (runtime {})", device.driver_version, device.runtime_version),
          .pci_bus_id = device.pci_bus_id,
          .multiprocessors = device.multiprocessors,
          .memory_bytes = static_cast<double>(device.memory_bytes),
          .cache_bytes = static_cast<double>(device.cache_bytes)};
}

std::shared_ptr<gpu::tuner> tuner_of(const shared_options& options, const gpu_facts& facts) {
  gpu::tuning_options how;
  how.mode = gpu::tuning_mode_from(options.tune);
  how.file = options.tune_file.empty() ? gpu::default_tuning_file() : options.tune_file;
  how.device = facts.name;
  how.version = fmt::format("{} kernels {}", build_information().version, gpu::kernel_sources_hash());
  return std::make_shared<gpu::tuner>(how);
}

}  // namespace

bool has_gpu_library() { return true; }

std::unique_ptr<gpu_access> open_gpu(const shared_options& options, const lattice_geometry& geometry,
                                     const communicator& world, placement_policy placement) {
  if (options.device != "gpu") return nullptr;
  if (gpu::device_count() == 0) throw input_error("--device gpu: no GPU was found (or no driver for it)");
  const gpu::rank_map map = choose_devices(world, placement);
  const int device = map.device_for(world.rank());
  const gpu::device_description description = gpu::describe_device(device);
  auto monitor = std::make_unique<gpu_monitor>(description.pci_bus_id);
  gpu_facts facts = facts_of(description, *monitor);
  facts.ranks_sharing = ranks_on_device_of(map, world.rank());
  facts.map = to_json(map, placement);
  facts.remarks = map.remarks();
  gpu::context ctx(geometry, world, device, tuner_of(options, facts), rank_options_of(options, world.size()));
  return std::make_unique<gpu_in_use>(facts, std::move(monitor), options, std::move(ctx));
}

}  // namespace plaquette
