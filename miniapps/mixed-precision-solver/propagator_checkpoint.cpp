// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/propagator_checkpoint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"
#include "common/io/checksum.hpp"
#include "common/lattice/sum_rounding.hpp"
#include "miniapps/shared/propagator_file.hpp"

namespace plaquette {

namespace {

constexpr int format_version = 1;

/// What a solution depends on: everything the program was told, but for the ways to compute the same.
json_document problem_of(const solver_options& options, const lattice_geometry& geometry) {
  json_document problem = parameters_of(options, geometry);
  for (const char* key : {"command", "size", "grid", "repeat", "batch", "overlap", "halo", "wait", "stall_timeout",
                          "tune", "protocol_seconds"})
    problem.erase(key);
  return problem;
}

json_document state_in(const std::string& path) {
  const std::string name = printable(path);
  json_document state = parse_checkpoint_text(path, read_columns_state(path));
  if (const int version = checkpoint_value<int>(name, state, "version"); version != format_version)
    throw input_error(fmt::format("{}: expected version {} of a checkpoint, found {}", name, format_version, version));
  return state;
}

/// Of the numbers of some columns; the same on any process grid.
std::string checksum_of(const cpu::propagator& columns, const std::vector<int>& which, const communicator& world) {
  site_checksum sum(checksum_kind::scidac);
  const lattice_geometry& geometry = columns.front().geometry();
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    auto place = static_cast<std::uint64_t>(geometry.global_index(x)) * which.size();
    for (const int n : which) {
      const spinor<double>& numbers = columns[static_cast<std::size_t>(n)](x);
      sum.add(place++, std::as_bytes(std::span(&numbers, 1)), false);
    }
  }
  sum.combine(world);
  return sum.text();
}

json_document to_json(const column_result& c, const std::vector<double>& history) {
  json_document updates = json_document::array();
  for (const residual_update& u : c.updates) updates.push_back({u.iteration, u.iterated, u.truth});
  return {
      {"why", c.why},           {"iterations", c.iterations}, {"iterated", c.iterated},     {"device", c.device},
      {"at_floor", c.at_floor}, {"updates", updates},         {"mismatches", c.mismatches}, {"restarts", c.restarts},
      {"history", history}};
}

// What no run reaches: numbers beyond are refused before they are reckoned with.
constexpr int most_iterations = 100'000'000;  // as --max-iterations
constexpr double largest_real = 1e100, largest_residual = 1e10;

std::vector<residual_update> updates_of(const std::string& name, const json_document& stored, int iterations) {
  std::vector<residual_update> updates;
  const auto lines = checkpoint_value<json_document>(name, stored, "updates");
  if (!lines.is_array()) refuse_checkpoint_value(name, "updates");
  for (const auto& line : lines) {
    const auto numbers = checkpoint_value<std::vector<double>>(name, {{"updates", line}}, "updates");
    if (numbers.size() != 3 || !(numbers[0] >= 0.0 && numbers[0] <= iterations) ||
        !std::all_of(numbers.begin() + 1, numbers.end(), [](double r) { return r >= 0.0 && r <= largest_residual; }))
      refuse_checkpoint_value(name, "updates");
    updates.push_back({static_cast<int>(numbers[0]), numbers[1], numbers[2]});
  }
  return updates;
}

std::vector<double> history_of(const std::string& name, const json_document& stored) {
  auto history = checkpoint_value<std::vector<double>>(name, stored, "history");
  if (!std::ranges::all_of(history, [](double r) { return r >= 0.0 && r <= largest_residual; }))
    refuse_checkpoint_value(name, "history");
  return history;
}

/// A column that was kept; its reference residual is computed anew.
column_result result_of(const std::string& name, const json_document& stored) {
  column_result c;
  c.status = solve_status::converged;
  c.why = printable(checkpoint_value<std::string>(name, stored, "why"));
  c.iterations = checkpoint_number<int>(name, stored, "iterations", 0, most_iterations);
  c.iterated = checkpoint_number<double>(name, stored, "iterated", 0.0, largest_residual);
  c.device = checkpoint_number<double>(name, stored, "device", 0.0, largest_residual);
  c.at_floor = checkpoint_value<bool>(name, stored, "at_floor");
  c.updates = updates_of(name, stored, c.iterations);
  c.mismatches = checkpoint_number<int>(name, stored, "mismatches", 0, most_iterations);
  c.restarts = checkpoint_number<int>(name, stored, "restarts", 0, most_iterations);
  return c;
}

}  // namespace

