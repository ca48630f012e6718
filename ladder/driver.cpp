// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Climbs a ladder: tests each rung against rung 1 on random input, times it, prints the table of gains.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <random>

#include "ladder/ladder.hpp"

namespace {

using namespace ladder;

struct row {
  int number;
  const rung_entry* entry;
  double seconds, error, bytes;
  std::string remark;
  bool passed() const { return error <= entry->tolerance; }  // NaN fails
};

/// Returns |a - b| / |b|; infinity where lengths differ or b is zero.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return a.size() == b.size() && norm != 0 ? std::sqrt(difference / norm) : INFINITY;
}

/// Returns the shortest of three runs or more that last `budget` seconds, after a first one; of fewer where runs are
/// long. A budget of 0 is for tests: the first run alone.
double time_of(rung& r, double budget) {
  const auto once = [&] {
    const auto begin = std::chrono::steady_clock::now();
    r.run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double best = once(), total = 0;
  for (int i = 0; budget > 0 && ((i < 3 && total < 10 * budget) || total < budget); ++i) {
    const double seconds = once();
    best = std::min(best, seconds), total += seconds;
  }
  return best;
}

/// Prints one row of Markdown: the header for a null row.
std::string line(const ladder::ladder& l, const row* r, const row* below, size s) {
  char text[400];
  if (r == nullptr) {
    std::snprintf(text, sizeof text,
                  "| rung | | ns a %s | GFLOP/s | bytes | GB/s | times the rung below | error | remark |\n%s",
                  l.item.c_str(), "|---|---|---|---|---|---|---|---|---|");
    return text;
  }
  const double item = r->seconds / l.items(s);
  std::string flops = "-", gain = "-", bytes = "- | -";
  if (l.flops > 0) std::snprintf(text, sizeof text, "%.2f", l.flops / item * 1e-9), flops = text;
  if (r->bytes > 0)
    std::snprintf(text, sizeof text, "%.0f | %.0f", r->bytes / l.items(s), r->bytes / r->seconds * 1e-9), bytes = text;
  if (below != nullptr) std::snprintf(text, sizeof text, "%.2f", below->seconds / r->seconds), gain = text;
  std::snprintf(text, sizeof text, "| %d | %s | %.4g | %s | %s | %s | %.1e | %s |", r->number, r->entry->name.c_str(),
                item * 1e9, flops.c_str(), bytes.c_str(), gain.c_str(), r->error, r->remark.c_str());
  return text;
}

void list(const std::string& only) {
  for (const auto& [name, l] : all()) {
    if (!only.empty() && only != name) continue;
    std::printf("%s: %s\n", name.c_str(), l.what.c_str());
    for (const auto& [number, entry] : l.rungs)
      std::printf("  %d  %-22s %s\n", number, entry.name.c_str(), entry.idea.c_str());
  }
}

int climb(int argc, char** argv) {
  CLI::App app{"Climbs a ladder: tests each rung against rung 1 on random input and times it."};
  std::string name, size_name = "small", table;
  int only = 0;
  double budget = 0.5;
  std::uint64_t seed = std::random_device{}();
  app.add_option("ladder", name, "which; without one, all are listed");
  app.add_option("--rung", only, "this rung and the one below it; default: all");
  app.add_option("--size", size_name, "of the problem")->check(CLI::IsMember({"nano", "small", "reference"}));
  app.add_option("--seconds", budget, "to time each rung for; 0: run it once");
  app.add_option("--seed", seed, "of the random input; default: another one in each run");
  app.add_option("--table", table, "file to write the rows to, as Markdown");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (table == "-") {
    std::fprintf(stderr, "plaquette-ladder: --table: expected the name of a file, found '-'\n");
    return 2;
  }
  if (name.empty()) return list({}), 0;
  const auto found = all().find(name);
  if (found == all().end() || (only != 0 && !found->second.rungs.contains(only))) {
    std::fprintf(stderr, "plaquette-ladder: there is no ladder '%s'%s; run it without arguments for a list\n",
                 name.c_str(), found == all().end() ? "" : " with this rung");
    return 2;
  }
  const ladder::ladder& l = found->second;
  const size s = size_name == "nano" ? size::nano : size_name == "small" ? size::small : size::reference;
  std::printf("%s: %s\nsize %s, seed %llu\n\n", name.c_str(), l.what.c_str(), size_name.c_str(),
              static_cast<unsigned long long>(seed));
  std::string text = line(l, nullptr, nullptr, s) + "\n";
  std::fputs(text.c_str(), stdout);
  std::vector<double> oracle;
  std::vector<row> rows;
  rows.reserve(l.rungs.size());
  for (const auto& [number, entry] : l.rungs) {
    const bool shown = only == 0 || number == only || number == only - 1;
    if (!shown && number != 1) continue;
    const auto r = entry.make(s, seed);
    row now{number, &entry, time_of(*r, shown ? budget : 0), 0, r->bytes(), r->remark()};
    if (number == 1) oracle = r->result();
    now.error = number == 1 && std::isfinite(distance(oracle, oracle)) ? 0 : distance(r->result(), oracle);
    if (!shown) continue;
    text += line(l, &now, rows.empty() ? nullptr : &rows.back(), s) + "\n";
    std::cout << line(l, &now, rows.empty() ? nullptr : &rows.back(), s) << std::endl;
    rows.push_back(now);
  }
  const auto failed = std::find_if(rows.begin(), rows.end(), [](const row& r) { return !r.passed(); });
  if (!table.empty() && !(std::ofstream(table) << text)) {
    std::fprintf(stderr, "plaquette-ladder: '%s' cannot be written\n", table.c_str());
    return 5;
  }
  if (failed == rows.end()) return std::printf("\nVERIFIED   PASSED     (each rung against rung 1)\n"), 0;
  std::printf("\nVERIFIED   FAILED     (rung %d: %.1e from rung 1, expected at most %.1e)\n", failed->number,
              failed->error, failed->entry->tolerance);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int status = climb(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.flush()) return status;
  std::fputs("plaquette-ladder: standard output could not be written\n", stderr);
  return status == 0 ? 5 : status;
}
