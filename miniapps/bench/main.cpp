// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-bench: the kernels of one device as ratios to what the machine does at best, measured in the same run.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "common/app/command_line.hpp"
#include "common/app/progress.hpp"
#include "common/app/run_app.hpp"
#include "common/app/run_control.hpp"
#include "common/lattice/extents.hpp"
#include "miniapps/bench/batch_bench.hpp"
#include "miniapps/bench/gpu_bench.hpp"
#include "miniapps/bench/gpu_rows.hpp"
#include "miniapps/bench/hopping_bench.hpp"
#include "miniapps/bench/precision_bench.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette::bench {

namespace {

struct options {
  std::string isa = "best", json, typed;
  int samples = 11;
  bool force = false, large = false, list_rows = false;
  gpu_bench_options gpu;  ///< its `shared` says which device
  // one case, where a lattice is given
  extents lattice{};
  std::string precision = "single", links = "18";
  int rhs = 1, threads = 1;
};

cpu::instruction_set chosen(const std::string& name) {
  using enum cpu::instruction_set;
  const auto isa = name == "best"     ? cpu::best_instruction_set()
                   : name == "avx512" ? avx512
                   : name == "avx2"   ? avx2
                                      : generic;
  if (cpu::kernels_of(isa).single_precision[0].width == 0)
    throw input_error("--isa " + name + ": this processor does not have it");
  return isa;
}

/// Options that would be passed over in silence are refused.
void require_sense(const command_line& line, const std::string& device) {
  const auto refuse = [&line](const std::vector<std::string>& list, const std::string& expected) {
    for (const std::string& option : list)
      if (line.given(option)) throw input_error(fmt::format("{}: expected {} beside it", option, expected));
  };
  const std::vector<std::string> of_one_case{"--precision", "--reconstruct", "--rhs", "--threads"};
  if (device == "gpu") {
    refuse({"--isa", "--large", "--lattice"}, "--device cpu");
    return refuse(of_one_case, "--device cpu");
  }
  refuse({"--rows", "--protocol", "--idle-seconds", "--running-seconds", "--gauge", "--mass", "--csw", "--delta"},
         "--device gpu");
  if (!line.given("--lattice")) return refuse(of_one_case, "--lattice");
  if (line.given("--large")) throw input_error("--large: expected no --lattice beside it, whose case is the only one");
}

options read_options(int argc, const char* const* argv) {
  options o;
  command_line line(
      "plaquette-bench",
      "Times the kernels and prints them as ratios to the machine's own peaks, measured in the same run.");
  declare_device(line, o.gpu.shared);
  line.choice("--isa", o.isa, {"best", "generic", "avx2", "avx512"}, "instruction set of the kernels");
  line.integer("--samples", o.samples, "measurements of each case", 3, 1000);
  line.flag("--large", o.large, "lattices beyond the last-level cache too: 16 GB of memory, some minutes");
  line.section("One case instead of the list");
  line.custom(
      "--lattice", "XxYxZxT", "none",
      [&o](const std::string& text, const std::string& option) { o.lattice = parse_extents(text, option); },
      "time the hopping term there, and nothing else");
  line.choice("--precision", o.precision, {"double", "single", "half"}, "of its numbers");
  line.choice("--reconstruct", o.links, {"18", "12", "8"}, "stored reals of a link");
  line.integer("--rhs", o.rhs, "right-hand sides", 1, 64);
  line.integer("--threads", o.threads, "threads", 1, 4096);
  line.section("On a GPU");
  line.text("--rows", o.gpu.rows, "NAMES", "rows of the table, or how their names begin, separated by commas");
  line.flag("--list-rows", o.list_rows, "print the names of all rows, and stop");
  line.choice("--protocol", o.gpu.protocol, {"both", "cool", "sustained"},
              "after idleness, after some time of the same work (the power limit then acts), or both");
  line.real("--idle-seconds", o.gpu.idle_seconds, "before samples of a cool GPU", real_range::positive());
  line.real("--running-seconds", o.gpu.running_seconds, "before samples under sustained load", real_range::positive());
  line.custom(
      "--gauge", "weak:EPS|random|unit|heatbath:BETA[:SWEEPS]", "weak:0.3; heatbath:6:100 for solves",
      [&o](const std::string& text, const std::string& option) { o.gpu.gauge = parse_gauge_choice(text, option); },
      "where the links come from");
  line.real("--mass", o.gpu.mass, "of the solves");
  line.real("--csw", o.gpu.csw, "of the solves");
  line.real("--delta", o.gpu.delta, "of the solves: the residual is made anew where it has fallen by this factor",
            real_range::positive());
  line.section("Output");
  line.text("--json", o.json, "FILE", "write the report there");
  line.flag("--force", o.force, "overwrite an existing report");
  line.parse(argc, argv);
  require_device_sense(line, o.gpu.shared);
  require_sense(line, o.gpu.shared.device);
  if (line.given("--samples")) o.gpu.samples = o.samples;
  o.typed = line.typed();
  return o;
}

void print_hopping_head() {
  fmt::print("{:<14} {:<7} {:>5} {:>3} {:>8} {:>9} {:>9} {:>9} {:>9}\n", "lattice", "prec.", "reals", "N", "threads",
             "GFLOP/s", "GB/s", "of FMA", "of copy");
}

void print_hopping(const operator_figure& f) {
  fmt::print("{:<14} {:<7} {:>5} {:>3} {:>8} {:>9.1f} {:>9.1f} {:>8.1f}% {:>8.1f}%\n", to_string(f.lattice),
             f.precision, f.reconstruct, f.rhs, f.threads, f.gflops, f.gbytes_per_s, 100.0 * f.fraction_of_fma_peak,
             100.0 * f.fraction_of_copy);
  std::fflush(stdout);
}

/// What the list times, small lattices first.
std::vector<hopping_case> hopping_cases(bool large, int cores) {
  using enum reconstruct;
  const extents tiny{4, 8, 8, 8}, small{8, 8, 8, 8}, medium{16, 16, 16, 16}, big{48, 48, 48, 48};
  std::vector<hopping_case> cases;
  for (const extents& lattice : {tiny, small, medium}) {
    for (const char* precision : {"single", "double"})
      for (const int rhs : {1, 12})
        for (const reconstruct links : {none, twelve}) cases.push_back({lattice, rhs, precision, links, 1});
    cases.push_back({lattice, 1, "single", eight, 1});
    cases.push_back({lattice, 1, "half", none, 1});
    cases.push_back({lattice, 1, "half", twelve, 1});
    cases.push_back({lattice, 12, "half", twelve, 1});
    if (cores > 1) cases.push_back({lattice, 1, "single", none, 2});
  }
  if (!large) return cases;
  const int threads = std::min(cores, 2);
  for (const reconstruct links : {none, twelve, eight}) cases.push_back({big, 1, "single", links, threads});
  cases.push_back({big, 12, "single", none, threads});
  cases.push_back({big, 12, "single", twelve, threads});
  for (const reconstruct links : {none, twelve}) cases.push_back({big, 1, "half", links, threads});
  for (const reconstruct links : {none, twelve}) cases.push_back({big, 1, "double", links, threads});
  return cases;
}

/// What a batch gains in a whole solver.
void time_batches(const options& o, cpu::instruction_set isa, run_control& control, report& r) {
  fmt::print(
      "\nBiCGstab, symmetric Schur system, clover: 12 right-hand sides as a batch against one after the other\n");
  fmt::print("{:<14} {:<7} {:>12} {:>14} {:>8}\n", "lattice", "prec.", "batch [s]", "one by one [s]", "gain");
  for (const bool single : {true, false})
    for (const extents& lattice : {extents{8, 8, 8, 8}, extents{16, 16, 16, 16}}) {
      if (control.should_stop()) return;
      const batch_gain gain =
          bench_batch(lattice, single, 1, isa, lattice[0] > 8 ? 3 : std::max(3, o.samples / 2), r.checks);
      fmt::print("{:<14} {:<7} {:>12.4f} {:>14.4f} {:>7.2f}x\n", to_string(lattice), single ? "single" : "double",
                 gain.batch_seconds, gain.one_by_one_seconds, gain.gain());
      std::fflush(stdout);
      r.observables["batch_gain"].push_back({{"lattice", gain.lattice},
                                             {"precision", single ? "single" : "double"},
                                             {"rhs", gain.rhs},
                                             {"iterations", gain.iterations},
                                             {"batch_seconds", gain.batch_seconds},
                                             {"one_by_one_seconds", gain.one_by_one_seconds},
                                             {"gain", gain.gain()}});
    }
}

/// What half precision gains in a whole solve.
void time_precisions(const options& o, cpu::instruction_set isa, run_control& control, report& r) {
  fmt::print("\nBiCGstab to 1e-10, symmetric Schur system, clover, 12 reals: double with half inside against double\n");
  fmt::print("{:<14} {:>8} {:>12} {:>12} {:>17} {:>8}\n", "lattice", "threads", "double [s]", "d-half [s]",
             "iterations", "gain");
  std::vector<extents> lattices{{16, 16, 16, 16}};
  if (o.large) lattices.push_back({32, 32, 32, 64});
  const int threads = std::min(2, r.machine.logical_cpus);
  for (const extents& lattice : lattices) {
    if (control.should_stop()) return;
    const precision_gain gain = bench_precision(lattice, threads, isa, 2, r.checks);
    fmt::print("{:<14} {:>8} {:>12.3f} {:>12.3f} {:>17} {:>7.2f}x\n", to_string(lattice), threads, gain.double_seconds,
               gain.mixed_seconds, fmt::format("{} / {}", gain.double_iterations, gain.mixed_iterations), gain.gain());
    std::fflush(stdout);
    r.observables["precision_gain"].push_back({{"lattice", gain.lattice},
                                               {"threads", threads},
                                               {"tolerance", gain.tolerance},
                                               {"double_seconds", gain.double_seconds},
                                               {"double_half_seconds", gain.mixed_seconds},
                                               {"double_iterations", gain.double_iterations},
                                               {"double_half_iterations", gain.mixed_iterations},
                                               {"gain", gain.gain()}});
  }
}

/// The CPU's table.
void run_cpu_bench(const options& o, run_control& control, report& r) {
  const cpu::instruction_set isa = chosen(o.isa);
  const bool one_case = o.lattice[0] > 0;
  if (one_case) static_cast<void>(lattice_geometry(o.lattice));  // refused before anything is measured
  const cpu::context one_core(lattice_geometry({8, 8, 8, 8}), communicator(), 1, isa);
  r.parameters["isa"] = std::string(cpu::name_of(isa));
  fmt::print("Instruction set {}; one core's peak in fused multiply-adds: {:.1f} GFLOP/s single, {:.1f} double\n\n",
             cpu::name_of(isa), fma_gflops<float>(one_core), fma_gflops<double>(one_core));
  fmt::print("Hopping term, even-odd, one parity\n");
  print_hopping_head();
  std::vector<hopping_case> cases = hopping_cases(o.large, r.machine.logical_cpus);
  if (one_case) cases = {{o.lattice, o.rhs, o.precision, static_cast<reconstruct>(std::stoi(o.links)), o.threads}};
  hopping_bench bench(isa, o.samples);
  for (const hopping_case& c : cases) {
    if (control.should_stop()) return;
    r.figures.push_back(bench.time(c, r.checks));
    print_hopping(r.figures.back());
    if (one_case || (c.lattice == extents{8, 8, 8, 8} && c.rhs == 1 && c.precision == "single" &&
                     c.links == reconstruct::none && c.threads == 1))
      r.fom = {100.0 * r.figures.back().fraction_of_fma_peak, "% of the FMA peak of its cores",
               fmt::format("hopping term, {}, even-odd, {} precision, {} reals, N = {}, threads: {}",
                           to_string(c.lattice), c.precision, stored_reals(c.links), c.rhs, c.threads)};
  }
  if (one_case) return;
  time_batches(o, isa, control, r);
  if (!control.should_stop()) time_precisions(o, isa, control, r);
}

exit_status run(const options& o, const communicator& world) {
  if (world.size() > 1) throw input_error("plaquette-bench runs on one rank");
  if (o.list_rows) {
    for (const gpu_row& row : gpu_rows()) fmt::print("{}\n", row.name);
    return exit_status::success;
  }
  if (!o.json.empty()) require_writable(o.json, o.force);

  report r;
  r.app = "bench";
  r.machine = machine_information(world);
  r.build = build_information();
  r.parameters = {{"command", o.typed}, {"samples", o.samples}};
  run_control control(world, std::numeric_limits<double>::infinity());
  if (o.gpu.shared.device == "gpu")
    run_gpu_bench(o.gpu, world, control, r);
  else
    run_cpu_bench(o, control, r);
  control.note_stop(r.checks);

  if (!o.json.empty()) write_report(r, o.json, o.force);
  fmt::print("\n{}\n{}\n", fom_line(r.fom), r.checks.line());
  if (control.stopped()) return exit_status::interrupted;
  return r.checks.passed() ? exit_status::success : exit_status::verification_failed;
}

}  // namespace

}  // namespace plaquette::bench

int main(int argc, char** argv) {
  using namespace plaquette;
  return run_app("plaquette-bench", argc, argv, [](int count, const char* const* arguments, const communicator& world) {
    return bench::run(bench::read_options(count, arguments), world);
  });
}
