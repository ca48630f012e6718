// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/library.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "common/error.hpp"
#include "common/host_memory.hpp"
#include "common/solvers/stretch_length.hpp"
#include "common/stopwatch.hpp"
#include "gpu/comms/rank_map.hpp"
#include "gpu/device/caller_memory.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/machine_speed.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/dg/dg_solver.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/gauge/gauge_fixing.hpp"
#include "gpu/gauge/gradient_flow.hpp"
#include "gpu/gauge/heatbath.hpp"
#include "gpu/gauge/link_arithmetic.hpp"
#include "gpu/gauge/link_smearing.hpp"
#include "gpu/gauge/plaquette.hpp"
#include "gpu/gauge/stout.hpp"
#include "gpu/halo/transfer_times.hpp"
#include "gpu/solvers.hpp"
#include "gpu/solvers/contractions.hpp"
#include "gpu/tuning/kernel_sources.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

namespace {

/// Its work and the work of all objects of its library are in one queue, in order: what is queued here needs no wait
/// before they use it. Objects of other libraries do not take these links.
class links_of_gpu final : public link_field_of<gauge_configuration> {
 public:
  links_of_gpu(context ctx, gauge_configuration links)
      : link_field_of(std::move(links)), context_(std::move(ctx)), updater_(context_) {}

  void combined_sweep(const gauge_action& action, const sweep_plan& plan, std::uint64_t seed,
                      std::uint64_t number) override {
    gauge_configuration& u = moved_links();
    host_.reset();
    updater_.combined_sweep(u, action, plan, seed, number);
    context_.queue().synchronize();
  }
  void smear(const stout_smearing& smearing) override {
    gauge_configuration& u = moved_links();
    host_.reset();
    u = stout_smeared(u, smearing);
    context_.queue().synchronize();
  }
  plaquettes measure() override { return measure_plaquettes(links()); }
  const plaquette::gauge_configuration& on_host() override {
    if (!host_) host_ = export_links(links());
    return *host_;
  }
  plaquette::gauge_configuration take() override {
    on_host();
    lost_links();
    return *std::exchange(host_, std::nullopt);
  }
  plaquette::gauge_configuration exported() override {
    if (host_) return *std::exchange(host_, std::nullopt);
    return export_links(links());
  }
  std::unique_ptr<link_field> copy() const override { return marked(copy_of(links())); }
  std::unique_ptr<link_field> smeared(const stout_smearing& smearing) const override {
    return others(stout_smeared(links(), smearing));
  }
  std::unique_ptr<link_field> smeared(const ape_smearing& smearing) const override {
    return others(ape_smeared(links(), smearing));
  }
  std::unique_ptr<link_field> smeared(const hyp_smearing& smearing) const override {
    return others(hyp_smeared(links(), smearing));
  }
  flowed_links flowed(double time, double step, const std::function<void()>& step_done) const override {
    gradient_flow flow(links());
    auto history = flow_history(flow, time, step, step_done);
    return {others(flow.links()), std::move(history)};
  }
  fixed_links fixed(gauge_condition condition, const gauge_fixing_rule& rule) const override {
    fixed_gauge made = gauge_fixed(links(), condition, rule);
    return {others(std::move(made.links)), export_transformation(made.g), made.quality, made.sweeps, made.converged};
  }
  void snapshot() override {
    if (!kept_)
      kept_.emplace(copy_of(links()));
    else
      assign(*kept_, links());
  }
  void restore() override {
    links();  // throws if they were taken
    require_snapshot(kept_.has_value());
    gauge_configuration& u = moved_links();
    host_.reset();
    assign(u, *kept_);
  }

 private:
  /// Returns links that have been made, once they are.
  std::unique_ptr<link_field> others(gauge_configuration links) const {
    context_.queue().synchronize();
    return marked(std::move(links));
  }
  std::unique_ptr<link_field> marked(gauge_configuration links) const {
    auto made = std::make_unique<links_of_gpu>(context_, std::move(links));
    made->set_mark(mark());
    return made;
  }

