// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Official problems: the parameters that --size and --memory fix, and whether a run keeps to them. The ladder is
/// common/app/classes.json, which tools/validate.py reads too; RUN_RULES.md says its purpose.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/app/options.hpp"
#include "common/app/report.hpp"

namespace plaquette {

class option_row;

/// An official problem of one program.
struct official_class {
  std::string name, memory;
  json_document fixed;          ///< parameters of the report and their values
  json_document least;          ///< parameters and their least values
  json_document most{};         ///< numbers of the observables and their largest values
  json_document suggested{};    ///< parameters that a run may change
  double seconds = 0.0;         ///< of work, at least
  int expected_iterations = 0;  ///< of a solve, for estimates; 0: not known
  /// Of links before smearing, or of the cell that they repeat, and how far others may lie from it; 0: any.
  double plaquette = 0.0, plaquette_tolerance = 0.0;
  int version = 1;  ///< rises with the definition of the timed work: figures of two versions are not compared
};

/// --size and --memory as given.
struct class_options {
  std::string size, memory = "medium";
};

/// Declares --size, with official classes and other steps of the program's own, and --memory. Returns the row of
/// --size; neither is reported.
option_row declare_class(command_line& line, class_options& chosen, const std::vector<std::string>& others,
                         const std::string& help);

/// Returns the class of that name; none if `chosen.size` is none of an official class. Throws input_error if --memory
/// was given then.
std::optional<official_class> find_class(const std::string& app, const class_options& chosen, const command_line& line);

/// Sets lattice, links, action, right-hand sides and tolerance as the class has them, but for options that the command
/// line gives itself.
void take_problem(shared_options& options, const official_class& problem, const command_line& line);

/// Returns the verdict on a run: the parameters, the links or the duration in which it differs from the class.
class_verdict judge_class(const official_class& problem, const report& result, double work_seconds);

/// Returns the seconds of timed work that the figures and solves of a report tell of.
double work_of(const report& result);

}  // namespace plaquette
