// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/dslash-scaling/measurement.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "common/app/timing.hpp"
#include "miniapps/shared/device_timing.hpp"
#include "miniapps/shared/gpu_access.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette::scaling {

namespace {

double sites_of(const operator_case& c, const lattice_geometry& geometry) {
  return share_of_sites(c.layout) * static_cast<double>(geometry.global_volume());
}

counted_work work_of(const operator_case& c, const lattice_geometry& geometry) {
  const double sites = sites_of(c, geometry);
  return {.flops = flops_per_site(c.kind) * c.rhs * sites, .bytes = bytes_per_site(c) * sites};
}

/// An operator on the CPU: its applications in each sample, and the mean halo cost of a rank meanwhile.
class cpu_samples {
 public:
  cpu_samples(timed_operator& op, const communicator& comm) : op_(op), comm_(comm) {}

  /// Returns the seconds of `applications` applications between barriers, of the slowest rank. Collective.
  double apply(int applications) {
    op_.begin_stretch(stretch_++);
    op_.reset_halo_cost();
    comm_.barrier();
    const stopwatch watch;
    for (int i = 0; i < applications; ++i) op_.step();
    std::array<double, 1> longest{watch.seconds()};
    comm_.maximum(std::span(longest));
    seconds_.push_back(longest[0] / applications);
    const halo_cost cost = op_.get_halo_cost();
    std::array<double, 4> sums{cost.pack, cost.wait, cost.unpack, static_cast<double>(cost.bytes)};
    comm_.sum(std::span(sums));
    for (std::size_t i = 0; i < sums.size(); ++i) halo_[i].push_back(sums[i] / applications / comm_.size());
    return longest[0];
  }

  double seconds() const { return median(seconds_); }
  double pack() const { return median(halo_[0]); }
  double wait() const { return median(halo_[1]); }
  double unpack() const { return median(halo_[2]); }
  double bytes() const { return median(halo_[3]); }

 private:
  timed_operator& op_;
  const communicator& comm_;
  int stretch_ = 0;
  std::vector<double> seconds_;
  std::array<std::vector<double>, 4> halo_;
};

double peak_of(number_precision precision, const cpu::context& ctx) {
  return precision == number_precision::double_precision ? fma_gflops<double>(ctx, 1) : fma_gflops<float>(ctx, 1);
}

bool has_halo(const lattice_geometry& geometry) {
  return std::ranges::any_of(geometry.grid(), [](int ranks) { return ranks > 1; });
}

json_document halo_of(const cpu_samples& with, const cpu_samples& without_overlap, bool overlap) {
  return {{"overlap", overlap ? "on" : "off"},
          {"bytes_sent", with.bytes()},
          {"pack_seconds", with.pack()},
          {"exposed_seconds", with.wait()},
          {"unpack_seconds", with.unpack()},
          {"exchange_seconds", without_overlap.wait()},
          {"hidden_seconds", without_overlap.wait() - with.wait()},
          {"seconds_without_overlap", without_overlap.seconds()}};
}

/// Without the device, its ranks and threads.
operator_figure figure_of(const operator_case& c, const sample_statistics& seconds, const lattice_geometry& geometry,
                          const machine_limits& limits) {
  operator_figure figure;
  figure.operator_name = name(c.kind);
  figure.layout = name(c.layout);
  figure.precision = name(c.precision);
  figure.reconstruct = c.is_vector() ? 0 : stored_reals(c.links);
  figure.rhs = c.rhs;
  figure.lattice = geometry.global();
  figure.seconds = seconds;
  set_rates(figure, work_of(c, geometry), limits);
  return figure;
}

}  // namespace

