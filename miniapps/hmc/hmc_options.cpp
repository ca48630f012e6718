// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/hmc_options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/app/checkpoint.hpp"
#include "common/app/command_line.hpp"
#include "common/app/parse.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {

constexpr int most_trajectories = 10'000'000;

constexpr std::array<std::pair<std::string_view, double>, 4> action_names{
    {{"wilson", 0.0}, {"symanzik", -1.0 / 12.0}, {"iwasaki", -0.331}, {"dbw2", -1.4088}}};

constexpr std::array<std::pair<std::string_view, factor_solver::kind>, 3> method_names{
    {{"cg", factor_solver::kind::cg},
     {"bicgstab", factor_solver::kind::bicgstab},
     {"multigrid", factor_solver::kind::multigrid}}};

/// What the options say, until all are read.
struct raw_options {
  std::string gauge_action = "wilson", integrator = "auto", format = "nersc";
  double c1 = action_options::not_given;
  std::vector<double> mass_shifts;
  std::vector<double> splitting;  ///< mu_2 to mu_n
  std::vector<factor_solver> solvers;
  int flavours = 2;
  double twisted_mass = 0.0;
};

factor_solver parse_solver(const std::string& text, const std::string& option) {
  const std::size_t dash = text.find('-');
  factor_solver solver;
  const std::string method = text.substr(0, dash);
  const std::string inner = dash == std::string::npos ? "double" : text.substr(dash + 1);
  const auto* method_found =
      std::ranges::find(method_names, method, &std::pair<std::string_view, factor_solver::kind>::first);
  if (method_found == method_names.end() || (inner != "double" && inner != "single" && inner != "half"))
    throw input_error(option + ": expected cg, bicgstab or multigrid, each with -double, -single or -half, found '" +
                      text + "'");
  solver.method = method_found->second;
  solver.inner = inner == "half" ? precision::half : inner == "single" ? precision::single : precision::double_;
  return solver;
}

/// Returns the words between commas.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::vector<factor_solver> parse_solvers(const std::string& text, const std::string& option) {
  std::vector<factor_solver> solvers;
  for (const std::string& word : words_of(text)) solvers.push_back(parse_solver(word, option));
  return solvers;
}

/// Returns the steps of "KAPPA:TRAJECTORIES,...".
std::vector<warm_up_step> parse_warm_up(const std::string& text, const std::string& option) {
  constexpr int most = 1000;
  std::vector<warm_up_step> steps;
  for (const std::string& word : words_of(text)) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos)
      throw input_error(option + ": expected KAPPA:TRAJECTORIES, such as 0.134:2, found '" + word + "'");
    const double kappa = parse_real(word.substr(0, colon), option + ", kappa", real_range::positive());
    steps.push_back(
        {kappa, static_cast<int>(parse_integer(word.substr(colon + 1), option + ", trajectories", 1, most))});
  }
  return steps;
}

void declare_start(command_line& line, shared_options& shared) {
  line.custom(
      "--start", "cold|hot|weak:EPS|heatbath:BETA[:SWEEPS]|FILE", shared.gauge.describe(),
      [&shared](const std::string& text, const std::string& option) {
        shared.gauge = parse_gauge_choice(text == "cold" ? "unit" : text == "hot" ? "random" : text, option);
      },
      "The links that the chain starts from: unit or random ones, those of a quenched heat bath, or of a file");
}

