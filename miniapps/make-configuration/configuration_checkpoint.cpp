// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/make-configuration/configuration_checkpoint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "common/app/lime_record.hpp"
#include "common/app/parse.hpp"
#include "common/io/gauge_file.hpp"

namespace plaquette {

namespace {

constexpr const char* record_type = "plaquette-checkpoint";
constexpr int format_version = 1;

json_document to_json(const std::vector<measurement>& history) {
  json_document lines = json_document::array();
  for (const auto& [sweep, plaquette] : history)
    lines.push_back({sweep, plaquette.average, plaquette.spatial, plaquette.temporal});
  return lines;
}

/// Sweeps grow from `first_sweep` to at most `sweeps_done`, and plaquettes lie between -1 and 1, to rounding.
std::vector<measurement> history_of(const std::string& name, const json_document& state, int first_sweep,
                                    int sweeps_done) {
  constexpr double highest = 1.0 + 1e-9;
  std::vector<measurement> history;
  const auto lines = checkpoint_value<json_document>(name, state, "history");
  if (!lines.is_array()) refuse_checkpoint_value(name, "history");
  for (const auto& line : lines) {
    const auto numbers = checkpoint_value<std::vector<double>>(name, {{"history", line}}, "history");
    if (numbers.size() != 4) refuse_checkpoint_value(name, "history");
    const double lowest = history.empty() ? first_sweep : history.back().sweep + 1;
    const bool possible = numbers[0] >= lowest && numbers[0] <= sweeps_done && numbers[0] == std::floor(numbers[0]);
    if (!possible || !std::all_of(numbers.begin() + 1, numbers.end(), [](double p) { return std::abs(p) <= highest; }))
      refuse_checkpoint_value(name, "history");
    history.push_back({static_cast<int>(numbers[0]), {numbers[2], numbers[3], numbers[1]}});
  }
  return history;
}

}  // namespace

json_document parameters_of_links(const configuration_options& options) {
  json_document parameters{{"start", options.start()},
                           {"seed", options.shared.seed},
                           {"beta", options.action.beta},
                           {"anisotropy", options.action.anisotropy},
                           {"first_sweep", options.first_sweep},
                           {"heatbath", options.plan.heatbath},
                           {"overrelaxation", options.plan.overrelaxation}};
  // A GPU's logarithms and cosines have other last bits: a run stays on the device that it began on.
  if (options.shared.device != "cpu") parameters["device"] = options.shared.device;
  return parameters;
}

void write_configuration_checkpoint(const std::string& path, const gauge_configuration& links,
                                    const configuration_progress& progress, const json_document& parameters,
                                    const communicator& world) {
  json_document state;
  state["version"] = format_version;
  state["sweeps_done"] = progress.sweeps_done;
  state["parameters"] = parameters;
  state["unfinished_files"] = progress.unfinished_files;
  state["history"] = to_json(progress.history);
  gauge_write_options how;
  how.existing = existing_file::replace;
  how.ensemble_label = "checkpoint of plaquette-make-configuration";
  how.information = fmt::format("checkpoint after sweep {}", progress.sweeps_done);
  how.records = {{record_type, checkpoint_text(state)}};
  write_ildg(path, links, world, how);
}

configuration_progress read_configuration_progress(const std::string& path, const configuration_options& options) {
  const json_document state =
      checkpoint_in_lime_record(path, record_type, "a checkpoint of plaquette-make-configuration", format_version);
  const std::string name = printable(path);
  require_same_parameters(path, checkpoint_value<json_document>(name, state, "parameters"),
                          parameters_of_links(options));
  configuration_progress progress;
  progress.sweeps_done = checkpoint_value<int>(name, state, "sweeps_done");
  progress.unfinished_files = checkpoint_value<std::vector<std::string>>(name, state, "unfinished_files");
  if (progress.sweeps_done < options.first_sweep || progress.sweeps_done > options.end())
    throw input_error(fmt::format("{}: expected a checkpoint of at most {} combined sweeps, as --sweeps says, found {}",
                                  name, options.end(), progress.sweeps_done));
  progress.history = history_of(name, state, options.first_sweep, progress.sweeps_done);
  return progress;
}

}  // namespace plaquette
