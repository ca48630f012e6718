// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/gpu_bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gpu/device/machine_speed.hpp"
#include "gpu/library.hpp"
#include "miniapps/bench/gpu_operator_bench.hpp"
#include "miniapps/bench/gpu_rows.hpp"
#include "miniapps/bench/gpu_solver_bench.hpp"
#include "miniapps/bench/gpu_vector_bench.hpp"
#include "miniapps/shared/gpu_access.hpp"
#include "miniapps/shared/machine_speed.hpp"
#include "miniapps/shared/possible_figures.hpp"

namespace plaquette::bench {

namespace {

/// What the device can do, measured at the start of the run.
struct device_limits {
  double copy = 0.0, read = 0.0;  ///< 10^9 bytes per second
  double single_gflops = 0.0, double_gflops = 0.0;
  gpu::launch_cost launch;

  double fma_gflops(const std::string& precision) const {
    return precision == "double" ? double_gflops : single_gflops;
  }
};

device_limits measured_limits(const gpu::queue& q) {
  return {gpu::copy_gbytes_per_s(q), gpu::read_gbytes_per_s(q), gpu::fma_gflops<float>(q), gpu::fma_gflops<double>(q),
          gpu::measured_launch_cost(q)};
}

void print_limits(const device_limits& limits) {
  fmt::print(
      "copy {:.1f} GB/s, read {:.1f} GB/s; fused multiply-adds {:.1f} TFLOP/s single, {:.1f} double; an empty kernel "
      "{:.2f} us in a queue, {:.2f} us in a graph, {:.1f} us waited for\n\n",
      limits.copy, limits.read, 1e-3 * limits.single_gflops, 1e-3 * limits.double_gflops, 1e6 * limits.launch.in_queue,
      1e6 * limits.launch.in_graph, 1e6 * limits.launch.waited_for);
}

json_document to_json(const device_limits& limits) {
  return {{"copy_gbytes_per_s", limits.copy},
          {"read_gbytes_per_s", limits.read},
          {"fma_gflops_single", limits.single_gflops},
          {"fma_gflops_double", limits.double_gflops},
          {"launch_seconds_in_queue", limits.launch.in_queue},
          {"launch_seconds_in_graph", limits.launch.in_graph},
          {"launch_seconds_waited_for", limits.launch.waited_for}};
}

std::string or_dash(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

double sites_of_parity(const gpu_row& row) {
  return 0.5 * row.lattice[0] * row.lattice[1] * row.lattice[2] * row.lattice[3];
}

/// TFLOP/s at the seconds of one application; of vector operations the share of the copy bandwidth.
double speed_of(const gpu_row& row, double seconds, const device_limits& limits) {
  const double sites = sites_of_parity(row) * row.rhs;
  if (row.subject == gpu_subject::vector_operation) return 1e-9 * sites * fewest_bytes(row) / seconds / limits.copy;
  return 1e-12 * sites * standard_flops(row) / seconds;
}

/// The speed of a kernel that moves the fewest bytes as fast as a copy does.
double limit_of(const gpu_row& row, const device_limits& limits) {
  if (row.subject == gpu_subject::vector_operation) return 1.0;
  return 1e-3 * standard_flops(row) / fewest_bytes(row) * limits.copy;
}

std::string operator_name(const gpu_row& row) {
  if (row.subject == gpu_subject::vector_operation) return row.operation;
  return row.subject == gpu_subject::hopping ? "hopping" : "clover_schur";
}

operator_figure figure_of(const gpu_row& row, const timed_samples& samples, const device_limits& limits,
                          const std::string& device) {
  const double sites = sites_of_parity(row) * row.rhs, median = samples.seconds.median;
  operator_figure figure;
  figure.operator_name = operator_name(row);
  figure.layout = "even-odd";
  figure.precision = row.precision;
  figure.reconstruct = row.reals;
  figure.rhs = row.rhs;
  figure.lattice = row.lattice;
  figure.device = "gpu";
  figure.seconds = samples.seconds;
  set_rates(figure, {.flops = sites * standard_flops(row), .bytes = sites * fewest_bytes(row)},
            {limits.copy, limits.fma_gflops(row.precision)});
  figure.details = samples.details;
  figure.details.update(
      {{"row", row.name}, {"speed", speed_of(row, median, limits)}, {"limit", limit_of(row, limits)}});
  if (const auto peer = peer_of(row.name, device))
    figure.details["peer"] = {{"program", peer->program}, {"tflops", peer->tflops}};
  return figure;
}

void print_head() {
  fmt::print("{:<30} {:>9} {:>9} {:>7} {:>6} {:>7} {:>7}  {}\n", "row", "cool", "sustained", "limit", "share", "peer",
             "ratio", "launch");
  std::fflush(stdout);
}

/// TFLOP/s, or shares of the copy bandwidth; the share of the limit and the ratio to the peer are those of the first
/// protocol.
void print_row(const gpu_row& row, const std::vector<timed_samples>& all, const device_limits& limits,
               const std::string& device) {
  std::optional<double> cool, sustained, peer, ratio;
  for (const timed_samples& samples : all)
    (samples.holds("cool") ? cool : sustained) = speed_of(row, samples.seconds.median, limits);
  const double first = cool ? *cool : sustained.value_or(NAN), limit = limit_of(row, limits);
  if (const auto found = peer_of(row.name, device)) {
    peer = found->tflops;
    ratio = first / *peer;
  }
  fmt::print("{:<30} {:>9} {:>9} {:>7.2f} {:>5.1f}% {:>7} {:>7}  {}\n", row.name, or_dash(cool), or_dash(sustained),
             limit, 100.0 * first / limit, or_dash(peer), or_dash(ratio), all.front().details.value("launch", ""));
  std::fflush(stdout);
}

void print_solve(const gpu_row& row, const gpu_solve& s) {
  fmt::print(
      "{:<30} {:>9.3f} s {:>6} iterations, {} updates, residual {:.1e}, {:.2f} TFLOP/s, {:.0f}% of the predicted "
      "rate{}\n",
      row.name, s.seconds.median, s.iterations, s.updates, s.residual, s.tflops,
      100.0 * s.predicted_seconds / s.seconds.median,
      s.batch_gain ? fmt::format(", {:.2f}x one by one", *s.batch_gain) : "");
  std::fflush(stdout);
}

json_document to_json(const gpu_row& row, const gpu_solve& s) {
  json_document j{{"row", row.name},
                  {"lattice", row.lattice},
                  {"rhs", row.rhs},
                  {"precision", s.solution_precision},
                  {"inner_precision", s.inner_precision},
                  {"tolerance", s.tolerance},
                  {"iterations", s.iterations},
                  {"updates", s.updates},
                  {"residual", s.residual},
                  {"seconds", s.seconds.median},
                  {"tflops", s.tflops},
                  {"predicted_seconds", s.predicted_seconds}};
  if (s.batch_gain) j["batch_gain"] = *s.batch_gain;
  return j;
}

/// Seconds a right-hand side of uniform double, one right-hand side, over those of every other solve to its tolerance
/// on that lattice; noted with the solves.
void compare_with_double(json_document& solves) {
  const json_document before = solves;
  for (const auto& uniform : before) {
    if (uniform["inner_precision"] != "double" || uniform["rhs"] != 1) continue;
    for (auto& other : solves) {
      if (other["precision"] != "double" || other["row"] == uniform["row"] || other["lattice"] != uniform["lattice"])
        continue;
      const int rhs = other["rhs"].get<int>();
      const double gain = rhs * uniform["seconds"].get<double>() / other["seconds"].get<double>();
      other["gain_over_double"] = gain;
      fmt::print("{:<30} {:.2f} times as fast as double{}\n", other["row"].get<std::string>(), gain,
                 rhs > 1 ? " a right-hand side" : "");
    }
  }
}

class gpu_bench {
 public:
  gpu_bench(const gpu_bench_options& options, app_run& run)
      : options_(options),
        gpu_(*run.gpu),
        report_(run.result),
        rates_(run.more_rates),
        limits_(measured_limits(gpu::context_of(gpu_.device()).queue())) {
    timing_.how.samples = options.samples;
    timing_.protocols = protocols_of(gpu_);
    timing_.protocols.state.idle_seconds = options.idle_seconds;
    timing_.protocols.state.running_seconds = options.running_seconds;
    if (options.protocol != "both")
      std::erase_if(timing_.protocols.protocols, [&](auto one) { return name_of(one) != options.protocol; });
    report_.observables["device"] = to_json(limits_);
    print_limits(limits_);
  }

  /// Rows after a stop are left out.
  void measure(const std::vector<gpu_row>& rows, run_control& control) {
    print_head();
    run_rows(
        rows,
        [&](const gpu_row& row) {
          if (control.should_stop()) return;
          row.subject == gpu_subject::solve ? solve(row) : time(row);
        },
        [this] {
          lattice_.reset();  // a row that failed may have filled the memory
          return device_works();
        },
        [](const std::string& line) {
          fmt::print("{}\n", line);
          std::fflush(stdout);
        },
        report_.checks);
    if (report_.observables.contains("gpu_solves")) compare_with_double(report_.observables["gpu_solves"]);
    if (report_.fom.what.empty()) report_.fom = {limits_.copy, "GB/s", "copy bandwidth"};
    report_.parameters["tuning"] = to_json(gpu_.device().tuning());
  }

 private:
  bool device_works() const {
    try {
      gpu::copy_gbytes_per_s(gpu::context_of(gpu_.device()).queue(), 0x1p24);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  void time(const gpu_row& row) {
    gpu_lattice& lattice = lattice_of(row);
    const auto samples = row.subject == gpu_subject::hopping ? time_hopping(lattice, row, timing_, report_.checks)
                         : row.subject == gpu_subject::clover_schur
                             ? time_clover_schur(lattice, row, timing_, report_.checks)
                             : time_vector_operation(lattice.get_context(), row, timing_, report_.checks);
    for (const timed_samples& s : samples) report_.figures.push_back(figure_of(row, s, limits_, gpu_.facts().name));
    print_row(row, samples, limits_, gpu_.facts().name);
    if (report_.fom.what.empty() && row.subject != gpu_subject::vector_operation)
      report_.fom = {report_.figures.back().gflops, "GFLOP/s",
                     fmt::format("{}, {}", row.name, samples.back().details["protocol"].get<std::string>())};
  }

  void solve(const gpu_row& row) {
    const gpu_system system{
        .mass = options_.mass, .csw = options_.csw, .delta = options_.delta, .copy_gbytes_per_s = limits_.copy};
    const gpu_solve result = time_solve(lattice_of(row), row, system, report_.checks);
    report_.observables["gpu_solves"].push_back(to_json(row, result));
    rates_.push_back(rate_of_flops(1e3 * result.tflops, 1, 1));
    print_solve(row, result);
    if (report_.fom.what.empty()) report_.fom = {1e3 * result.tflops, "GFLOP/s", row.name};
  }

  gauge_choice links_for(const gpu_row& row) const {
    if (options_.gauge) return *options_.gauge;
    if (row.subject == gpu_subject::solve) return {.from = gauge_choice::origin::heat_bath, .beta = 6.0};
    return {.from = gauge_choice::origin::weak, .noise = 0.3};
  }

  /// Rows on one lattice with the same links follow each other.
  gpu_lattice& lattice_of(const gpu_row& row) {
    const gauge_choice choice = links_for(row);
    const std::string name = to_string(row.lattice) + " " + choice.describe();
    if (lattice_ && lattice_name_ == name) return *lattice_;
    lattice_.reset();  // before the next one is made
    const std::shared_ptr<gpu::tuner> tuner(&gpu::context_of(gpu_.device()).tuner(), [](gpu::tuner*) {});
    lattice_.emplace(row.lattice, choice, tuner);
    lattice_name_ = name;
    report_.gauge = {{"source", choice.describe()}, {"plaquette", lattice_->plaquette()}};
    return *lattice_;
  }

  const gpu_bench_options& options_;
  gpu_access& gpu_;
  report& report_;
  std::vector<operator_figure>& rates_;
  device_limits limits_;
  gpu_timing timing_;
  std::optional<gpu_lattice> lattice_;
  std::string lattice_name_;
};

}  // namespace

void run_gpu_bench(const gpu_bench_options& options, app_run& run) {
  gpu_bench(options, run).measure(rows_named(options.rows), run.control);
}

}  // namespace plaquette::bench