void declare_action(command_line& line, hmc_options& options, raw_options& raw) {
  line.section("Action of the links and quarks");
  line.real("--beta", options.action.gauge.beta, "6 / g^2 of the gauge action", real_range::not_negative());
  line.choice("--gauge-action", raw.gauge_action, {"wilson", "symanzik", "iwasaki", "dbw2"},
              "Wilson's plaquettes, or with rectangles of weight c1");
  line.real("--c1", raw.c1, "Weight of the rectangles, in place of --gauge-action; plaquettes have 1 - 8 c1");
  line.exclude("--gauge-action", "--c1");
  line.real("--gauge-anisotropy", options.action.gauge.anisotropy, "xi_g of the gauge action", real_range::positive());
  line.integer("--flavours", raw.flavours, "Degenerate quarks, an even number; 0: links alone", 0, 16);
  line.real(
      "--twisted-mass", raw.twisted_mass,
      "mu of M + i mu gamma_5 on all sites: of a doublet, in the normalisation of M. tmLQCD's 2 kappa mu is 2 kappa "
      "times it",
      real_range::not_negative());
  line.custom(
      "--splitting", "MU,MU,...", "none",
      [&raw](const std::string& text, const std::string& option) {
        raw.splitting = parse_real_list(text, option, 1 + static_cast<std::size_t>(std::ranges::count(text, ',')));
      },
      "Twisted masses of even sites, ascending, that split the determinant in factors (Hasenbusch); the quarks stay as "
      "they are");
  line.custom(
      "--mass-shifts", "DM,DM,...", "none",
      [&raw](const std::string& text, const std::string& option) {
        raw.mass_shifts = parse_real_list(text, option, 1 + static_cast<std::size_t>(std::ranges::count(text, ',')));
      },
      "Split it by heavier quarks of mass m + DM instead, ascending");
  line.exclude("--splitting", "--mass-shifts");
}

void declare_dynamics(command_line& line, hmc_options& options, raw_options& raw) {
  line.section("Chain and molecular dynamics");
  line.integer(
      "--expected-iterations", options.expected_iterations,
      "With --dryrun: iterations of BiCGstab for the two systems of a force of the light factor, which seconds "
      "are told for (not given: those of the class)",
      1, 100'000'000);
  line.needs("--expected-iterations", "--dryrun");
  line.integer("--trajectories", options.trajectories, "Trajectories of the whole chain", 0, most_trajectories);
  line.real("--tau", options.plan.tau, "Length of a trajectory; dU/dt = A U, K = -sum tr A^2", real_range::positive());
  line.text("--integrator", raw.integrator, "LEVELS",
            "Levels from the longest steps to the shortest, each SCHEME:STEPS(TERM,...): leapfrog, omelyan, omf4 or "
            "force-gradient; terms gauge, det (of a clover term), light, middle, heavy. auto: one level, or two with "
            "quarks, as many steps as a trial before the first trajectory finds; they are kept in --store");
  line.custom(
      "--solvers", "SOLVER,...|auto", "auto",
      [&raw](const std::string& text, const std::string& option) {
        if (text != "auto") raw.solvers = parse_solvers(text, option);
      },
      "Of each factor, or one for all: cg, bicgstab or multigrid, with the precision of their iteration (of multigrid, "
      "of its finest lattice). auto: those that need least in a trial before the first trajectory; they are kept in "
      "--store");
  line.real("--force-tolerance", options.action.force_tolerance, "Residual of forces by bicgstab and multigrid",
            {.lowest = 0.0, .highest = 0.1, .without_lowest = true});
  line.real("--cg-force-tolerance", options.action.cg_force_tolerance, "Residual of forces by cg",
            {.lowest = 0.0, .highest = 0.1, .without_lowest = true});
  line.real("--action-tolerance", options.action.action_tolerance, "Residual of heat baths and actions",
            {.lowest = 0.0, .highest = 1e-6, .without_lowest = true});
  line.integer("--forecast", options.action.forecasts,
               "Earlier solutions that a solve of a force begins with; forces are then to 1e-9 unless told otherwise",
               0, 16);
  line.flag("--reproducible", options.action.exact_sums,
            "Same bits on any number of ranks: on the CPU, by cg-double, with exact sums");
  declare_start(line, options.shared);
  declare_reunitarise(line, options.shared);
  line.custom(
      "--warm-up", "KAPPA:TRAJECTORIES,...", "none",
      [&options](const std::string& text, const std::string& option) { options.warm_up = parse_warm_up(text, option); },
      "Trajectories before the chain that do not count: at each kappa in turn, heavy quarks first, all accepted. "
      "Quenched links may have no solution for light quarks");
}