std::optional<operator_figure> measure(timed_operator& op, const operator_case& c, const cpu::context& ctx,
                                       bool overlap, int samples, run_control& control,
                                       const std::function<void(double done)>& seen,
                                       const std::function<void()>& judge) {
  const communicator& comm = ctx.comm();
  const bool halo = has_halo(ctx.geometry()) && !c.is_vector();
  const bool compares_overlap = overlap && halo;
  op.set_overlap(overlap);
  const counted_work work = work_of(c, ctx.geometry());
  const sampling how{.samples = samples, .should_stop = [&control] { return control.should_stop(); }};
  cpu_samples warm_up(op, comm), with(op, comm), without_overlap(op, comm);
  const int applications = applications_of_sample({[&](int times) { return warm_up.apply(times); }}, how);
  std::vector<double> of_peak;
  const auto after_sample = [&](double seconds) {
    of_peak.push_back(rates_of(work, seconds, {.fma_gflops = peak_of(c.precision, ctx)}).fraction_of_fma_peak);
    if (compares_overlap) {  // alternately, so that both meet the machine in the same state
      op.set_overlap(false);
      without_overlap.apply(applications);
      op.set_overlap(true);
    }
    seen(static_cast<double>(of_peak.size()) / samples);
  };
  const auto apply = [&](int times) { return with.apply(times); };
  const auto seconds = timed({.apply = apply, .after_sample = after_sample, .judge = judge}, how, applications);
  if (static_cast<int>(seconds.size()) < samples) return {};

  const machine_limits limits{.copy_gbytes_per_s = copy_gbytes_per_s(ctx, work.bytes / comm.size())};
  operator_figure figure = figure_of(c, statistics(seconds), ctx.geometry(), limits);
  figure.ranks = comm.size();
  figure.threads = ctx.threads();
  figure.fraction_of_fma_peak = median(std::move(of_peak));
  if (halo) figure.details["halo"] = halo_of(with, compares_overlap ? without_overlap : with, overlap);
  return figure;
}

namespace {

/// A setting of an operator's halo, and how applications in it are timed.
struct halo_setting {
  bool overlap = true, communication = true;
};

timed_work prepared(timed_operator& op, const halo_setting& setting, const library& device) {
  const auto set = [&op, setting] {
    op.set_overlap(setting.overlap);
    op.set_communication(setting.communication);
  };
  const auto apply = [&op] { op.step(); };
  set();
  op.begin_stretch(0);
  for (int i = 0; i < 2; ++i) op.step();  // what is recorded has run before, and begins with the first input
  const timed_work work = device.prepared(apply, op.recordable());
  return [set, work](int applications) {
    set();
    return work(applications);
  };
}

/// \param found  alongside are samples without overlap (only if `overlap` is on), then without communication
json_document halo_of(timed_operator& op, const timed_samples& found, bool overlap, const communicator& comm) {
  const double whole = found.seconds.median;
  const halo_seconds seconds{whole, overlap ? found.alongside.front().median : whole, found.alongside.back().median};
  return halo_costs(seconds, overlap, op.halo_bytes(), op.halo_description(), op.recordable(), comm);
}

}  // namespace

std::vector<operator_figure> measure_on_gpu(timed_operator& op, const operator_case& c, gpu_access& gpu,
                                            const lattice_geometry& geometry, const communicator& comm, bool overlap,
                                            int samples, run_control& control, const std::function<void()>& judge) {
  const machine_limits limits{gpu.device().copy_gbytes_per_s(),
                              gpu.device().fma_gflops(c.precision == number_precision::double_precision)};
  const bool halo = has_halo(geometry) && !c.is_vector();
  std::vector<timed_work> alongside;
  if (halo && overlap) alongside.push_back(prepared(op, {.overlap = false}, gpu.device()));
  if (halo) alongside.push_back(prepared(op, {.overlap = overlap, .communication = false}, gpu.device()));
  const timed_work work = prepared(op, {.overlap = overlap}, gpu.device());
  int stretch = 1;
  const timed_kernel kernel{.apply = work, .refresh = [&op, &stretch] { op.begin_stretch(stretch++); }, .judge = judge};
  std::vector<operator_figure> figures;
  for (const timed_samples& found :
       time_applications(&gpu, samples, kernel, [&control] { return control.should_stop(); }, alongside)) {
    operator_figure figure = figure_of(c, found.seconds, geometry, limits);
    figure.device = "gpu";
    figure.ranks = comm.size();
    figure.details = found.details;
    work(1);  // the settings that the figure is of
    if (halo) figure.details["halo"] = halo_of(op, found, overlap, comm);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace plaquette::scaling
