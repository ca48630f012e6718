// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <system_error>

#include "common/app/checkpoint.hpp"
#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/approximation/minimax.hpp"
#include "common/approximation/zolotarev.hpp"
#include "common/io/atomic_file.hpp"
#include "common/io/byte_source.hpp"
#include "common/io/hdf5_file.hpp"
#include "miniapps/overlap-propagator/overlap_calculation.hpp"
#include "miniapps/overlap-propagator/overlap_files.hpp"
#include "miniapps/overlap-propagator/overlap_report.hpp"

namespace plaquette {

std::vector<named_file> overlap_program::files() const {
  using enum named_file::use;
  if (!has_hdf5() && !(options_.checkpoint + options_.propagators).empty())
    throw input_error("--checkpoint, --propagators: this program was built without HDF5");
  std::vector<named_file> list{{"--gauge", options_.shared.gauge.path, input},
                               {"--checkpoint", options_.modes_file(), checkpoint},
                               {"--checkpoint", options_.mode_search_file(), checkpoint},
                               {"--checkpoint", options_.search_file(), checkpoint},
                               {"--checkpoint", options_.overlap_file(), checkpoint},
                               {"--checkpoint", options_.scheme_file(), checkpoint},
                               {"--checkpoint", options_.solutions_file(), checkpoint},
                               {"--checkpoint", options_.stopped_file(), checkpoint}};
  if (!options_.propagators.empty())
    for (std::size_t i = 0; i < options_.masses.size(); ++i)
      list.push_back({"--propagators", options_.propagator_file(static_cast<int>(i)), output});
  return list;
}

lattice_geometry overlap_program::geometry(const communicator& world) {
  const lattice_geometry geometry = geometry_of_run(options_.shared, world);
  require_source_on(options_.source, geometry.global());
  // Of 12 components a site, half in each chirality; a search space has up to 2.5 vectors a mode.
  const std::int64_t sites = geometry.global_volume();
  if (3 * static_cast<std::int64_t>(options_.modes) > 12 * sites)
    throw input_error(fmt::format("--modes: expected at most {} on lattice {}, found {}", 4 * sites,
                                  to_string(geometry.global()), options_.modes));
  const double window =
      options_.window > 0.0 ? options_.window : 1.05 * expected_mode(options_.modes, static_cast<double>(sites));
  const int least = least_filter_degree(window, expected_bound(options_));
  if (options_.filter_degree > 0 && options_.filter_degree < least)
    throw input_error(
        fmt::format("--filter-degree: expected {} or more where modes of H are sought up to some {:.2g} (if they lie "
                    "elsewhere, say so by --filter-window), found {}",
                    least, window, options_.filter_degree));
  if (3 * static_cast<std::int64_t>(options_.overlap_modes) > 6 * sites)
    throw input_error(fmt::format("--overlap-modes: expected at most {} on lattice {}, found {}", 2 * sites,
                                  to_string(geometry.global()), options_.overlap_modes));
  return geometry;
}

void overlap_program::print_table(run_estimate& needs) const {
  const sign_options& o = options_.sign;
  if (o.lowest <= 0.0) return;
  sign_record r;
  r.method = name(o.method);
  r.lowest = o.lowest;
  r.highest = o.highest;
  if (o.method == sign_method::polynomial) {
    const double eps = std::pow(o.lowest / o.highest, 2);
    const minimax_polynomial p =
        o.degree > 0 ? minimax_of_degree(o.degree, eps) : minimax_of_error(options_.delta, eps);
    r.degree = p.degree();
    r.delta = p.delta;
    r.coefficients = p.coefficients;
  } else {
    const zolotarev_function f = o.poles > 0 ? zolotarev_of_poles(o.poles, o.lowest, o.highest)
                                             : zolotarev_of_error(options_.delta, o.lowest, o.highest);
    r.poles = f.poles();
    r.delta = f.delta;
    r.shifts = f.shifts;
    r.weights = f.weights;
  }
  for (const std::string& line : table_of(r)) needs.lines.emplace_back("sign", line);
}

void overlap_program::place_bases(const app_run& run, const overlap_memory& memory, run_estimate& needs) {
  bool &of_h = options_.kernel_basis_on_host, &of_d = options_.overlap_basis_on_host;
  const double free = run.device->free_bytes() / run.device->facts().ranks_sharing;
  if (options_.basis == basis_place::automatic) {
    of_h = memory.links + memory.kernel_modes + memory.kernel_basis > free;
    of_d = memory.links + memory.overlap_modes + memory.overlap_basis > free;
  }
  needs.gpu_bytes = memory.largest(of_h, of_d);
  const double on_host = std::max(of_h ? memory.kernel_basis : 0.0, of_d ? memory.overlap_basis : 0.0);
  needs.host_bytes += on_host;
  if (on_host > 0.0)
    needs.lines.emplace_back("basis", fmt::format("of {} in {} of the host",
                                                  of_h && of_d ? "H and D"
                                                  : of_h       ? "H"
                                                               : "D",
                                                  format_bytes(on_host)));
  if (options_.basis == basis_place::device && needs.gpu_bytes > free && !run.shared.dry_run)
    throw memory_error(fmt::format(
        "--basis device: this run needs {} on the GPU, and {} are free; with --basis host it would take {} there and "
        "{} of the host",
        format_bytes(needs.gpu_bytes), format_bytes(free), format_bytes(memory.largest(true, true)),
        format_bytes(std::max(memory.kernel_basis, memory.overlap_basis))));
}

namespace {

/// Returns |lambda| from which the sign function is approximated: as given, or as it is expected.
double lowest_of(const overlap_options& options, double volume) {
  return options.sign.lowest > 0.0 ? options.sign.lowest : expected_mode(options.modes, volume);
}

/// Returns the times of an expected choice, its trial among the propagators.
overlap_times times_of(const expected_choice& expected, double volume, double lowest, const kernel_speed& speed) {
  const overlap_options& options = expected.options;
  overlap_times t =
      times_of(options, volume, lowest, expected_bound(options), expected_overlap_mode(options, volume), speed);
  t.propagators += expected.trial;
  return t;
}

/// Returns the applications of H that all stages are expected to take.
double expected_work(const overlap_options& options, double volume, bool with_basis_on_host) {
  // 80 modes on 16^3x32 take 17.1 s with the search space on the host, and 1.7 without (H200).
  constexpr double factor_of_host = 10.0;
  const double lowest = lowest_of(options, volume);
  const overlap_times t = times_of(choice_of(options, volume, lowest, expected_bound(options), {}), volume, lowest, {});
  return t.total() + (with_basis_on_host ? factor_of_host - 1.0 : 0.0) * t.kernel_modes;
}

}  // namespace

/// Adds the times of a dry run.
void overlap_program::add_times(run_estimate& needs, const app_run& run, const machine_figures& machine,
                                double lowest) const {
  const double highest = expected_bound(options_);
  const kernel_speed speed = speed_on(machine, options_, run.geometry);
  const auto volume = static_cast<double>(run.geometry.global_volume());
  const expected_choice expected = choice_of(options_, volume, lowest, highest, speed);
  overlap_times t = times_of(expected, volume, lowest, speed);
  // On a core of a CPU sums, projections and minimisation take as long as sign functions: seen on 4^3x8 and 6^3x12.
  constexpr double factor_of_cpu = 2.0;
  if (!machine.is_gpu) t.propagators *= factor_of_cpu;
  const double verification = options_.until == overlap_stage::propagators
                                  ? seconds_of_verification(options_, run.geometry, lowest, highest, speed)
                                  : 0.0;
  const kernel_time twelve = time_of_kernel(machine, options_, run.geometry, 12, precision::double_);
  needs.lines.emplace_back("messages", text_of_messages(twelve) + ", of an application of H to 12 columns in double");
  needs.lines.emplace_back(
      "seconds",
      fmt::format("{:.4g}: modes of H {:.3g}, sign function {:.3g}, modes of D {:.3g}, propagators "
                  "{:.3g}, verification {:.3g}",
                  t.total() + verification, t.kernel_modes, t.sign, t.overlap_modes, t.propagators, verification));
  if (options_.until == overlap_stage::propagators)
    needs.fom = 3600.0 * static_cast<double>(options_.masses.size()) / (t.total() + verification);
}

namespace {

/// Returns the free memory for fields, a rank: on the GPU, or of a planned one; on the rank that has least. Collective.
double free_memory(const app_run& run) {
  const auto planned = run.gpu || !run.shared.dry_run ? std::nullopt : planned_machine(run.shared);
  std::array<double, 1> taken{run.gpu   ? -run.device->free_bytes() / run.device->facts().ranks_sharing
                              : planned ? -planned->memory
                                        : -available_memory()};
  run.world.maximum(std::span(taken));
  return -taken[0];
}

}  // namespace

void overlap_program::choose_modes(const app_run& run, run_estimate& needs) {
  const bool has_memory = run.gpu || (options_.shared.device == "gpu" && planned_machine(run.shared));
  // Modes that are the aim, or shall be found in a file, or are counted by hand, remain as they are.
  if (!has_memory || options_.basis != basis_place::automatic || options_.until == overlap_stage::modes ||
      !options_.checkpoint.empty() || options_.search_space > 0 || options_.sign.lowest > 0.0)
    return;
  const double free = free_memory(run);
  const auto fits = [&](const overlap_options& options) {
    const overlap_memory memory = memory_of(options, run.geometry);
    return memory.links + memory.kernel_modes + memory.kernel_basis <= 0.97 * free;
  };
  overlap_options fewer = options_;
  while (fewer.modes > 0 && !fits(fewer)) --fewer.modes;
  if (fewer.modes == 0 || fewer.modes == options_.modes) return;
  const auto volume = static_cast<double>(run.geometry.global_volume());
  const double on_host = expected_work(options_, volume, true), on_gpu = expected_work(fewer, volume, false);
  if (on_gpu >= on_host) return;
  needs.lines.emplace_back(
      "basis", fmt::format("{} modes of H in place of {}, whose search space has no room on the GPU: about {:.2g} "
                           "applications of H in all; with that search space on the host the time of {:.2g}",
                           fewer.modes, options_.modes, on_gpu, on_host));
  options_.modes = fewer.modes;
}

void overlap_program::choose_batch(const app_run& run) {
  overlap_preconditioner& p = options_.preconditioner;
  if (takes_many_directions(options_, static_cast<double>(run.geometry.global_volume()))) {
    if (!options_.inner_steps_given) p.inner_steps = 8;
    if (!options_.preconditioner_tolerance_given && p.inner_steps == 8) p.tolerance = 0.1;
  }
  const bool is_given = p.batch > 0;
  const double free = free_memory(run);
  // Room is left for more directions than are expected. If several ranks run, none may run out of memory.
  const double share = run.world.size() == 1 ? 0.94 : 0.86;
  // Narrow batches cost more than modes of H in double precision do in the inner steps.
  const std::vector<int> batches = is_given ? std::vector{p.batch} : std::vector{12, 6, 4, 3, 2, 1};
  for (const int batch : batches)
    for (const int narrow : {0, 6})
      for (const bool modes_in_single : {true, false}) {
        p.modes_in_single = modes_in_single;
        p.batch = batch;
        p.narrow = narrow < batch ? narrow : 0;
        const overlap_memory memory = memory_of(options_, run.geometry);
        if (memory.links + memory.solves < share * free) return;
      }
}

run_estimate overlap_program::estimate(app_run& run) {
  run_estimate needs;
  choose_modes(run, needs);
  const bool may_precondition = options_.scheme == overlap_scheme::preconditioned || options_.scheme_is_open;
  if (may_precondition) choose_batch(run);
  const overlap_memory memory = memory_of(options_, run.geometry);
  const auto volume = static_cast<double>(run.geometry.global_volume());
  const double lowest = lowest_of(options_, volume);
  const expected_choice expected = choice_of(options_, volume, lowest, expected_bound(options_), {});
  const overlap_times work = times_of(expected, volume, lowest, {});
  const double spinor = 24.0 * sizeof(double) * static_cast<double>(run.geometry.local_volume());
  const bool on_gpu = run.shared.device == "gpu";
  needs.host_bytes = on_gpu ? 40.0 * spinor : memory.largest() + 20.0 * spinor;
  if (run.gpu)
    place_bases(run, memory, needs);
  else if (on_gpu)
    needs.gpu_bytes = memory.largest();
  needs.lines.emplace_back("modes",
                           fmt::format("{} of H in {}, {} of D in {}, with their searches", options_.modes,
                                       format_bytes(memory.kernel_modes + memory.kernel_basis), options_.overlap_modes,
                                       format_bytes(memory.overlap_modes + memory.overlap_basis)));
  if (may_precondition)
    needs.lines.emplace_back(
        "solves",
        fmt::format(
            "{} columns at once, their search space {} for {:.0f} directions each{}{}", options_.preconditioner.batch,
            format_bytes(memory.solve_spaces), expected_directions(options_, volume, options_.tolerance()),
            options_.preconditioner.recycled == 0
                ? ""
                : fmt::format(", fewer for later columns, which begin with {}", options_.preconditioner.recycled),
            options_.scheme_is_open ? ", where the trial finds that it pays" : ""));
  if (expected.trial > 0.0)
    needs.lines.emplace_back(
        "scheme",
        fmt::format("{}, as far as the model knows; the trial decides: {:.2g} applications of H preconditioned, "
                    "{:.2g} with {} modes of D and relaxed solves, {:.2g} the trial",
                    name(expected.options.scheme), expected.preconditioned, expected.other,
                    options_.modes_of_other_schemes, expected.trial));
  needs.lines.emplace_back(
      "work",
      fmt::format("about {:.2g} applications of H in double: modes of H {:.0f}%, sign function {:.0f}%, modes of D "
                  "{:.0f}%, propagators {:.0f}%",
                  work.total(), 100.0 * work.kernel_modes / work.total(), 100.0 * work.sign / work.total(),
                  100.0 * work.overlap_modes / work.total(), 100.0 * work.propagators / work.total()));
  if (const auto machine = run.shared.dry_run ? planned_machine(run.shared) : std::nullopt)
    add_times(needs, run, *machine, lowest);
  if (run.shared.dry_run) print_table(needs);
  return needs;
}

void overlap_program::print_problem(const app_run& run) const {
  fmt::print("lattice    {}{}, grid {}\n", to_string(run.geometry.global()),
             options_.size.empty() ? "" : " (" + options_.size + ")", to_string(run.geometry.grid()));
  fmt::print("gauge      {}\n", printable(options_.shared.gauge.describe()));
  fmt::print("kernel     H = gamma_5 D_w(-{:g})\n", options_.rho);
  std::string masses;
  for (const double m : options_.masses) masses += fmt::format("{}{:g}", masses.empty() ? "" : ", ", m);
  fmt::print("masses     {}\n", masses);
}

exit_status overlap_program::body(app_run& run) {
  exit_status status = exit_status::interrupted;
  try {
    status = calculate_overlap(run, options_);
  } catch (const run_stopped&) {
  } catch (const error& stop) {
    run.note_stop(stop);
  }
  if (status == exit_status::interrupted) note_unfinished_files(run, options_);
  status = run.finish(status);  // which may be interrupted after the last file
  if (status != exit_status::interrupted && run.is_root() && !options_.stopped_file().empty()) {
    std::error_code ignored;
    std::filesystem::remove(options_.stopped_file(), ignored);
  }
  return status;
}

std::vector<std::string> overlap_program::files_of_stopped_run() const {
  const std::string path = options_.stopped_file();
  if (!checkpoint_exists(path)) return {};
  const file_source source(path);
  constexpr std::uint64_t most = 1 << 20;
  if (source.size() > most)
    throw input_error(fmt::format("{}: expected at most {} bytes, found {}", printable(path), most, source.size()));
  std::string text(source.size(), ' ');
  source.read(0, std::as_writable_bytes(std::span(text)));
  return checkpoint_value<std::vector<std::string>>(printable(path), parse_checkpoint_text(path, text),
                                                    "unfinished_files");
}

}  // namespace plaquette