void declare_output(command_line& line, hmc_options& options, raw_options& raw) {
  line.section("Configurations and history");
  line.text("--output", options.output, "PATH", "Write configurations to PATH.000010 and so on");
  line.integer("--save-every", options.save_every, "Trajectories from one of them to the next", 1, most_trajectories);
  line.choice("--format", raw.format, {"nersc", "ildg"}, "Of configurations");
  line.text("--store", options.store, "FILE",
            "Keep the state of the chain there (an ILDG configuration). If the file exists, the same command goes on "
            "from it, with the bits of a run that was not stopped");
  line.integer("--store-every", options.store_every, "Trajectories from one state to the next; one more at the end", 1,
               most_trajectories);
  line.integer("--measure-every", options.measure_every,
               "Trajectories from one measurement to the next: plaquettes, rectangle, Polyakov loop, t0 and charge of "
               "the gradient flow",
               1, most_trajectories);
  line.real("--flow-time", options.flow_time,
            "Where the flow ends, in lattice units; by default sqrt(8 t) is a third of the shortest extent",
            real_range::positive());
  line.text("--history", options.history, "FILE.csv", "Write a line a trajectory there");
  line.needs("--save-every", "--output PATH");
  line.needs("--output", "--save-every N");
  line.needs("--format", "--output PATH");
  line.needs("--flow-time", "--measure-every N");
  line.needs("--store-every", "--store FILE");
}

/// The gauge action has the shortest steps. Fourth order pays on large lattices; quarks and determinant go together.
std::string automatic_integrator(const hybrid_action& action, double tau) {
  const auto steps = [tau](double a_unit) { return std::max(1, static_cast<int>(a_unit * tau + 0.5)); };
  if (!action.quarks) return fmt::format("omf4:{}(gauge)", steps(10));
  std::vector<std::string> names = term_names(action);
  names.erase(names.begin());
  std::string outer;
  for (const std::string& term : names) outer += (outer.empty() ? "" : ",") + term;
  return fmt::format("force-gradient:{}({}) force-gradient:2(gauge)", steps(6), outer);
}

void set_quarks(hmc_options& options, const raw_options& raw, const command_line& line) {
  if (raw.flavours % 2 != 0)
    throw input_error(fmt::format("--flavours: expected an even number, found {}", raw.flavours));
  if (raw.flavours == 0) {
    for (const char* option : {"--splitting", "--mass-shifts", "--twisted-mass", "--solvers", "--forecast", "--csw",
                               "--kappa", "--mass", "--warm-up"})
      if (line.given(option)) throw input_error(fmt::format("{}: expected quarks, found --flavours 0", option));
    return;
  }
  quark_pairs quarks;
  quarks.action = options.shared.action;
  quarks.pairs = raw.flavours / 2;
  quarks.twisted_mass = raw.twisted_mass;
  quarks.twisted_masses.insert(quarks.twisted_masses.end(), raw.splitting.begin(), raw.splitting.end());
  if (!raw.mass_shifts.empty()) {
    quarks.mass_shifts = raw.mass_shifts;
    quarks.mass_shifts.insert(quarks.mass_shifts.begin(), 0.0);
    quarks.twisted_masses.assign(quarks.mass_shifts.size(), 0.0);
  }
  options.action.quarks = quarks;
  options.action.solvers = raw.solvers;
  options.chooses_solvers = raw.solvers.empty() && !options.action.exact_sums;
  if (options.action.solvers.empty()) options.action.solvers.emplace_back();
  if (options.action.solvers.size() == 1)
    options.action.solvers.resize(quarks.twisted_masses.size(), options.action.solvers.front());
}

