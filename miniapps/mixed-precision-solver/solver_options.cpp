// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/solver_options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "common/app/command_line.hpp"
#include "common/error.hpp"
#include "miniapps/shared/propagator_file.hpp"

namespace plaquette {

namespace {

/// A problem that is no official class: the values that --size sets unless an option of its own does.
struct problem {
  const char* name;
  extents lattice;
  const char* gauge;
  double mass, csw;
};

/// Thermalised fields if they are made in seconds. Weak fields, as in the paper's benchmarks, if the heat bath would
/// take longer than the solve. The csw is the non-perturbative value at beta = 6.0.
constexpr std::array<problem, 3> ladder{{{"small", {8, 8, 8, 16}, "heatbath:6.0:40", -0.15, 1.769},
                                         {"reference", {16, 16, 16, 32}, "weak:0.2", 0.01, 1.0},
                                         {"target", {32, 32, 32, 64}, "weak:0.2", 0.01, 1.0}}};

/// Single numbers hold 24 bits: the residual of a solution that is stored in them stops falling there, and iterating
/// further earns nothing.
constexpr double least_tolerance_single = 5e-8, least_tolerance_pairs = 1e-13, least_tolerance_double = 1e-15;

constexpr std::initializer_list<std::pair<const char*, reconstruct>> links_of_reals{
    {"18", reconstruct::none}, {"12", reconstruct::twelve}, {"8", reconstruct::eight}};

/// Values of options that depend on each other, until all are read.
struct raw_options {
  std::string precision = "double", solution;
  double delta = 0.0;
  class_options size;
};

void declare_problem(command_line& line, solver_options& o, raw_options& raw) {
  line.section("Problem");
  declare_class(line, raw.size, {"small", "reference", "target"},
                "Official class (RUN_RULES.md) up to exa, or a step of the ladder (small, where there is no --gauge): "
                "lattice, gauge field and action; single options overrule it")
      .reported_as("size", o.size);
  line.reports(true);
  declare_source(line, o.source);
  line.choice("--smearing-links", o.source.thin_links, {{"smeared", false}, {"thin", true}},
              "With --stout-steps, links that smear a Gaussian source: those of the operator, or those before stout "
              "smearing, as Chroma has it")
      .needs_value("--source", "gaussian")
      .needs("--stout-steps N");
}

void declare_solver(command_line& line, solver_options& o, raw_options& raw) {
  using enum solver_kind;
  line.section("Solver");
  line.choice("--solver", o.solver, {cgne, cgnr, bicgstab, bicgstab2, bicgstab4, automatic, gcr, mr},
              "Krylov method, on the Schur system; auto: bicgstab, and where it stalls or breaks down bicgstab4, then "
              "cgnr (cgne in half precision)");
  line.choice("--precision", raw.precision,
              {"double", "single", "double-single", "double-half", "single-half", "pairs-single", "pairs-half"},
              "Of the solution and, after the hyphen, of the Krylov space where that is a lower one; pairs: double by "
              "pairs of floats, to 44 bits, on one GPU")
      .reported_as("precision", o.shared.precision)
      .reported_as("inner_precision", name(o.inner));
  line.choice("--solution", raw.solution, {"single", "double"},
              "Precision that the solution and its residual are kept in, where --precision begins with single: in "
              "double the true residual meets the tolerance")
      .reported_as("solution_precision", name(o.outer));
  line.choice("--scheme", o.scheme, {mixed_scheme::reliable, mixed_scheme::defect_correction},
              "How the solution gets its digits: one Krylov space with reliable updates of the residual (bicgstab, "
              "cgne, cgnr), or a new one for each correction")
      .reported_as("scheme", scheme_text(o));
  line.real("--delta", raw.delta,
            "The residual is recomputed where it has fallen to this fraction; where not given (0): 1e-3 for single, "
            "1e-1 single-half, 1e-5 double, 1e-3 double-single, 1e-2 double-half",
            {0.0, 0.99, true})
      .reported_as("delta", o.updates.delta);
  line.choice("--reconstruct", o.links, links_of_reals, "Reals of a link that are stored")
      .reported_as("reconstruct", stored_reals(o.links));
  line.choice("--inner-reconstruct", o.inner_links, links_of_reals,
              "The same for the operator of the Krylov space (that of --reconstruct, where not given)")
      .shows("")
      .reported_as("inner_reconstruct", stored_reals(o.inner_links));
  line.choice("--preconditioning", o.preconditioning, {schur_kind::symmetric, schur_kind::asymmetric},
              "Form of the Schur complement");
  line.integer("--max-iterations", o.iteration_limit, "Of any right-hand side", 1, 100'000'000);
  line.integer("--restart-length", o.parameters.restart_length, "Directions that gcr keeps", 1, 1000)
      .needs_value("--solver", "gcr")
      .reported("restart_length", o.solver == gcr);
  line.real("--relaxation", o.parameters.relaxation, "Of mr's steps", {0.0, 2.0, true})
      .needs_value("--solver", "mr")
      .reported("relaxation", o.solver == mr);
  line.integer("--expected-iterations", o.expected_iterations,
               "With --dryrun: iterations of a solve, which its seconds are told for (not given: those of the class)",
               1, 100'000'000)
      .needs("--dryrun")
      .unreported();
  line.integer("--repeat", o.repeat, "Timed solves after the first one", 0, 1000);
  line.integer("--batch", o.batch,
               "Right-hand sides that are solved at once (0: all); with 1 each is solved and timed by itself, and the "
               "report has their spread",
               0, spin_colours)
      .reported_as("batch", o.batch_size());
  line.reports(false);
}

void declare_files(command_line& line, solver_options& o) {
  using enum gamma_basis;
  line.section("Propagator files");
  line.text("--propagator", o.write_propagator, "FILE.h5|FILE.lime",
            "Write the propagator there: HDF5; or SciDAC as Chroma reads it, with --basis tmlqcd as tmLQCD does");
  line.choice("--basis", o.basis,
              {{"degrand-rossi", degrand_rossi},
               {"nonrelativistic", nonrelativistic},
               {"dirac-pauli", dirac_pauli},
               {"openqcd", openqcd},
               {"tmlqcd", tmlqcd}},
              "Spin basis of the written propagator")
      .needs("--propagator FILE.h5");
  line.text("--read-propagator", o.read_propagator, "FILE.h5|FILE.lime",
            "Do not solve: read this propagator, compute its residual and its correlators");
  line.text("--checkpoint", o.checkpoint, "FILE.h5",
            "Keep the columns that are solved there. Where the file exists already, they are not solved again, and the "
            "propagator is that of a run that was not stopped, bit by bit on the same process grid; it is refused "
            "unless it belongs to this problem. The --json and --propagator of stopped runs are replaced by the run "
            "that continues them");
  line.integer("--checkpoint-every", o.checkpoint_every,
               "Columns solved as one batch from one checkpoint to the next; one more where the run is stopped", 1,
               spin_colours)
      .needs("--checkpoint FILE");
  line.no_effect_with("--read-propagator",
                      {"--mass",
                       "--kappa",
                       "--csw",
                       "--anisotropy",
                       "--nu",
                       "--clover-spatial",
                       "--clover-temporal",
                       "--time-bc",
                       "--boundary-angles",
                       "--source",
                       "--source-position",
                       "--smearing-radius",
                       "--smearing-steps",
                       "--smearing-links",
                       "--solver",
                       "--restart-length",
                       "--relaxation",
                       "--max-iterations",
                       "--repeat",
                       "--preconditioning",
                       "--rhs",
                       "--batch",
                       "--tol",
                       "--propagator",
                       "--basis",
                       "--checkpoint",
                       "--precision",
                       "--solution",
                       "--scheme",
                       "--delta",
                       "--reconstruct",
                       "--inner-reconstruct",
                       "--check"},
                      "the file says what was solved");
}

void overlay(shared_options& options, const problem& step, const command_line& line) {
  const auto given_any = [&line](std::initializer_list<const char*> names) {
    return std::ranges::any_of(names, [&line](const char* name) { return line.given(name); });
  };
  if (!given_any({"--gauge"})) options.gauge = parse_gauge_choice(step.gauge, "--gauge");
  if (!given_any({"--lattice"}) && options.gauge.from != gauge_choice::origin::file) options.lattice = step.lattice;
  if (!given_any({"--mass", "--kappa"})) options.action.mass = step.mass;
  if (!given_any({"--csw", "--clover-spatial"})) options.action.clover_spatial = step.csw;
  if (!given_any({"--csw", "--clover-temporal"})) options.action.clover_temporal = step.csw;
}

void require_sense(const solver_options& options) {
  const shared_options& shared = options.shared;
  if (shared.device == "gpu" && !options.read_propagator.empty())
    throw input_error("--device gpu has no effect together with --read-propagator: the reference runs on the CPU");
  if (options.outer == precision::pairs) require_pairs_sense(shared);
  if (shared.rhs > spin_colours)
    throw input_error(fmt::format("--rhs: expected at most 12, the columns of a propagator, found {}", shared.rhs));
  if (options.batch > shared.rhs)
    throw input_error(
        fmt::format("--batch: expected at most the {} right-hand sides of --rhs, found {}", shared.rhs, options.batch));
  if (!options.write_propagator.empty() && shared.rhs != spin_colours)
    throw input_error("--propagator needs all 12 right-hand sides");
  const double least = options.outer == precision::single  ? least_tolerance_single
                       : options.outer == precision::pairs ? least_tolerance_pairs
                                                           : least_tolerance_double;
  if (shared.tolerance != 0.0 && shared.tolerance < least)
    throw input_error(fmt::format("--tol: {} precision resolves {:g} at best, found {:g}", name(options.outer), least,
                                  shared.tolerance));
}

precision parse_precision(std::string_view text) {
  return text == "double"   ? precision::double_
         : text == "pairs"  ? precision::pairs
         : text == "single" ? precision::single
                            : precision::half;
}

/// Sets the precisions from --precision and the options around it.
void choose_precisions(solver_options& options, const raw_options& raw, const command_line& line) {
  const std::size_t hyphen = raw.precision.find('-');
  options.shared.precision = raw.precision;
  options.outer = parse_precision(raw.precision.substr(0, hyphen));
  options.inner = hyphen == std::string::npos ? options.outer : parse_precision(raw.precision.substr(hyphen + 1));
  const mixed_precision_defaults defaults = default_parameters(options.outer, options.inner);
  options.default_tolerance = defaults.tolerance;
  options.updates = {.delta = raw.delta > 0.0 ? raw.delta : defaults.delta,
                     .longest_interval = defaults.longest_interval};
  if (!raw.solution.empty()) {
    if (options.outer != precision::single && raw.solution == "single")
      throw input_error(fmt::format("--solution single: expected --precision single or single-half with it, found {}",
                                    raw.precision));
    if (options.outer == precision::single) options.outer = parse_precision(raw.solution);
  }
  const bool has_updates = options.solver != solver_kind::gcr && options.solver != solver_kind::mr;
  if (!has_updates && line.given("--scheme") && options.scheme == mixed_scheme::reliable)
    throw input_error(
        fmt::format("--scheme reliable: expected --solver bicgstab, cgne or cgnr, found {}", name(options.solver)));
  if (!has_updates && options.inner != options.outer) options.scheme = mixed_scheme::defect_correction;
  if (!line.given("--inner-reconstruct")) options.inner_links = options.links;
  if (options.outer == precision::pairs) options.links = reconstruct::none;  // pairs keep all reals
}

}  // namespace

solver_options parse_solver_options(int argc, const char* const* argv) {
  solver_options options;
  raw_options raw;
  command_line line(
      "plaquette-mixed-precision-solver",
      "Computes a quark propagator: solves the Wilson-clover Dirac equation for the 12 spins and colours of "
      "a source on a gauge configuration,\nchecks each solution with an independent operator and prints the "
      "pion and rho correlators. Without --gauge it runs a step of its ladder of sizes.");
  line.examples({"--size nano", "--gauge b6.lime --kappa 0.133 --csw 1.769 --json run.json",
                 "--device gpu --precision double-half --size device --json device.json"});
  declare_problem(line, options, raw);
  declare_solver(line, options, raw);
  shared_option_set shared(line, {}, {}, {"--precision"});
  declare_files(line, options);
  const problem& small = ladder.front();
  line.show_default("--lattice", to_string(small.lattice) + " (small)");
  line.show_default("--gauge", parse_gauge_choice(small.gauge, "--gauge").describe() + " (small)");
  line.show_default("--mass", fmt::format("{:g} (small), {:g} of --gauge", small.mass, options.shared.action.mass));
  line.show_default("--csw", fmt::format("{:g} (small), 0 of --gauge", small.csw));
  line.parse(argc, argv);

  options.shared = shared.collected();
  if (options.read_propagator.empty()) require_mass_of_file(line, options.shared.gauge);
  options.size = raw.size.size.empty() && !line.given("--gauge") ? "small" : raw.size.size;
  options.run_class = find_class("mixed-precision-solver", raw.size, line);
  options.command = line.typed();
  // A file that is read says later which ones its source had.
  options.shared.keep_thin_links = options.source.thin_links || !options.read_propagator.empty();
  choose_precisions(options, raw, line);
  if (options.write_propagator.ends_with(".lime") && options.basis != gamma_basis::degrand_rossi &&
      options.basis != gamma_basis::tmlqcd)
    throw input_error("--basis: expected degrand-rossi or tmlqcd for " + printable(options.write_propagator) +
                      ", since a LIME file does not tell its basis, found " + name_of(options.basis));
  if (const auto step = std::ranges::find(ladder, options.size, &problem::name); step != ladder.end())
    overlay(options.shared, *step, line);
  if (options.run_class) take_problem(options.shared, *options.run_class, line);
  if (options.run_class && options.expected_iterations == 0)
    options.expected_iterations = options.run_class->expected_iterations;
  if (!options.run_class && line.given("--lattice")) options.size.clear();  // another problem than the size names
  require_sense(options);
  return options;
}

propagator_settings solver_options::solver_settings() const {
  propagator_settings settings;
  settings.action = shared.action;
  settings.columns = batch_size();
  settings.outer = outer;
  settings.inner = inner;
  settings.solver = solver;
  settings.parameters = parameters;
  settings.scheme = scheme;
  settings.updates = updates;
  settings.links = links;
  settings.inner_links = inner_links;
  settings.preconditioning = preconditioning;
  settings.overlap = shared.overlap;
  return settings;
}

std::string scheme_text(const solver_options& options) {
  if (options.plain()) return "none";
  return options.scheme == mixed_scheme::reliable ? "reliable updates" : "defect correction";
}

std::string name(schur_kind kind) { return kind == schur_kind::symmetric ? "symmetric" : "asymmetric"; }

json_document parameters_of(const solver_options& options, const lattice_geometry& geometry) {
  solver_options used = options;
  raw_options raw;
  command_line line;
  declare_problem(line, used, raw);
  declare_solver(line, used, raw);
  json_document all = shared_parameters(options.shared, geometry);
  all.update(line.parameters());
  all.update({{"command", options.command}, {"rhs", options.shared.rhs}, {"tolerance", options.tolerance()}});
  return all;
}

}  // namespace plaquette
