// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/options.hpp"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "common/app/command_line.hpp"
#include "common/app/parse.hpp"
#include "common/app/provenance.hpp"
#include "common/comms/communicator.hpp"
#include "common/comms/host_name.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {

/// e^{i pi angle}, exact for multiples of 1/2.
complex<double> phase_of_angle(double angle) {
  const double turned = std::remainder(angle, 2.0);  // in [-1, 1]
  if (turned == 0.0) return {1.0, 0.0};
  if (std::abs(turned) == 1.0) return {-1.0, 0.0};
  if (std::abs(turned) == 0.5) return {0.0, std::copysign(1.0, turned)};
  return {std::cos(std::numbers::pi * turned), std::sin(std::numbers::pi * turned)};
}

}  // namespace

namespace {

void declare_tuning(command_line& line, shared_options& options) {
  line.choice("--tune", options.tune, {"off", "on", "force"},
              "On a GPU: how each kernel is launched. As it comes; the fastest way, which is measured at its first use "
              "and remembered; the same, measured again. Results do not depend on it");
  line.text("--tune-file", options.tune_file, "FILE",
            "Where that is remembered (not given: PLAQUETTE_TUNING_FILE, else the user's cache)");
  line.custom(
      "--protocol-seconds", "IDLE,RUNNING", "2,1.5",
      [&options](const std::string& text, const std::string& option) {
        const auto seconds = parse_real_list(text, option, 2);
        for (const double s : seconds)
          if (!(s >= 0.0 && s <= 3600.0))
            throw input_error(
                fmt::format("{}: expected two numbers from 0 to 3600, found '{}'", option, printable(text)));
        options.idle_seconds = seconds[0];
        options.running_seconds = seconds[1];
      },
      "On a GPU: idleness before cool figures, the same work before sustained ones; others than 2,1.5 are for "
      "tests");
}

}  // namespace

void declare_device(command_line& line, shared_options& options) {
  line.choice("--device", options.device, {"cpu", "gpu"}, "What the operators run on");
  declare_tuning(line, options);
}

void declare_planned_device(command_line& line, shared_options& options) {
  line.custom(
          "--device", "cpu|gpu[:CARD|:REPORT]", options.device,
          [&options](const std::string& text, const std::string& option) {
            const auto colon = text.find(':');
            options.device = text.substr(0, colon);
            options.card = colon == std::string::npos ? "" : text.substr(colon + 1);
            if ((options.device != "cpu" && options.device != "gpu") ||
                (colon != std::string::npos && options.card.empty()))
              throw input_error(fmt::format("{}: expected one of cpu, gpu, found '{}'", option, printable(text)));
          },
          "What the operators run on. With --dryrun: a card whose speed is known (H100, H200), or a report of "
          "`plaquette "
          "bench`, which seconds are taken from")
      .reported_as("device", options.device);
  line.integer("--ranks", options.planned_ranks, "With --dryrun: how many ranks there would be; none is started", 1,
               1 << 20);
  declare_tuning(line, options);
  const bool on_gpu = options.device == "gpu";
  line.report("--tune", "tune", options.tune, on_gpu);
  line.report("--protocol-seconds", "protocol_seconds", {options.idle_seconds, options.running_seconds}, on_gpu);
}

void require_plan_sense(const shared_options& options) {
  if (options.dry_run) return;
  if (!options.card.empty())
    throw input_error(
        fmt::format("--device {}:{}: expected --dryrun with it, found none", options.device, printable(options.card)));
  if (options.planned_ranks > 0)
    throw input_error("--ranks: expected --dryrun with it, found none (a run has the ranks that mpirun starts)");
}

void declare_several_gpus(command_line& line, shared_options& options) {
  const bool on_gpu = options.device == "gpu";
  line.choice("--halo", options.halo, {"auto", "staged", "peer", "mpi", "nccl"},
              "How faces get from GPU to GPU: the fastest way that there is; through the memory of the hosts; written "
              "straight into the neighbour's memory, inside a host; by an MPI that takes memory of GPUs; by NCCL")
      .reported("halo", on_gpu);
  line.choice("--wait", options.wait, {"spin", "block"},
              "How a rank waits for its GPU and for messages: asking all the time, which takes a core of its own, or "
              "asleep")
      .reported("wait", on_gpu);
}