  context context_;
  heatbath_updater updater_;
  std::optional<gauge_configuration> kept_{};
  std::optional<plaquette::gauge_configuration> host_;  ///< none after a change
};

gauge_configuration made(const link_start& start, std::uint64_t seed, const context& ctx) {
  switch (start.from) {
    case link_start::kind::random:
      return random_configuration(ctx, seed);
    case link_start::kind::weak:
      return weak_field_configuration(ctx, start.noise, seed);
    case link_start::kind::unit:
      break;
  }
  return unit_configuration(ctx);
}

dg_solver_options::choice kernel_of(const dg_settings& settings) {
  using from = dg_settings::kernel_choice;
  using enum dg_solver_options::choice;
  switch (settings.kernel) {
    case from::products:
      return products;
    case from::gather:
      return gather;
    case from::classic:
      return classic;
    case from::fused:
      return fused;
    case from::automatic:
      break;
  }
  return automatic;
}

class library_of_gpu final : public library {
 public:
  library_of_gpu(device_facts facts, context ctx)
      : library(std::move(facts), ctx.geometry(), ctx.comm()), context_(std::move(ctx)) {}

  const gpu::context& context() const { return context_; }

  std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, const dg_settings& settings) const override {
    return gpu::make_dg_solver(domain, settings.numbers, settings.columns, context_.queue(),
                               {kernel_of(settings), context_.ranks()});
  }
  std::unique_ptr<scaling::operator_maker> make_timed_operators(const scaling::timed_action& of) const override {
    return gpu::make_timed_operators(context_, of);
  }
  std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const lattice_geometry& geometry,
                                                              const communicator& comm,
                                                              const plaquette::gauge_configuration& links,
                                                              const hybrid_action& action) const override {
    const bool is_of_run = geometry == context_.geometry() && comm.size() == context_.comm().size();
    return gpu::make_molecular_dynamics(is_of_run ? context_ : gpu::context(geometry, comm, context_.queue().device()),
                                        links, action);
  }

  void finish() const override { context_.queue().synchronize(); }
  double seconds_of(int times, const std::function<void()>& launch) const override {
    if (comm().size() == 1) return times * seconds_a_launch(context_.queue(), times, launch);
    // By the host's clock: the host itself may be part of the way of the halo.
    start_together();
    const stopwatch watch;
    for (int i = 0; i < times; ++i) launch();
    finish();
    return largest_over_ranks(watch.seconds());
  }
  std::function<double(int)> prepared(const std::function<void()>& launch, bool recordable) const override {
    if (!recordable) return library::prepared(launch, false);
    finish();
    const double rough = seconds_of(2, launch) / 2;
    const int in_graph = std::max(stretch_length(rough > 0.0 ? graph_seconds / rough : 1.0, 17), shortest_stretch);
    // Sums over ranks that wait for company belong to earlier work, and the sums of `launch` to it.
    context_.complete_sums();
    const auto graph = std::make_shared<const work_graph>(context_.queue(), in_graph, [this, launch] {
      launch();
      context_.complete_sums();
    });
    return [this, graph](int times) {
      const int launches = (times + graph->times() - 1) / graph->times();
      start_together();
      const double of_one = seconds_a_launch(context_.queue(), launches, [&graph] { graph->launch(); });
      return largest_over_ranks(of_one * times / graph->times());
    };
  }
  double free_bytes() const override {
    if (kernels_run_on_host()) return available_memory();
    return static_cast<double>(memory_of_device(context_.queue().device()).available);
  }
  bool has_room() const override {
    const device_memory memory = memory_of_device(context_.queue().device());
    const memory_pool& pool = context_.workspace();
    return memory.available + pool.reserved() - pool.in_use() >= memory.total / 4;
  }
  double copy_gbytes_per_s() const override {
    constexpr double bytes_on_host = 0x1p22;  // a loop of a test, no measurement
    const double bytes = kernels_run_on_host() ? bytes_on_host : bytes_beyond_caches;
    if (copy_ == 0.0) {
      start_together();
      copy_ = sum_over_ranks(gpu::copy_gbytes_per_s(context_.queue(), context_.workspace(), bytes));
    }
    return copy_;
  }
  double fma_gflops(bool in_double) const override {
    double& known = fma_[in_double ? 1 : 0];
    if (known == 0.0 && !kernels_run_on_host()) {
      start_together();
      const queue& q = context_.queue();
      known = sum_over_ranks(in_double ? gpu::fma_gflops<double>(q) : gpu::fma_gflops<float>(q));
    }
    return known;
  }
  std::vector<timed_transfer> time_transfers(std::span<const std::size_t> sizes, double seconds_each) const override {
    return gpu::time_transfers(context_, sizes, seconds_each);
  }
  std::vector<timed_transfer> time_exchanges(std::span<const std::size_t> sizes, double seconds_each) const override {
    return gpu::time_exchanges(context_, sizes, seconds_each);
  }
  launch_seconds time_launches() const override {
    const launch_cost cost = measured_launch_cost(context_.queue());
    return {cost.in_queue, cost.in_graph, cost.waited_for};
  }
  double tuning_seconds() const override { return context_.tuner().seconds_spent(); }
  tuning_summary tuning() const override {
    const tuner& from = context_.tuner();
    tuning_summary summary{std::string(name_of(from.mode())), from.file(), from.seconds_spent()};
    for (const tuning_record& used : from.used())
      summary.kernels.push_back(
          {to_string(used.key), used.name, used.candidates, used.gain, std::string(name_of(used.origin))});
    return summary;
  }

 private:
  static constexpr double graph_seconds = 0.002;

  /// All ranks' queues are empty, and they know it of each other.
  void start_together() const {
    if (comm().size() == 1) return;
    finish();
    comm().barrier();
  }

  std::unique_ptr<link_field> imported_links(plaquette::gauge_configuration links) const override {
    return std::make_unique<links_of_gpu>(context_, gpu::import_links(context_, links));
  }
  std::unique_ptr<link_field> new_links(const link_start& start, std::uint64_t seed) const override {
    return std::make_unique<links_of_gpu>(context_, made(start, seed, context_));
  }
  std::unique_ptr<link_field> new_own_links(const link_start& start, std::uint64_t seed,
                                            const extents& lattice) const override {
    const gpu::context own(lattice_geometry(lattice), communicator(), context_.queue().device());
    return std::make_unique<links_of_gpu>(own, made(start, seed, own));
  }
  std::unique_ptr<vectors_body> new_vectors(const vectors_shape& shape) const override {
    return gpu::make_vectors(context_, shape);
  }
  std::pair<vectors_shape, std::unique_ptr<vectors_body>> copied_vectors(const vectors_handle& of) const override {
    return gpu::copy_vectors(context_, of);
  }
  std::unique_ptr<contractions> new_contractions(const vectors& quark) const override {
    return gpu::make_contractions(quark);
  }
  std::unique_ptr<contractions> contractions_in_place(const vectors_handle& quark) const override {
    return gpu::contractions_in_place(geometry(), quark);
  }
  std::unique_ptr<vector_operator> new_vector_operator(links_pointer links,
                                                       const vector_operator_settings& settings) const override {
    return gpu::make_vector_operator(context_, std::move(links), settings);
  }
  std::unique_ptr<propagator_solver> new_propagator_solver(links_pointer links,
                                                           const propagator_settings& settings) const override {
    return gpu::make_propagator_solver(context_, std::move(links), settings);
  }
  std::unique_ptr<multigrid_solver> new_multigrid_solver(links_pointer links,
                                                         const multigrid_settings& settings) const override {
    return gpu::make_multigrid_solver(context_, std::move(links), settings);
  }
  std::unique_ptr<overlap_solver> new_overlap_solver(links_pointer links,
                                                     const overlap_settings& settings) const override {
    return gpu::make_overlap_solver(context_, std::move(links), settings);
  }

  gpu::context context_;
  mutable double copy_ = 0.0;
  mutable std::array<double, 2> fma_{};  ///< single, double
};

