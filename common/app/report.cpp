// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>

#include "common/app/parse.hpp"
#include "common/app/standard_streams.hpp"
#include "common/error.hpp"
#include "common/io/atomic_file.hpp"
#include "common/io/checksum.hpp"

namespace plaquette {

namespace {

/// Replaces numbers that JSON cannot hold by their names.
void name_what_is_not_finite(json_document& value) {
  if (value.is_structured()) {
    for (auto& element : value) name_what_is_not_finite(element);
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!std::isfinite(number)) value = std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
  }
}

json_document to_json(const check& c) {
  return {{"name", c.name}, {"value", c.value}, {"tolerance", c.tolerance}, {"passed", c.passed()}};
}

json_document to_json(const machine_record& m) {
  json_document libraries = json_document::object();
  for (const auto& [name, version] : m.libraries) libraries[name] = version;
  json_document document{{"host", m.host},
                         {"cpu", m.cpu},
                         {"instruction_sets", m.instruction_sets},
                         {"logical_cpus", m.logical_cpus},
                         {"memory_bytes", m.memory_bytes},
                         {"system", m.system},
                         {"gpu", m.gpu},
                         {"driver", m.driver},
                         {"libraries", libraries},
                         {"ranks", m.ranks},
                         {"ranks_on_host", m.ranks_on_host},
                         {"threads", m.threads}};
  if (!m.gpus.is_null()) document["gpus"] = m.gpus;
  return document;
}

json_document to_json(const build_record& b) {
  return {{"compiler", b.compiler},
          {"flags", b.flags},
          {"revision", b.revision},
          {"dirty", b.dirty},
          {"version", b.version}};
}

json_document to_json(const operator_figure& f) {
  json_document document = {
      {"operator", f.operator_name},
      {"layout", f.layout},
      {"precision", f.precision},
      {"reconstruct", f.reconstruct},
      {"rhs", f.rhs},
      {"lattice", f.lattice},
      {"device", f.device},
      {"ranks", f.ranks},
      {"threads", f.threads},
      {"seconds",
       {{"min", f.seconds.min}, {"median", f.seconds.median}, {"max", f.seconds.max}, {"samples", f.seconds.samples}}},
      {"gflops", f.gflops},
      {"gbytes_per_s", f.gbytes_per_s},
      {"fraction_of_copy", f.fraction_of_copy}};
  if (f.device == "cpu") document["fraction_of_fma_peak"] = f.fraction_of_fma_peak;
  document.update(f.details);
  return document;
}

json_document to_json(const solve_record& s) {
  json_document document = {
      {"solver", s.solver},
      {"precision", s.precision},
      {"iterations", s.iterations},
      {"seconds", s.seconds},
      {"residual",
       {{"iterated", s.iterated_residual}, {"device", s.device_residual}, {"reference", s.reference_residual}}},
      {"history", s.history}};
  document.update(s.details);
  return document;
}

json_document to_json(const run_record& r) {
  json_document environment = json_document::object();
  for (const auto& [name, value] : r.environment) environment[name] = value;
  return {{"date", r.date},
          {"hosts", r.hosts},
          {"program_crc32", r.program_crc32},
          {"load", r.load},
          {"environment", environment}};
}

template <class Item>
json_document list_of(const std::vector<Item>& items) {
  json_document list = json_document::array();
  for (const Item& item : items) list.push_back(to_json(item));
  return list;
}

}  // namespace

json_document to_json(const report& r) {
  json_document document;
  document["schema_version"] = report_schema_version;
  document["app"] = r.app;
  document["fom"] = {{"value", r.fom.value}, {"unit", r.fom.unit}, {"what", r.fom.what}};
  if (!r.fom.none.empty()) document["fom"]["none"] = r.fom.none;
  document["verified"] = r.checks.passed();
  document["checks"] = list_of(r.checks.checks());
  document["parameters"] = r.parameters;
  document["machine"] = to_json(r.machine);
  document["build"] = to_json(r.build);
  document["gauge"] = r.gauge;
  document["figures"] = list_of(r.figures);
  document["solves"] = list_of(r.solves);
  document["observables"] = r.observables;
  if (!r.tuning.is_null()) document["tuning"] = r.tuning;
  if (!r.latencies.is_null()) document["latencies"] = r.latencies;
  if (!r.draws.is_null()) document["draws"] = r.draws;
  if (!r.energy.is_null()) document["energy"] = r.energy;
  if (!r.stages.is_null()) document["stages"] = r.stages;
  if (r.run_class)
    document["class"] = {{"name", r.run_class->name},       {"memory", r.run_class->memory},
                         {"version", r.run_class->version}, {"conforms", r.run_class->conforms()},
                         {"why", r.run_class->why},         {"work_seconds", r.run_class->work_seconds}};
  if (!r.run.date.empty()) document["run"] = to_json(r.run);
  name_what_is_not_finite(document);
  return document;
}

