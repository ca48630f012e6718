// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/multigrid_options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>

#include "common/app/command_line.hpp"
#include "common/app/parse.hpp"
#include "common/error.hpp"
#include "common/lattice/coarse_geometry.hpp"
#include "common/solvers/cycle_choice.hpp"

namespace plaquette {

namespace {

std::vector<int> integers(const std::string& text, const std::string& option, int lowest, int highest) {
  const auto count = static_cast<std::size_t>(std::ranges::count(text, ',') + 1);
  std::vector<int> numbers;
  for (const std::int64_t n : parse_integer_list(text, option, count, lowest, highest))
    numbers.push_back(static_cast<int>(n));
  return numbers;
}

/// Returns a function that reads such a list.
auto list_of_integers(int lowest, int highest) {
  return [lowest, highest](const std::string& text, const std::string& option) {
    return integers(text, option, lowest, highest);
  };
}

/// "24/24,24/32"
std::vector<std::vector<int>> schedules(const std::string& text, const std::string& option) {
  std::vector<std::vector<int>> list;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, ',');) {
    std::ranges::replace(one, '/', ',');
    list.push_back(integers(one, option, 1, 512));
  }
  return list;
}

void declare_cycle(command_line& line, multigrid_options& o) {
  using enum smoother_kind;
  multigrid_parameters& p = o.multigrid;
  line.section("Multigrid (what is not given follows from the lattice)");
  line.reports(false);
  line.integer("--levels", o.most_levels, "Lattices at most, the finest included", 2, 8);
  line.text("--aggregates", o.aggregates, "4x4x4x4,2x2x2x2", "Sites that make one of the next lattice, a level each");
  line.value("--vectors", o.vectors, "24,24", list_of_integers(1, 512),
             "Null vectors of each chirality, one number for all levels or one a level")
      .shows("24");
  line.value("--schedules", o.schedules, "24/24,24/32", schedules,
             "Several numbers of vectors, in place of --vectors: a setup, solves and a row of the table with each");
  line.reports(true);
  line.choice(
      "--cycle", p.cycle, {cycle_kind::v, cycle_kind::w, cycle_kind::k},
      "k: GCR on each level around the cycle of the next. Where neither this nor --k-steps nor --post is given, "
      "a trial on a GPU finds the fastest");
  line.choice("--smoother", p.smoother, {mr, gcr, ca_gcr, polynomial, additive_schwarz, multiplicative_schwarz},
              "Relaxation on each level (where not given: polynomial on a GPU); polynomial: with the numbers that "
              "ca-gcr finds in a trial; Schwarz's domains are the aggregates");
  line.value("--pre", p.steps_before, "6,4", list_of_integers(0, 100),
             "Relaxation steps before the coarse correction, one number for all lattices or one a lattice, finest "
             "first");
  line.value("--post", p.steps_after, "6,4", list_of_integers(0, 100),
             "Relaxation steps after it, likewise (polynomial: 7,6)");
  line.real("--relaxation", p.relaxation_factor, "Factor of mr's steps", {0.0, 2.0, true}).unreported();
  line.choice("--cycle-precision", o.cycle_precision, {"single", "half"},
              "Of the cycle on the finest lattice (where not given: half on a GPU, single on a CPU)");
  line.choice("--null-vectors", p.vectors_in_16_bits, {{"single", false}, {"half", true}},
              "Of cycles on a GPU; half: 16 bits, where the lattice relaxes in 16 bits")
      .unreported();
  line.choice("--coarse-device", o.coarse_device_name, {"cpu", "gpu", "auto"},
              "Where coarse lattices live together with a fine one on a GPU; auto: tries all, and takes the fastest "
              "(so far, always the GPU)");
  line.text("--whole-from", o.whole_from, "LEVEL|auto|never",
            "On several ranks: the first coarse lattice, 1 and up, that every rank holds whole, so that nothing is "
            "exchanged from there on; auto: tries those of few sites, and takes the fastest");
  line.choice("--correction", o.correction, {"multiplicative", "additive"},
              "additive: relaxation and coarse lattices start from one residual, so that a GPU relaxes while a CPU "
              "solves; more iterations (where not given: multiplicative, but --coarse-device auto tries both)")
      .reported_as("correction", o.correction.empty() ? "auto" : o.correction);
  line.integer("--k-steps", p.k_steps, "GCR steps at most on an intermediate lattice", 1, 100);
  line.real("--k-tolerance", p.k_tolerance, "Fraction of the residual at which these end", {0.0, 1.0});
  line.integer("--ca-length", p.steps_at_a_time, "Steps that ca-gcr makes at a time", 1, 16);
  line.integer("--domain-steps", p.domain_steps, "Steps of mr in each of Schwarz's domains", 1, 100);
  line.choice("--coarsest-solver", p.coarsest, {coarsest_kind::gcr, coarsest_kind::ca_gcr},
              "Solver on the coarsest lattice");
  line.integer("--coarsest-modes", p.coarsest_modes, "Lowest modes taken out on the coarsest lattice", 0, 512);
  line.integer("--coarsest-steps", p.coarsest_steps,
               "GCR steps at most on the coarsest lattice (where not given: up to four times as many, if it stalls)", 1,
               1000);
  line.real("--coarsest-tolerance", p.coarsest_tolerance, "Fraction of the residual at which these end", {0.0, 1.0});
}

