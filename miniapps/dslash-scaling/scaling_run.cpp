// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/dslash-scaling/scaling_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <span>

#include "common/algebra/largest.hpp"
#include "common/app/checkpoint.hpp"
#include "common/lattice/sum_rounding.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "common/solvers/timed_operator.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "miniapps/dslash-scaling/latency_run.hpp"
#include "miniapps/dslash-scaling/measurement.hpp"
#include "miniapps/dslash-scaling/summary.hpp"
#include "miniapps/dslash-scaling/work_estimate.hpp"
#include "miniapps/shared/drawn_sample.hpp"
#include "miniapps/shared/operator_checks.hpp"
#include "miniapps/shared/spinor_difference.hpp"
#include "miniapps/shared/stopped_report.hpp"

namespace plaquette::scaling {

namespace {

void set_random_input(timed_operator& op, const operator_case& c, const app_run& run, spinor_configuration& sum) {
  for (int column = 0; column < c.rhs; ++column) {
    stop_point();
    const spinor_configuration psi =
        cpu::random_spinor(run.geometry, run.shared.seed, static_cast<std::uint64_t>(column), run.world);
    op.set_input(column, psi);
    cpu::for_each_site(run.geometry, [&](const coordinate& x) { sum(x) += weight_of(column) * psi(x); });
  }
  exchange_ghosts(sum, run.world);
}

void sum_output(const timed_operator& op, const operator_case& c, const lattice_geometry& geometry,
                spinor_configuration& sum) {
  spinor_configuration column_output(geometry);
  cpu::for_each_site(geometry, [&](const coordinate& x) { sum(x) = {}; });
  for (int column = 0; column < c.rhs; ++column) {
    stop_point();
    op.get_output(column, column_output);
    cpu::for_each_site(geometry, [&](const coordinate& x) { sum(x) += weight_of(column) * column_output(x); });
  }
}

/// A number that other bits of this rank's output give another value of.
std::uint64_t fingerprint(const timed_operator& op, const operator_case& c, const lattice_geometry& geometry) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a, a number at a time
  const auto add = [&hash](const complex<double>& z) {
    for (const double part : {z.re, z.im}) hash = (hash ^ std::bit_cast<std::uint64_t>(part)) * 1099511628211ULL;
  };
  if (c.is_sum()) {
    for (const complex<double>& z : op.get_numbers()) add(z);
    return hash;
  }
  spinor_configuration out(geometry);
  op.get_output(0, out);
  for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
    for (int k = 0; k < spins * colours; ++k) add(out.at_site(s)(k / colours, k % colours));
  return hash;
}

/// The operator, and with --check its adjoint, against the textbook's.
void check_case(app_run& run, const scaling_options& options, timed_operator& op, const operator_case& c,
                const gauge_input& gauge) {
  enter_stage("the comparison with the textbook operator");
  weighed_sums sums{spinor_configuration(run.geometry), spinor_configuration(run.geometry)};
  set_random_input(op, c, run, sums.in);
  for (const bool dagger : {true, false}) {  // the operator last: its output is compared again after the timing
    if (dagger && !run.shared.check) continue;
    op.apply(dagger);
    sum_output(op, c, run.geometry, sums.out);
    const site_sample sample = drawn_sample(run, run.shared.check, describe(c) + (dagger ? ", adjoint" : ""));
    const difference found =
        compare_with_textbook(sums.out, sums.in, gauge.links, run.shared.action,
                              {c.kind, c.layout, options.preconditioning, dagger}, sample, run.world);
    const difference allowed = tolerance_of(c, gauge.distance_from_su3);
    const std::string what = describe(c) + (dagger ? ", adjoint" : "");
    run.result.checks.add(what, found.norm, allowed.norm);
    run.result.checks.add(what + ", worst site", found.worst_site, allowed.worst_site);
  }
}

/// --check of a GPU: the operator against the CPU's of the same precision. Each may differ from the textbook by its
/// tolerance, hence twice that.
void check_against_cpu(app_run& run, const scaling_options& options, timed_operator& op, const operator_case& c,
                       const gauge_input& gauge) {
  enter_stage("the comparison with the CPU");
  const auto maker = open_library(device_kind::cpu, run.geometry, run.world)
                         ->make_timed_operators({gauge.links, options.shared.action, options.preconditioning});
  const auto of_cpu = maker->make(c);
  spinor_configuration in(run.geometry), found(run.geometry), expected(run.geometry);
  set_random_input(*of_cpu, c, run, in);
  for (const bool dagger : {true, false}) {  // the operator last, as above
    op.apply(dagger);
    of_cpu->apply(dagger);
    sum_output(op, c, run.geometry, found);
    sum_output(*of_cpu, c, run.geometry, expected);
    run.result.checks.add(describe(c) + (dagger ? ", adjoint, GPU against CPU" : ", GPU against CPU"),
                          relative_difference(found, expected, run.world), 2.0 * tolerance_of(c).norm);
  }
}

/// Compares the output of the last timed application with the textbook operator on its input.
difference judge_timed(app_run& run, const scaling_options& options, const timed_operator& op, const operator_case& c,
                       const gauge_input& gauge) {
  weighed_sums sums{spinor_configuration(run.geometry), spinor_configuration(run.geometry)};
  spinor_configuration psi(run.geometry);
  for (int column = 0; column < c.rhs; ++column) {
    stop_point();
    cpu::for_each_site(run.geometry, [&](const coordinate& x) { psi(x) = {}; });
    op.get_input(column, psi);
    cpu::for_each_site(run.geometry, [&](const coordinate& x) { sums.in(x) += weight_of(column) * psi(x); });
  }
  exchange_ghosts(sums.in, run.world);
  sum_output(op, c, run.geometry, sums.out);
  const site_sample sample = drawn_sample(run, run.shared.check, describe(c) + ", timed");
  return compare_with_textbook(sums.out, sums.in, gauge.links, run.shared.action,
                               {c.kind, c.layout, options.preconditioning, false}, sample, run.world);
}

/// Sets both operands of a vector operation.
void set_random_vectors(timed_operator& op, const operator_case& c, const app_run& run) {
  const std::uint64_t seed = run.shared.seed;
  for (int column = 0; column < c.rhs; ++column) {
    stop_point();
    op.set_input(column, cpu::random_spinor(run.geometry, seed, static_cast<std::uint64_t>(column), run.world));
    op.set_second_input(column,
                        cpu::random_spinor(run.geometry, seed, static_cast<std::uint64_t>(c.rhs + column), run.world));
  }
}

/// <u, v> over the sites of a layout, in double.
complex<double> product(const spinor_configuration& u, const spinor_configuration& v, const operator_case& c,
                        const communicator& world) {
  const lattice_geometry& geometry = u.geometry();
  const auto sums = cpu::sum_over_sites<2>(geometry, world, [&](const coordinate& x) -> std::array<double, 2> {
    if (c.layout == site_layout::even_odd && parity(geometry.to_global(x)) != 0) return {};
    complex<double> sum{};
    for (int k = 0; k < spins * colours; ++k)
      sum += conj(u(x)(k / colours, k % colours)) * v(x)(k / colours, k % colours);
    return {sum.re, sum.im};
  });
  return {sums[0], sums[1]};
}

/// A vector operation against its definition in double, a column at a time: |found - expected| / |expected| of vectors,
/// |found - expected| / (|u| |v|) of numbers. The operands are the vectors with which the operation's stretch began.
/// \return the worst column's
double vector_difference(const app_run& run, const timed_operator& op, const operator_case& c) {
  const auto numbers = c.is_sum() ? op.get_numbers() : std::vector<complex<double>>{};
  spinor_configuration u(run.geometry), v(run.geometry), found(run.geometry);
  double worst = 0.0;
  for (int column = 0; column < c.rhs; ++column) {
    stop_point();
    op.get_input(column, u);
    if (c.kind == operator_kind::norm2)
      op.get_input(column, v);
    else
      op.get_second_input(column, v);
    double wrong = 0.0, size = 0.0;
    if (c.is_sum()) {
      const complex<double> expected = op.is_swapped() ? product(v, u, c, run.world) : product(u, v, c, run.world);
      wrong = norm2(numbers[static_cast<std::size_t>(column)] - expected);
      size = product(u, u, c, run.world).re * product(v, v, c, run.world).re;
    } else {
      op.get_output(column, found);
      cpu::for_each_site(run.geometry, [&](const coordinate& x) {
        v(x) += op.factor_of_stretch() * u(x);
        found(x) = found(x) - v(x);
      });
      wrong = product(found, found, c, run.world).re;
      size = product(v, v, c, run.world).re;
    }
    const double distance = std::sqrt(wrong / size);
    keep_largest(worst, distance);
  }
  return worst;
}

/// \param steps  of the stretch: each rounds the numbers of an axpy once more
double vector_tolerance(const app_run& run, const operator_case& c, double steps) {
  // The definition's sum and the one that is checked add in different orders.
  const double summed = c.is_sum() ? sum_rounding(run.geometry.global()) : 0.0;
  return tolerance_of(c).norm * (c.kind == operator_kind::axpy ? 1.0 + steps / 20.0 : 1.0) + summed;
}

void check_vector_case(app_run& run, timed_operator& op, const operator_case& c) {
  enter_stage("the comparison with the definition");
  set_random_vectors(op, c, run);
  op.apply();
  run.result.checks.add(describe(c), vector_difference(run, op, c), vector_tolerance(run, c, 1.0));
}

/// Every application of a timed operator gives the same bits, overlapped or not.
bool same_everywhere(bool here, const communicator& world) {
  std::array<double, 1> different{here ? 0.0 : 1.0};
  world.maximum(std::span(different));
  return different[0] == 0.0;
}

/// The library's operators and the input for timing a case.
struct timing_setting {
  operator_maker& maker;
  const cpu::context* cpu;  ///< null on a GPU
  const gauge_input& gauge;
};

/// Figures of a case: one of the CPU, two of a GPU; none if the run is to stop.
std::vector<operator_figure> measure_case(app_run& run, const scaling_options& options, timed_operator& op,
                                          const operator_case& c, const cpu::context* ctx,
                                          const std::function<void(double)>& seen, const std::function<void()>& judge) {
  if (run.gpu)
    return measure_on_gpu(op, c, *run.gpu, run.geometry, run.world, run.shared.overlap, options.samples, run.control,
                          judge);
  const auto figure = measure(op, c, *ctx, run.shared.overlap, options.samples, run.control, seen, judge);
  return figure ? std::vector{*figure} : std::vector<operator_figure>{};
}

void run_case(app_run& run, const scaling_options& options, const timing_setting& setting, const operator_case& c,
              bool& repeats_agree, const std::function<void(double)>& seen) {
  enter_stage("the set-up of " + describe(c));
  const auto op = setting.maker.make(c);
  if (c.is_vector()) {
    check_vector_case(run, *op, c);
  } else {
    check_case(run, options, *op, c, setting.gauge);
    if (run.gpu && run.shared.check) check_against_cpu(run, options, *op, c, setting.gauge);
  }
  const std::uint64_t before = fingerprint(*op, c, run.geometry);
  run.stop_if_requested();
  enter_stage("the measurement of " + describe(c));
  difference worst{0.0, 0.0};
  double steps = 0.0, seconds_of_judging = 0.0;
  const auto judge = [&] {
    const stopwatch watch;
    steps = std::max(steps, static_cast<double>(op->steps_of_stretch()));
    const difference found = c.is_vector() ? difference{vector_difference(run, *op, c), 0.0}
                                           : judge_timed(run, options, *op, c, setting.gauge);
    keep_largest(worst.norm, found.norm);
    seconds_of_judging += watch.seconds();
  };
  const stopwatch watch;
  const auto figures = measure_case(run, options, *op, c, setting.cpu, seen, judge);
  const double seconds_of_measurement = watch.seconds() - seconds_of_judging;
  if (figures.empty()) return;
  run.result.checks.add(
      describe(c) + ", last timed output", worst.norm,
      c.is_vector() ? vector_tolerance(run, c, steps) : tolerance_of(c, setting.gauge.distance_from_su3).norm);
  if (c.is_vector()) {
    set_random_vectors(*op, c, run);
  } else {  // other columns have changed, the first one decides
    op->set_input(0, cpu::random_spinor(run.geometry, run.shared.seed, 0, run.world));
  }
  op->apply();
  repeats_agree = same_everywhere(fingerprint(*op, c, run.geometry) == before, run.world) && repeats_agree;
  run.result.figures.insert(run.result.figures.end(), figures.begin(), figures.end());
  if (c == options.headline) {
    run.result.fom.value = figures.back().gflops;
    run.work_seconds = seconds_of_measurement - (run.gpu ? run.shared.idle_seconds : 0.0);
  }
  run.progress.clear();
  if (run.is_root())
    for (const operator_figure& figure : figures) print_figure(figure);
}

exit_status run_cases(app_run& run, const scaling_options& options, const gauge_input& gauge) {
  std::optional<cpu::context> ctx;
  if (!run.gpu) ctx.emplace(run.geometry, run.world);
  const auto maker = run.device->make_timed_operators({gauge.links, options.shared.action, options.preconditioning});
  const timing_setting setting{*maker, ctx ? &*ctx : nullptr, gauge};
  if (run.is_root()) print_figure_header(volume(run.geometry.grid()) > 1, run.gpu != nullptr);
  run.progress.begin("operators");
  bool repeats_agree = true;
  const auto cases = static_cast<double>(options.cases.size());
  double done = 0.0;
  for (const operator_case& c : options.cases) {
    if (run.control.should_stop()) break;
    const auto seen = [&](double of_case) { run.progress.update((done + of_case) / cases, describe(c)); };
    seen(0.0);
    run_case(run, options, setting, c, repeats_agree, seen);
    done += 1.0;
  }
  run.result.checks.add("repeated applications agree", repeats_agree);
  run.control.note_stop(run.result.checks);
  return run.finish(run.control.stopped() ? exit_status::interrupted : exit_status::success);
}

}  // namespace

