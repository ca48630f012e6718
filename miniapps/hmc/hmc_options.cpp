// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/hmc_options.hpp"

#include <fmt/format.h>

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

constexpr std::array<std::pair<std::string_view, factor_solver::kind>, 3> method_names{
    {{"cg", factor_solver::kind::cg},
     {"bicgstab", factor_solver::kind::bicgstab},
     {"multigrid", factor_solver::kind::multigrid}}};

/// Returns the shared options that hmc does not have, or declares in its own words.
std::vector<std::string> left_out() { return {"gauge", "--precision", "--rhs", "--tol", "--check"}; }

/// Values of options that depend on each other, until all are read.
struct raw_options {
  std::string integrator = "auto";
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

/// Returns the numbers of "0.1,0.5"; "none" are none.
std::vector<double> parse_reals_of(const std::string& text, const std::string& option) {
  if (text == "none") return {};
  return parse_real_list(text, option, split(text).size());
}

std::vector<factor_solver> parse_solvers(const std::string& text, const std::string& option) {
  std::vector<factor_solver> solvers;
  for (const std::string& word : split(text)) solvers.push_back(parse_solver(word, option));
  return solvers;
}

/// Returns the steps of "KAPPA:TRAJECTORIES,..."; "none" are none.
std::vector<warm_up_step> parse_warm_up(const std::string& text, const std::string& option) {
  if (text == "none") return {};
  constexpr int most = 1000;
  std::vector<warm_up_step> steps;
  for (const std::string& word : split(text)) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos)
      throw input_error(option + ": expected KAPPA:TRAJECTORIES, such as 0.134:2, found '" + word + "'");
    const double kappa = parse_real(word.substr(0, colon), option + ", kappa", real_range::positive());
    steps.push_back(
        {kappa, static_cast<int>(parse_integer(word.substr(colon + 1), option + ", trajectories", 1, most))});
  }
  return steps;
}

/// Returns [[kappa, trajectories], ...].
json_document as_json(const std::vector<warm_up_step>& steps) {
  json_document all = json_document::array();
  for (const warm_up_step& step : steps) all.push_back({step.kappa, step.trajectories});
  return all;
}

void declare_action(command_line& line, hmc_options& options, raw_options& raw) {
  loop_action& gauge = options.action.gauge;
  const quark_pairs quarks = options.action.quarks.value_or(quark_pairs{.pairs = 0});
  line.section("Action of the links and quarks");
  line.reports(true);
  line.real("--beta", gauge.beta, "6 / g^2 of the gauge action", real_range::not_negative());
  line.choice("--gauge-action", gauge.c1,
              {{"wilson", 0.0}, {"symanzik", -1.0 / 12.0}, {"iwasaki", -0.331}, {"dbw2", -1.4088}},
              "Wilson's plaquettes, or with rectangles of weight c1")
      .reported_as("c1", gauge.c1);
  line.real("--c1", gauge.c1, "Weight of the rectangles, in place of --gauge-action; plaquettes have 1 - 8 c1")
      .shows("")
      .excludes("--gauge-action");
  line.real("--gauge-anisotropy", gauge.anisotropy, "xi_g of the gauge action", real_range::positive());
  line.integer("--flavours", raw.flavours, "Degenerate quarks, an even number; 0: links alone", 0, 16)
      .reported_as("flavours", 2 * quarks.pairs);
  line.real("--twisted-mass", raw.twisted_mass,
            "mu of M + i mu gamma_5 on all sites: of a doublet, in the normalisation of M. tmLQCD's 2 kappa mu is 2 "
            "kappa times it",
            real_range::not_negative())
      .reported_as("twisted_mass", quarks.twisted_mass, quarks.twisted_mass != 0.0);
  line.value("--splitting", raw.splitting, "MU,MU,...|none", parse_reals_of,
             "Twisted masses of even sites, ascending, that split the determinant in factors (Hasenbusch); the quarks "
             "stay as they are")
      .shows("none")
      .reported_as("twisted_masses", quarks.twisted_masses, quarks.pairs > 0);
  line.value("--mass-shifts", raw.mass_shifts, "DM,DM,...|none", parse_reals_of,
             "Split it by heavier quarks of mass m + DM instead, ascending")
      .excludes("--splitting")
      .shows("none")
      .reported_as("mass_shifts", quarks.mass_shifts, quarks.has_mass_shifts());
}