std::string fom_line(const figure_of_merit& fom) {
  if (!fom.none.empty()) return fmt::format("FOM        none     ({})", fom.none);
  const std::string value = std::isnan(fom.value) ? "none" : fmt::format("{:.4g}", fom.value);
  return fmt::format("FOM        {} {}     ({})", value, fom.unit, fom.what);
}

std::string energy_line(const json_document& energy) {
  if (energy.contains("none")) return "energy     of the hosts is not known: " + energy["none"].get<std::string>();
  return fmt::format("energy     {:.4g} J of the hosts in {:.4g} s, {:.4g} W ({})",
                     energy["energy_joule"].get<double>(), energy["seconds"].get<double>(),
                     energy["power_watt"].get<double>(), energy["source"].get<std::string>());
}

void print_machine(const report& r) {
  const auto plural = [](int count) { return count == 1 ? "" : "s"; };
  fmt::print("plaquette-{} {}, revision {}{}\n", r.app, r.build.version, r.build.revision.substr(0, 12),
             r.build.dirty ? " with changes" : "");
  fmt::print("machine    {}, {} rank{} of {} thread{}\n", r.machine.cpu, r.machine.ranks, plural(r.machine.ranks),
             r.machine.threads, plural(r.machine.threads));
}

void print_verdict(const report& r) {
  std::size_t width = 48;
  for (const check& c : r.checks.checks()) width = std::max(width, c.name.size());
  fmt::print("\n{:<{}}  {:>9}   {:>9}\n", "check", width, "value", "tolerance");
  for (const check& c : r.checks.checks())
    fmt::print("{:<{}}  {:9.3e}   {:9.3e}  {}\n", c.name, width, c.value, c.tolerance,
               c.passed() ? "passed" : "FAILED");
  fmt::print("\n");
  if (r.run_class)
    fmt::print("CLASS {} {}\n", r.run_class->name,
               r.run_class->conforms() ? "CONFORMS" : "DOES NOT (" + r.run_class->why + ")");
  fmt::print("{}\n{}\n", fom_line(r.fom), r.checks.line());
}

void require_writable(const std::string& path, bool force) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const std::string name = printable(path);
  if (fs::exists(path, ignored)) {
    if (!fs::is_regular_file(path, ignored))
      throw output_error(name + ": expected a regular file or none, found something else");
    if (!force) throw output_error(name + " exists already (--force overwrites it)");
  }
  fs::path directory = fs::path(path).parent_path();
  if (directory.empty()) directory = ".";
  if (!fs::is_directory(directory, ignored)) throw output_error(name + ": its directory does not exist");
  if (access(directory.c_str(), W_OK | X_OK) != 0)
    throw output_error(name + ": its directory cannot be written: " + std::strerror(errno));
}

std::string signed_text(const report& r) {
  // Text of strangers (file names) may be no UTF-8; it is replaced rather than refused.
  const std::string text = to_json(r).dump(2, ' ', false, json_document::error_handler_t::replace) + '\n';
  const std::string sum = hexadecimal(crc32(std::as_bytes(std::span(text))));
  return text.substr(0, text.size() - 3) + fmt::format(",\n  \"checksum\": \"crc32:{}\"\n}}\n", sum);
}

void write_report(const report& r, const std::string& path, bool force) {
  const std::string text = signed_text(r);
  if (path == standard_output_name) return write_to_standard_output(text);
  write_file_atomically(path, text, force ? existing_file::replace : existing_file::keep);
  std::ifstream file(path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (found != text)
    throw output_error(
        fmt::format("{}: expected the {} bytes of the report that were written, found {} bytes that differ",
                    printable(path), text.size(), found.size()));
}

}  // namespace plaquette
