// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/gauge_input.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/app/run_app.hpp"
#include "common/error.hpp"
#include "common/io/gauge_file.hpp"
#include "common/lattice/sum_rounding.hpp"
#include "common/solvers/library.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "miniapps/shared/reunitarise.hpp"

namespace plaquette {

namespace {

/// A link made here went through some ten products of matrices since it was last put into SU(3); each leaves a few
/// rounding errors of 2^-53 in U U^+ - 1. Readers of files have their own bound.
constexpr double made_here_tolerance = 256.0 * 0x1p-53;

void sweep(link_field& links, const shared_options& options, run_control& control, progress_line& progress) {
  const gauge_action action{options.gauge.beta, options.gauge_anisotropy};
  progress.begin("heat bath");
  for (int number = 0; number < options.gauge.sweeps; ++number) {
    control.stop_if_requested("the heat bath");
    links.combined_sweep(action, {}, options.seed, static_cast<std::uint64_t>(number));
    progress.update((number + 1.0) / options.gauge.sweeps, fmt::format("sweep {}", number + 1));
  }
}

/// Unit, random and weak fields as chosen; for a heat bath the random field that it starts from.
link_start start_of(const gauge_choice& choice) {
  using enum gauge_choice::origin;
  return {choice.from == random || choice.from == heat_bath ? link_start::kind::random
          : choice.from == weak                             ? link_start::kind::weak
                                                            : link_start::kind::unit,
          choice.noise};
}

/// <Re tr V> / 3 of a link near 1 (weak_field_configuration): the traceless anti-Hermitian part of V has 16 eps^2 in
/// its elements, 2 in each of the six off the diagonal, and 1, 1 and 2 on it.
double mean_of_noise(double eps) { return 1.0 - 8.0 / 3.0 * eps * eps; }

/// The heat bath of a cell, which each rank does by itself, repeated over the lattice; each link is then multiplied by
/// one near 1. Modes of the Dirac operator are then modes of the cell with all boundary phases, and no two cells are
/// the same.
gauge_configuration repeated_cell(const shared_options& options, const lattice_geometry& geometry,
                                  const communicator& world, run_control& control, progress_line& progress,
                                  const library& device, repeated_plaquette& plaquette) {
  const extents& cell = *options.gauge.cell;
  const auto links = device.make_own_links(start_of(options.gauge), options.seed, cell);
  sweep(*links, options, control, progress);
  plaquette.of_cell = links->measure().average;
  const gauge_configuration of_cell = links->take();
  const double eps = options.gauge.noise;
  gauge_configuration all = cpu::weak_field_configuration(geometry, eps, options.seed, world);
  cpu::for_each_site(geometry, [&](const coordinate& local) {
    coordinate x = geometry.to_global(local);
    for (int mu = 0; mu < dimensions; ++mu) x[mu] %= cell[mu];
    for (int mu = 0; mu < dimensions; ++mu) all(local)[mu] = of_cell(x)[mu] * all(local)[mu];
  });
  exchange_ghosts(all, world);
  // A plaquette has four links. The remaining terms are the fourth order, and the first one's average over the lattice.
  // That is 0.4 eps / sqrt(V) at beta = 6, where six plaquettes meet in a link; ten times as much is allowed.
  plaquette.expected = plaquette.of_cell * std::pow(mean_of_noise(eps), 4);
  plaquette.tolerance = 100.0 * std::pow(eps, 4) +
                        4.0 * eps / std::sqrt(static_cast<double>(geometry.global_volume())) +
                        sum_rounding(geometry.global());
  return all;
}

/// Made on the device of the run.
gauge_configuration made_here(const shared_options& options, const lattice_geometry& geometry,
                              const communicator& world, run_control& control, progress_line& progress,
                              const library& device, std::optional<repeated_plaquette>& repeated) {
  if (options.gauge.cell) return repeated_cell(options, geometry, world, control, progress, device, repeated.emplace());
  const auto links = device.make_links(start_of(options.gauge), options.seed);
  if (options.gauge.from != gauge_choice::origin::heat_bath) return links->take();
  sweep(*links, options, control, progress);
  return links->take();
}

/// The plaquette in a file's header must agree with its links. A sum in single precision is accepted, with a remark, if
/// the checksum of the links is right.
void require_claimed_plaquette(const std::string& path, gauge_file_header& header, double found) {
  if (std::isnan(header.plaquette)) return;  // nothing is claimed
  const double off = std::abs(header.plaquette - found);
  if (off <= header.plaquette_tolerance) return;
  if (!(off <= header.single_sum_tolerance))
    throw input_error(
        fmt::format("{}: expected plaquette {:.12g} as its header says (to {:.1g}), found {:.12g} in its links", path,
                    header.plaquette, std::max(header.plaquette_tolerance, header.single_sum_tolerance), found));
  header.remarks.push_back(fmt::format(
      "the plaquette in the header is off by {:.1e}, as a sum in single precision leaves it; the checksum is right",
      off));
}

json_document description_of(const gauge_file_header& header) {
  json_document d = {{"format", name_of(header.format)},
                     {"precision_bits", header.precision_bits},
                     {"checksum", header.checksum_found}};
  if (!std::isnan(header.plaquette)) d["plaquette_claimed"] = header.plaquette;
  return d;
}

/// The reader has held every link of a file to a bound by its precision; the same bound stands here for the links as
/// they are used.
double file_tolerance(const gauge_file_header& header) {
  constexpr double doubles = 1024.0 * 0x1p-53, floats = 1024.0 * 0x1p-24;
  return header.precision_bits == 64 && header.distance_from_su3 <= doubles ? doubles : floats;
}

/// On the device of the run, a step at a time.
void smear(gauge_input& input, const stout_smearing& smearing, const communicator& world, run_control& control,
           const library& device) {
  const auto links = device.import_links(std::move(input.links));
  sparse_stop asks(control, world);
  for (int step = 0; step < smearing.steps; ++step) {
    if (asks()) control.stop_if_requested("stout smearing");
    links->smear({1, smearing.rho, smearing.spatial});
  }
  input.links = links->take();
}

}  // namespace

std::string reunitarise(gauge_configuration& links, const gauge_file_header& header, const communicator& world) {
  const std::int64_t sites = links.geometry().local_volume();
#pragma omp parallel for
  for (std::int64_t site = 0; site < sites; ++site)
    for (su3<double>& link : links.at_site(site))
      if (!(link == su3<double>{})) link = reunitarised(link, [](double x) { return std::sqrt(x); });
  exchange_ghosts(links, world);
  return fmt::format(
      "re-unitarised: {} links were farther from SU(3) than their precision explains, the worst by "
      "{:.1e} (limit {:g})",
      header.links_off_su3, header.distance_from_su3, reunitarisable_distance(header.precision_bits == 32));
}

extents lattice_of_run(const shared_options& options) {
  if (options.gauge.from != gauge_choice::origin::file) return options.lattice;
  const auto expected = options.lattice_given ? std::optional(options.lattice) : std::nullopt;
  const extents found = read_gauge_header(options.gauge.path, expected).lattice;
  if (options.lattice_given && found != options.lattice)
    throw input_error(fmt::format("{}: expected lattice {} as --lattice says, found {}", options.gauge.path,
                                  to_string(options.lattice), to_string(found)));
  return found;
}

namespace {
void require_cell_fits(const extents& cell, const extents& lattice) {
  (void)lattice_geometry(cell);
  for (int mu = 0; mu < dimensions; ++mu)
    if (lattice[mu] % cell[mu] != 0)
      throw input_error(fmt::format("--gauge heatbath:BETA:SWEEPS:{}: expected a cell that divides the lattice {}",
                                    to_string(cell), to_string(lattice)));
}
}  // namespace

lattice_geometry geometry_of_run(const shared_options& options, const communicator& world) {
  const extents lattice = lattice_of_run(options);
  (void)lattice_geometry(lattice);  // a lattice that no grid makes legal is refused as such
  if (options.gauge.cell) require_cell_fits(*options.gauge.cell, lattice);
  const extents grid = options.grid ? *options.grid : smallest_surface_grid(lattice, world.size());
  const lattice_geometry geometry(lattice, grid, 0);  // checks the shape before anything is divided by it
  if (volume(grid) != world.size())
    throw input_error(
        fmt::format("--grid {}: expected {} ranks, found {}", to_string(grid), volume(grid), world.size()));
  return lattice_geometry(lattice, grid, world.rank());
}

gauge_input obtain_gauge(const shared_options& options, const lattice_geometry& geometry, const communicator& world,
                         run_control& control, progress_line& progress, const library& device) {
  enter_stage("the gauge configuration");
  const bool is_file = options.gauge.from == gauge_choice::origin::file;
  gauge_file_header header;
  const auto from_file = [&] {
    loaded_gauge loaded =
        read_gauge(options.gauge.path, geometry, world, {.reunitarisable = options.reunitarise, .drifted = true});
    header = loaded.header;
    return std::move(loaded.links);
  };
  std::optional<repeated_plaquette> repeated;
  gauge_input input{is_file ? from_file() : made_here(options, geometry, world, control, progress, device, repeated),
                    {},
                    0.0,
                    0.0,
                    {}};
  input.judged.add(input.links.values());
  input.plaquette = cpu::measure_plaquettes(input.links, world);
  if (repeated) {
    repeated->found = input.plaquette.average;
    input.repeated = repeated;
  }
  if (is_file) require_claimed_plaquette(options.gauge.path, header, input.plaquette.average);
  json_document mended;
  if (is_file && options.reunitarise) {
    const double off = header.distance_from_su3, limit = reunitarisable_distance(header.precision_bits == 32);
    mended = {{"links_off", header.links_off_su3}, {"distance_before", off}, {"limit", limit}};
    header.remarks.push_back(reunitarise(input.links, header, world));
    input.judged = {};
    input.judged.add(input.links.values());
    input.plaquette = cpu::measure_plaquettes(input.links, world);
  } else if (is_file && header.links_off_su3 > 0) {
    mended = {{"links_off", header.links_off_su3},
              {"distance_before", header.distance_from_su3},
              {"limit", drift_of_doubles}};
    take_back_drift(input.links, header, world);
    input.judged = {};
    input.judged.add(input.links.values());
    input.plaquette = cpu::measure_plaquettes(input.links, world);
  }
  json_document smearing;
  if (options.stout.steps > 0) {
    if (header.open_boundary && !options.stout.spatial)
      throw input_error(options.gauge.path +
                        ": open boundaries have links that are zero, which cannot be smeared: give --stout-spatial, or "
                        "no --stout-steps");
    enter_stage("stout smearing");
    smearing = stout_parameters(options.stout);
    smearing["plaquette_before"] = input.plaquette.average;
    if (options.keep_thin_links) input.thin_links = input.links;
    smear(input, options.stout, world, control, device);
    input.judged = {};
    input.judged.add(input.links.values());
    input.plaquette = cpu::measure_plaquettes(input.links, world);
  }
  // Links of an open boundary are zero by intention; the reader has left them out.
  input.distance_from_su3 =
      header.open_boundary ? header.distance_from_su3 : cpu::distance_from_su3(input.links, world);
  input.su3_tolerance = is_file && !options.reunitarise ? file_tolerance(header) : made_here_tolerance;
  input.open_boundary = header.open_boundary;
  input.remarks = header.remarks;

  input.description = {{"source", options.gauge.describe()},
                       {"lattice", geometry.global()},
                       {"plaquette", input.plaquette.average},
                       {"plaquette_spatial", input.plaquette.spatial},
                       {"plaquette_temporal", input.plaquette.temporal},
                       {"link_trace", cpu::link_trace(input.links, world)},
                       {"distance_from_su3", input.distance_from_su3}};
  if (!smearing.is_null()) input.description["stout"] = smearing;
  if (!mended.is_null()) input.description["reunitarised"] = mended;
  if (!header.remarks.empty()) input.description["remarks"] = header.remarks;
  if (header.open_boundary) input.description["open_boundary"] = true;
  if (is_file)
    input.description.update(description_of(header));
  else
    input.description["seed"] = options.seed;
  if (options.gauge.from == gauge_choice::origin::heat_bath) input.description["anisotropy"] = options.gauge_anisotropy;
  if (repeated) {
    input.description["plaquette_of_cell"] = repeated->of_cell;
    input.description["plaquette_expected"] = repeated->expected;
  }
  return input;
}

std::optional<gauge_input> obtain_gauge(report& result, const shared_options& options, const lattice_geometry& geometry,
                                        const communicator& world, run_control& control, progress_line& progress,
                                        const library& device) {
  try {
    gauge_input gauge = obtain_gauge(options, geometry, world, control, progress, device);
    progress.clear();
    result.gauge = gauge.description;
    check_gauge(result.checks, gauge);
    return gauge;
  } catch (const error& stop) {
    if (stop.status() != exit_status::interrupted) throw;
    result.gauge = {{"source", options.gauge.describe()}, {"plaquette", std::numeric_limits<double>::quiet_NaN()}};
    result.checks.add(std::string("run was not ") + stop.what(), false);
    return std::nullopt;
  }
}

void print_gauge(const gauge_input& gauge) {
  fmt::print("plaquette  {:.12f} (spatial {:.12f}, temporal {:.12f})\n", gauge.plaquette.average,
             gauge.plaquette.spatial, gauge.plaquette.temporal);
  if (gauge.description.contains("stout"))
    fmt::print("smeared    {} stout steps, rho {:g}{}; plaquette before {:.12f}\n",
               gauge.description["stout"]["steps"].get<int>(), gauge.description["stout"]["rho"].get<double>(),
               gauge.description["stout"]["spatial"].get<bool>() ? ", spatial links only" : "",
               gauge.description["stout"]["plaquette_before"].get<double>());
  if (gauge.open_boundary)
    fmt::print(
        "remark     open boundaries: links from the last time slice to the first are zero, and M is that of these "
        "links. openQCD's own also has psi = 0 at t = 0 and T - 1, and c_F with them\n");
  print_gauge_remarks(gauge);
}

void print_gauge_remarks(const gauge_input& gauge) {
  for (const std::string& remark : gauge.remarks) fmt::print("remark     {}\n", remark);
}

void check_gauge(verification& checks, const gauge_input& gauge) {
  checks.add("links in SU(3)", gauge.distance_from_su3, gauge.su3_tolerance);
  // Re tr U / 3 of a matrix in SU(3) lies in [-1/2, 1]; each of four links is off by at most the tolerance.
  const double rounding = 4.0 * gauge.su3_tolerance + sum_rounding(gauge.links.geometry().global());
  checks.add("plaquette is possible",
             gauge.plaquette.average >= -0.5 - rounding && gauge.plaquette.average <= 1.0 + rounding);
  if (const auto& r = gauge.repeated)
    checks.add("plaquette is that of the cell with its noise", std::abs(r->found - r->expected), r->tolerance);
}

void check_links_kept(verification& checks, const gauge_input& gauge, const communicator& comm) {
  bit_sum now;
  now.add(gauge.links.values());
  check_same_bits(checks, "links", gauge.judged, now, comm);
}

}  // namespace plaquette