option_row declare_stall_timeout(command_line& line, shared_options& options) {
  return line.real(
      "--stall-timeout", options.stall_timeout,
      "Of several ranks: seconds without progress after which a rank says what it waits for and the run ends; 0: "
      "never",
      {0.0, 86400.0});
}

void require_device_sense(const command_line& line, const shared_options& options) {
  if (options.device == "gpu") return;
  for (const char* option : {"--tune", "--tune-file", "--protocol-seconds", "--halo", "--wait"})
    if (line.given(option) && !(options.cpu_waits && std::string_view(option) == "--wait"))
      throw input_error(fmt::format("{}: expected --device gpu with it, found --device {}", option, options.device));
}

void require_pairs_sense(const shared_options& options) {
  if (options.device != "gpu")
    throw input_error("double by pairs of floats is for GPUs: expected --device gpu, found --device " + options.device);
  if (options.planned_ranks > 1)
    throw input_error(
        fmt::format("double by pairs of floats is for one GPU: expected --ranks 1, found {}", options.planned_ranks));
}

shared_option_set::shared_option_set(command_line& line, const shared_options& defaults, const action_options& action,
                                     const std::vector<std::string>& left_out)
    : line_(line), options_(defaults), action_(action), left_out_(left_out) {
  declare_lattice_and_machine();
  if (has("gauge")) declare_gauge();
  if (has("action")) declare_action();
  declare_output();
}

bool shared_option_set::has(const std::string& option) const {
  return std::ranges::find(left_out_, option) == left_out_.end();
}

void declare_lattice(command_line& line, shared_options& options, const std::string& help) {
  line.custom(
          "--lattice", "XxYxZxT", to_string(options.lattice),
          [&options](const std::string& text, const std::string& option) {
            options.lattice = parse_extents(text, option);
            options.lattice_given = true;
          },
          help)
      .reported_as("lattice", options.lattice);
  line.custom(
          "--grid", "XxYxZxT|auto", "auto",
          [&options](const std::string& text, const std::string& option) {
            if (text != "auto") options.grid = parse_extents(text, option);
          },
          "Process grid; auto is the one of smallest surface for the ranks that there are")
      .reported_as("grid", options.grid.value_or(extents{}));
}

void declare_threads(command_line& line, shared_options& options) {
  line.integer("--threads", options.threads,
               "Threads a rank; 0: OMP_NUM_THREADS, else the host's cores shared among its ranks", 0, 4096);
}

void shared_option_set::declare_lattice_and_machine() {
  line_.section("Lattice and machine", true);
  if (has("lattice")) declare_lattice(line_, options_);
  declare_planned_device(line_, options_);
  declare_several_gpus(line_, options_);
  declare_stall_timeout(line_, options_).reported("stall_timeout", options_.device == "gpu");
  line_
      .choice("--overlap", options_.overlap, {{"on", true}, {"off", false}},
              "Faces travel while the interior is computed, or before it")
      .reported("overlap");
  if (has("--precision"))
    line_.choice("--precision", options_.precision, {"double", "single"}, "Of the fields of the solve");
  declare_threads(line_, options_);
}

void declare_seed(command_line& line, shared_options& options) {
  line.value("--seed", options.seed, "INTEGER", parse_unsigned, "Of all random numbers").reported("seed");
}

option_row declare_reunitarise(command_line& line, shared_options& options) {
  return line.flag(
      "--reunitarise", options.reunitarise,
      "Put links of a file back into SU(3) that are up to 1e-6 off it (1e-3 in single precision); the report says "
      "how many were, and how far");
}

void require_reunitarise_sense(const shared_options& options) {
  if (options.reunitarise && options.gauge.from != gauge_choice::origin::file)
    throw input_error("--reunitarise: expected the links of a file, found " + options.gauge.describe() +
                      ", which are in SU(3)");
}

void require_mass_of_file(const command_line& line, const gauge_choice& gauge) {
  if (gauge.from == gauge_choice::origin::file && !line.given("--mass") && !line.given("--kappa"))
    throw input_error("--gauge " + printable(gauge.path) +
                      ": expected --kappa or --mass with it, found none (no default fits the links of a file)");
}

