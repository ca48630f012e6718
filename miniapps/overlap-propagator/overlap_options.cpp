// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "common/app/command_line.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {

/// A step of the ladder: the values that --size sets unless an option of its own does.
struct problem {
  const char* name;
  extents lattice;
  const char* gauge;
  int modes, overlap_modes;
  std::array<double, 4> masses;
};

constexpr std::array<problem, 4> ladder{
    {{"nano", {4, 4, 4, 8}, "heatbath:6.0:30", 12, 4, {0.05, 0.1, 0.2, 0.4}},
     {"small", {8, 8, 8, 16}, "heatbath:6.0:40", 40, 4, {0.03, 0.06, 0.1, 0.3}},
     {"reference", {16, 16, 16, 32}, "heatbath:6.0:200", 80, 40, {0.02, 0.04, 0.1, 0.3}},
     {"target", {24, 24, 24, 64}, "heatbath:6.0:200", 200, 100, {0.01, 0.03, 0.1, 0.3}}}};

/// Values of options that depend on each other, until all are read.
struct raw_options {
  class_options size;
  std::string scheme = "auto";
  action_options action;
};

/// Whether the preconditioned scheme may solve.
bool may_precondition(const overlap_options& o) {
  return o.scheme == overlap_scheme::preconditioned || o.scheme_is_open;
}

/// Returns a function that reads "0.01,0.03": numbers of a range that differ, ascending in the result.
auto different_reals(const real_range& range) {
  return [range](const std::string& text, const std::string& option) {
    auto numbers = parse_real_list(text, option, split(text).size(), range);
    std::ranges::sort(numbers);
    if (std::ranges::adjacent_find(numbers) != numbers.end())
      throw input_error(option + ": expected masses that differ, found one twice");
    return numbers;
  };
}

void declare_kernel(command_line& line, overlap_options& o, raw_options& raw) {
  line.section("Problem");
  declare_class(line, raw.size, {"small", "reference", "target"},
                "An official class (RUN_RULES.md), or lattice, gauge field, modes and masses of a step of the ladder "
                "(small, where there is no --gauge); single options overrule it")
      .reported_as("size", o.size);
  line.reports(true);
  line.real("--rho", o.rho, "rho of H = gamma_5 D_w(-rho), between 0 and 2");
  declare_boundary(line, raw.action);
  line.unreport("--time-bc");
  line.choice("--until", o.until,
              {overlap_stage::modes, overlap_stage::sign, overlap_stage::overlap_modes, overlap_stage::propagators},
              "The last stage that runs");

  line.section("Modes of H");
  line.integer("--modes", o.modes, "Modes that the sign function takes exactly; 0 for none", 0, 5000);
  line.real("--mode-tol", o.mode_tolerance, "|H v - lambda v| of each", {1e-14, 1e-3}).reported("mode_tolerance");
  line.choice("--mode-method", o.method, {mode_method::lanczos, mode_method::arnoldi},
              "Thick-restart Lanczos in blocks, or implicitly restarted Arnoldi");
  line.real("--filter-window", o.window, "The filter amplifies |lambda| below; 0: found by a stochastic count of modes",
            {0.0, 8.0});
  line.integer("--filter-degree", o.filter_degree, "Of the Chebyshev filter in H^2; 0: chosen", 0, 10000);
  line.integer("--mode-block", o.block, "Vectors that the filter takes at once; 0: chosen", 0, 64);
  line.integer("--search-space", o.search_space, "Vectors of the search space; 0: 2.5 times the modes", 0, 20000);
  line.choice("--basis", o.basis,
              {{"auto", basis_place::automatic}, {"device", basis_place::device}, {"host", basis_place::host}},
              "On a GPU: where the search spaces of both kinds of modes lie. On the GPU, but for those that it has no "
              "room for, or with fewer modes of H if that is faster; on the GPU; in memory of the host, which is "
              "slower")
      .unreported();
  line.integer("--mode-cycles", o.mode_cycles,
               "Cycles of the search; where some modes have not converged then, the others are taken", 1, 10000)
      .unreported();
}

