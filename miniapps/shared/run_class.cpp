// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/run_class.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/app/command_line.hpp"
#include "common/error.hpp"
#include "plaquette_classes.hpp"

namespace plaquette {

namespace {

const json_document& ladder() {
  static const json_document document = json_document::parse(classes_text);
  return document;
}

/// Returns whether `found` is `expected`; of an object, in the members that `expected` names. Numbers may differ in the
/// last digits.
bool same(const json_document& expected, const json_document& found) {
  if (expected.is_object())
    return found.is_object() && std::ranges::all_of(expected.items(), [&found](const auto& item) {
             return found.contains(item.key()) && same(item.value(), found[item.key()]);
           });
  if (expected.is_array()) return found.is_array() && std::ranges::equal(expected, found, same);
  if (!expected.is_number()) return expected == found;
  if (!found.is_number()) return false;
  const double a = expected.get<double>(), b = found.get<double>();
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

/// A value for a line on the screen: "4x4x4x8", "0.9", "heatbath:6:30".
std::string short_text(const json_document& value) {
  if (value.is_null()) return "none";
  if (value.is_string()) return value.get<std::string>();
  const bool extents = value.is_array() && std::ranges::all_of(value, [](const json_document& n) {
                         return n.is_number_integer() || n.is_number_unsigned();
                       });
  if (!extents) return value.is_number_float() ? fmt::format("{:g}", value.get<double>()) : value.dump();
  std::string text;
  for (const json_document& n : value) text += (text.empty() ? "" : "x") + n.dump();
  return text.empty() ? "none" : text;
}

/// The links whose plaquette the report has before any smearing or trajectory; of repeated ones the cell.
double plaquette_of(const json_document& gauge) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  for (const char* key : {"plaquette_of_cell", "plaquette_of_heat_bath"})
    if (gauge.contains(key)) return gauge[key];
  if (gauge.contains("stout")) return gauge["stout"].value("plaquette_before", nothing);
  return gauge.value("plaquette", nothing);
}

/// Sets the expected plaquette of a class. One rounding changes all links within some ten sweeps of the heat bath:
/// other machines make other links of the same distribution.
void set_plaquette(official_class& problem, const json_document& plaquettes) {
  const char* key = problem.fixed.contains("start") ? "start" : "gauge";
  gauge_choice gauge = parse_gauge_choice(problem.fixed[key].get<std::string>(), "--size");
  const json_document lattice = gauge.cell ? json_document(*gauge.cell) : problem.fixed["lattice"];
  gauge.cell.reset();
  const auto found = plaquettes.find(gauge.describe());
  if (found == plaquettes.end()) return;
  double sites = 1.0;
  for (const json_document& n : lattice) sites *= n.get<double>();
  problem.plaquette = (*found)["value"];
  problem.plaquette_tolerance =
      (*found)["uncertainty"].get<double>() + 6.0 * (*found)["spread"].get<double>() / std::sqrt(sites);
}

}  // namespace

option_row declare_class(command_line& line, class_options& chosen, const std::vector<std::string>& others,
                         const std::string& help) {
  std::vector<std::string> words, memories;
  for (const auto& item : ladder()["classes"].items()) words.push_back(item.key());
  words.insert(words.end(), others.begin(), others.end());
  for (const auto& item : ladder()["memory"].items()) memories.push_back(item.key());
  option_row row = line.choice("--size", chosen.size, words, help).unreported();
  line.choice("--memory", chosen.memory, memories, "Half, whole or twice the problem of an official class")
      .needs("--size CLASS")
      .unreported();
  return row;
}

std::optional<official_class> find_class(const std::string& app, const class_options& chosen,
                                         const command_line& line) {
  const json_document& all = ladder();
  if (!all["classes"].contains(chosen.size)) {
    if (line.given("--memory"))
      throw input_error(fmt::format("--memory: expected --size of an official class beside it (RUN_RULES.md), found {}",
                                    chosen.size));
    return std::nullopt;
  }
  const json_document& program = all["programs"][app];
  const std::string scaled = program["scaled"];
  official_class found{chosen.size, chosen.memory, program["fixed"], program["least"]};
  found.seconds = program.value("seconds", all["classes"][chosen.size]["seconds"].get<double>());
  found.most = program.value("most", json_document::object());
  if (const auto suggested = program.find("suggested"); suggested != program.end()) {
    found.suggested = (*suggested)["all"];
    if (suggested->contains(chosen.size)) found.suggested.update((*suggested)[chosen.size]);
  }
  found.version = program.value("version", 1);
  if (const auto expected = program.find("expected_iterations"); expected != program.end())
    found.expected_iterations = expected->value(chosen.size, expected->value("others", 0));
  if (scaled == "lattice" && all["lattices"].contains(chosen.size)) {
    found.fixed["lattice"] = all["lattices"][chosen.size];
    if (!found.fixed.contains("gauge") && !found.fixed.contains("start")) {
      found.fixed.update(all["light_quark"]);
      if (all["repeated"].contains(chosen.size)) found.fixed["gauge"] = all["repeated"][chosen.size];
    }
  }
  if (program.contains(chosen.size)) found.fixed.update(program[chosen.size]);
  json_document& last = found.fixed[scaled].back();
  last = static_cast<int>(last.get<double>() * all["memory"][chosen.memory].get<double>());
  if (found.fixed.contains("gauge") || found.fixed.contains("start")) set_plaquette(found, all["plaquettes"]);
  return found;
}

void take_problem(shared_options& options, const official_class& problem, const command_line& line) {
  const json_document& p = problem.fixed;
  const auto open = [&](const char* key, std::initializer_list<const char*> given) {
    return p.contains(key) && std::ranges::none_of(given, [&line](const char* name) { return line.given(name); });
  };
  if (open("gauge", {"--gauge"})) options.gauge = parse_gauge_choice(p["gauge"].get<std::string>(), "--size");
  if (open("lattice", {"--lattice"}) && options.gauge.from != gauge_choice::origin::file)
    std::ranges::transform(p["lattice"], options.lattice.begin(), [](const json_document& n) { return n.get<int>(); });
  if (open("seed", {"--seed"})) options.seed = p["seed"];
  if (open("stout", {"--stout-steps"})) {
    options.stout.steps = p["stout"]["steps"];
    options.stout.rho = p["stout"].value("rho", options.stout.rho);
  }
  fermion_action& action = options.action;
  if (open("mass", {"--mass", "--kappa"})) action.mass = p["mass"];
  if (open("kappa", {"--mass", "--kappa"}))
    action.mass = fermion_action::mass_of_kappa(p["kappa"], action.anisotropy, action.nu);
  if (open("clover_spatial", {"--csw", "--clover-spatial"})) action.clover_spatial = p["clover_spatial"];
  if (open("clover_temporal", {"--csw", "--clover-temporal"})) action.clover_temporal = p["clover_temporal"];
  if (open("rhs", {"--rhs"})) options.rhs = p["rhs"];
  if (open("tolerance", {"--tol"})) options.tolerance = p["tolerance"];
}

class_verdict judge_class(const official_class& problem, const report& result, double work_seconds) {
  const json_document& parameters = result.parameters;
  class_verdict verdict{problem.name, "", problem.memory, work_seconds, problem.version};
  const auto add = [&verdict](const std::string& what) { verdict.why += (verdict.why.empty() ? "" : ", ") + what; };
  for (const auto& item : problem.fixed.items()) {
    const bool is_there = parameters.contains(item.key());
    if (!is_there && item.key() == "stout" && item.value()["steps"] == 0) continue;
    const json_document found = is_there ? parameters[item.key()] : json_document(nullptr);
    if (!same(item.value(), found)) add(item.key() + " " + short_text(found));
  }
  for (const auto& item : problem.least.items()) {
    const json_document found = parameters.value(item.key(), json_document(nullptr));
    if (!found.is_number() || !(found.get<double>() >= item.value().get<double>()))
      add(item.key() + " " + short_text(found));
  }
  for (const auto& item : problem.most.items()) {
    const json_document found = result.observables.value(item.key(), json_document(nullptr));
    if (!found.is_number() || !(found.get<double>() <= item.value().get<double>()))
      add(item.key() + " " + short_text(found));
  }
  const double off = std::abs(plaquette_of(result.gauge) - problem.plaquette);
  if (problem.plaquette > 0.0 && !(off <= problem.plaquette_tolerance))
    add(fmt::format("plaquette {:.6f} in place of {:g}", plaquette_of(result.gauge), problem.plaquette));
  if (!result.fom.none.empty()) add("no figure of merit");
  if (!(work_seconds >= problem.seconds)) add(fmt::format("{:.2g} s of work", work_seconds));
  return verdict;
}

double work_of(const report& result) {
  double seconds = 0.0;
  for (const solve_record& s : result.solves)
    if (s.details.contains("timing"))
      seconds += s.details["timing"]["median"].get<double>() * s.details["timing"]["samples"].get<double>();
  if (seconds > 0.0) return seconds;
  for (const operator_figure& f : result.figures) seconds += f.seconds.median * f.seconds.samples;
  return seconds;
}

}  // namespace plaquette
