// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/dslash-scaling/measurement.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "common/app/timing.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette::scaling {

namespace {

constexpr double sample_seconds = 0.02;  // long against the clock and a barrier, short against what else the host does
constexpr int most_applications = 10'000;

double sites_of(const operator_case& c, const lattice_geometry& geometry) {
  return share_of_sites(c.layout) * static_cast<double>(geometry.global_volume());
}

/// Seconds of one application, of the slowest rank.
double sample(timed_operator& op, int applications, const communicator& comm) {
  comm.barrier();
  const stopwatch watch;
  for (int i = 0; i < applications; ++i) op.apply();
  std::array<double, 1> longest{watch.seconds()};
  comm.maximum(std::span(longest));
  return longest[0] / applications;
}

double peak_of(number_precision precision, const cpu::context& ctx) {
  return precision == number_precision::double_precision ? fma_gflops<double>(ctx, 1) : fma_gflops<float>(ctx, 1);
}

bool has_halo(const lattice_geometry& geometry) {
  return std::ranges::any_of(geometry.grid(), [](int ranks) { return ranks > 1; });
}

std::optional<timing> time_applications(timed_operator& op, const operator_case& c, const cpu::context& ctx,
                                        int samples, run_control& control) {
  const communicator& comm = ctx.comm();
  const double rough = sample(op, 2, comm);  // the warm-up
  const int applications =
      rough > 0.0 ? static_cast<int>(std::clamp(sample_seconds / rough, 1.0, double{most_applications})) : 1;
  const double gflop = 1e-9 * flops_per_site(c.kind) * c.rhs * sites_of(c, ctx.geometry());
  op.reset_halo_cost();
  std::vector<double> seconds, of_peak;
  for (int i = 0; i < samples; ++i) {
    if (control.should_stop()) return {};
    seconds.push_back(sample(op, applications, comm));
    of_peak.push_back(gflop / seconds.back() / peak_of(c.precision, ctx));
  }
  const halo_cost cost = op.get_halo_cost();
  std::array<double, 4> sums{cost.pack, cost.wait, cost.unpack, static_cast<double>(cost.bytes)};
  comm.sum(std::span(sums));
  const double shares = static_cast<double>(comm.size()) * applications * samples;
  std::ranges::sort(of_peak);
  return timing{statistics(std::move(seconds)),
                of_peak[of_peak.size() / 2],
                sums[0] / shares,
                sums[1] / shares,
                sums[2] / shares,
                sums[3] / shares};
}

json_document halo_of(const timing& timed, const timing& without_overlap, bool overlap) {
  return {{"overlap", overlap ? "on" : "off"},
          {"bytes_sent", timed.bytes},
          {"pack_seconds", timed.pack},
          {"exposed_seconds", timed.wait},
          {"unpack_seconds", timed.unpack},
          {"exchange_seconds", without_overlap.wait},
          {"hidden_seconds", without_overlap.wait - timed.wait},
          {"seconds_without_overlap", without_overlap.seconds.median}};
}

operator_figure figure_of(const operator_case& c, const timing& timed, const cpu::context& ctx) {
  operator_figure figure;
  figure.operator_name = name(c.kind);
  figure.layout = name(c.layout);
  figure.precision = name(c.precision);
  figure.reconstruct = stored_reals(c.links);
  figure.rhs = c.rhs;
  figure.lattice = ctx.geometry().global();
  figure.ranks = ctx.comm().size();
  figure.threads = ctx.threads();
  figure.seconds = timed.seconds;
  const double sites = sites_of(c, ctx.geometry());
  figure.gflops = 1e-9 * flops_per_site(c.kind) * c.rhs * sites / timed.seconds.median;
  figure.gbytes_per_s = 1e-9 * bytes_per_site(c) * sites / timed.seconds.median;
  figure.fraction_of_fma_peak = timed.of_fma_peak;
  return figure;
}

}  // namespace

std::optional<operator_figure> measure(timed_operator& op, const operator_case& c, const cpu::context& ctx,
                                       bool overlap, int samples, run_control& control) {
  op.set_overlap(overlap);
  const auto timed = time_applications(op, c, ctx, samples, control);
  if (!timed) return {};
  operator_figure figure = figure_of(c, *timed, ctx);
  const double bytes_a_rank = bytes_per_site(c) * sites_of(c, ctx.geometry()) / ctx.comm().size();
  figure.fraction_of_copy = figure.gbytes_per_s / copy_gbytes_per_s(ctx, bytes_a_rank);
  if (!has_halo(ctx.geometry())) return figure;

  auto without_overlap = timed;
  if (overlap) {
    op.set_overlap(false);
    without_overlap = time_applications(op, c, ctx, std::max(3, samples / 2), control);
    op.set_overlap(true);
    if (!without_overlap) return {};
  }
  figure.details["halo"] = halo_of(*timed, *without_overlap, overlap);
  return figure;
}

}  // namespace plaquette::scaling