void declare_overlap(command_line& line, overlap_options& o) {
  line.section("Sign function");
  line.choice("--sign", o.sign.method,
              {sign_method::polynomial, sign_method::zolotarev, sign_method::zolotarev_double_pass},
              "Minimax polynomial of H^2 by Clenshaw, or Zolotarev's rational function by multi-shift CG, with a "
              "vector for each pole or in two passes");
  line.real("--delta", o.delta,
            "Accuracy of the sign function that is checked and timed; with --range and --degree or --poles by hand "
            "that of the function",
            {1e-13, 1e-1});
  line.integer("--degree", o.sign.degree, "Of the polynomial, whatever accuracy; 0: chosen", 0, 5000)
      .needs_value("--sign", "polynomial");
  line.integer("--poles", o.sign.poles, "Of Zolotarev's function, whatever accuracy; 0: chosen", 0, 100);
  line.custom(
          "--range", "LO,HI", "found",
          [&o](const std::string& text, const std::string& option) {
            const auto numbers = parse_real_list(text, option, 2, real_range::positive());
            if (!(numbers[0] < numbers[1]))
              throw input_error(fmt::format("{}: expected LO below HI, found {}", option, printable(text)));
            o.sign.lowest = numbers[0];
            o.sign.highest = numbers[1];
          },
          "|H| that the approximation covers, by hand: from the first mode that is not taken exactly to the largest")
      .reported_as("range", {o.sign.lowest, o.sign.highest});
  line.choice("--sign-precision", o.sign.precision,
              {sign_precision::mixed, sign_precision::half, sign_precision::as_double},
              "High orders of Clenshaw's recurrence in single precision; the highest in half precision too; or all in "
              "double. Low precision does as much as keeps the error below --delta");
  line.integer("--sign-batch", o.sign.batch,
               "Vectors at once in Clenshaw's recurrence; 0: the fastest of 1, 2, 4 and 12, which is measured", 0, 100)
      .unreported();

  line.section("Modes of D");
  line.integer("--overlap-modes", o.overlap_modes,
               "Modes of D^+ D in one chirality, for deflation; 0 for none, which is the default of --scheme "
               "preconditioned",
               0, 5000);
  line.real("--overlap-mode-tol", o.overlap_tolerance,
            "|D^+ D v - e v| of each; 0: 1e-6 for propagators, else 1e-10. Loose ones are found in single precision, "
            "and what they leave is solved for mass by mass",
            {0.0, 1e-3})
      .reported("overlap_mode_tolerance");
  line.integer("--overlap-mode-block", o.overlap_block,
               "Vectors that the sign function takes at once; 0: one on a CPU, up to four on a GPU, or six in single "
               "precision",
               0, 64)
      .reported_as("overlap_mode_block", overlap_search_of(o).block);
  line.integer("--overlap-search-space", o.overlap_search_space,
               "Vectors of the search space; 0: 2.5 times the modes, or 4 times in blocks", 0, 20000)
      .unreported();
  line.choice("--relax-modes", o.relaxed_modes, {{"on", true}, {"off", false}},
              "The sign function becomes less accurate as the residuals fall")
      .reported_as("relax_modes", o.relaxed_modes);
}