void declare_solves(command_line& line, hybrid_action& action, raw_options& raw) {
  const bool has_quarks = action.quarks.has_value();
  line.custom(
          "--solvers", "SOLVER,...|auto", "auto",
          [&raw](const std::string& text, const std::string& option) {
            if (text != "auto") raw.solvers = parse_solvers(text, option);
          },
          "Of each factor, or one for all: cg, bicgstab or multigrid, with the precision of their iteration (of "
          "multigrid, of its finest lattice). auto: those that need least in a trial before the first trajectory; "
          "they are kept in --store")
      .reported_as("solvers", describe(action.solvers), has_quarks);
  line.real("--force-tolerance", action.force_tolerance, "Residual of forces by bicgstab and multigrid",
            {.lowest = 0.0, .highest = 0.1, .without_lowest = true})
      .reported("force_tolerance", has_quarks);
  line.real("--cg-force-tolerance", action.cg_force_tolerance, "Residual of forces by cg",
            {.lowest = 0.0, .highest = 0.1, .without_lowest = true})
      .reported("cg_force_tolerance", has_quarks);
  line.real("--action-tolerance", action.action_tolerance, "Residual of heat baths and actions",
            {.lowest = 0.0, .highest = 1e-6, .without_lowest = true})
      .reported("action_tolerance", has_quarks);
  line.integer("--forecast", action.forecasts,
               "Earlier solutions that a solve of a force begins with; forces are then to 1e-9 unless told otherwise",
               0, 16)
      .reported("forecasts", has_quarks);
  line.flag("--reproducible", action.exact_sums,
            "Same bits on any number of ranks: on the CPU, by cg-double, with exact sums")
      .reported("reproducible", has_quarks);
}

void declare_dynamics(command_line& line, hmc_options& options, raw_options& raw) {
  line.section("Chain and molecular dynamics");
  line.integer(
          "--expected-iterations", options.expected_iterations,
          "With --dryrun: iterations of BiCGstab for the two systems of a force of the light factor, which seconds "
          "are told for (not given: those of the class)",
          1, 100'000'000)
      .needs("--dryrun")
      .unreported();
  line.integer("--trajectories", options.trajectories, "Trajectories of the whole chain", 0, most_trajectories);
  line.real("--tau", options.plan.tau, "Length of a trajectory; dU/dt = A U, K = -sum tr A^2", real_range::positive());
  line.text("--integrator", raw.integrator, "LEVELS",
            "Levels from the longest steps to the shortest, each SCHEME:STEPS(TERM,...): leapfrog, omelyan, omf4 or "
            "force-gradient; terms gauge, det (of a clover term), light, middle, heavy. auto: a level for the "
            "links, one for quarks before it, and one more between them for the last of several factors; as many "
            "steps as a trial before the first trajectory finds; they are kept in --store")
      .reported_as("integrator", describe(options.plan.levels));
  declare_solves(line, options.action, raw);
  line.custom(
          "--start", "cold|hot|weak:EPS|heatbath:BETA[:SWEEPS]|FILE", options.start(),
          [&shared = options.shared](const std::string& text, const std::string& option) {
            shared.gauge = parse_gauge_choice(text == "cold" ? "unit" : text == "hot" ? "random" : text, option);
          },
          "The links that the chain starts from: unit or random ones, those of a quenched heat bath, or of a file")
      .reported_as("start", options.start());
  declare_reunitarise(line, options.shared).unreported();
  line.custom(
          "--warm-up", "KAPPA:TRAJECTORIES,...|none", "none",
          [&options](const std::string& text, const std::string& option) {
            options.warm_up = parse_warm_up(text, option);
          },
          "Trajectories before the chain that do not count: at each kappa in turn, heavy quarks first, all accepted. "
          "Quenched links may have no solution for light quarks")
      .reported_as("warm_up", as_json(options.warm_up), !options.warm_up.empty());
}