/// The usual devices of ranks, or those half the host away.
rank_map devices_of_ranks(const communicator& comm, bool are_misplaced) {
  rank_map usual(comm);
  if (!are_misplaced) return usual;
  const rank_place& own = usual.place(comm.rank());
  const int devices = std::max(own.devices_on_host, 1);
  return rank_map(comm, (own.device + devices / 2) % devices);
}

std::vector<rank_on_gpu> ranks_of(const rank_map& map) {
  std::vector<rank_on_gpu> ranks;
  for (int rank = 0; rank < map.size(); ++rank) {
    const rank_place& place = map.place(rank);
    ranks.push_back({place.host, place.device, place.gpu, place.pci_bus_id, place.cores, place.cores_near_gpu});
    for (int other = 0; other < map.size(); ++other)
      if (other != rank && map.place(other).host == place.host)
        ranks.back().links[other] = std::string(name_of(map.link(rank, other)));
  }
  return ranks;
}

device_facts facts_of(const device_description& device, const rank_map& map, int rank) {
  device_facts facts;
  facts.kind = device_kind::gpu;
  facts.name = device.name;
  facts.cuda = device.driver_version + " (runtime " + device.runtime_version + ")";
  facts.pci_bus_id = device.pci_bus_id;
  facts.multiprocessors = device.multiprocessors;
  facts.memory_bytes = static_cast<double>(device.memory_bytes);
  facts.cache_bytes = static_cast<double>(device.cache_bytes);
  for (int other = 0; other < map.size(); ++other)
    if (other != rank && map.link(rank, other) == gpu_link::same_gpu) ++facts.ranks_sharing;
  facts.ranks = ranks_of(map);
  facts.remarks = map.remarks();
  return facts;
}