void declare_propagators(command_line& line, overlap_options& o, raw_options& raw) {
  overlap_preconditioner& p = o.preconditioner;
  const bool is_used = may_precondition(o);
  line.section("Propagators");
  line.value("--masses", o.masses, "M1,M2,...", different_reals(real_range::not_negative()),
             "m of D(m) = rho D + m (1 - D/2), D = 1 + gamma_5 sign H; all at once")
      .shows("0.03,0.06,0.1,0.3");
  line.choice("--scheme", raw.scheme, {"relaxed", "fixed", "defect", "preconditioned", "auto"},
              "Accuracy of the sign function in CG: follows the residual; fixed at 1e-10; or cheap inside and accurate "
              "for residuals alone (defect correction). Or minimal residuals of D(m), preconditioned by a clover "
              "operator M on smeared links. auto: preconditioned or relaxed, as a trial of one column says; without "
              "--overlap-modes the former has no modes of D, and no index")
      .reported_as("scheme", o.scheme_is_open ? "auto" : name(o.scheme));
  line.choice("--preconditioner", p.method, {clover_method::fastest, clover_method::multigrid, clover_method::bicgstab},
              "How M x = b is solved; auto: by BiCGstab, or by the faster of both where it takes many iterations")
      .reported("preconditioner.method", is_used);
  line.integer("--preconditioner-stout", p.smearing.steps,
               "Stout steps of the links of M alone; 2 where --stout-steps has smeared those of H", 0, 100)
      .reported("preconditioner.stout_steps", is_used);
  line.real("--preconditioner-rho", p.smearing.rho, "Weight of these steps", {0.0, 0.2})
      .reported("preconditioner.stout_rho", is_used);
  line.real("--preconditioner-mass", p.mass, "Mass of M", {-2.0, 10.0}).reported("preconditioner.mass", is_used);
  line.real("--preconditioner-csw", p.csw, "c_sw of M", {0.0, 5.0}).reported("preconditioner.clover", is_used);
  line.real("--preconditioner-tol", p.tolerance,
            "|b - M x| / |b| of its solves. If not given: 0.1 where --inner-steps is 8", {1e-6, 0.5})
      .reported("preconditioner.tolerance", is_used);
  line.real("--preconditioner-constant", p.constant, "a of the preconditioner M^-1 + a, near 1 / (2 rho)", {0.0, 2.0})
      .reported("preconditioner.constant", is_used);
  line.integer("--inner-steps", p.inner_steps,
               "Steps of GCR on D(m) with a cheap sign function, in the preconditioner; 0 for M^-1 + a alone. If not "
               "given: 8 where a column alone would take 28 directions or more with 4",
               0, 50)
      .reported("preconditioner.inner_steps", is_used);
  line.real("--inner-delta", p.inner_delta, "Accuracy of the cheap sign function", {1e-6, 0.3})
      .reported("preconditioner.inner_delta", is_used);
  line.integer("--directions", p.directions,
               "Vectors of the search space for each column in it, of the preconditioned scheme; then it starts again",
               2, 1000)
      .reported("preconditioner.directions", is_used);
  line.integer("--recycle", p.recycled,
               "Directions of the first columns that later columns begin with, of the preconditioned scheme", 0, 200)
      .reported("preconditioner.recycle", is_used);
  line.integer("--solve-batch", p.batch,
               "Columns that the preconditioned scheme solves for at once, in one search space; 0: as many of 12 as "
               "there is memory for",
               0, spin_colours)
      .reported("preconditioner.batch", is_used);
  declare_source(line, o.source);
  line.reports(false);

  line.section("Files of this calculation");
  line.text("--checkpoint", o.checkpoint, "PREFIX",
            "Keep what stages have found in PREFIX.modes.h5, PREFIX.overlap.h5 and PREFIX.solutions.h5, and searches "
            "under way in PREFIX.mode-search.h5 and PREFIX.search.h5; where they are, go on from them");
  line.text("--propagators", o.propagators, "PREFIX",
            "Write the propagator of the i-th mass, counted from 0, to PREFIX.mI.h5: (1 - D/2) D(m)^-1");
}

void declare(command_line& line, overlap_options& o, raw_options& raw) {
  declare_kernel(line, o, raw);
  declare_overlap(line, o);
  declare_propagators(line, o, raw);
}

void overlay(overlap_options& options, const problem& step, const command_line& line) {
  if (!line.given("--gauge")) options.shared.gauge = parse_gauge_choice(step.gauge, "--gauge");
  if (!line.given("--lattice") && options.shared.gauge.from != gauge_choice::origin::file)
    options.shared.lattice = step.lattice;
  if (!line.given("--modes")) options.modes = step.modes;
  if (!line.given("--overlap-modes")) options.overlap_modes = step.overlap_modes;
  if (!line.given("--masses")) options.masses.assign(step.masses.begin(), step.masses.end());
}

void require_sense(const overlap_options& options) {
  if (!(options.rho > 0.0 && options.rho < 2.0))
    throw input_error(fmt::format("--rho: expected a number between 0 and 2, found {:g}", options.rho));
  for (const double m : options.masses)
    if (!(m < 2.0 * options.rho))
      throw input_error(
          fmt::format("--masses: expected masses below 2 rho = {:g}, where D(m) is the Wilson-like end of "
                      "the spectrum, found {:g}",
                      2.0 * options.rho, m));
  if (options.masses.front() == 0.0 && options.overlap_modes == 0 && options.until == overlap_stage::propagators)
    throw input_error("--masses 0: D may have zero modes, which --overlap-modes 0 does not find; expected 1 or more");
  if (options.shared.tolerance > 0.0 && options.shared.tolerance < 1e-12)
    throw input_error(
        fmt::format("--tol: expected 1e-12 or more in double precision, found {:g}", options.shared.tolerance));
  if (options.overlap_tolerance < 1e-12)
    throw input_error(fmt::format("--overlap-mode-tol: expected 1e-12 or more, or 0 for a choice, found {:g}",
                                  options.overlap_tolerance));
  const mode_search search = search_of(options);
  const int least = kept_modes(search.modes) + std::max(1, options.block);
  if (options.search_space > 0 && options.search_space < least)
    throw input_error(fmt::format("--search-space: expected {} vectors or more for {} modes in blocks of {}, found {}",
                                  least, options.modes, std::max(1, options.block), options.search_space));
  const int block = overlap_search_of(options).block;
  const int least_of_overlap = kept_overlap_modes(options.overlap_modes, block) + block;
  if (options.overlap_search_space > 0 && options.overlap_search_space < least_of_overlap)
    throw input_error(
        fmt::format("--overlap-search-space: expected {} vectors or more for {} modes in blocks of {}, found {}",
                    least_of_overlap, options.overlap_modes, block, options.overlap_search_space));
  if (options.sign.highest > 8.0 - options.rho + 4.0)
    throw input_error(
        fmt::format("--range: |H| is at most 8 - rho = {:g}; expected an upper end not far above it, found {:g}",
                    8.0 - options.rho, options.sign.highest));
}

}  // namespace

