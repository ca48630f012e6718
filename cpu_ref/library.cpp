// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/library.hpp"

#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "common/host_memory.hpp"
#include "common/stopwatch.hpp"
#include "cpu_ref/context.hpp"
#include "cpu_ref/dg/production.hpp"
#include "cpu_ref/fields/cache_size.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gauge_fixing.hpp"
#include "cpu_ref/gauge/gradient_flow.hpp"
#include "cpu_ref/gauge/heatbath.hpp"
#include "cpu_ref/gauge/link_arithmetic.hpp"
#include "cpu_ref/gauge/link_smearing.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/gauge/stout.hpp"
#include "cpu_ref/machine_speed.hpp"
#include "cpu_ref/solvers.hpp"
#include "cpu_ref/solvers/contractions.hpp"

namespace plaquette::cpu {

namespace {

class links_of_cpu final : public link_field_of<gauge_configuration> {
 public:
  links_of_cpu(gauge_configuration links, const communicator& comm) : link_field_of(std::move(links)), comm_(comm) {}

  void combined_sweep(const gauge_action& action, const sweep_plan& plan, std::uint64_t seed,
                      std::uint64_t number) override {
    gauge_configuration& u = moved_links();
    if (!updater_) updater_.emplace(u.geometry(), comm_);
    if (!keeps_links_of_sweep(u.geometry())) {
      const stop_question none(nullptr);  // a sweep ends soon
      return updater_->combined_sweep(u, action, plan, seed, number);
    }
    gauge_configuration before = u;
    try {
      updater_->combined_sweep(u, action, plan, seed, number);
    } catch (...) {
      u = std::move(before);
      throw;
    }
  }
  void smear(const stout_smearing& smearing) override {
    gauge_configuration& u = moved_links();
    u = stout_smeared(u, smearing, comm_);
  }
  plaquettes measure() override { return measure_plaquettes(links(), comm_); }
  const gauge_configuration& on_host() override { return links(); }
  gauge_configuration take() override { return lost_links(); }
  gauge_configuration exported() override { return links(); }
  std::unique_ptr<link_field> copy() const override { return others(links()); }
  std::unique_ptr<link_field> smeared(const stout_smearing& smearing) const override {
    return others(stout_smeared(links(), smearing, comm_));
  }
  std::unique_ptr<link_field> smeared(const ape_smearing& smearing) const override {
    return others(ape_smeared(links(), smearing, comm_));
  }
  std::unique_ptr<link_field> smeared(const hyp_smearing& smearing) const override {
    return others(hyp_smeared(links(), smearing, comm_));
  }
  flowed_links flowed(double time, double step, const std::function<void()>& step_done) const override {
    gradient_flow flow(links(), comm_);
    auto history = flow_history(flow, time, step, step_done);
    return {others(flow.links()), std::move(history)};
  }
  fixed_links fixed(gauge_condition condition, const gauge_fixing_rule& rule) const override {
    fixed_gauge made = gauge_fixed(links(), condition, rule, comm_);
    return {others(std::move(made.links)), std::move(made.g), made.quality, made.sweeps, made.converged};
  }
  void snapshot() override {
    if (!kept_)
      kept_.emplace(links());
    else
      assign(*kept_, links());
  }
  void restore() override {
    links();  // throws if they were taken
    require_snapshot(kept_.has_value());
    assign(moved_links(), *kept_);
  }

 private:
  std::unique_ptr<link_field> others(gauge_configuration links) const {
    auto made = std::make_unique<links_of_cpu>(std::move(links), comm_);
    made->set_mark(mark());
    return made;
  }

  std::optional<gauge_configuration> kept_{};
  communicator comm_;
  std::optional<heatbath_updater> updater_{};  ///< made at the first sweep: it has tables
};

gauge_configuration made(const link_start& start, std::uint64_t seed, const lattice_geometry& geometry,
                         const communicator& comm) {
  switch (start.from) {
    case link_start::kind::random:
      return random_configuration(geometry, seed, comm);
    case link_start::kind::weak:
      return weak_field_configuration(geometry, start.noise, seed, comm);
    case link_start::kind::unit:
      break;
  }
  return unit_configuration(geometry);
}

dg_options options_of(const dg_settings& settings, int threads) {
  dg_options options;
  options.precision = name(settings.numbers);
  options.columns = settings.columns;
  options.threads = threads;
  options.time_parts = settings.time_parts;
  options.waits_asleep = settings.waits_asleep;
  options.overlap = settings.overlap;
  options.stop = settings.stop;
  return options;
}

device_facts facts_of_cpu() {
  device_facts facts;
  facts.memory_bytes = total_memory();
  facts.cache_bytes = last_level_cache_bytes();
  return facts;
}

/// Each solver has a context of its own, and with it its memory: solvers of several threads do not meet.
class library_of_cpu final : public library {
 public:
  library_of_cpu(const lattice_geometry& geometry, const communicator& comm, int threads)
      : library(facts_of_cpu(), geometry, comm), threads_(threads) {}

