// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/propagator_checkpoint.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"

namespace plaquette {

namespace {

/// Returns the parameters on which a solution depends: all of them, except the ways to compute the same.
json_document problem_of(const solver_options& options, const lattice_geometry& geometry) {
  json_document problem = parameters_of(options, geometry);
  for (const char* key : {"command", "size", "grid", "repeat", "batch", "overlap", "halo", "wait", "stall_timeout",
                          "tune", "protocol_seconds"})
    problem.erase(key);
  return problem;
}

json_document to_json(const column_result& c, const std::vector<double>& history) {
  json_document updates = json_document::array();
  for (const residual_update& u : c.updates) updates.push_back({u.iteration, u.iterated, u.truth});
  return {
      {"why", c.why},           {"iterations", c.iterations}, {"iterated", c.iterated},     {"device", c.device},
      {"at_floor", c.at_floor}, {"updates", updates},         {"mismatches", c.mismatches}, {"restarts", c.restarts},
      {"history", history}};
}

// Numbers that no run reaches: larger ones are refused before they are reckoned with.
constexpr int most_iterations = 100'000'000;  // as --max-iterations
constexpr double largest_real = 1e100, largest_residual = 1e10;

std::vector<residual_update> updates_of(const kept_numbers& stored, int iterations) {
  std::vector<residual_update> updates;
  const auto lines = checkpoint_value<json_document>(stored.path(), stored.document(), "updates");
  if (!lines.is_array()) refuse_checkpoint_value(stored.path(), "updates");
  for (const auto& line : lines) {
    const auto numbers = kept_numbers(stored.path(), {{"updates", line}}).reals("updates", 3, 3, largest_real);
    if (!(numbers[0] >= 0.0 && numbers[0] <= iterations) ||
        !std::all_of(numbers.begin() + 1, numbers.end(), [](double r) { return r >= 0.0 && r <= largest_residual; }))
      refuse_checkpoint_value(stored.path(), "updates");
    updates.push_back({static_cast<int>(numbers[0]), numbers[1], numbers[2]});
  }
  return updates;
}

std::vector<double> history_of(const kept_numbers& stored) {
  auto history = stored.reals("history", 0, most_iterations, largest_residual);
  if (!std::ranges::all_of(history, [](double r) { return r >= 0.0; }))
    refuse_checkpoint_value(stored.path(), "history");
  return history;
}

std::string text_of(const kept_numbers& stored, const char* key) {
  return printable(checkpoint_value<std::string>(stored.path(), stored.document(), key));
}

/// A column that was kept; its reference residual is computed again.
column_result result_of(const kept_numbers& stored) {
  column_result c;
  c.status = solve_status::converged;
  c.why = text_of(stored, "why");
  c.iterations = stored.integer("iterations", 0, most_iterations);
  c.iterated = stored.real("iterated", 0.0, largest_residual);
  c.device = stored.real("device", 0.0, largest_residual);
  c.at_floor = stored.flag("at_floor");
  c.updates = updates_of(stored, c.iterations);
  c.mismatches = stored.integer("mismatches", 0, most_iterations);
  c.restarts = stored.integer("restarts", 0, most_iterations);
  return c;
}

}  // namespace

std::vector<std::string> files_of_stopped_run(const std::string& path) {
  if (!checkpoint_exists(path)) return {};
  return checkpoint_value<std::vector<std::string>>(printable(path), state_of_kept_file(path), "unfinished_files");
}

std::vector<std::string> files_of_run(const solver_options& options) {
  return absolute_paths({options.shared.json, options.write_propagator});
}

propagator_checkpoint::propagator_checkpoint(const solver_options& options, const lattice_geometry& geometry,
                                             double plaquette, const communicator& world)
    : file_(options.checkpoint, {problem_of(options, geometry), plaquette}, geometry, world) {}

void propagator_checkpoint::load(propagator_result& result) const {
  if (!file_.exists()) return;
  const kept_content stored = file_.read();
  const std::string& name = stored.path();
  const auto which = checkpoint_value<std::vector<int>>(name, stored.document(), "columns");
  const auto count = static_cast<int>(which.size());
  const std::vector<kept_numbers> results = stored.parts("results", count);
  const vector_source columns = stored.vectors(count);
  for (int k = 0; k < count; ++k) {
    const auto at = static_cast<std::size_t>(k), n = static_cast<std::size_t>(which[at]);
    if (which[at] < 0 || n >= result.results.size() || result.kept[n])
      throw input_error(fmt::format("{}: expected columns 0 to {}, each once, found column {}", name,
                                    result.results.size() - 1, which[at]));
    result.results[n] = result_of(results[at]);
    result.histories[n] = history_of(results[at]);
    columns(k, result.columns[n]);
    result.kept[n] = true;
  }
  constexpr long most_applications = 1L << 50;
  result.solver = text_of(stored, "solver");
  result.first_seconds = stored.real("seconds", 0.0, largest_real);
  result.first_flops = stored.real("flops", 0.0, largest_real);
  const auto applications = [&](const char* key) {
    return checkpoint_number<long>(name, stored.document(), key, 0, most_applications);
  };
  result.inner_applications = applications("inner_applications");
  result.outer_applications = applications("outer_applications");
  result.true_tolerance = stored.real("true_tolerance", 0.0, 1.0);
  result.unfinished_files = checkpoint_value<std::vector<std::string>>(name, stored.document(), "unfinished_files");
}

void propagator_checkpoint::store(const propagator_result& result) const {
  std::vector<std::size_t> which;
  json_document results = json_document::array();
  for (std::size_t n = 0; n < result.kept.size(); ++n)
    if (result.kept[n]) {
      which.push_back(n);
      results.push_back(to_json(result.results[n], result.histories[n]));
    }
  file_.write({{{"unfinished_files", result.unfinished_files},
                {"solver", result.solver},
                {"seconds", result.first_seconds},
                {"flops", result.first_flops},
                {"inner_applications", result.inner_applications},
                {"outer_applications", result.outer_applications},
                {"true_tolerance", result.true_tolerance},
                {"columns", which},
                {"results", results}},
               static_cast<int>(which.size()),
               [&](int k, spinor_configuration& to) { to = result.columns[which[static_cast<std::size_t>(k)]]; }});
}

}  // namespace plaquette