/// Sets what the class has, but for what the command line gives itself.
void take_class(hmc_options& options, raw_options& raw, const command_line& line) {
  const json_document &fixed = options.run_class->fixed, &suggested = options.run_class->suggested;
  take_problem(options.shared, *options.run_class, line);
  if (!line.given("--start")) options.shared.gauge = parse_gauge_choice(fixed["start"].get<std::string>(), "--size");
  if (!line.given("--beta")) options.action.gauge.beta = fixed["beta"];
  if (!line.given("--tau")) options.plan.tau = fixed["tau"];
  if (!line.given("--warm-up")) {
    options.warm_up.clear();
    for (const json_document& step : fixed["warm_up"]) options.warm_up.push_back({step[0], step[1]});
  }
  if (!line.given("--trajectories")) options.trajectories = suggested["trajectories"];
  if (!line.given("--integrator")) raw.integrator = suggested["integrator"].get<std::string>();
  if (!line.given("--splitting") && !line.given("--mass-shifts"))
    raw.splitting = suggested["splitting"].get<std::vector<double>>();
}

void require_reproducible_sense(const hmc_options& options) {
  if (!options.action.exact_sums) return;
  const auto is_plain_cg = [](const factor_solver& solver) { return solver == factor_solver{}; };
  if (options.shared.device != "cpu" || !std::ranges::all_of(options.action.solvers, is_plain_cg))
    throw input_error("--reproducible: expected --device cpu and --solvers cg-double, found others");
}

}  // namespace

hmc_options parse_hmc_options(int argc, const char* const* argv) {
  hmc_options options;
  raw_options raw;
  shared_options defaults;
  defaults.lattice = {4, 4, 4, 8};
  options.action.gauge.beta = 5.6;
  command_line line("plaquette-hmc",
                    "Makes gauge configurations with pairs of degenerate Wilson, clover or no quarks, by hybrid Monte "
                    "Carlo, and judges trajectories that it draws after they were made.");
  action_options quarks;
  quarks.mass = action_options::not_given;
  quarks.kappa = 0.138;
  class_options size;
  declare_class(
      line, size, {},
      "Official class (RUN_RULES.md): lattice, action, start, warm-up, integrator; single options overrule it");
  shared_option_set shared(line, defaults, quarks, {"gauge", "--precision", "--rhs", "--tol", "--check"});
  options.shared.gauge = {.from = gauge_choice::origin::unit};
  declare_action(line, options, raw);
  declare_dynamics(line, options, raw);
  declare_output(line, options, raw);
  line.examples({"--size nano", "--lattice 4x4x4x8 --beta 5.6 --csw 1.76 --kappa 0.138 --trajectories 10",
                 "--lattice 8x8x8x8 --flavours 0 --beta 6.0 --start heatbath:6.0:50 --trajectories 100",
                 "--lattice 16x16x16x32 --device gpu --beta 5.3 --csw 1.90952 --kappa 0.1366 --splitting 0.1,0.5 "
                 "--store chain --trajectories 100"});
  line.parse(argc, argv);
  const shared_options start = options.shared;
  options.shared = shared.collected();
  options.shared.gauge = start.gauge;
  options.run_class = find_class("hmc", size, line);
  if (options.run_class) take_class(options, raw, line);
  if (options.run_class && options.expected_iterations == 0)
    options.expected_iterations = options.run_class->expected_iterations;
  options.shared.reunitarise = start.reunitarise;
  require_reunitarise_sense(options.shared);
  options.action.seed = options.shared.seed;
  if (options.action.forecasts > 0) {
    constexpr double reversible = 1e-9;  // what a trajectory with forecasts comes back to
    if (!line.given("--force-tolerance")) options.action.force_tolerance = reversible;
    if (!line.given("--cg-force-tolerance")) options.action.cg_force_tolerance = reversible;
  }
  options.action.gauge.c1 =
      line.given("--c1")
          ? raw.c1
          : std::ranges::find(action_names, raw.gauge_action, &std::pair<std::string_view, double>::first)->second;
  set_quarks(options, raw, line);
  require_usable(options.action);
  require_reproducible_sense(options);
  const std::string levels =
      raw.integrator == "auto" ? automatic_integrator(options.action, options.plan.tau) : raw.integrator;
  options.plan =
      plan_of(options.action, parse_integrator(levels, term_names(options.action), "--integrator"), options.plan.tau);
  options.chooses_steps = raw.integrator == "auto";
  options.ildg = raw.format == "ildg";
  options.command = line.typed();
  return options;
}