std::shared_ptr<tuner> tuner_of(const std::optional<kernel_tuning>& wanted, const std::string& device) {
  if (!wanted) return nullptr;
  tuning_options how;
  how.mode = tuning_mode_from(wanted->mode);
  how.file = wanted->file.empty() ? default_tuning_file() : wanted->file;
  how.device = device;
  how.version = wanted->version + " kernels " + std::string(kernel_sources_hash());
  return std::make_shared<tuner>(how);
}

class platform_of_gpu final : public platform {
 public:
  int devices() const override { return device_count(); }
  std::shared_ptr<library> open(const lattice_geometry& geometry, const communicator& comm,
                                const library_options& options) const override {
    const rank_map map = devices_of_ranks(comm, options.is_misplaced);
    const int device = map.device_for(comm.rank());
    device_facts facts = facts_of(describe_device(device), map, comm.rank());
    context ctx(geometry, comm, device, tuner_of(options.tuning, facts.name), options.ranks);
    return std::make_shared<library_of_gpu>(std::move(facts), std::move(ctx));
  }
  std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, const dg_settings& settings) const override {
    return gpu::make_dg_solver(domain, settings.numbers, settings.columns, queue(device_of_rank(domain.comm)),
                               {.kernel = kernel_of(settings), .ranks = {}});
  }
  double bytes_of_dg_solver(const dg_domain& domain, const dg_settings& settings) const override {
    return static_cast<double>(
        gpu::bytes_of_dg_solver(domain, settings.numbers, settings.columns, kernel_of(settings)));
  }

  int device_of_rank(const communicator& comm) const override { return rank_map(comm).device_for(comm.rank()); }
  std::shared_ptr<void> allocate_for_caller(int device, std::size_t bytes) const override {
    return gpu::allocate_for_caller(device, bytes);
  }
  int device_of_caller(const void* begin, std::size_t bytes, const char* name) const override {
    return gpu::device_of_caller(begin, bytes, name);
  }
  void copy_from_caller(void* to, const void* from, std::size_t bytes, const char* name) const override {
    gpu::copy_from_caller(to, from, bytes, name);
  }
  void copy_to_caller(void* to, const void* from, std::size_t bytes, const char* name) const override {
    gpu::copy_to_caller(to, from, bytes, name);
  }
  void widen_for_caller(double* to, const float* from, std::size_t count, const char* name) const override {
    gpu::widen_for_caller(to, from, count, name);
  }
  void round_for_caller(float* to, const double* from, std::size_t count, const char* name) const override {
    gpu::round_for_caller(to, from, count, name);
  }
  void require_memory_of_host(const void* address, const char* name) const override {
    gpu::require_memory_of_host(address, name);
  }
};

}  // namespace

const platform& this_platform() {
  static const platform_of_gpu one;
  return one;
}

const context& context_of(const library& opened) {
  const auto* const here = dynamic_cast<const library_of_gpu*>(&opened);
  if (here == nullptr) throw std::logic_error("a context of the CUDA library is wanted of another library");
  return here->context();
}

}  // namespace plaquette::gpu