void declare_setup(command_line& line, multigrid_options& o) {
  using enum null_vector_solver;
  multigrid_parameters& p = o.multigrid;
  line.section("Setup");
  line.choice("--setup-solver", p.relaxation, {bicgstab, cgnr, chebyshev},
              "What makes null vectors of random ones; chebyshev: a polynomial that makes low modes grow");
  line.integer("--setup-iterations", p.relaxation_iterations, "Its iterations on M v = 0, or the polynomial's degree",
               0, 100000);
  line.real("--setup-tolerance", p.relaxation_tolerance, "Fraction of the residual at which iterations end",
            {0.0, 1.0});
  line.choice("--null-space", p.null_space, {null_space_kind::stages, null_space_kind::last},
              "Null vectors that make the first coarse lattice; stages: on each aggregate the leading ones of those "
              "after the setup's solver and after each refinement; last: those of the last refinement");
  line.integer("--setup-refinements", p.refinements,
               "Inverse iterations with the cycle itself (where not given: 3 with --null-space last)", 0, 100);
  line.text("--save-setup", o.save_setup, "FILE.h5", "Write the null vectors there (HDF5)").unreported();
  line.text("--load-setup", o.load_setup, "FILE.h5",
            "Take the null vectors from there: of the same links and action; the mass may differ")
      .unreported();
  line.integer("--refresh", o.refresh, "Inverse iterations that fit vectors of another mass to this one", 0, 100)
      .needs("--load-setup FILE");
  line.integer("--trials", o.trials, "At most so often null vectors are improved where a trial converges slowly", 0,
               20);
  line.no_effect_with("--load-setup",
                      {"--setup-solver", "--setup-iterations", "--setup-tolerance", "--setup-refinements",
                       "--aggregates", "--vectors", "--levels", "--schedules"},
                      "the file holds the null vectors");
  line.no_effect_with("--schedules", {"--vectors", "--save-setup"}, "there are several");
  line.no_effect_with("--aggregates", {"--levels"}, "there is a level for each aggregate");
}

void declare_solves(command_line& line, multigrid_options& o, class_options& size) {
  line.section("Spectrum");
  line.integer("--modes", o.modes, "Lowest modes of gamma_5 M that are estimated; 0: none", 0, 64);
  line.choice("--exceptional", o.exceptional, {"refuse", "solve"},
              "What to do with a configuration where M is nearly singular, or its mass negative");
  line.flag("--explain", o.explains, "Add to the report what plots/why_multigrid.py draws: why multigrid works")
      .unreported();

  line.section("Solves");
  declare_class(
      line, size, {},
      "Official class (RUN_RULES.md): lattice, gauge field, action and tolerance; single options overrule it");
  line.integer("--restart-length", o.restart_length, "Directions that the outer GCR keeps", 1, 1000);
  line.choice("--precision", o.operator_precision, {"double", "pairs"},
              "Of the outer operator, with its vectors and sums; pairs: double by pairs of floats, to 44 bits, on one "
              "GPU with few units for double")
      .reported("operator_precision");
  line.choice("--outer-precision", o.outer_precision, {"single", "double"},
              "Of the outer GCR's directions; the solution is double");
  line.integer("--expected-iterations", o.expected_iterations,
               "With --dryrun: iterations of a solve, which its seconds are told for (not given: those of the class)",
               1, 100'000'000)
      .needs("--dryrun")
      .unreported();
  line.integer("--max-iterations", o.iteration_limit, "Of the outer GCR", 1, 100000).unreported();
  line.value("--batches", o.batches, "1,12", list_of_integers(1, spin_colours),
             "Right-hand sides that are solved at once; all sources are solved with each of these numbers")
      .shows("1,RHS");
  line.choice("--reference", o.reference, {"double-half", "double-single", "double", "none"},
              "Precisions of the BiCGstab that multigrid is compared with");
  line.integer("--reference-iterations", o.reference_limit, "Of BiCGstab", 1, 100'000'000).unreported();
  declare_source_position(line, o.source, "Where the point source is").unreported();
}

