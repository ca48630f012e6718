// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_figures.hpp"

#include <omp.h>

#include <optional>

#include "cpu_ref/context.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette {

namespace {

constexpr int columns = 12;

/// Fewest bytes a site and column of an application to all columns.
double bytes_of(reconstruct links, double real) { return real * (4.0 * stored_reals(links) / columns + 2.0 * 24.0); }

operator_figure figure_of(const overlap_stages& stages, const char* number) {
  operator_figure f;
  f.operator_name = "hermitian_wilson";
  f.layout = "full";
  f.precision = number;
  f.reconstruct = stored_reals(stored_links(stages.run, stages.gauge));
  f.rhs = columns;
  f.lattice = stages.run.geometry.global();
  f.device = stages.run.gpu ? "gpu" : "cpu";
  f.ranks = stages.run.world.size();
  f.threads = omp_get_max_threads();
  return f;
}

}  // namespace

reconstruct stored_links(const app_run& run, const gauge_input& gauge) {
  const double bytes = 72.0 * sizeof(double) * static_cast<double>(run.geometry.local_volume());
  const bool in_cache = !run.gpu && bytes < 32e6;
  return gauge.distance_from_su3 < 1e-12 && !in_cache ? reconstruct::twelve : reconstruct::none;
}

void note_figures(overlap_stages& stages) {
  app_run& run = stages.run;
  double total = 0.0, as_double = 0.0, as_single = 0.0, half = 0.0;
  for (const stage_record& s : stages.records()) {
    total += s.seconds;
    as_double += s.as_double;
    as_single += s.as_single;
    half += s.half;
  }
  if (!(total > 0.0 && as_double + as_single + half > 0.0)) return;
  const double copy = run.device->copy_gbytes_per_s();
  const double of_double = run.device->fma_gflops(true), of_single = run.device->fma_gflops(false);
  // Of all stages: the arithmetic is 1368 flops a site, whatever the precision.
  const reconstruct links = stored_links(run, stages.gauge);
  operator_figure all = figure_of(stages, "double");
  const double sites = stages.volume(), flops = 1368.0 * sites;
  all.operator_name = "hermitian_wilson, all stages";
  all.seconds = {total, total, total, 1};
  all.gflops = 1e-9 * flops * (as_double + as_single + half) / total;
  const double bytes =
      bytes_of(links, 8.0) * as_double + bytes_of(links, 4.0) * as_single + bytes_of(links, 2.0) * half;
  all.gbytes_per_s = 1e-9 * bytes * sites / total;
  all.fraction_of_copy = copy > 0.0 ? all.gbytes_per_s / copy : 0.0;
  if (of_double > 0.0 && of_single > 0.0)
    all.fraction_of_fma_peak = 1e-9 * flops * (as_double / of_double + (as_single + half) / of_single) / total;
  run.result.figures.push_back(all);
  for (const bool in_double : {true, false}) {
    operator_figure one = figure_of(stages, in_double ? "double" : "single");
    const double seconds = columns * (in_double ? stages.speed().many_of_twelve : stages.speed().single_many_of_twelve);
    one.seconds = {seconds, seconds, seconds, 1};
    one.gflops = 1e-9 * flops * columns / seconds;
    one.gbytes_per_s = 1e-9 * bytes_of(links, in_double ? 8.0 : 4.0) * columns * sites / seconds;
    relate_to_machine(one, copy, in_double ? of_double : of_single);
    run.result.figures.push_back(one);
  }
}

}  // namespace plaquette