mode_search search_of(const overlap_options& options) {
  mode_search search;
  // If the range is fixed by hand, one mode more says where the rest begins.
  search.modes = options.modes + (options.modes == 0 || options.sign.lowest > 0.0 ? 1 : 0);
  search.tolerance = options.modes > 0 ? options.mode_tolerance : 1e-6;
  search.method = options.method;
  search.window = options.window;
  search.degree = options.filter_degree;
  search.block = options.block;
  search.most = options.search_space;
  search.cycles = options.mode_cycles;
  return search;
}

bool overlap_search_in_single(const overlap_options& options) {
  return overlap_search_is_single(options.overlap_tolerance) && options.sign.precision != sign_precision::as_double &&
         options.sign.method == sign_method::polynomial;
}

overlap_mode_search overlap_search_of(const overlap_options& options) {
  overlap_mode_search search;
  search.modes = options.overlap_modes;
  search.tolerance = options.overlap_tolerance;
  search.relaxed = options.relaxed_modes;
  search.for_deflation = options.scheme != overlap_scheme::preconditioned;
  search.most = options.overlap_search_space;
  // Few modes leave few restarts to a block. In single precision the sign function gains more from wide ones.
  const bool as_single = overlap_search_in_single(options);
  search.block = options.overlap_block > 0 ? options.overlap_block
                 : options.shared.device == "gpu"
                     ? std::clamp(options.overlap_modes / (as_single ? 8 : 25), 1, as_single ? 6 : 4)
                     : 1;
  return search;
}

std::string name(overlap_stage stage) {
  constexpr std::array words{"modes", "sign", "overlap-modes", "propagators"};
  return words[static_cast<std::size_t>(stage)];
}
std::string name(sign_method method) {
  constexpr std::array words{"polynomial", "zolotarev", "zolotarev-double-pass"};
  return words[static_cast<std::size_t>(method)];
}
std::string name(clover_method method) {
  constexpr std::array words{"auto", "multigrid", "bicgstab"};
  return words[static_cast<std::size_t>(method)];
}
std::string name(overlap_scheme scheme) {
  constexpr std::array words{"fixed", "relaxed", "defect", "preconditioned"};
  return words[static_cast<std::size_t>(scheme)];
}
std::string name(sign_precision precision) {
  constexpr std::array words{"double", "mixed", "half"};
  return words[static_cast<std::size_t>(precision)];
}
std::string name(mode_method method) { return method == mode_method::lanczos ? "lanczos" : "arnoldi"; }