void declare(command_line& line, multigrid_options& o, class_options& size) {
  declare_cycle(line, o);
  declare_setup(line, o);
  declare_solves(line, o, size);
}

/// Relaxation in several steps at a time makes powers of M in single precision, whose squares are summed in double.
void require_powers_in_single(const multigrid_options& options) {
  const multigrid_parameters& p = options.multigrid;
  const bool relaxes = p.smoother == smoother_kind::ca_gcr || p.smoother == smoother_kind::polynomial;
  if (!relaxes && p.coarsest != coarsest_kind::ca_gcr) return;
  const double most = std::pow(1e30, 1.0 / std::max(p.steps_at_a_time, 8));
  const double mass = options.shared.action.mass;
  if (std::abs(mass) <= most) return;
  throw input_error(fmt::format(
      "mass {:g}: {} relaxes by powers of M, which overflow single precision beyond {:.0f}: --smoother mr {}does not",
      mass, name(relaxes ? p.smoother : smoother_kind::ca_gcr), most,
      p.coarsest == coarsest_kind::ca_gcr ? "--coarsest-solver gcr " : ""));
}

}  // namespace

precision multigrid_options::reference_precision() const {
  return reference == "double"          ? precision::double_
         : reference == "double-single" ? precision::single
                                        : precision::half;
}

multigrid_settings multigrid_options::solver_settings() const {
  multigrid_settings settings;
  settings.action = shared.action;
  settings.cycle_precision = cycle_precision == "half" ? precision::half : precision::single;
  settings.direction_precision = outer_precision == "double" ? precision::double_ : precision::single;
  settings.operator_precision = operator_precision == "pairs" ? precision::pairs : precision::double_;
  settings.restart_length = restart_length;
  return settings;
}

tuning_choices multigrid_options::open_choices() const {
  tuning_choices open;
  open.columns = *std::ranges::max_element(batches);
  open.trials = trials;
  open.shape = !chose_cycle;
  open.coarsest_steps = !chose_coarsest_steps;
  if (shared.device == "gpu" && coarse_device_name != "gpu")
    open.offload = coarse_device_name == "cpu" ? coarse_device::host : coarse_device::fastest;
  if (whole_from != "auto") open.whole_from = whole_from == "never" ? 0 : multigrid.whole_from;
  if (!correction.empty())
    open.correction = correction == "additive" ? correction_kind::additive : correction_kind::multiplicative;
  return open;
}