std::string describe(std::span<const factor_solver> solvers) {
  std::string text;
  for (const factor_solver& solver : solvers) {
    if (!text.empty()) text += ',';
    text += std::ranges::find(method_names, solver.method, &std::pair<std::string_view, factor_solver::kind>::second)
                ->first;
    text += '-';
    text += name(solver.inner);
  }
  return text;
}

void take_choices(hmc_options& options, const json_document& chain, const std::string& file) {
  if (options.chooses_steps) {
    const auto levels = checkpoint_value<std::string>(file, chain, "integrator");
    options.plan =
        plan_of(options.action, parse_integrator(levels, term_names(options.action), file), options.plan.tau);
  }
  if (options.chooses_solvers) {
    options.action.solvers = parse_solvers(checkpoint_value<std::string>(file, chain, "solvers"), file);
    require_usable(options.action);
  }
  options.chooses_steps = options.chooses_solvers = false;
}

json_document parameters_of_chain(const hmc_options& options) {
  const hybrid_action& action = options.action;
  json_document parameters{{"start", options.start()},
                           {"seed", options.shared.seed},
                           {"beta", action.gauge.beta},
                           {"c1", action.gauge.c1},
                           {"gauge_anisotropy", action.gauge.anisotropy},
                           {"tau", options.plan.tau},
                           {"integrator", describe(options.plan.levels)},
                           {"flavours", action.quarks ? 2 * action.quarks->pairs : 0}};
  json_document warm_up = json_document::array();
  for (const warm_up_step& step : options.warm_up) warm_up.push_back({step.kappa, step.trajectories});
  if (!options.warm_up.empty()) parameters["warm_up"] = warm_up;
  // A GPU's logarithms and cosines have other last bits: a chain stays on the device that it began on.
  parameters["device"] = options.shared.device;
  if (!action.quarks) return parameters;
  const fermion_action& quark = action.quarks->action;
  json_document phases = json_document::array();
  for (const auto& phase : quark.boundary_phase) phases.push_back({phase.re, phase.im});
  parameters.update({{"mass", quark.mass},
                     {"kappa", quark.kappa()},
                     {"clover_spatial", quark.clover_spatial},
                     {"clover_temporal", quark.clover_temporal},
                     {"anisotropy", quark.anisotropy},
                     {"nu", quark.nu},
                     {"boundary_phases", phases},
                     {"twisted_masses", action.quarks->twisted_masses},
                     {"solvers", describe(action.solvers)},
                     {"force_tolerance", action.force_tolerance},
                     {"cg_force_tolerance", action.cg_force_tolerance},
                     {"action_tolerance", action.action_tolerance},
                     {"forecasts", action.forecasts},
                     {"reproducible", action.exact_sums}});
  if (action.quarks->has_mass_shifts()) parameters["mass_shifts"] = action.quarks->mass_shifts;
  if (action.quarks->twisted_mass != 0.0) parameters["twisted_mass"] = action.quarks->twisted_mass;
  return parameters;
}

json_document parameters_of(const hmc_options& options, const lattice_geometry& geometry) {
  json_document parameters{{"command", options.command}, {"lattice", geometry.global()}, {"grid", geometry.grid()}};
  parameters.update(parameters_of_chain(options));
  parameters.update({{"kinetic_energy", "-sum tr A^2, dU/dt = A U"},
                     {"trajectories", options.trajectories},
                     {"save_every", options.save_every},
                     {"output", options.output},
                     {"format", options.ildg ? "ildg" : "nersc"},
                     {"store", options.store},
                     {"store_every", options.store_every},
                     {"measure_every", options.measure_every},
                     {"flow_time", options.flow_time},
                     {"history", options.history}});
  return parameters;
}

}  // namespace plaquette