overlap_options parse_overlap_options(int argc, const char* const* argv) {
  overlap_options options;
  raw_options raw;
  command_line line(
      "plaquette-overlap-propagator",
      "Computes quark propagators of the overlap operator for a list of masses at once: eigenmodes of the Hermitian "
      "Wilson operator,\nthe sign function, eigenmodes of the overlap operator and its index, deflated multi-mass "
      "solves. Every stage is checked.");
  declare(line, options, raw);
  shared_option_set shared(line, {}, {}, {"--precision", "--rhs", "action"});
  line.examples({"--size nano", "--gauge b6.lime --modes 200 --masses 0.01,0.03,0.1 --device gpu",
                 "--lattice 8x8x8x16 --until modes --modes 30"});
  line.show_default("--lattice", to_string(ladder[1].lattice) + " (small)");
  line.show_default("--gauge", parse_gauge_choice(ladder[1].gauge, "--gauge").describe() + " (small)");
  line.parse(argc, argv);

  options.shared = shared.collected();
  options.command = line.typed();
  options.delta_given = line.given("--delta");
  if (line.given("--poles") && options.sign.method == sign_method::polynomial)
    throw input_error("--poles: expected --sign zolotarev or zolotarev-double-pass with it, found --sign polynomial");
  options.scheme = raw.scheme == "fixed"            ? overlap_scheme::fixed
                   : raw.scheme == "defect"         ? overlap_scheme::defect
                   : raw.scheme == "preconditioned" ? overlap_scheme::preconditioned
                                                    : overlap_scheme::relaxed;
  // A sign function that was fixed by hand is another program's: it is solved as that program does.
  const bool is_by_hand = options.sign.degree + options.sign.poles > 0 && !line.given("--scheme");
  options.scheme_is_open = raw.scheme == "auto" && !is_by_hand;
  for (const char* option :
       {"--preconditioner", "--preconditioner-stout", "--preconditioner-rho", "--preconditioner-mass",
        "--preconditioner-csw", "--preconditioner-tol", "--preconditioner-constant", "--inner-steps", "--inner-delta",
        "--directions", "--recycle", "--solve-batch"})
    if (line.given(option) && !may_precondition(options))
      throw input_error(
          fmt::format("{}: expected --scheme preconditioned or auto with it, found --scheme {}", option, raw.scheme));
  options.inner_steps_given = line.given("--inner-steps");
  options.preconditioner_tolerance_given = line.given("--preconditioner-tol");
  if (line.given("--basis") && options.shared.device != "gpu")
    throw input_error(fmt::format("--basis: expected --device gpu with it, found --device {}", options.shared.device));
  options.kernel_basis_on_host = options.overlap_basis_on_host = options.basis == basis_place::host;
  options.size = raw.size.size.empty() && !line.given("--gauge") ? "small" : raw.size.size;
  options.run_class = find_class("overlap-propagator", raw.size, line);
  const std::string rung = options.run_class && options.size != "nano" ? "target" : options.size;
  if (const auto step = std::ranges::find(ladder, rung, &problem::name); step != ladder.end())
    overlay(options, *step, line);
  if (options.run_class) {
    take_problem(options.shared, *options.run_class, line);
    if (!line.given("--masses")) options.masses = options.run_class->fixed["masses"].get<std::vector<double>>();
  }
  if (!options.run_class && line.given("--lattice")) options.size.clear();  // another problem than the size names
  if (!line.given("--preconditioner-stout") && options.shared.stout.steps > 0 &&
      options.preconditioner.smearing.steps == 3)
    options.preconditioner.smearing.steps = 2;
  // A run that ends with the modes of D has their number.
  if (may_precondition(options) && !line.given("--overlap-modes") && options.until == overlap_stage::propagators) {
    options.modes_of_other_schemes = options.overlap_modes;
    options.overlap_modes = 0;
  } else {
    options.modes_of_other_schemes = options.overlap_modes;
  }
  raw.action.mass = -options.rho;
  options.shared.action = make_action(raw.action);
  // Solves correct the errors of modes to a loose tolerance. That takes less than modes to 1e-10, of 4 modes or of 100.
  if (options.overlap_tolerance == 0.0)
    options.overlap_tolerance = options.until == overlap_stage::propagators ? 1e-6 : 1e-10;
  require_sense(options);
  return options;
}

overlap_options with_scheme(const overlap_options& options, overlap_scheme scheme) {
  overlap_options chosen = options;
  chosen.scheme = scheme;
  chosen.scheme_is_open = false;
  if (scheme != overlap_scheme::preconditioned) chosen.overlap_modes = options.modes_of_other_schemes;
  return chosen;
}

json_document parameters_of(const overlap_options& options, const lattice_geometry& geometry) {
  overlap_options used = options;
  raw_options raw;
  command_line line;
  declare(line, used, raw);
  json_document all = shared_parameters(options.shared, geometry);
  for (const char* key : {"mass", "kappa", "clover_spatial", "clover_temporal", "anisotropy", "nu"}) all.erase(key);
  all.update(line.parameters());
  all.update(
      {{"command", options.command},
       {"tolerance", options.tolerance()},
       {"normalisation",
        "D = 1 + gamma_5 sign(H), H = gamma_5 D_w(-rho); D(m) = rho D + m (1 - D/2); with m' = m/(2 rho), D(m)/(2 "
        "rho) = (1+m')/2 + (1-m')/2 gamma_5 sign(H); propagator S = (1 - D/2) D(m)^-1 = (D(m)^-1 - 1/(2 rho)) / "
        "(1 - m/(2 rho)); others have (D'^-1 - 1) / (1 - m') = 2 rho S of D' = D(m)/(2 rho), and correlators larger "
        "by 4 rho^2"}});
  if (may_precondition(options)) all["preconditioner"]["narrow"] = options.preconditioner.narrow;
  return all;
}

}  // namespace plaquette