multigrid_options parse_multigrid_options(int argc, const char* const* argv) {
  multigrid_options options;
  class_options size;
  command_line line("plaquette-multigrid",
                    "Solves the Wilson-clover Dirac equation by adaptive multigrid and by BiCGstab for the spins and "
                    "colours of a point source,\nchecks each solution with an independent operator, and prints "
                    "iterations, times, errors and speed-ups.");
  line.examples({"--size nano", "--gauge b6.lime --stout-steps 3 --csw 1 --kappa 0.1269 --json run.json",
                 "--device gpu --lattice 16x16x16x32 --rhs 12 --reference none"});
  declare(line, options, size);
  shared_options defaults;
  defaults.lattice = {8, 8, 8, 16};
  action_options action;
  action.mass = -0.29;
  action.csw = 1.769;
  defaults.gauge = parse_gauge_choice("heatbath:6.0:60", "--gauge");
  shared_option_set shared(line, defaults, action, {"--precision"});
  line.parse(argc, argv);
  options.shared = shared.collected();
  require_mass_of_file(line, options.shared.gauge);
  if (options.shared.action.diagonal() == 0.0)
    throw input_error("--mass: 4 + m is zero, and the even-odd decomposition divides by it");
  options.command = line.typed();
  options.run_class = find_class("multigrid", size, line);
  if (options.run_class) take_problem(options.shared, *options.run_class, line);
  if (options.run_class && options.expected_iterations == 0)
    options.expected_iterations = options.run_class->expected_iterations;
  if (options.operator_precision == "pairs") require_pairs_sense(options.shared);
  if (options.operator_precision == "pairs" && options.outer_precision == "double")
    throw input_error("--precision pairs: expected --outer-precision single, found double");
  if (options.explains && (options.modes == 0 || options.shared.json.empty()))
    throw input_error("--explain: expected a report to add to (--json FILE) and --modes above 0");
  if (options.multigrid.relaxation == null_vector_solver::chebyshev && line.given("--setup-tolerance"))
    throw input_error(
        "--setup-tolerance has no effect together with --setup-solver chebyshev: a polynomial has a degree");
  if (!line.given("--setup-refinements"))
    options.multigrid.refinements = default_refinements(options.multigrid.null_space);
  const auto& [before, after] = std::tie(options.multigrid.steps_before, options.multigrid.steps_after);
  for (std::size_t k = 0; k < std::max(before.size(), after.size()); ++k)
    if (multigrid_parameters::on_lattice(before, k) + multigrid_parameters::on_lattice(after, k) == 0)
      throw input_error("--pre, --post: expected at least one step of relaxation on every lattice");
  options.multigrid.seed = options.shared.seed;
  const bool on_gpu = options.shared.device == "gpu";
  if (!on_gpu && (options.coarse_device_name == "gpu" || options.coarse_device_name == "auto"))
    throw input_error("--coarse-device: " + options.coarse_device_name + " needs --device gpu");
  if (options.whole_from != "auto" && options.whole_from != "never") {
    options.multigrid.whole_from =
        static_cast<std::size_t>(parse_integer(options.whole_from, "--whole-from (or auto, or never)", 1, 7));
    if (options.coarse_device_name == "cpu" || options.coarse_device_name == "auto")
      throw input_error("--whole-from: expected auto or never with --coarse-device " + options.coarse_device_name);
  }
  if (options.coarse_device_name.empty()) options.coarse_device_name = options.shared.device;
  if (options.correction.empty() && options.coarse_device_name != "auto") options.correction = "multiplicative";
  if (options.cycle_precision.empty()) options.cycle_precision = name(default_cycle_precision(on_gpu));
  multigrid_parameters usual;
  set_device_defaults(usual, on_gpu);
  if (!line.given("--k-steps")) options.multigrid.k_steps = usual.k_steps;
  if (!line.given("--coarsest-steps")) options.multigrid.coarsest_steps = usual.coarsest_steps;
  if (!line.given("--coarsest-solver")) options.multigrid.coarsest = usual.coarsest;
  if (options.shared.rhs > spin_colours)
    throw input_error(
        fmt::format("--rhs: expected at most 12, the columns of a propagator, found {}", options.shared.rhs));
  if (!line.given("--smoother")) options.multigrid.smoother = usual.smoother;
  if (options.multigrid.smoother == smoother_kind::polynomial && !line.given("--post"))
    options.multigrid.steps_after = {7, 6};
  options.chose_cycle = line.given("--cycle") || line.given("--k-steps") || line.given("--post");
  options.chose_coarsest_steps = line.given("--coarsest-steps");
  options.chose_restart_length = line.given("--restart-length");
  options.chose_vectors = line.given("--vectors") || line.given("--schedules") || line.given("--load-setup");
  if (options.batches.empty()) {
    options.batches = {1};
    if (options.shared.rhs > 1) options.batches.push_back(options.shared.rhs);
  }
  for (const int batch : options.batches)
    if (batch > options.shared.rhs)
      throw input_error(fmt::format("--batches: expected at most the {} right-hand sides of --rhs, found {}",
                                    options.shared.rhs, batch));
  if (options.shared.tolerance != 0.0 && options.shared.tolerance < 1e-15)
    throw input_error(
        fmt::format("--tol: double precision resolves 1e-15 at best, found {:g}", options.shared.tolerance));
  if (!options.aggregates.empty()) parse_coarsenings(options.aggregates, options.vectors);
  require_powers_in_single(options);
  return options;
}

void choose_parameters(multigrid_options& options, const lattice_geometry& geometry) {
  multigrid_parameters& p = options.multigrid;
  if (!options.aggregates.empty()) {
    p.coarsenings = parse_coarsenings(options.aggregates, options.vectors);
  } else {
    p.coarsenings = default_multigrid_parameters(geometry.global(), geometry.local(), options.most_levels).coarsenings;
    for (std::size_t k = 0; k < p.coarsenings.size() && !options.vectors.empty(); ++k)
      p.coarsenings[k].vectors = options.vectors[std::min(k, options.vectors.size() - 1)];
  }
  extents global = geometry.global(), local = geometry.local();
  try {  // refuses early; the lattices themselves are not needed yet
    for (const coarsening& c : p.coarsenings) {
      global = coarse_extents(global, local, c.aggregate);
      local = coarse_extents(local, local, c.aggregate);
    }
  } catch (const input_error& unusable) {
    throw input_error("--aggregates: " + std::string(unusable.what()));
  }
  std::vector<int> vectors;
  for (const coarsening& c : p.coarsenings) vectors.push_back(c.vectors);
  for (const std::vector<int>& schedule : options.schedules) choose_vectors(options, schedule);  // refuses early
  choose_vectors(options, options.schedules.empty() ? vectors : options.schedules.front());
}