  std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, const dg_settings& settings) const override {
    return cpu::make_dg_solver(domain, options_of(settings, threads_));
  }
  std::unique_ptr<scaling::operator_maker> make_timed_operators(const scaling::timed_action& of) const override {
    return cpu::make_timed_operators(new_context(), of);
  }
  std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const lattice_geometry& geometry,
                                                              const communicator& comm,
                                                              const gauge_configuration& links,
                                                              const hybrid_action& action) const override {
    return cpu::make_molecular_dynamics(context(geometry, comm, threads_), links, action);
  }

  void finish() const override {}
  double seconds_of(int times, const std::function<void()>& launch) const override {
    comm().barrier();
    const stopwatch watch;
    for (int i = 0; i < times; ++i) launch();
    return largest_over_ranks(watch.seconds());
  }
  double free_bytes() const override { return available_memory(); }
  bool has_room() const override { return true; }
  double copy_gbytes_per_s() const override { return cpu::copy_gbytes_per_s(new_context()); }
  double fma_gflops(bool in_double) const override {
    return in_double ? cpu::fma_gflops<double>(new_context()) : cpu::fma_gflops<float>(new_context());
  }

 private:
  context new_context() const { return {geometry(), comm(), threads_}; }
  /// Made at the first call: it takes memory.
  const context& context_of_vectors() const {
    if (!vectors_) vectors_.emplace(new_context());
    return *vectors_;
  }

  std::unique_ptr<link_field> imported_links(gauge_configuration links) const override {
    return std::make_unique<links_of_cpu>(std::move(links), comm());
  }
  std::unique_ptr<link_field> new_links(const link_start& start, std::uint64_t seed) const override {
    return imported_links(made(start, seed, geometry(), comm()));
  }
  std::unique_ptr<link_field> new_own_links(const link_start& start, std::uint64_t seed,
                                            const extents& lattice) const override {
    const communicator alone;
    return std::make_unique<links_of_cpu>(made(start, seed, lattice_geometry(lattice), alone), alone);
  }
  std::unique_ptr<vectors_body> new_vectors(const vectors_shape& shape) const override {
    return cpu::make_vectors(context_of_vectors(), shape);
  }
  std::pair<vectors_shape, std::unique_ptr<vectors_body>> copied_vectors(const vectors_handle& of) const override {
    return cpu::copy_vectors(context_of_vectors(), of);
  }
  std::unique_ptr<contractions> new_contractions(const vectors& quark) const override {
    return cpu::make_contractions(quark, comm());
  }
  std::unique_ptr<vector_operator> new_vector_operator(links_pointer links,
                                                       const vector_operator_settings& settings) const override {
    return cpu::make_vector_operator(new_context(), std::move(links), settings);
  }
  std::unique_ptr<propagator_solver> new_propagator_solver(links_pointer links,
                                                           const propagator_settings& settings) const override {
    return cpu::make_propagator_solver(new_context(), std::move(links), settings);
  }
  std::unique_ptr<multigrid_solver> new_multigrid_solver(links_pointer links,
                                                         const multigrid_settings& settings) const override {
    return cpu::make_multigrid_solver(new_context(), std::move(links), settings);
  }
  std::unique_ptr<overlap_solver> new_overlap_solver(links_pointer links,
                                                     const overlap_settings& settings) const override {
    return cpu::make_overlap_solver(new_context(), std::move(links), settings);
  }

  int threads_;
  mutable std::optional<context> vectors_{};  ///< of all vectors; threads may share its memory
};

class platform_of_cpu final : public platform {
 public:
  int devices() const override { return 1; }
  std::shared_ptr<library> open(const lattice_geometry& geometry, const communicator& comm,
                                const library_options& options) const override {
    return std::make_shared<library_of_cpu>(geometry, comm, options.threads);
  }
  std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, const dg_settings& settings) const override {
    return cpu::make_dg_solver(domain, options_of(settings, 0));
  }
  double bytes_of_dg_solver(const dg_domain& domain, const dg_settings& settings) const override {
    return dg_memory_needed(domain, options_of(settings, 0));
  }

  int device_of_rank(const communicator&) const override { return 0; }
  std::shared_ptr<void> allocate_for_caller(int, std::size_t bytes) const override {
    return {::operator new(bytes), [](void* begin) { ::operator delete(begin); }};
  }
  int device_of_caller(const void*, std::size_t, const char*) const override { return 0; }
  void copy_from_caller(void* to, const void* from, std::size_t bytes, const char*) const override {
    std::memcpy(to, from, bytes);
  }
  void copy_to_caller(void* to, const void* from, std::size_t bytes, const char*) const override {
    std::memcpy(to, from, bytes);
  }
  void widen_for_caller(double* to, const float* from, std::size_t count, const char*) const override {
    std::copy_n(from, count, to);
  }
  void round_for_caller(float* to, const double* from, std::size_t count, const char*) const override {
    std::transform(from, from + count, to, [](double number) { return static_cast<float>(number); });
  }
  void require_memory_of_host(const void*, const char*) const override {}
};

}  // namespace

const platform& this_platform() {
  static const platform_of_cpu one;
  return one;
}

}  // namespace plaquette::cpu
