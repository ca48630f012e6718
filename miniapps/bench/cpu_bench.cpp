// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/cpu_bench.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "miniapps/bench/batch_bench.hpp"
#include "miniapps/bench/hopping_bench.hpp"
#include "miniapps/bench/precision_bench.hpp"
#include "miniapps/shared/machine_speed.hpp"
#include "miniapps/shared/possible_figures.hpp"

namespace plaquette::bench {

namespace {

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

/// Of BiCGstab on the even-odd Wilson-clover matrix: two applications an iteration, and the vectors' work left out.
operator_figure rate_of_solve(const extents& lattice, int rhs, int iterations, double seconds, int threads) {
  constexpr double flops_per_site = 3696.0;
  return rate_of_flops(
      1e-9 * flops_per_site * 0.5 * static_cast<double>(volume(lattice)) * rhs * 2.0 * iterations / seconds, 1,
      threads);
}

/// What a batch gains in a whole solver.
void time_batches(const options& o, cpu::instruction_set isa, app_run& run) {
  report& r = run.result;
  fmt::print(
      "\nBiCGstab, symmetric Schur system, clover: 12 right-hand sides as a batch against one after the other\n");
  fmt::print("{:<14} {:<7} {:>12} {:>14} {:>8}\n", "lattice", "prec.", "batch [s]", "one by one [s]", "gain");
  for (const bool single : {true, false})
    for (const extents& lattice : {extents{8, 8, 8, 8}, extents{16, 16, 16, 16}}) {
      if (run.control.should_stop()) return;
      const batch_gain gain = bench_batch(lattice, single, 1, isa, lattice[0] > 8 ? 3 : std::max(3, o.samples / 2),
                                          r.checks, [&run] { return run.control.should_stop(); });
      if (run.control.stopped()) return;
      fmt::print("{:<14} {:<7} {:>12.4f} {:>14.4f} {:>7.2f}x\n", to_string(lattice), single ? "single" : "double",
                 gain.batch_seconds, gain.one_by_one_seconds, gain.gain());
      std::fflush(stdout);
      for (const double seconds : {gain.batch_seconds, gain.one_by_one_seconds})
        run.more_rates.push_back(rate_of_solve(lattice, gain.rhs, gain.iterations, seconds, 1));
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
void time_precisions(const options& o, cpu::instruction_set isa, app_run& run) {
  report& r = run.result;
  fmt::print("\nBiCGstab to 1e-10, symmetric Schur system, clover, 12 reals: double with half inside against double\n");
  fmt::print("{:<14} {:>8} {:>12} {:>12} {:>17} {:>8}\n", "lattice", "threads", "double [s]", "d-half [s]",
             "iterations", "gain");
  std::vector<extents> lattices{{16, 16, 16, 16}};
  if (o.large) lattices.push_back({32, 32, 32, 64});
  const int threads = std::min(2, r.machine.logical_cpus);
  for (const extents& lattice : lattices) {
    if (run.control.should_stop()) return;
    const precision_gain gain =
        bench_precision(lattice, threads, isa, 2, r.checks, [&run] { return run.control.should_stop(); });
    if (run.control.stopped()) return;
    run.more_rates.push_back(rate_of_solve(lattice, 1, gain.double_iterations, gain.double_seconds, threads));
    run.more_rates.push_back(rate_of_solve(lattice, 1, gain.mixed_iterations, gain.mixed_seconds, threads));
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

}  // namespace

void run_cpu_bench(const options& o, app_run& run) {
  run_control& control = run.control;
  report& r = run.result;
  const cpu::instruction_set isa = run.instructions = chosen(o.isa);
  const bool one_case = o.is_one_case();
  if (one_case) static_cast<void>(lattice_geometry(o.lattice));  // refused before anything is measured
  const cpu::context one_core(lattice_geometry({8, 8, 8, 8}), communicator(), 1, isa);
  r.parameters["isa"] = std::string(cpu::name_of(isa));
  fmt::print("Instruction set {}; one core's peak in fused multiply-adds: {:.1f} GFLOP/s single, {:.1f} double\n\n",
             cpu::name_of(isa), fma_gflops<float>(one_core), fma_gflops<double>(one_core));
  fmt::print("Hopping term, even-odd, one parity\n");
  print_hopping_head();
  std::vector<hopping_case> cases = hopping_cases(o.large, r.machine.logical_cpus);
  if (one_case) cases = {{o.lattice, o.rhs, o.precision, static_cast<reconstruct>(std::stoi(o.links)), o.threads}};
  hopping_bench bench(isa, o.samples, [&control] { return control.should_stop(); });
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
  time_batches(o, isa, run);
  if (!control.should_stop()) time_precisions(o, isa, run);
}

}  // namespace plaquette::bench