void choose_vectors(multigrid_options& options, const std::vector<int>& vectors) {
  std::vector<coarsening>& list = options.multigrid.coarsenings;
  int rows = 6;
  for (std::size_t k = 0; k < list.size(); ++k) {
    coarsening& c = list[k];
    c.vectors = vectors[std::min(k, vectors.size() - 1)];
    if (c.vectors > rows * volume(c.aggregate))
      throw input_error(fmt::format("--vectors: {} of a chirality on aggregates of {}, which hold {} numbers of one",
                                    c.vectors, to_string(c.aggregate), rows * volume(c.aggregate)));
    rows = c.vectors;
  }
}

std::string schedule_of(const multigrid_parameters& parameters) {
  std::string text;
  for (const coarsening& c : parameters.coarsenings) text += (text.empty() ? "" : "/") + std::to_string(c.vectors);
  return text;
}

std::string text_of_steps(const std::vector<int>& list) {
  std::string text;
  for (const int n : list) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

std::vector<extents> lattices_of(const multigrid_parameters& parameters, const lattice_geometry& geometry) {
  std::vector<extents> lattices{geometry.global()};
  for (const coarsening& c : parameters.coarsenings) {
    extents next = lattices.back();
    for (int mu = 0; mu < dimensions; ++mu) next[mu] /= c.aggregate[mu];
    lattices.push_back(next);
  }
  return lattices;
}

json_document parameters_of(const multigrid_options& options, const lattice_geometry& geometry) {
  const multigrid_parameters& p = options.multigrid;
  json_document levels = json_document::array();
  const auto lattices = lattices_of(p, geometry);
  for (std::size_t k = 0; k < lattices.size(); ++k) {
    json_document level{{"lattice", lattices[k]}};
    if (k > 0) level.update({{"aggregate", p.coarsenings[k - 1].aggregate}, {"n", 2 * p.coarsenings[k - 1].vectors}});
    levels.push_back(level);
  }
  multigrid_options used = options;
  class_options size;
  command_line line;
  declare(line, used, size);
  json_document document = shared_parameters(options.shared, geometry);
  document.update({{"command", options.command},
                   {"tolerance", options.tolerance()},
                   {"rhs", options.shared.rhs},
                   {"levels", levels}});
  document.update(line.parameters());
  return document;
}

multigrid_memory memory_of(const multigrid_options& options, const lattice_geometry& geometry) {
  const multigrid_parameters& p = options.multigrid;
  const auto sites = static_cast<double>(geometry.local_volume());
  const double single_spinor = 96.0, double_spinor = 192.0;
  const int widest = *std::ranges::max_element(options.batches);
  multigrid_memory memory;
  // Links of 18 reals and two clover matrices of 72 in double and in single; half for the reference.
  const double reals = 4 * 18 + (options.shared.action.has_clover() ? 2 * 72 : 0);
  memory.operators = sites * reals * (8 + 4 + (options.has_reference() || options.cycle_precision == "half" ? 2 : 0));
  const bool by_pairs = options.operator_precision == "pairs";
  if (by_pairs) memory.operators += sites * reals * 8;  // a second operator
  memory.solver = memory.operators;
  // Full: x, b, and on the even sites a source, two solutions and the workspace of their update; or the solution of the
  // full system and its residual. Even: 2 k directions, the residual, and the workspace of its update.
  const double direction = options.outer_precision == "double" ? double_spinor : single_spinor;
  memory.solver +=
      widest * sites * ((by_pairs ? 7 : 5) * double_spinor + (2 * options.restart_length + 5) * direction / 2);
  // The cycle on the finest lattice: fields in its precision, four for those who call it in another.
  const double of_cycle = options.cycle_precision == "half" ? 52.0 : single_spinor;
  const int steps = std::max(p.steps_after.front(), p.steps_before.front());
  memory.solver +=
      widest * sites / 2 * (4 * single_spinor + of_cycle * (6 + (p.smoother == smoother_kind::gcr ? 2 : 1) * steps));
  int rows = 6;
  double level_sites = sites;
  std::size_t level = 0;
  const double ranks = static_cast<double>(geometry.global_volume()) / sites;
  const auto lattices = lattices_of(p, geometry);
  const auto tried = whole_lattices_to_try({lattices.begin() + 1, lattices.end()});
  const auto may_be_whole = [&](std::size_t number) {
    if (ranks < 2.0 || options.whole_from == "never") return false;
    return options.whole_from == "auto" ? std::ranges::find(tried, number) != tried.end() : number >= p.whole_from;
  };
  const int most_coarsest_steps = (options.chose_coarsest_steps ? 1 : 4) * p.coarsest_steps;
  for (const coarsening& c : p.coarsenings) {
    const double n = 2.0 * c.vectors;
    memory.hierarchy += 2 * level_sites * 2 * rows * c.vectors * 8.0;  // P on the host and packed
    level_sites /= static_cast<double>(volume(c.aggregate));
    memory.hierarchy += level_sites * 19.0 * n * n * 8.0;  // nine matrices, and ten of the red-black system
    if (may_be_whole(++level)) memory.hierarchy += level_sites * ranks * 19.0 * n * n * 8.0;
    memory.hierarchy += widest * level_sites * n * 8.0 * (2 * std::max(p.k_steps, most_coarsest_steps) + 8);
    rows = c.vectors;
  }
  const int count = p.coarsenings.front().vectors;
  // A pool of several stages needs two sets of columns of P before there are coarse lattices: the memory of these
  // covers them.
  if (options.load_setup.empty())
    memory.setup = sites * single_spinor * (count + std::min(count, p.setup_batch) * (2 + 0.5 * (8 + 2 * steps)));
  // Links, fields of a check, and a propagator for correlators.
  memory.canonical = sites * (2 * sizeof(double) * 9 * 4 + 3 * double_spinor);
  if (options.shared.rhs == spin_colours) memory.canonical += sites * spin_colours * double_spinor;
  return memory;
}

std::string fit_into_memory(multigrid_options& options, const lattice_geometry& geometry, double bytes) {
  constexpr int fewest_vectors = 8;
  const auto too_large = [&] {
    const multigrid_memory memory = memory_of(options, geometry);
    return memory.device() + (options.shared.device == "gpu" ? 0.0 : memory.canonical) > bytes;
  };
  constexpr int fewest_directions = 8;
  const int directions = options.restart_length;
  while (too_large() && !options.chose_restart_length && options.restart_length > fewest_directions)
    options.restart_length -= 2;
  const std::vector<int> batches = options.batches;
  const int vectors = options.multigrid.coarsenings.front().vectors;
  const int setup_batch = options.multigrid.setup_batch;
  while (too_large()) {
    const multigrid_memory memory = memory_of(options, geometry);
    if (memory.setup > memory.solver && options.multigrid.setup_batch > 1) {
      --options.multigrid.setup_batch;
      continue;
    }
    int& widest = *std::ranges::max_element(options.batches);  // becomes two of half the width, then three, ...
    if (widest == 1) break;
    const int parts = (options.shared.rhs + widest - 1) / widest;
    widest = std::min(widest - 1, (options.shared.rhs + parts) / (parts + 1));
  }
  if (options.batches != batches) {  // each width once
    std::vector<int> once;
    for (const int width : options.batches)
      if (std::ranges::find(once, width) == once.end()) once.push_back(width);
    options.batches = once;
  }
  std::vector<coarsening>& list = options.multigrid.coarsenings;
  while (too_large() && !options.chose_vectors && list.front().vectors > fewest_vectors) {
    choose_vectors(options, {std::max(fewest_vectors, list.front().vectors - 4)});
  }
  std::string changed;
  if (options.batches != batches)
    changed = fmt::format("batches of at most {}", *std::ranges::max_element(options.batches));
  if (options.restart_length != directions)
    changed += fmt::format("{}{} directions", changed.empty() ? "" : ", ", options.restart_length);
  if (options.multigrid.setup_batch != setup_batch)
    changed += fmt::format("{}a setup of {} null vectors at a time", changed.empty() ? "" : ", ",
                           options.multigrid.setup_batch);
  if (list.front().vectors != vectors)
    changed += fmt::format("{}{} null vectors", changed.empty() ? "" : ", ", list.front().vectors);
  return changed;
}

}  // namespace plaquette