std::vector<std::string> files_of_stopped_run(const std::string& path) {
  if (!checkpoint_exists(path)) return {};
  return checkpoint_value<std::vector<std::string>>(printable(path), state_in(path), "unfinished_files");
}

std::vector<std::string> files_of_run(const solver_options& options) {
  return absolute_paths({options.shared.json, options.write_propagator});
}

propagator_checkpoint::propagator_checkpoint(const solver_options& options, const lattice_geometry& geometry,
                                             double plaquette, const communicator& world)
    : options_(options), problem_(problem_of(options, geometry)), plaquette_(plaquette), world_(world) {}

void propagator_checkpoint::load(propagator_result& result) const {
  const std::string& path = options_.checkpoint;
  if (!checkpoint_exists(path)) return;
  const std::string name = printable(path);
  const json_document state = state_in(path);
  require_same_parameters(path, checkpoint_value<json_document>(name, state, "problem"), problem_);
  const auto plaquette = checkpoint_value<double>(name, state, "plaquette");
  // Two process grids sum a plaquette in different orders; two configurations do not agree to this.
  const extents& lattice = result.columns.front().geometry().global();
  if (!(std::abs(plaquette - plaquette_) <= sum_rounding(lattice)))
    throw input_error(fmt::format("{}: expected a checkpoint on the configuration of plaquette {:.12f}, found {:.12f}",
                                  name, plaquette_, plaquette));
  const auto which = checkpoint_value<std::vector<int>>(name, state, "columns");
  const auto results = checkpoint_value<json_document>(name, state, "results");
  if (!results.is_array() || results.size() != which.size())
    throw input_error(fmt::format("{}: expected the results of {} columns, found {}", name, which.size(),
                                  results.is_array() ? fmt::format("those of {}", results.size()) : "no list"));
  for (std::size_t k = 0; k < which.size(); ++k) {
    const auto n = static_cast<std::size_t>(which[k]);
    if (which[k] < 0 || n >= result.results.size() || result.kept[n])
      throw input_error(fmt::format("{}: expected columns 0 to {}, each once, found column {}", name,
                                    result.results.size() - 1, which[k]));
    result.results[n] = result_of(name, results[k]);
    result.histories[n] = history_of(name, results[k]);
    result.kept[n] = true;
  }
  constexpr long most_applications = 1L << 50;
  result.solver = printable(checkpoint_value<std::string>(name, state, "solver"));
  result.first_seconds = checkpoint_number<double>(name, state, "seconds", 0.0, largest_real);
  result.flops = checkpoint_number<double>(name, state, "flops", 0.0, largest_real);
  result.inner_applications = checkpoint_number<long>(name, state, "inner_applications", 0, most_applications);
  result.outer_applications = checkpoint_number<long>(name, state, "outer_applications", 0, most_applications);
  result.true_tolerance = checkpoint_number<double>(name, state, "true_tolerance", 0.0, 1.0);
  result.unfinished_files = checkpoint_value<std::vector<std::string>>(name, state, "unfinished_files");
  read_columns(path, result.columns, which, world_);
  const auto claimed = checkpoint_value<std::string>(name, state, "checksum");
  if (const std::string found = checksum_of(result.columns, which, world_); found != claimed)
    throw input_error(fmt::format("{}: expected columns of checksum {}, found {}", name, printable(claimed), found));
}

void propagator_checkpoint::store(const propagator_result& result) const {
  std::vector<int> which;
  json_document results = json_document::array();
  for (std::size_t n = 0; n < result.kept.size(); ++n)
    if (result.kept[n]) {
      which.push_back(static_cast<int>(n));
      results.push_back(to_json(result.results[n], result.histories[n]));
    }
  json_document state;
  state["version"] = format_version;
  state["problem"] = problem_;
  state["plaquette"] = plaquette_;
  state["unfinished_files"] = result.unfinished_files;
  state["solver"] = result.solver;
  state["seconds"] = result.first_seconds;
  state["flops"] = result.flops;
  state["inner_applications"] = result.inner_applications;
  state["outer_applications"] = result.outer_applications;
  state["true_tolerance"] = result.true_tolerance;
  state["columns"] = which;
  state["results"] = results;
  state["checksum"] = checksum_of(result.columns, which, world_);
  write_columns(options_.checkpoint, result.columns, which, checkpoint_text(state), world_);
}

}  // namespace plaquette