program_text scaling_program::text() const {
  return {"dslash-scaling", "GFLOP/s",
          describe(options_.headline) + (options_.shared.device == "gpu" ? ", sustained" : "")};
}

void scaling_program::parse(int argc, const char* const* argv) { options_ = parse_scaling_options(argc, argv); }

lattice_geometry scaling_program::geometry(const communicator& world) {
  const lattice_geometry geometry = geometry_of(options_, world);
  parameters_ = parameters_of(options_, geometry);
  return geometry;
}

/// A stopped run's report holds nothing that is worth keeping.
std::vector<std::string> scaling_program::files_of_stopped_run() const {
  if (!is_report_of_stopped_run(options_.shared.json, "dslash-scaling", parameters_)) return {};
  return absolute_paths({options_.shared.json});
}

std::vector<named_file> scaling_program::files() const {
  return {{"--gauge", options_.shared.gauge.path, named_file::use::input}};
}

run_estimate scaling_program::estimate(app_run& run) {
  if (options_.latency) return {};
  const memory_estimate memory = estimate_memory(options_, run.geometry);
  run_estimate needs{memory.total(), memory.gpu_bytes, {{"", text_of(memory)}}};
  if (const auto machine = run.shared.dry_run ? planned_machine(run.shared) : std::nullopt) {
    const kernel_time time = time_of_case(options_.headline, run.geometry, run.shared.overlap, *machine);
    needs.lines.emplace_back("messages", text_of_messages(time) + ", of " + describe(options_.headline));
    needs.fom = gflop_of(options_.headline, run.geometry) / time.seconds;
  }
  return needs;
}

json_document scaling_program::parameters(const app_run& run) const { return parameters_of(options_, run.geometry); }

void scaling_program::print_problem(const app_run& run) const {
  if (options_.latency) return;
  scaling::print_problem(options_, run.geometry);
  if (options_.shared.dry_run) print_work(options_, run.geometry, planned_machine(run.shared));
}

exit_status scaling_program::body(app_run& run) {
  if (options_.latency) return run.finish(run_latency(options_, run.result, *run.device));
  return run_cases(run, options_, run.gauge());
}

}  // namespace plaquette::scaling