void shared_option_set::declare_gauge() {
  line_.section("Gauge configuration", true);
  line_
      .custom(
          "--gauge", "FILE|unit|random|weak:EPS|heatbath:BETA[:SWEEPS[:CELL[:EPS]]]", options_.gauge.describe(),
          [this](const std::string& text, const std::string& option) {
            options_.gauge = parse_gauge_choice(text, option);
          },
          "Where the links come from: a file (NERSC, ILDG, MILC, ...: its format is recognised by its content), or "
          "made "
          "here. CELL (XxYxZxT): the heat bath is that of a cell, which is repeated; each link is then multiplied by "
          "one "
          "near 1 (as those of weak:EPS, 0.02)")
      .reported_as("gauge", options_.gauge.describe());
  declare_reunitarise(line_, options_).reported("reunitarise", options_.reunitarise);
  line_.real("--gauge-anisotropy", options_.gauge_anisotropy, "xi_g of the heat bath's action", real_range::positive());
  stout_smearing& stout = options_.stout;
  const bool smears = stout.steps > 0;
  line_.integer("--stout-steps", stout.steps, "Steps of stout smearing of the links, wherever they come from", 0, 1000)
      .reported("stout.steps", smears);
  line_.real("--stout-rho", stout.rho, "Weight of the staples in a step", {0.0, 1.0})
      .needs("--stout-steps N")
      .reported("stout.rho", smears);
  line_.flag("--stout-spatial", stout.spatial, "Smear spatial links only, with spatial staples")
      .needs("--stout-steps N")
      .reported("stout.spatial", smears);
  declare_seed(line_, options_);
}

option_row declare_source_position(command_line& line, source_description& source, const std::string& help) {
  return line.value(
      "--source-position", source.position, "X,Y,Z,T",
      [](const std::string& text, const std::string& option) {
        coordinate position;
        std::ranges::transform(parse_integer_list(text, option, dimensions, 0, 1 << 20), position.begin(),
                               [](std::int64_t n) { return static_cast<int>(n); });
        return position;
      },
      help);
}

void declare_source(command_line& line, source_description& source) {
  using enum source_kind;
  line.choice("--source", source.kind, {point, wall, gaussian}, "Shape of the source");
  declare_source_position(line, source, "Where the source is; of a wall only the time counts");
  line.real("--smearing-radius", source.smearing_radius, "sigma of a Gaussian source", {0.0, 1000.0, true})
      .needs_value("--source", "gaussian");
  line.integer("--smearing-steps", source.smearing_steps, "n of a Gaussian source", 1, most_smearing_steps)
      .needs_value("--source", "gaussian");
}

option_row declare_boundary(command_line& line, action_options& action) {
  line.choice("--time-bc", action.time_boundary, {"antiperiodic", "periodic"}, "Boundary condition in time");
  return line
      .custom(
          "--boundary-angles", "X,Y,Z,T", "0,0,0,1",
          [&action](const std::string& text, const std::string& option) {
            const auto angles = parse_real_list(text, option, dimensions);
            action.boundary_angles.emplace();
            std::ranges::copy(angles, action.boundary_angles->begin());
          },
          "Phases at the boundaries in units of pi, instead of --time-bc")
      .excludes("--time-bc");
}

void shared_option_set::declare_action() {
  const fermion_action& made = options_.action;  // of the options below, and of a class
  json_document phases = json_document::array();
  for (const auto& phase : made.boundary_phase) phases.push_back({phase.re, phase.im});
  line_.section("Fermion action", true);
  line_.real("--mass", action_.mass, "Bare quark mass m in lattice units").reported_as("mass", made.mass);
  line_.real("--kappa", action_.kappa, "1 / (2 (1 + 3 nu/xi0 + m)), instead of --mass", real_range::positive())
      .excludes("--mass")
      .reported_as("kappa", made.kappa());
  line_.real("--csw", action_.csw, "Clover coefficient, both c_R and c_T; 0 is the Wilson action");
  line_.real("--anisotropy", action_.anisotropy, "xi0 of the fermion action", real_range::positive())
      .reported_as("anisotropy", made.anisotropy);
  line_.real("--nu", action_.nu, "Ratio of bare quark parameters", real_range::positive()).reported_as("nu", made.nu);
  line_
      .real("--clover-spatial", action_.clover_spatial,
            "c_R, in place of csw for the spatial planes, which have c_R/xi0")
      .reported_as("clover_spatial", made.clover_spatial);
  line_.real("--clover-temporal", action_.clover_temporal, "c_T, in place of csw for the planes with time")
      .reported_as("clover_temporal", made.clover_temporal);
  declare_boundary(line_, action_).reported_as("boundary_phases", phases);
}

