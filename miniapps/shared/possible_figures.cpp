// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/possible_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "common/algebra/largest.hpp"
#include "cpu_ref/fields/cache_size.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette {

namespace {

/// Returns whether an application moves enough bytes that at most a tenth of them comes from a cache.
bool streams(const operator_figure& figure, double cache_bytes) {
  constexpr double beyond_caches = 10.0;
  const double bytes = 1e9 * figure.gbytes_per_s * figure.seconds.median / std::max(figure.ranks, 1);
  return cache_bytes > 0.0 && !(bytes < beyond_caches * cache_bytes);
}

bool is_in_double(const operator_figure& figure) { return figure.precision == "double"; }

/// With the limits of this moment, if the figure has none.
operator_figure with_limits(operator_figure figure, const cpu::context& ctx, const library& device,
                            double cache_bytes) {
  std::array<double, 2> known{figure.fraction_of_copy, figure.fraction_of_fma_peak};
  ctx.comm().maximum(std::span(known));
  if (known[0] != 0.0 || known[1] != 0.0) return figure;  // a NaN is known too
  const bool in_double = is_in_double(figure), needs_copy = streams(figure, cache_bytes);
  const double copy = !needs_copy ? 0.0 : device.is_gpu() ? device.copy_gbytes_per_s() : copy_gbytes_per_s(ctx);
  const double peak = device.is_gpu() ? device.fma_gflops(in_double)
                      : in_double     ? fma_gflops<double>(ctx)
                                      : fma_gflops<float>(ctx);
  relate_to_machine(figure, copy, peak);
  return figure;
}

/// Lowers the share of a limit that a rate has, while it is above 1 on any rank, by a limit that is measured again.
/// Next to other programs a short measurement may see a small part of the machine, so that a long one follows it.
/// Collective.
/// \param limit    the largest that was measured so far, 0 if none was
/// \param measure  returns the limit, of a number of passes
template <class Measure>
void lower_share(double& share, double rate, double& limit, const cpu::context& ctx, const Measure& measure) {
  constexpr std::array passes{200, 2000, 20'000};
  for (std::size_t round = 0; round < passes.size(); ++round) {
    std::array<double, 1> largest{share};
    ctx.comm().maximum(std::span(largest));
    if (!(largest[0] > 1.0)) return;
    if (limit == 0.0 || round > 0) keep_largest(limit, measure(passes[round]));
    share = std::min(share, rate / limit);
  }
}

}  // namespace

double share_of_limits(const operator_figure& figure, double cache_bytes) {
  const double of_copy = streams(figure, cache_bytes) ? figure.fraction_of_copy : 0.0;
  return std::isnan(of_copy) || of_copy > figure.fraction_of_fma_peak ? of_copy : figure.fraction_of_fma_peak;
}

std::vector<operator_figure> against_limits_measured_again(const cpu::context& ctx,
                                                           std::vector<operator_figure> figures) {
  double peak_double = 0.0, peak_single = 0.0, copy = 0.0;
  for (operator_figure& figure : figures) {
    const bool in_double = is_in_double(figure);
    lower_share(
        figure.fraction_of_fma_peak, figure.gflops, in_double ? peak_double : peak_single, ctx, [&](int passes) {
          return in_double ? fma_gflops_of_threads<double>(ctx, passes) : fma_gflops_of_threads<float>(ctx, passes);
        });
    lower_share(figure.fraction_of_copy, figure.gbytes_per_s, copy, ctx, [&](int) { return copy_gbytes_per_s(ctx); });
  }
  return figures;
}

void check_figures_are_possible(verification& checks, const std::vector<operator_figure>& figures, double cache_bytes) {
  if (figures.empty()) return;
  double most = 0.0;
  for (const operator_figure& figure : figures) {
    const double share = share_of_limits(figure, cache_bytes);
    keep_largest(most, share);
  }
  checks.add("best figure, as a share of what the machine can give", most, most_of_limit);
}

operator_figure rate_of_flops(double gflops, int ranks, int threads, bool in_double) {
  operator_figure rate;
  rate.precision = in_double ? "double" : "single";
  rate.ranks = ranks;
  rate.threads = threads;
  rate.gflops = gflops;
  return rate;
}

void check_report_is_possible(report& result, const std::vector<operator_figure>& more,
                              const lattice_geometry& geometry, const communicator& world, const library& device,
                              cpu::instruction_set isa) {
  std::vector<operator_figure> figures = result.figures;
  figures.insert(figures.end(), more.begin(), more.end());
  for (const solve_record& s : result.solves)
    if (s.details.contains("gflops") && s.details["gflops"].is_number())
      figures.push_back(rate_of_flops(s.details["gflops"].get<double>(), world.size(), result.machine.threads));
  const double cache_bytes = device.facts().cache_bytes;
  for (operator_figure& figure : figures) {
    const cpu::context ctx(geometry, world, device.is_gpu() ? 0 : figure.threads, isa);
    figure = with_limits(figure, ctx, device, cache_bytes);
    if (!device.is_gpu()) figure = against_limits_measured_again(ctx, {figure}).front();
  }
  check_figures_are_possible(result.checks, figures, cache_bytes);
}

}  // namespace plaquette
