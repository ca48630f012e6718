// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/dslash-scaling/scaling_options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/app/command_line.hpp"
#include "common/app/parse.hpp"
#include "common/error.hpp"
#include "miniapps/shared/gauge_input.hpp"

namespace plaquette::scaling {

namespace {

/// A step of the ladder: the lattice of strong scaling, and each rank's of weak scaling.
struct problem {
  const char* name;
  extents strong, weak;
};
constexpr std::array<problem, 4> ladder{{{"nano", {8, 8, 8, 8}, {8, 8, 8, 8}},
                                         {"small", {16, 16, 16, 32}, {16, 16, 16, 16}},
                                         {"reference", {24, 24, 24, 128}, {24, 24, 24, 32}},
                                         {"target", {32, 32, 32, 256}, {32, 32, 32, 32}}}};

/// Weak fields, as in the papers' benchmarks: any size is made in seconds.
constexpr const char* usual_gauge = "weak:0.2";

struct raw_options {
  class_options size;
  std::string scaling = "strong";
  case_lists lists{{operator_kind::hopping, operator_kind::wilson, operator_kind::clover, operator_kind::wilson_schur,
                    operator_kind::clover_schur},
                   {site_layout::even_odd, site_layout::full},
                   {number_precision::single_precision, number_precision::double_precision},
                   {reconstruct::none},
                   {1}};
};

std::string name(reconstruct links) { return std::to_string(stored_reals(links)); }

/// Returns a function that reads one of these values by its name.
template <class Value>
auto name_of(std::vector<Value> values) {
  return [values = std::move(values)](const std::string& word, const std::string& option) {
    std::string known;
    for (const Value value : values) {
      if (word == name(value)) return value;
      known += (known.empty() ? "" : ", ") + name(value);
    }
    throw input_error(fmt::format("{}: expected one of {}, found '{}'", option, known, printable(word)));
  };
}

/// Returns a function that reads a list of different values, each by `read`.
template <class Read>
auto list_of(Read read) {
  return [read](const std::string& text, const std::string& option) {
    std::vector<decltype(read(text, option))> values;
    for (const std::string& word : split(text)) {
      const auto value = read(word, option);
      if (std::ranges::find(values, value) != values.end())
        throw input_error(fmt::format("{}: expected each value once, found '{}' again", option, printable(word)));
      values.push_back(value);
    }
    return values;
  };
}

void declare_cases(command_line& line, case_lists& lists) {
  using enum number_precision;
  const auto all = lists.kinds;
  auto kinds = all;
  kinds.insert(kinds.end(), {operator_kind::axpy, operator_kind::dot, operator_kind::norm2});
  line.section("What is timed (lists: A,B,...)");
  line.value(
          "--operator", lists.kinds, "all|LIST",
          [all, some = list_of(name_of(kinds))](const std::string& text, const std::string& option) {
            return text == "all" ? all : some(text, option);
          },
          "hopping: D; wilson, clover: M without and with its clover term; wilson_schur, clover_schur: their even-odd "
          "Schur complements; these are all. In addition axpy: x += a u; dot: <u, v>; norm2: |u|^2")
      .shows("all");
  line.value("--layout", lists.layouts, "LIST of even-odd|full",
             list_of(name_of(std::vector{site_layout::even_odd, site_layout::full})),
             "Sites of the output: one parity or all; M is full, Schur complements are even-odd, the hopping term is "
             "both")
      .shows("even-odd,full");
  line.value("--precision", lists.precisions, "LIST of double|single|half",
             list_of(name_of(std::vector{double_precision, single_precision, half_precision})),
             "Of links and spinors; the first one is that of the figure of merit")
      .shows("single,double");
  line.value("--reconstruct", lists.links, "LIST of 18|12|8",
             list_of(name_of(std::vector{reconstruct::none, reconstruct::twelve, reconstruct::eight})),
             "Stored reals a link; the rest is rebuilt in registers")
      .shows("18");
  line.value("--rhs", lists.rhs, "LIST of INTEGER", list_of([](const std::string& word, const std::string& option) {
               return static_cast<int>(parse_integer(word, option, 1, 4096));
             }),
             "Right-hand sides of one application");
}

void declare_run(command_line& line, scaling_options& o, raw_options& raw) {
  line.section("Problem and run");
  declare_class(
      line, raw.size, {"small", "reference", "target"},
      "Official class (RUN_RULES.md) up to exa, or lattice of a step of the ladder (small, where nothing names "
      "a lattice): of all ranks, or of each rank with --scaling weak")
      .reported_as("size", o.size);
  line.choice("--scaling", raw.scaling, {"strong", "weak"},
              "Which lattice of the ladder: that of all ranks together (strong) or of each (weak)")
      .reported_as("scaling", o.weak ? "weak" : "strong");
  line.custom(
          "--local-lattice", "XxYxZxT", "",
          [&o](const std::string& text, const std::string& option) { o.local_lattice = parse_extents(text, option); },
          "Extents of the part of each rank, instead of --lattice")
      .reported_as("local_lattice", o.local_lattice.value_or(extents{}));
  line.choice("--preconditioning", o.preconditioning,
              {{"symmetric", schur_kind::symmetric}, {"asymmetric", schur_kind::asymmetric}},
              "Form of the Schur complements")
      .reported("preconditioning");
  line.integer("--samples", o.samples, "Measurements of each case", 3, 100'000).reported("samples");
  line.choice("--placement", o.placement, {placement_policy::none, placement_policy::good, placement_policy::bad},
              "Of threads and memory: as the program was started; on the cores and the memory of one NUMA node each; "
              "or deliberately bad: memory of another node, and the GPU of the rank half the host away");
  line.flag("--latency", o.latency,
            "Time no operators, but messages from 8 B to 256 MiB, between host and GPU, from GPU to GPU and between "
            "ranks, and launches of kernels")
      .reported("latency");
  line.value(
          "--message-limit", o.largest_message, "BYTES",
          [](const std::string& text, const std::string& option) {
            const auto bytes = static_cast<std::size_t>(parse_integer(text, option, 8, std::int64_t{1} << 30));
            if (bytes % 8 != 0)
              throw input_error(fmt::format("{}: expected a multiple of 8, found '{}'", option, printable(text)));
            return bytes;
          },
          "The longest message of --latency")
      .needs("--latency");
  line.no_effect_with("--latency", {"--operator", "--layout", "--precision", "--reconstruct", "--rhs", "--samples",
                                    "--check", "--size", "--scaling", "--lattice", "--local-lattice", "--gauge"});
}

void choose_lattice(scaling_options& options, const raw_options& raw, const command_line& line) {
  const bool from_file = options.shared.gauge.from == gauge_choice::origin::file;
  for (const char* other : {"--lattice", "--local-lattice"})
    if (!raw.size.size.empty() && line.given(other))
      throw input_error(fmt::format("--size and {} name a lattice each: give one of them", other));
  if (from_file && (!raw.size.size.empty() || options.local_lattice))
    throw input_error("--gauge: a file has a lattice of its own: leave out --size and --local-lattice");
  if (from_file && raw.scaling == "weak")
    throw input_error("--gauge: a file's lattice is that of all ranks together: leave out --scaling weak");
  if (options.local_lattice && line.given("--scaling") && raw.scaling == "strong")
    throw input_error("--local-lattice is each rank's part, which is weak scaling: leave out --scaling strong");
  options.weak = raw.scaling == "weak" || options.local_lattice.has_value();
  if (options.local_lattice || from_file) return;
  if (line.given("--lattice")) {
    if (raw.scaling == "weak") options.local_lattice = options.shared.lattice;
    return;
  }
  options.size = raw.size.size.empty() ? "small" : raw.size.size;
  const bool in_ladder = std::ranges::find(ladder, options.size, &problem::name) != ladder.end();
  if (!(options.weak && in_ladder)) options.run_class = find_class("dslash-scaling", raw.size, line);
  if (options.run_class) {
    if (options.weak)
      throw input_error("--scaling weak: expected a size that is no official class, found " + options.size +
                        " (the classes are a weak series themselves)");
    take_problem(options.shared, *options.run_class, line);
    return;
  }
  const problem& step = *std::ranges::find(ladder, options.size, &problem::name);
  if (options.weak)
    options.local_lattice = step.weak;
  else
    options.shared.lattice = step.strong;
}

/// The even-odd hopping term of the first precision, or else the first case of all.
operator_case headline_of(const case_lists& lists, const std::vector<operator_case>& cases) {
  const operator_case wanted{operator_kind::hopping, site_layout::even_odd, lists.precisions.front(),
                             lists.links.front(), lists.rhs.front()};
  return std::ranges::find(cases, wanted) != cases.end() ? wanted : cases.front();
}

void require_sense(const scaling_options& options) {
  const bool clover = std::ranges::any_of(options.cases, [](const operator_case& c) { return c.has_clover(); });
  if (clover && !options.shared.action.has_clover())
    throw input_error("--csw 0: the operators clover and clover_schur need a clover term; leave them out or give one");
}

/// The process grid with the smallest surface of a given local box: cuts along its longest directions.
extents grid_of_local_box(const extents& local, int ranks) {
  extents best{};
  double least = 0.0;
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; y <= ranks / x; ++y)
      for (int z = 1; z <= ranks / (x * y); ++z) {
        const extents grid{x, y, z, ranks / (x * y * z)};
        if (volume(grid) != ranks) continue;
        double surface = 0.0;
        for (int mu = 0; mu < dimensions; ++mu)
          if (grid[mu] > 1) surface += 2.0 / local[mu];
        // among equals the most even one, so that the whole lattice stays compact
        surface += 1e-6 * *std::ranges::max_element(grid) / ranks;
        if (best[0] == 0 || surface < least) {
          best = grid;
          least = surface;
        }
      }
  return best;
}

}  // namespace

scaling_options parse_scaling_options(int argc, const char* const* argv) {
  scaling_options options;
  raw_options raw;
  command_line line("plaquette-dslash-scaling",
                    "Times the hopping term and the operators made of it on any number of ranks and threads, with what "
                    "the halo costs,\nand relates them to the bandwidth and the arithmetic that the same run measures. "
                    "Each timed operator is compared with the textbook's first.");
  line.examples({"--size nano", "--device gpu --operator hopping --precision single,half",
                 "--lattice 16x16x16x32 --operator clover --rhs 1,12"});
  declare_cases(line, raw.lists);
  declare_run(line, options, raw);
  shared_options defaults;
  defaults.gauge = parse_gauge_choice(usual_gauge, "--gauge");
  action_options action;
  action.csw = 1.0;
  shared_option_set shared(line, defaults, action, {"--precision", "--rhs", "--tol"});
  line.exclude("--lattice", "--local-lattice");
  line.show_default("--lattice", to_string(ladder[1].strong) + " (small)");
  line.parse(argc, argv);

  options.shared = shared.collected();
  options.command = line.typed();
  if (!raw.size.size.empty() && !line.given("--precision") && find_class("dslash-scaling", raw.size, line))
    raw.lists.precisions = {number_precision::double_precision, number_precision::single_precision};
  options.cases = combinations(raw.lists);
  options.headline = headline_of(raw.lists, options.cases);
  if (options.latency)
    options.local_lattice = extents{4, 4, 4, 4};  // a context needs some lattice
  else
    choose_lattice(options, raw, line);
  require_sense(options);
  return options;
}

lattice_geometry geometry_of(scaling_options& options, const communicator& world) {
  if (!options.local_lattice) return geometry_of_run(options.shared, world);
  (void)lattice_geometry(*options.local_lattice);  // a box that is no lattice is refused as such
  if (!options.shared.grid) options.shared.grid = grid_of_local_box(*options.local_lattice, world.size());
  for (int mu = 0; mu < dimensions; ++mu) {
    const std::int64_t length = static_cast<std::int64_t>((*options.local_lattice)[mu]) * (*options.shared.grid)[mu];
    if (length > (1 << 24))
      throw input_error(fmt::format("--local-lattice {} times --grid {}: expected extents of at most 2^24, found {}",
                                    to_string(*options.local_lattice), to_string(*options.shared.grid), length));
    options.shared.lattice[mu] = static_cast<int>(length);
  }
  return geometry_of_run(options.shared, world);
}

json_document parameters_of(const scaling_options& options, const lattice_geometry& geometry) {
  scaling_options used = options;
  used.local_lattice = geometry.local();
  raw_options raw;
  command_line line;
  declare_run(line, used, raw);
  json_document all = shared_parameters(options.shared, geometry);
  all.update(line.parameters());
  all.update({{"command", options.command}, {"headline", describe(options.headline)}});
  return all;
}

}  // namespace plaquette::scaling
