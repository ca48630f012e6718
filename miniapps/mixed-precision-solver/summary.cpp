// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/summary.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/app/memory.hpp"
#include "common/app/parse.hpp"

namespace plaquette {

namespace {

std::string boundary_of(const fermion_action& action) {
  std::string text;
  for (const auto& phase : action.boundary_phase) {
    text += text.empty() ? "" : ", ";
    text += phase.im == 0.0 ? fmt::format("{:g}", phase.re) : fmt::format("{:.6g}{:+.6g}i", phase.re, phase.im);
  }
  return text;
}

std::string action_text(const fermion_action& action) {
  std::string text = fmt::format("mass {:g} (kappa {:.6g})", action.mass, action.kappa());
  if (action.clover_spatial == action.clover_temporal)
    text += fmt::format(", csw {:g}", action.clover_spatial);
  else
    text += fmt::format(", clover {:g} spatial, {:g} temporal", action.clover_spatial, action.clover_temporal);
  if (action.anisotropy != 1.0 || action.nu != 1.0)
    text += fmt::format(", anisotropy {:g}, nu {:g}", action.anisotropy, action.nu);
  return text + ", boundary phases " + boundary_of(action);
}

std::string source_text(const source_description& source) {
  const auto& x = source.position;
  if (source.kind == source_kind::wall) return fmt::format("wall at time {}", x[3]);
  std::string text = fmt::format("{} at {},{},{},{}", name(source.kind), x[0], x[1], x[2], x[3]);
  if (source.kind == source_kind::gaussian)
    text += fmt::format(", radius {:g}, {} steps", source.smearing_radius, source.smearing_steps);
  return text;
}

/// How the precisions work together; empty for a plain solver of one.
std::string precision_text(const solver_options& options) {
  if (options.plain()) return "";
  return fmt::format("{} {} of the {} solution, delta {:g}, ", name(options.inner), scheme_text(options),
                     name(options.outer), options.updates.delta);
}

}  // namespace

void print_problem(const solver_options& options, const lattice_geometry& geometry) {
  const shared_options& shared = options.shared;
  const bool stored = !options.read_propagator.empty();
  fmt::print("lattice    {}{}, grid {}, {} precision\n", to_string(geometry.global()),
             options.size.empty() ? "" : " (" + options.size + ")", to_string(geometry.grid()), shared.precision);
  fmt::print("gauge      {}\n", printable(shared.gauge.describe()));
  fmt::print("action     {}\n", action_text(shared.action));
  fmt::print("source     {}, {} of 12 spin-colours\n", source_text(options.source), shared.rhs);
  if (stored)
    fmt::print("propagator {}\n", printable(options.read_propagator));
  else
    fmt::print("solver     {} on the {} Schur complement, {}tolerance {:g}\n", name(options.solver),
               name(options.preconditioning), precision_text(options), options.tolerance());
}

std::string text_of_seconds(const solver_options& options, const solve_times& times) {
  std::string text =
      fmt::format("{:.4g} an iteration of {} right-hand sides, {:.4g} an application of its operator", times.iteration,
                  std::min(options.batch_size(), options.shared.rhs), times.application.seconds);
  if (times.solves > 0.0)
    return text + fmt::format("; {:.4g} for {} iterations", times.solves, options.expected_iterations);
  return text + " (--expected-iterations N tells the whole)";
}

std::vector<std::pair<std::string, std::string>> lines_of(const solver_options& options, const work_estimate& work) {
  return {{"", fmt::format("memory: {} canonical fields, {} operator, {} vectors, {} program and measurement",
                           format_bytes(work.canonical_bytes), format_bytes(work.operator_bytes),
                           format_bytes(work.vector_bytes), format_bytes(work.program_bytes + work.measurement_bytes))},
          {"iteration",
           fmt::format("{:.4g} Gflop and {} at least through memory, for all {} right-hand sides",
                       1e-9 * work.flops_per_iteration, format_bytes(work.bytes_per_iteration), options.shared.rhs)}};
}

void print_columns(const std::vector<column_result>& columns) {
  fmt::print("\n              relative residual: iterated,  true by the device,  true by the reference\n");
  fmt::print("column  iterations    iterated      device   reference   tolerance  status\n");
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const column_result& c = columns[n];
    fmt::print("{:6}  {:10}  {:10.3e}  {:10.3e}  {:10.3e}  {:10.3e}  {}{}\n", n, c.iterations, c.iterated, c.device,
               c.reference, c.tolerance, c.solved() ? "solved" : "NOT SOLVED",
               c.status == solve_status::converged && c.why.empty()
                   ? ""
                   : fmt::format(" ({}{}{})", name(c.status), c.why.empty() ? "" : ": ", c.why));
  }
}

namespace {

/// If several batches were timed: how they spread.
void print_batches(const json_document& batches) {
  if (batches.size() < 2) return;
  const auto by_rate = [](const json_document& a, const json_document& b) {
    return a["gflops"].get<double>() < b["gflops"].get<double>();
  };
  const auto [slowest, fastest] = std::minmax_element(batches.begin(), batches.end(), by_rate);
  fmt::print("batches    {}, solved one after the other, at {:.4g} to {:.4g} GFLOP/s\n", batches.size(),
             (*slowest)["gflops"].get<double>(), (*fastest)["gflops"].get<double>());
}

void print_halo(const json_document& halo) {
  fmt::print(
      "           halo: {:.1f} us exposed, {:.1f} us hidden, {} sent by a rank; without communication {:.1f} us\n",
      1e6 * halo["exposed_seconds"].get<double>(), 1e6 * halo["hidden_seconds"].get<double>(),
      format_bytes(halo["bytes_sent"].get<double>()), 1e6 * halo["seconds_without_communication"].get<double>());
}

}  // namespace

void print_timing(const report& r) {
  fmt::print("\n");
  for (const solve_record& s : r.solves) {
    const auto& timing = s.details["timing"];
    fmt::print("solve      {:.4g} s median of {} (min {:.4g}, max {:.4g}){}, {} iterations, {:.4g} GFLOP/s\n",
               timing["median"].get<double>(), timing["samples"].get<int>(), timing["min"].get<double>(),
               timing["max"].get<double>(), timing["after_warm_up"].get<bool>() ? "" : " without warm-up", s.iterations,
               s.details["gflops"].get<double>());
    print_batches(s.details["batches"]);
    if (s.details.contains("halo"))
      fmt::print("halo       {}overlap {}\n",
                 s.details["halo"].contains("policy") ? s.details["halo"]["policy"].get<std::string>() + ", " : "",
                 s.details["halo"]["overlap"].get<std::string>());
    const auto& applications = s.details["applications"];
    fmt::print(
        "operators  {} applications in {} for the Krylov space, {} in {} for residuals, recomputed up to {} times\n",
        applications["inner"].get<long>(), s.details["inner_precision"].get<std::string>(),
        applications["outer"].get<long>(), s.details["solution_precision"].get<std::string>(),
        s.details["updates"].get<int>());
  }
  for (const operator_figure& f : r.figures) {
    fmt::print("operator   {} {} N={}: {:.4g} GFLOP/s, {:.4g} GB/s, {:.0f}% of copy, {}\n", f.operator_name,
               f.precision, f.rhs, f.gflops, f.gbytes_per_s, 100.0 * f.fraction_of_copy,
               f.device == "gpu" ? f.details["protocol"].get<std::string>()
                                 : fmt::format("{:.0f}% of FMA peak", 100.0 * f.fraction_of_fma_peak));
    if (f.details.contains("halo")) print_halo(f.details["halo"]);
  }
}

}  // namespace plaquette
