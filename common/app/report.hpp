// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The report of a run: a table for a person that ends in the figure of merit and the verdict, and one JSON document
/// that says the same. Its schema is common/app/report.schema.json.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/app/provenance.hpp"
#include "common/app/timing.hpp"
#include "common/app/verification.hpp"
#include "common/lattice/extents.hpp"

namespace plaquette {

using json_document = nlohmann::ordered_json;

inline constexpr const char* report_schema_version = "1.6";

/// One number by which runs of an app are compared; larger is better.
struct figure_of_merit {
  double value = 0.0;
  std::string unit, what;
  std::string none{};  ///< why a run has no figure of merit, and `value` is NaN; empty: it has one, or failed
};

/// A timed operator.
struct operator_figure {
  std::string operator_name;  ///< "hopping", "wilson", "clover", "wilson_schur", "clover_schur", ...
  std::string layout;         ///< "even-odd" or "full"
  std::string precision;
  int reconstruct = 18;  ///< stored reals a link
  int rhs = 1;
  extents lattice{};
  std::string device = "cpu";
  int ranks = 1, threads = 1;
  sample_statistics seconds;  ///< of one application to all right-hand sides
  double gflops = 0.0;        ///< at the median, in the field's standard counts
  double gbytes_per_s = 0.0;  ///< of the fewest bytes possible
  double fraction_of_copy = 0.0;
  double fraction_of_fma_peak = 0.0;
  json_document details = json_document::object();  ///< what else the app has to say
};

/// A solve, of all its right-hand sides. The residuals are relative and those of the worst right-hand side.
struct solve_record {
  std::string solver, precision;
  int iterations = 0;  ///< most of any right-hand side
  double seconds = 0.0;
  double iterated_residual = 0.0;   ///< as the recurrence had it, of the system that was iterated
  double device_residual = 0.0;     ///< |b - M x| / |b| of the full system by the operators that solved it
  double reference_residual = 0.0;  ///< the same in double by the independent operator
  std::vector<double> history;      ///< iterated, worst right-hand side, one an iteration
  json_document details = json_document::object();  ///< what else the app has to say
};

/// Whether a run of an official class keeps the run rules of that class.
struct class_verdict {
  std::string name;               ///< of the class
  std::string why;                ///< what does not conform; empty: the run conforms
  std::string memory = "medium";  ///< which of the class's sizes
  double work_seconds = 0.0;      ///< of the work that the figure of merit is made of
  int version = 1;                ///< of the class
  bool conforms() const { return why.empty(); }
};

/// All of it.
struct report {
  std::string app;
  figure_of_merit fom;
  verification checks;
  json_document parameters = json_document::object();
  machine_record machine;
  build_record build;
  run_record run;
  json_document gauge = json_document::object();
  std::vector<operator_figure> figures;
  std::vector<solve_record> solves;
  json_document observables = json_document::object();
  json_document tuning = nullptr;            ///< on a GPU: how its kernels were launched; null on the CPU
  json_document latencies = nullptr;         ///< of messages and launches, where they were measured
  json_document draws = nullptr;             ///< which work was judged, drawn after it was done: [{of, number}]
  json_document energy = nullptr;            ///< of the hosts over the run, or why it is not known
  json_document stages = nullptr;            ///< steps that were timed by themselves: [{name, seconds, tuning_seconds}]
  std::optional<class_verdict> run_class{};  ///< of a run of an official class
};

/// Returns the document; a number that is not finite is the string "nan", "inf" or "-inf".
json_document to_json(const report& r);

/// Returns "FOM        12.3 GFLOP/s     (what it is)"; "none" in place of the number where a run has none
std::string fom_line(const figure_of_merit& fom);

/// Returns "energy     532 J of the hosts in 4.2 s, 127 W (RAPL package-0)", or that it cannot be read, and why.
std::string energy_line(const json_document& energy);

/// Prints program, revision and machine: the head of the output.
void print_machine(const report& r);
/// Prints the table of checks, the class of an official run, the figure of merit and the verdict: the end of it.
void print_verdict(const report& r);

/// Throws output_error unless a file can be made at `path`: its directory is there and can be written, and no such file
/// exists, or `force`. For the start of a run, so that nothing is computed for nothing.
void require_writable(const std::string& path, bool force);

/// Returns the text of the document, signed: its last key "checksum" is the CRC-32 of the text without that key.
std::string signed_text(const report& r);

/// Writes the signed document, complete or not at all. Throws output_error.
void write_report(const report& r, const std::string& path, bool force);

}  // namespace plaquette
