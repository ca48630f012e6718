// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_stages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

namespace plaquette {

overlap_stages::overlap_stages(app_run& of_run, const overlap_options& of_options, const gauge_input& of_gauge,
                               overlap_solver& of_solver)
    : run(of_run), options(of_options), gauge(of_gauge), solver(of_solver) {
  measure_kernel();
  predict();
}

/// Seconds of an application of H, a column, in the batches that the stages have: for predictions.
void overlap_stages::measure_kernel() {
  const vectors_handle x = solver.random_vectors(12);
  const int block = block_of_search(options);
  const int of_search = std::min(12, overlap_search_of(options).block);
  const auto measured = [&](int columns, precision number) {
    stop_point();
    return solver.seconds_of_kernel(solver.columns(x, 0, columns), number);
  };
  std::array<double, 7> seconds{measured(1, precision::double_),       measured(block, precision::double_),
                                measured(12, precision::double_),      measured(1, precision::single),
                                measured(12, precision::single),       measured(of_search, precision::double_),
                                measured(of_search, precision::single)};
  run.world.maximum(std::span(seconds));
  // The sign function takes as many columns at once as is fastest.
  speed_ = {.one = seconds[0],
            .block = seconds[1],
            .many = std::min(seconds[0], seconds[2]),
            .single_one = seconds[3],
            .single_many = std::min(seconds[3], seconds[4]),
            .of_search = std::min(seconds[0], seconds[5]),
            .single_of_search = std::min(seconds[3], seconds[6]),
            .many_of_twelve = seconds[2],
            .single_many_of_twelve = seconds[4]};
  solver.reset_count();
}

overlap_times overlap_stages::expected() const {
  const double smallest = options.sign.lowest > 0.0 ? options.sign.lowest : expected_mode(options.modes, volume());
  return times_of(options, volume(), smallest, expected_bound(options), expected_overlap_mode(options, volume()),
                  speed_);
}

overlap_times overlap_stages::expected(const sign_operator& sign, const overlap_modes* modes) const {
  double gap = expected_overlap_mode(options, volume());
  if (modes != nullptr)
    for (const int chi : {+1, -1})
      if (!modes->of(chi).eigenvalues.empty()) gap = modes->of(chi).eigenvalues.back();
  return times_of(options, volume(), sign.lowest(), sign.highest(), gap, speed_);
}

double overlap_stages::expected_verification(const sign_operator& sign) const {
  return seconds_of_verification(options, run.geometry, sign.lowest(), sign.highest(), speed_);
}

/// Tells how long the stages will take, before any of them has begun.
void overlap_stages::predict() {
  const overlap_times t = expected();
  run.result.observables["prediction"] = {{"modes of H", t.kernel_modes},
                                          {"sign function", t.sign},
                                          {"modes of D", t.overlap_modes},
                                          {"propagators", t.propagators},
                                          {"seconds_an_application",
                                           {{"double_1", speed_.one},
                                            {"double_block", speed_.block},
                                            {"double_12", speed_.many},
                                            {"single_1", speed_.single_one},
                                            {"single_12", speed_.single_many}}}};
  if (is_root())
    fmt::print(
        "predicted  about {}: modes of H {:.0f}%, sign function {:.0f}%, modes of D {:.0f}%, propagators "
        "{:.0f}%\n",
        fmt::format("{:.3g} s", t.total()), 100.0 * t.kernel_modes / t.total(), 100.0 * t.sign / t.total(),
        100.0 * t.overlap_modes / t.total(), 100.0 * t.propagators / t.total());
}

void overlap_stages::note_stage(const std::string& name, double predicted_seconds, const kernel_count& before) {
  run.stop_if_requested();
  const kernel_count& now = solver.count();
  stage_record record{.name = name};
  record.predicted_seconds = predicted_seconds;
  record.seconds = run.result.stages.back()["seconds"].get<double>();
  record.as_double = now.as_double - before.as_double;
  record.as_single = now.as_single - before.as_single;
  record.half = now.half - before.half;
  record.sign_applications = now.sign_applications - before.sign_applications;
  records_.push_back(record);
}

bool overlap_stages::is_whole() const {
  return !has_resumed_ && std::ranges::none_of(records_, &stage_record::restored);
}

double overlap_stages::seconds_of(const std::string& stage_name) const {
  const auto found = std::ranges::find(records_, stage_name, &stage_record::name);
  return found == records_.end() ? 0.0 : found->seconds;
}

void overlap_stages::tell(const std::string& line) {
  if (!is_root()) return;
  run.progress.clear();
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void overlap_stages::report_cycle(const char* what, int cycle, int converged, int sought, double worst,
                                  double seconds) {
  if (seconds > 10.0)
    tell(fmt::format("cycle      {}: {} of {} modes of {}, largest residual about {:.1e}, {:.0f} s", cycle, converged,
                     sought, what, worst, seconds));
  constexpr double unknown = -1.0;  // modes of D converge nearly all at once
  run.progress.update(converged > 0 ? static_cast<double>(converged) / sought : unknown,
                      fmt::format("cycle {}, largest residual about {:.1e}", cycle, worst));
}

kept_file overlap_stages::file(const std::string& path, json_document parameters) const {
  return {path, {std::move(parameters), gauge.plaquette.average}, run.geometry, run.world};
}

}  // namespace plaquette