void shared_option_set::declare_output() {
  line_.section("Run and output", true);
  if (has("--tol"))
    line_.real("--tol", options_.tolerance,
               "Relative residual to reach, below 1; 0: the app's default for the precision",
               {.lowest = 0.0, .highest = 1.0, .without_highest = true});
  if (!has("gauge") && has("--seed")) declare_seed(line_, options_);
  if (has("--rhs")) line_.integer("--rhs", options_.rhs, "Right-hand sides", 1, 4096);
  if (has("--check"))
    line_.flag("--check", options_.check, "Compare the operators with the textbook's on random input first");
  line_.flag("--dryrun", options_.dry_run, "Say what would run: sizes, memory, flops, bytes; then stop");
  line_.real("--time-limit", options_.time_limit, "Seconds after which to stop with what there is (exit status 6)",
             real_range::positive());
  line_.text("--json", options_.json, "FILE", "Write the report there; -: to stdout, and the tables to stderr");
  line_.flag("--force", options_.force, "Overwrite output files that exist");
  line_.footer(
      "Exit status: 0 done and verified; 1 a check failed; 2 unusable arguments or input; 3 no convergence;\n"
      "4 out of memory; 5 output could not be written; 6 stopped by a signal or the time limit; 70 internal error.");
}

shared_options shared_option_set::collected() const {
  require_device_sense(line_, options_);
  require_plan_sense(options_);
  require_reunitarise_sense(options_);
  shared_options result = options_;
  result.action = make_action(action_);
  if (line_.given("--csw") && line_.given("--clover-spatial") && line_.given("--clover-temporal"))
    throw input_error(
        "--csw has no effect together with --clover-spatial and --clover-temporal: give two of the three");
  return result;
}

fermion_action make_action(const action_options& options) {
  const auto given = [](double value) { return !std::isnan(value); };
  fermion_action action;
  action.anisotropy = options.anisotropy;
  action.nu = options.nu;
  action.mass = given(options.kappa) ? fermion_action::mass_of_kappa(options.kappa, options.anisotropy, options.nu)
                                     : options.mass;
  action.clover_spatial = given(options.clover_spatial) ? options.clover_spatial : options.csw;
  action.clover_temporal = given(options.clover_temporal) ? options.clover_temporal : options.csw;
  // Squares of numbers beyond this are none in single precision.
  constexpr double most = 1e12;
  for (const double coefficient : {action.diagonal(), action.hop_coefficient(0),
                                   action.clover_spatial / action.anisotropy, action.clover_temporal})
    if (!(std::abs(coefficient) <= most))
      throw input_error(
          fmt::format("the action's coefficients overflow: expected at most {:g}, found {:g}; check --kappa, --mass, "
                      "--nu, --anisotropy, --csw, --clover-spatial and --clover-temporal",
                      most, coefficient));
  action.boundary_phase = {phase_of_angle(0.0), phase_of_angle(0.0), phase_of_angle(0.0),
                           phase_of_angle(options.time_boundary == "periodic" ? 0.0 : 1.0)};
  if (options.boundary_angles)
    std::ranges::transform(*options.boundary_angles, action.boundary_phase.begin(), phase_of_angle);
  return action;
}

void set_threads(int threads, const communicator& world) {
  const int sharing = ranks_on_this_host(world);
  if (threads > 0)
    omp_set_num_threads(threads);
  else if (std::getenv("OMP_NUM_THREADS") == nullptr)
    omp_set_num_threads(std::max(1, omp_get_num_procs() / sharing));
}

json_document stout_parameters(const stout_smearing& smearing) {
  return {{"steps", smearing.steps}, {"rho", smearing.rho}, {"spatial", smearing.spatial}};
}

json_document shared_parameters(const shared_options& options, const lattice_geometry& geometry) {
  shared_options used = options;
  used.lattice = geometry.global();
  used.grid = geometry.grid();
  command_line line;
  const shared_option_set rows(line, used);
  return line.parameters();
}

}  // namespace plaquette
