// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/run_report.hpp"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <limits>

#include "common/app/timing.hpp"
#include "common/dg/lserk4.hpp"
#include "common/io/atomic_file.hpp"
#include "cpu_ref/context.hpp"
#include "miniapps/nodal-dg/dg_work.hpp"
#include "miniapps/nodal-dg/field_files.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette::nodal_dg {

void note_results(const wave_run& run, const steps_made& made) {
  json_document& o = run.app.result.observables;
  const dg_domain& domain = run.domain;
  o["elements"] = domain.global_elements;
  o["nodes"] = domain.global_elements * domain.nodes();
  o["dt"] = run.dt;
  o["last_dt"] = run.last_dt;
  o["steps"] = made.done.steps_done;
  o["final_time"] = made.done.time;
  if (!run.waves.remarks.empty()) o["mesh_remarks"] = run.waves.remarks;
  o["energy"] = {
      {"start", made.done.energy.front()[1]}, {"end", made.done.energy.back()[1]}, {"history", made.done.energy}};
  run.app.result.gauge = {{"source", "none"}, {"plaquette", std::numeric_limits<double>::quiet_NaN()}};
  if (run.app.is_root())
    fmt::print("energy     {:.12g} at the beginning, {:.12g} at time {:.6g}, {} steps\n",
               made.done.energy.front()[1].get<double>(), made.done.energy.back()[1].get<double>(), made.done.time,
               made.done.steps_done);
}

void note_probes(const wave_run& run, std::span<const double> state) {
  if (run.options.probes.empty()) return;
  const auto names = field_names(run.domain.problem.equations, run.domain.reference.dimension);
  json_document probes = json_document::array();
  for (std::size_t i = 0; i < run.options.probes.size(); ++i) {
    const auto& x = run.options.probes[i];
    const point_location& where = run.probes[i];
    const auto& global = run.domain.part.global;
    const auto here = std::ranges::find(global, static_cast<std::int32_t>(where.element));
    std::vector<double> values(static_cast<std::size_t>(run.domain.fields));
    if (here != global.end())
      values = value_at(run.domain, state, static_cast<std::int32_t>(here - global.begin()), where.at);
    run.domain.comm.sum(values);
    json_document fields = json_document::object();
    for (std::size_t f = 0; f < names.size(); ++f) fields[names[f]] = values[f];
    probes.push_back({{"position", x}, {"fields", fields}});
    if (!run.app.is_root()) continue;
    fmt::print("probe      {:g}, {:g}, {:g}:", x[0], x[1], x[2]);
    for (std::size_t f = 0; f < names.size(); ++f) fmt::print(" {} {:.10g}", names[f], values[f]);
    fmt::print("\n");
  }
  run.app.result.observables["probes"] = probes;
}

void note_speed(const wave_run& run, const steps_made& made) {
  const sample_statistics seconds = statistics(made.stage_seconds);
  const dg_domain& domain = run.domain;
  const auto elements = static_cast<double>(domain.global_elements);
  const standard_flops flops = standard_flops_of(domain);
  const double columns = run.options.states;
  const double a_second = seconds.median > 0.0 ? columns / seconds.median : 0.0;
  const bool single = run.options.shared.precision == "single";
  operator_figure figure;
  figure.operator_name = run.options.equations;
  figure.layout = "full";
  figure.precision = run.options.shared.precision;
  figure.reconstruct = 0;
  figure.rhs = run.options.states;
  figure.device = run.options.shared.device;
  figure.ranks = run.app.world.size();
  figure.threads = omp_get_max_threads();
  figure.seconds = seconds;
  figure.gflops = 1e-9 * flops.total() * elements * a_second;
  figure.gbytes_per_s = 1e-9 * fewest_bytes_of(domain, single ? 4.0 : 8.0) * elements * a_second;
  double copy = 0.0, fma = 0.0;
  if (run.app.gpu) {
    copy = run.app.device->copy_gbytes_per_s();
  } else {
    const cpu::context ctx(run.app.geometry, run.app.world);
    copy = copy_gbytes_per_s(ctx);
    fma = single ? fma_gflops<float>(ctx) : fma_gflops<double>(ctx);
  }
  relate_to_machine(figure, copy, fma);
  // The standard counts hold more products than are made: only the fewest must stay below the peak.
  const double fewest = 1e-9 * fewest_flops_of(domain) * elements * a_second, of_standard = figure.fraction_of_fma_peak;
  figure.fraction_of_fma_peak = fma > 0.0 ? fewest / fma : 0.0;
  const dg_timings t = run.solver->timings();
  figure.details = {{"order", domain.reference.order},
                    {"elements", domain.global_elements},
                    {"nodes_per_s", elements * domain.nodes() * a_second},
                    {"fewest_gflops", fewest},
                    {"shares",
                     {{"volume", t.volume / t.total},
                      {"surface", t.surface / t.total},
                      {"update", t.update / t.total},
                      {"exchange", t.exchange / t.total}}}};
  if (fma > 0.0) {
    figure.details["fewest_fraction_of_fma_peak"] = fewest / fma;
    figure.details["standard_fraction_of_fma_peak"] = of_standard;
  }
  run.app.result.figures.push_back(figure);
  run.app.result.fom.value = elements * domain.nodes() * a_second;
  run.app.work_seconds = seconds.median * lserk4::stages * static_cast<double>(run.steps);
  if (!run.app.is_root()) return;
  fmt::print("\nRK stage   {:.4e} s minimum, {:.4e} s median, {:.4e} s maximum of {}\n", seconds.min, seconds.median,
             seconds.max, seconds.samples);
  fmt::print("speed      {:.4g} GFLOP/s by the standard counts, {:.4g} in the fewest products", figure.gflops, fewest);
  if (fma > 0.0) fmt::print(" ({:.0f}% and {:.0f}% of the FMA peak)", 100.0 * of_standard, 100.0 * fewest / fma);
  fmt::print(", {:.4g} GB/s ({:.0f}% of copy)\n", figure.gbytes_per_s, 100.0 * figure.fraction_of_copy);
  if (t.volume > 0.0)
    fmt::print("shares     volume {:.0f}%, surface {:.0f}%, update {:.0f}%, waiting for messages {:.0f}%\n",
               100.0 * t.volume / t.total, 100.0 * t.surface / t.total, 100.0 * t.update / t.total,
               100.0 * t.exchange / t.total);
}

void write_files(const wave_run& run, const steps_made& made, std::span<const double> state) {
  const nodal_dg_options& o = run.options;
  if (!o.energy.empty() && run.app.is_root()) {
    std::string text = "time,energy\n";
    for (const auto& line : made.done.energy)
      text += fmt::format("{:.17g},{:.17g}\n", line[0].get<double>(), line[1].get<double>());
    write_file_atomically(o.energy, text, run.if_there(o.energy));
    fmt::print("energy     {}\n", o.energy);
  }
  if (run.app.control.stopped()) return;
  if (!o.vtk.empty()) {
    enter_stage("writing the fields");
    write_vtkhdf(o.vtk, run.domain, state, run.if_there(o.vtk));
    if (run.app.is_root()) fmt::print("fields     {}\n", o.vtk);
  }
  if (!o.plane.empty()) {
    write_plane(o.plane, o.plane_at, run.domain, state, run.if_there(o.plane));
    if (run.app.is_root()) fmt::print("plane      {}\n", o.plane);
  }
}

void note_judging(const wave_run& run, double seconds) {
  run.app.result.observables["judging_seconds"] = seconds;
  if (run.app.is_root()) fmt::print("judging    {:.3g} s\n", seconds);
}

}  // namespace plaquette::nodal_dg
