// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/dslash-scaling/summary.hpp"

#include <fmt/core.h>

#include "common/app/memory.hpp"
#include "common/app/parse.hpp"

namespace plaquette::scaling {

void print_problem(const scaling_options& options, const lattice_geometry& geometry) {
  const shared_options& shared = options.shared;
  fmt::print("lattice    {}{}, grid {}, {} a rank\n", to_string(geometry.global()),
             options.size.empty() ? "" : fmt::format(" ({}, {})", options.size, options.weak ? "weak" : "strong"),
             to_string(geometry.grid()), to_string(geometry.local()));
  fmt::print("gauge      {}\n", printable(shared.gauge.describe()));
  fmt::print("action     mass {:g} (kappa {:.6g}), csw {:g}\n", shared.action.mass, shared.action.kappa(),
             shared.action.clover_temporal);
  fmt::print("halo       {}overlap {}\n",
             shared.device == "gpu" ? fmt::format("{}, --wait {}, ", shared.halo, shared.wait) : "",
             shared.overlap ? "on" : "off");
}

std::string text_of(const memory_estimate& memory) {
  return fmt::format("memory: {} canonical fields, {} operator, {} vectors", format_bytes(memory.canonical_bytes),
                     format_bytes(memory.operator_bytes), format_bytes(memory.vector_bytes));
}

void print_work(const scaling_options& options, const lattice_geometry& geometry,
                const std::optional<machine_figures>& machine) {
  fmt::print("\n{:<13} {:<8} {:<7} {:>5} {:>4} {:>12} {:>14}", "operator", "layout", "prec.", "reals", "N", "Gflop",
             "fewest bytes");
  if (machine) fmt::print(" {:>11} {:>9} {:>13} {:>9}", "about [us]", "GFLOP/s", "exposed [us]", "sent");
  fmt::print("   (one application)\n");
  for (const operator_case& c : options.cases) {
    fmt::print("{:<13} {:<8} {:<7} {:>5} {:>4} {:>12.4g} {:>14}", name(c.kind), name(c.layout), name(c.precision),
               stored_reals(c.links), c.rhs, gflop_of(c, geometry), format_bytes(fewest_bytes_of(c, geometry)));
    if (machine) {
      const kernel_time t = time_of_case(c, geometry, options.shared.overlap, *machine);
      fmt::print(" {:>11.2f} {:>9.4g} {:>13.2f} {:>9}", 1e6 * t.seconds, gflop_of(c, geometry) / t.seconds,
                 1e6 * (t.seconds - t.alone), format_bytes(t.inside + t.outside));
    }
    fmt::print("\n");
  }
}

void print_figure_header(bool halo, bool gpu) {
  fmt::print("\n{:<13} {:<8} {:<7} {:>5} {:>4} {:>11} {:>9} {:>9} {:>8} {:>9}", "operator", "layout", "prec.", "reals",
             "N", "median [us]", "GFLOP/s", "GB/s", "of copy", gpu ? "protocol" : "of FMA");
  if (halo) fmt::print(" {:>13} {:>11} {:>9}", "exposed [us]", "hidden [us]", "sent");
  fmt::print("\n");
}

void print_figure(const operator_figure& f) {
  const std::string last = f.details.contains("protocol") ? f.details["protocol"].get<std::string>()
                                                          : fmt::format("{:.1f}%", 100.0 * f.fraction_of_fma_peak);
  fmt::print("{:<13} {:<8} {:<7} {:>5} {:>4} {:>11.1f} {:>9.2f} {:>9.2f} {:>7.1f}% {:>9}", f.operator_name, f.layout,
             f.precision, f.reconstruct, f.rhs, 1e6 * f.seconds.median, f.gflops, f.gbytes_per_s,
             100.0 * f.fraction_of_copy, last);
  if (f.details.contains("halo")) {
    const auto& halo = f.details["halo"];
    fmt::print(" {:>13.1f} {:>11.1f} {:>9}", 1e6 * halo["exposed_seconds"].get<double>(),
               1e6 * halo["hidden_seconds"].get<double>(), format_bytes(halo["bytes_sent"].get<double>()));
  }
  fmt::print("\n");
}

}  // namespace plaquette::scaling
