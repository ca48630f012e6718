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

constexpr double sample_seconds = 0.02;  // long against the clock and a barrier, short against what else the host does
constexpr int most_applications = 10'001;

double sites_of(const operator_case& c, const lattice_geometry& geometry) {
  return share_of_sites(c.layout) * static_cast<double>(geometry.global_volume());
}

double median(std::vector<double> values) { return statistics(std::move(values)).median; }

/// Seconds of one application in each sample, of the slowest rank, and the mean halo cost of a rank.
class sample_list {
 public:
  /// Times `applications` applications between barriers. Collective.
  void add(timed_operator& op, int applications, const communicator& comm) {
    op.begin_stretch(stretch_++);
    op.reset_halo_cost();
    comm.barrier();
    const stopwatch watch;
    for (int i = 0; i < applications; ++i) op.step();
    std::array<double, 1> longest{watch.seconds()};
    comm.maximum(std::span(longest));
    seconds_.push_back(longest[0] / applications);
    const halo_cost cost = op.get_halo_cost();
    std::array<double, 4> sums{cost.pack, cost.wait, cost.unpack, static_cast<double>(cost.bytes)};
    comm.sum(std::span(sums));
    for (std::size_t i = 0; i < sums.size(); ++i) halo_[i].push_back(sums[i] / applications / comm.size());
  }

  const std::vector<double>& seconds() const { return seconds_; }
  double pack() const { return median(halo_[0]); }
  double wait() const { return median(halo_[1]); }
  double unpack() const { return median(halo_[2]); }
  double bytes() const { return median(halo_[3]); }

 private:
  int stretch_ = 0;
  std::vector<double> seconds_;
  std::array<std::vector<double>, 4> halo_;
};

int applications_for(double seconds) {
  return seconds > 0.0 ? stretch_length(sample_seconds / seconds, most_applications) : 1;
}

double peak_of(number_precision precision, const cpu::context& ctx) {
  return precision == number_precision::double_precision ? fma_gflops<double>(ctx, 1) : fma_gflops<float>(ctx, 1);
}

bool has_halo(const lattice_geometry& geometry) {
  return std::ranges::any_of(geometry.grid(), [](int ranks) { return ranks > 1; });
}

json_document halo_of(const sample_list& timed, const sample_list& without_overlap, bool overlap) {
  return {{"overlap", overlap ? "on" : "off"},
          {"bytes_sent", timed.bytes()},
          {"pack_seconds", timed.pack()},
          {"exposed_seconds", timed.wait()},
          {"unpack_seconds", timed.unpack()},
          {"exchange_seconds", without_overlap.wait()},
          {"hidden_seconds", without_overlap.wait() - timed.wait()},
          {"seconds_without_overlap", median(without_overlap.seconds())}};
}

/// Without the device, its ranks and threads.
operator_figure figure_of(const operator_case& c, const sample_statistics& seconds, const lattice_geometry& geometry) {
  operator_figure figure;
  figure.operator_name = name(c.kind);
  figure.layout = name(c.layout);
  figure.precision = name(c.precision);
  figure.reconstruct = c.is_vector() ? 0 : stored_reals(c.links);
  figure.rhs = c.rhs;
  figure.lattice = geometry.global();
  figure.seconds = seconds;
  const double sites = sites_of(c, geometry);
  figure.gflops = 1e-9 * flops_per_site(c.kind) * c.rhs * sites / figure.seconds.median;
  figure.gbytes_per_s = 1e-9 * bytes_per_site(c) * sites / figure.seconds.median;
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
  sample_list warm_up;
  for (int i = 0; i < 3; ++i) warm_up.add(op, 2, comm);  // a moment in which the host did other work does not count
  const int applications = applications_for(statistics(warm_up.seconds()).min);
  const double gflop = 1e-9 * flops_per_site(c.kind) * c.rhs * sites_of(c, ctx.geometry());

  sample_list timed, without_overlap;
  std::vector<double> of_peak;
  for (int i = 0; i < samples; ++i) {
    if (control.should_stop()) return {};
    timed.add(op, applications, comm);
    of_peak.push_back(gflop / timed.seconds().back() / peak_of(c.precision, ctx));
    if (compares_overlap) {  // alternately, so that both meet the machine in the same state
      op.set_overlap(false);
      without_overlap.add(op, applications, comm);
      op.set_overlap(true);
    }
    seen((i + 1.0) / samples);
  }
  judge();

  operator_figure figure = figure_of(c, statistics(timed.seconds()), ctx.geometry());
  figure.ranks = comm.size();
  figure.threads = ctx.threads();
  figure.fraction_of_fma_peak = median(std::move(of_peak));
  const double bytes_a_rank = bytes_per_site(c) * sites_of(c, ctx.geometry()) / comm.size();
  figure.fraction_of_copy = figure.gbytes_per_s / copy_gbytes_per_s(ctx, bytes_a_rank);
  if (halo) figure.details["halo"] = halo_of(timed, compares_overlap ? without_overlap : timed, overlap);
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
  const timed_work timed = device.prepared(apply, op.recordable());
  return [set, timed](int applications) {
    set();
    return timed(applications);
  };
}

/// \param alongside  of the same protocol: without overlap (where that is not how it is timed), without communication
json_document halo_of(timed_operator& op, const timed_samples& timed, bool overlap, const communicator& comm) {
  const double whole = timed.seconds.median, alone = timed.alongside.back().median;
  const double without_overlap = overlap ? timed.alongside.front().median : whole;
  std::array<double, 1> bytes{op.halo_bytes()};
  comm.sum(std::span(bytes));
  return {{"overlap", overlap ? "on" : "off"},
          {"bytes_sent", bytes[0] / comm.size()},
          {"exposed_seconds", whole - alone},
          {"exchange_seconds", without_overlap - alone},
          {"hidden_seconds", without_overlap - whole},
          {"seconds_without_overlap", without_overlap},
          {"seconds_without_communication", alone},
          {"policy", op.halo_description()},
          {"recorded", op.recordable()}};
}

}  // namespace

std::vector<operator_figure> measure_on_gpu(timed_operator& op, const operator_case& c, gpu_access& gpu,
                                            const lattice_geometry& geometry, const communicator& comm, bool overlap,
                                            int samples, run_control& control, const std::function<void()>& judge) {
  const double copy = gpu.device().copy_gbytes_per_s();
  const double fma = gpu.device().fma_gflops(c.precision == number_precision::double_precision);
  const bool halo = has_halo(geometry) && !c.is_vector();
  std::vector<timed_work> alongside;
  if (halo && overlap) alongside.push_back(prepared(op, {.overlap = false}, gpu.device()));
  if (halo) alongside.push_back(prepared(op, {.overlap = overlap, .communication = false}, gpu.device()));
  const timed_work work = prepared(op, {.overlap = overlap}, gpu.device());
  int stretch = 1;
  const stretch_guard guard{[&op, &stretch] { op.begin_stretch(stretch++); }, judge};
  std::vector<operator_figure> figures;
  for (const timed_samples& timed :
       time_applications(&gpu, samples, work, [&control] { return control.should_stop(); }, alongside, guard)) {
    operator_figure figure = figure_of(c, timed.seconds, geometry);
    figure.device = "gpu";
    figure.ranks = comm.size();
    figure.details = timed.details;
    relate_to_machine(figure, copy, fma);
    work(1);  // the settings that the figure is of
    if (halo) figure.details["halo"] = halo_of(op, timed, overlap, comm);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace plaquette::scaling
