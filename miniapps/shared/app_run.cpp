// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/app_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "common/app/checkpoint.hpp"
#include "common/app/standard_streams.hpp"
#include "miniapps/shared/possible_figures.hpp"

namespace plaquette {

app_run::app_run(const shared_options& options, const lattice_geometry& lattice, const communicator& ranks)
    : shared(options),
      world(ranks),
      geometry(lattice),
      control(ranks, options.time_limit),
      progress(ranks.rank() == 0),
      asks_(control, ranks),
      question_([this](stop_kind kind) {
        const bool was_stopped = control.stopped();
        if (was_stopped ? control.is_overdue() : asks_() && kind == stop_kind::at_once)
          control.stop_if_requested(stage_now());
      }) {}

namespace {

/// True if a file is a report that says so.
bool is_report_of_stopped_run(const std::string& path) {
  std::ifstream file(path);
  const json_document found = json_document::parse(file, nullptr, false);
  if (!found.is_object() || !found.contains("schema_version") || !found.contains("checks")) return false;
  const json_document& checks = found["checks"];
  return checks.is_array() && std::ranges::any_of(checks, [](const json_document& c) {
           return c.is_object() && c.contains("name") && c["name"].is_string() &&
                  c["name"].get<std::string>().starts_with("run was not ") && c.contains("passed") &&
                  c["passed"] == false;
         });
}

}  // namespace

bool app_run::replaces(const std::string& path) const {
  return shared.force || was_left_by(left_files, path) ||
         (keeps_checkpoint && path == shared.json && is_report_of_stopped_run(path));
}

void app_run::begin(const std::string& step) {
  enter_stage("the " + step);
  progress.begin(step);
  progress.update(-1.0);
}

void app_run::stop_if_requested() {
  if (!control.should_stop()) return;
  control.note_stop(result.checks);
  throw run_stopped{};
}

void app_run::note_stop(const error& stop) {
  if (stop.status() != exit_status::interrupted) throw;
  if (result.gauge.empty())
    result.gauge = {{"source", shared.gauge.describe()}, {"plaquette", std::numeric_limits<double>::quiet_NaN()}};
  result.checks.add(std::string("run was not ") + stop.what(), false);
}

void app_run::note_draw(const std::string& what, std::uint64_t number) {
  if (result.draws.is_null()) result.draws = json_document::array();
  result.draws.push_back({{"of", what}, {"number", number}});
}

const gauge_input& app_run::gauge() {
  if (!gauge_) {
    gauge_ = obtain_gauge(result, shared, geometry, world, control, progress, *device);
    if (!gauge_) throw run_stopped{};
    if (is_root()) print_gauge(*gauge_);
  }
  return *gauge_;
}

app_run::stage_start app_run::start_stage(const std::string& name) {
  begin(name);
  device->finish();
  world.barrier();
  return {energy.now(), work_clock(*device)};
}

void app_run::end_stage(const std::string& name, const stage_start& start) {
  device->finish();
  const stretch_seconds spent = end_together(start.clock, world);
  progress.clear();
  if (result.stages.is_null()) result.stages = json_document::array();
  result.stages.push_back({{"name", name}, {"seconds", spent.work}, {"tuning_seconds", spent.tuning}});
  const json_document used = energy_since(start.energy, energy, world);
  if (used.contains("energy_joule")) result.stages.back()["host_energy"] = used;
  if (!is_root()) return;
  fmt::print("stage      {}: {:.4g} s{}\n", name, spent.work,
             spent.tuning > 0.0 ? fmt::format(", and tuning {:.4g} s", spent.tuning) : "");
}

exit_status app_run::finish(exit_status status) {
  if (gauge_) check_links_kept(result.checks, *gauge_, world);
  if (status == exit_status::success && control.should_stop()) status = exit_status::interrupted;
  const auto tells_of_a_stop = [](const check& c) { return c.name.starts_with("run was not "); };
  if (control.stopped() && std::ranges::none_of(result.checks.checks(), tells_of_a_stop))
    control.note_stop(result.checks);
  if (!control.stopped()) {
    enter_stage("the comparison of speeds with the machine's");
    check_report_is_possible(result, more_rates, geometry, world, *device, instructions);
    clocks.add_check(result.checks, world);
  }
  if (status == exit_status::success && !result.checks.passed()) status = exit_status::verification_failed;
  progress.clear();
  if (run_class)
    result.run_class = judge_class(*run_class, result, work_seconds > 0.0 ? work_seconds : work_of(result));
  if (gpu) result.tuning = to_json(device->tuning());
  result.energy = energy_since({}, energy, world);
  if (!is_root()) return status;
  fmt::print("{}\n", energy_line(result.energy));
  if (!shared.json.empty()) {
    write_report(result, shared.json, replaces(shared.json));
    fmt::print("report     {}\n", shared.json == standard_output_name ? "on standard output" : shared.json);
  }
  print_verdict(result);
  return status;
}

}  // namespace plaquette