void declare_output(command_line& line, hmc_options& options) {
  line.section("Configurations and history");
  line.reports(true);
  line.text("--output", options.output, "PATH", "Write configurations to PATH.000010 and so on")
      .needs("--save-every N");
  line.integer("--save-every", options.save_every, "Trajectories from one of them to the next", 1, most_trajectories)
      .needs("--output PATH");
  line.choice("--format", options.ildg, {{"nersc", false}, {"ildg", true}}, "Of configurations").needs("--output PATH");
  line.text("--store", options.store, "FILE",
            "Keep the state of the chain there (an ILDG configuration). If the file exists, the same command goes on "
            "from it, with the bits of a run that was not stopped");
  line.integer("--store-every", options.store_every, "Trajectories from one state to the next; one more at the end", 1,
               most_trajectories)
      .needs("--store FILE");
  line.integer("--measure-every", options.measure_every,
               "Trajectories from one measurement to the next: plaquettes, rectangle, Polyakov loop, t0 and charge of "
               "the gradient flow",
               1, most_trajectories);
  line.real("--flow-time", options.flow_time,
            "Where the flow ends, in lattice units; by default sqrt(8 t) is a third of the shortest extent",
            real_range::positive())
      .needs("--measure-every N");
  line.text("--history", options.history, "FILE.csv", "Write a line a trajectory there");
}

/// The gauge action has the shortest steps. Fourth order pays on large lattices. The last of several factors has the
/// largest force and the cheapest solves, so it stands one level below the others, with the determinant.
std::string automatic_integrator(const hybrid_action& action, double tau) {
  const auto steps = [tau](double a_unit) { return std::max(1, static_cast<int>(a_unit * tau + 0.5)); };
  if (!action.quarks) return fmt::format("omf4:{}(gauge)", steps(10));
  std::vector<std::string> names = term_names(action);
  const int before = first_factor_term(action);
  if (action.quarks->factors() == 1)
    return fmt::format("force-gradient:{}({}) force-gradient:2(gauge)", steps(6),
                       fmt::join(names.begin() + 1, names.end(), ","));
  std::rotate(names.begin() + 1, names.begin() + before, names.end());  // the determinant stands behind the factors
  return fmt::format("force-gradient:{}({}) force-gradient:1({}) force-gradient:1(gauge)", steps(6),
                     fmt::join(names.begin() + 1, names.end() - before, ","),
                     fmt::join(names.end() - before, names.end(), ","));
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

/// Sets the values of the class, except options that the command line gives itself.
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

/// Returns the reported values of the chain: the program's own options, and shared ones that change its links.
json_document values_of_chain(const hmc_options& options) {
  hmc_options used = options;
  if (used.action.quarks) used.shared.action = used.action.quarks->action;
  raw_options raw;
  command_line own, shared;
  declare_action(own, used, raw);
  declare_dynamics(own, used, raw);
  const shared_option_set rows(shared, used.shared, {}, left_out());
  const json_document of_all = shared.parameters();
  json_document all = own.parameters();
  // A GPU's logarithms and cosines have other last bits: a chain stays on the device that it began on.
  for (const char* key : {"seed", "device"}) all[key] = of_all.at(key);
  if (!options.action.quarks) return all;
  for (const char* key : {"mass", "kappa", "clover_spatial", "clover_temporal", "anisotropy", "nu", "boundary_phases"})
    all[key] = of_all.at(key);
  return all;
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
  shared_option_set shared(line, defaults, quarks, left_out());
  options.shared.gauge = {.from = gauge_choice::origin::unit};
  declare_action(line, options, raw);
  declare_dynamics(line, options, raw);
  declare_output(line, options);
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
    constexpr double reversible = 1e-9;  // distance after a trajectory with forecasts and its reverse
    if (!line.given("--force-tolerance")) options.action.force_tolerance = reversible;
    if (!line.given("--cg-force-tolerance")) options.action.cg_force_tolerance = reversible;
  }
  set_quarks(options, raw, line);
  require_usable(options.action);
  require_reproducible_sense(options);
  const std::string levels =
      raw.integrator == "auto" ? automatic_integrator(options.action, options.plan.tau) : raw.integrator;
  options.plan =
      plan_of(options.action, parse_integrator(levels, term_names(options.action), "--integrator"), options.plan.tau);
  options.chooses_steps = raw.integrator == "auto";
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
  json_document all = values_of_chain(options);
  all.erase("trajectories");
  return all;
}

json_document parameters_of(const hmc_options& options, const lattice_geometry& geometry) {
  hmc_options used = options;
  command_line line;
  declare_output(line, used);
  json_document all{{"command", options.command}, {"lattice", geometry.global()}, {"grid", geometry.grid()}};
  all.update(values_of_chain(options));
  all["kinetic_energy"] = "-sum tr A^2, dU/dt = A U";
  all.update(line.parameters());
  return all;
}

}  // namespace plaquette
