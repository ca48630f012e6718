// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-inspect: finds out by its content whether a file is a configuration, a mesh, a setup, modes, a propagator
/// or a checkpoint, and judges it. ./plaquette inspect takes reports too.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/app/checkpoint.hpp"
#include "common/app/command_line.hpp"
#include "common/app/parse.hpp"
#include "common/app/run_app.hpp"
#include "common/app/run_control.hpp"
#include "common/dg/dg_solver.hpp"
#include "common/io/gauge_file.hpp"
#include "common/io/hdf5_file.hpp"
#include "common/io/lime.hpp"
#include "common/io/spinor_file.hpp"
#include "common/lattice/geometry.hpp"
#include "common/mesh/gmsh_file.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/gauge/gradient_flow.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "miniapps/shared/reunitarise.hpp"

namespace plaquette {

namespace {

constexpr const char* help =
    "Says what a file holds, and checks it: a gauge configuration (NERSC, ILDG, SciDAC, MILC, openQCD,\n"
    "DDalphaAMG), a mesh of Gmsh, a setup of multigrid, modes, a propagator, a checkpoint.\n"
    "Usage: plaquette-inspect FILE [--flow TIME[:STEP]] [--lattice XxYxZxT] [--reunitarise]\n\n"
    "--flow TIME[:STEP]  of a configuration: t^2 E and the topological charge along the gradient flow,\n"
    "                    and t0, in lattice units; steps of 0.02. A radius sqrt(8 t) of a third of the\n"
    "                    lattice is enough for the charge.\n"
    "--lattice XxYxZxT   of a configuration whose file does not say it\n"
    "--reunitarise       takes links that are up to 1e-6 off SU(3) (1e-3 in 32 bits); the flow begins\n"
    "                    with them put back\n\n"
    "Examples:\n"
    "  plaquette-inspect data/beta6.0_6x6x6x12.nersc\n"
    "  plaquette-inspect sphere.msh\n"
    "  mpirun -n 4 plaquette-inspect b6_32x64.lime --flow 4\n\n"
    "Exit status: 0 readable and as its header says; 1 a check failed; 2 no such file, or of no known\n"
    "kind; 4 out of memory; 6 stopped by a signal; 70 internal error.\n";

/// The values of `--flow`; a time of 0 is none.
struct flow_choice {
  double time = 0.0, step = 0.02;
};

struct choices {
  flow_choice flow{};
  std::optional<extents> lattice{};
  bool reunitarise = false;
};

flow_choice parse_flow(const std::string& text) {
  const std::size_t colon = text.find(':');
  flow_choice chosen{.time = parse_real(text.substr(0, colon), "--flow", real_range::positive())};
  if (colon != std::string::npos) chosen.step = parse_real(text.substr(colon + 1), "--flow", real_range::positive());
  flow_steps(0.0, chosen.time, chosen.step);  // refuses too many
  return chosen;
}

/// Prints at most some ten lines, the last time among them.
void print_flow(const gauge_configuration& links, const flow_choice& chosen, const communicator& world) {
  enter_stage("the gradient flow");
  cpu::gradient_flow flow(links, world);
  const auto history = flow_history(flow, chosen.time, chosen.step);
  if (world.rank() != 0) return;
  constexpr std::size_t lines = 10;
  const std::size_t steps = history.size() - 1, interval = std::max<std::size_t>(1, (steps + lines - 1) / lines);
  fmt::print("flow       {:>8} {:>12} {:>12}\n", "t", "t^2 E", "charge");
  for (std::size_t i = 0; i <= steps; ++i)
    if (i % interval == 0 || i == steps)
      fmt::print("           {:8.3f} {:12.8f} {:12.6f}\n", history[i].time, history[i].scaled_energy(),
                 history[i].charge);
  const double t0 = reference_time(history);
  fmt::print("t0         {}\n", std::isnan(t0) ? "t^2 E does not pass 0.3" : fmt::format("{:.6f}", t0));
}

void print_gauge(const gauge_file_header& h, const plaquettes& found, double trace, double off) {
  fmt::print("kind       gauge configuration, {}\n", name_of(h.format));
  fmt::print("lattice    {}\n", to_string(h.lattice));
  fmt::print("numbers    {} bits, {}-endian{}\n", h.precision_bits, h.big_endian ? "big" : "little",
             h.two_row ? ", two rows of three" : "");
  fmt::print("checksum   {}\n", h.checksum_found.empty()     ? "none in this format"
                                : h.checksum_claimed.empty() ? h.checksum_found + ", none claimed"
                                                             : h.checksum_found + ", as claimed");
  fmt::print("plaquette  {:.12f} (spatial {:.12f}, temporal {:.12f})\n", found.average, found.spatial, found.temporal);
  if (std::isnan(h.plaquette))
    fmt::print("claimed    none\n");
  else
    fmt::print("claimed    {:.12f}, off by {:.1e} of {:.1e}\n", h.plaquette, off, h.plaquette_tolerance);
  fmt::print("link trace {:.12f}\n", trace);
  fmt::print("unitarity  {:.2e} at most from SU(3)\n", h.distance_from_su3);
  fmt::print("boundary   {}\n", h.open_boundary        ? "open in time: links there are zero"
                                : h.antiperiodic_links ? "an antiperiodic sign was folded into the links"
                                                       : "no sign folded into the links");
  for (const std::string& remark : h.remarks) fmt::print("remark     {}\n", remark);
}

exit_status inspect_gauge(const std::string& path, const choices& chosen, const communicator& world) {
  const flow_choice& flow = chosen.flow;
  const extents lattice = read_gauge_header(path, chosen.lattice).lattice;
  if (chosen.lattice && lattice != *chosen.lattice)
    throw input_error(printable(path) + ": expected lattice " + to_string(*chosen.lattice) +
                      " as --lattice says, found " + to_string(lattice));
  const lattice_geometry geometry(lattice, smallest_surface_grid(lattice, world.size()), world.rank());
  loaded_gauge loaded = read_gauge(path, geometry, world, {.reunitarisable = chosen.reunitarise, .drifted = true});
  gauge_file_header& h = loaded.header;
  const plaquettes found = cpu::measure_plaquettes(loaded.links, world);
  const double trace = cpu::link_trace(loaded.links, world);
  const double off = std::abs(h.plaquette - found.average);
  const bool agrees = std::isnan(h.plaquette) || off <= std::max(h.plaquette_tolerance, h.single_sum_tolerance);
  const exit_status status = agrees ? exit_status::success : exit_status::verification_failed;
  const double as_stored = h.distance_from_su3;
  if (chosen.reunitarise)
    h.remarks.push_back(reunitarise(loaded.links, h, world));  // for the flow
  else
    take_back_drift(loaded.links, h, world);
  h.distance_from_su3 = as_stored;
  if (world.rank() == 0) print_gauge(h, found, trace, off);
  if (flow.time > 0.0) {
    if (h.open_boundary) throw input_error(printable(path) + ": --flow needs periodic links, found an open boundary");
    print_flow(loaded.links, flow, world);
  }
  return status;
}

/// Returns 1 for a regular tetrahedron or triangle, 0 for a flat one: its volume over the volume of a regular one with
/// the same mean square of the edges.
double quality(const simplex_mesh& mesh, std::int64_t element) {
  const auto& corners = mesh.elements[static_cast<std::size_t>(element)];
  double squares = 0.0;
  int edges = 0;
  for (int a = 0; a < mesh.faces(); ++a)
    for (int b = a + 1; b < mesh.faces(); ++b, ++edges)
      for (std::size_t i = 0; i < 3; ++i) {
        const auto corner = [&](int c) {
          return mesh.vertices[static_cast<std::size_t>(corners[static_cast<std::size_t>(c)])][i];
        };
        squares += (corner(a) - corner(b)) * (corner(a) - corner(b));
      }
  const double mean = squares / edges, volume = std::abs(signed_volume(mesh, element));
  return mesh.dimension == 3 ? 6.0 * std::sqrt(2.0) * volume / std::pow(mean, 1.5)
                             : 4.0 / std::sqrt(3.0) * volume / mean;
}

void print_groups(const simplex_mesh& mesh, const char* word, const std::map<int, std::int64_t>& counts,
                  int dimension) {
  for (const auto& [tag, count] : counts) {
    const auto name = mesh.names.find({dimension, tag});
    fmt::print("{:<10} {}{}: {}\n", word, tag, name == mesh.names.end() ? "" : " \"" + printable(name->second) + "\"",
               count);
  }
}

/// Prints the stable time step of each order, if waves have speed 1.
void print_steps(const simplex_mesh& mesh) {
  dg_problem problem;
  problem.media.assign(std::max<std::size_t>(1, mesh.material_tags.size()), medium{});
  problem.boundaries.assign(std::max<std::size_t>(1, mesh.boundary_tags.size()), boundary_kind::reflecting);
  const std::vector<std::int32_t> here(static_cast<std::size_t>(mesh.size()), 0);
  std::string text;
  for (int order = 1; order <= 8; ++order)
    text += fmt::format("{}{:.3g}", order == 1 ? "" : ", ",
                        stable_time_step(make_domain(mesh, here, order, problem, communicator()), 1.0));
  fmt::print("steps      stable at speed 1, orders 1 to 8: {}\n", text);
}

exit_status inspect_mesh(const std::string& path) {
  const simplex_mesh mesh = read_gmsh(path);
  double whole = 0.0, least = std::numeric_limits<double>::infinity(), most = 0.0, worst = 1.0, mean = 0.0;
  std::map<int, std::int64_t> materials, boundaries;
  std::int64_t sides = 0;
  for (std::int64_t e = 0; e < mesh.size(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    const double volume = std::abs(signed_volume(mesh, e)), q = quality(mesh, e);
    whole += volume;
    least = std::min(least, volume);
    most = std::max(most, volume);
    worst = std::min(worst, q);
    mean += q / static_cast<double>(mesh.size());
    for (const int tag : mesh.material_tags[static_cast<std::size_t>(mesh.materials[at])].tags) ++materials[tag];
    for (int f = 0; f < mesh.faces(); ++f) {
      const face_link& link = mesh.links[at][static_cast<std::size_t>(f)];
      if (!link.is_boundary()) continue;
      ++sides;
      for (const int tag : mesh.boundary_tags[static_cast<std::size_t>(std::max<int>(link.boundary, 0))].tags)
        ++boundaries[tag];
    }
  }
  fmt::print("kind       mesh of Gmsh, {} dimensions\n", mesh.dimension);
  fmt::print("elements   {}, {} vertices, {} sides, {} pairs of periodic sides\n", mesh.size(), mesh.vertices.size(),
             sides, mesh.periodic.size());
  fmt::print("volume     {:.6g}, of an element {:.3g} to {:.3g}\n", whole, least, most);
  fmt::print("quality    {:.3f} mean, {:.3f} worst (1: regular, 0: flat)\n", mean, worst);
  print_steps(mesh);
  print_groups(mesh, "group", materials, mesh.dimension);
  print_groups(mesh, "sides", boundaries, mesh.dimension - 1);
  for (const std::string& remark : mesh.remarks) fmt::print("remark     {}\n", remark);
  return exit_status::success;
}

/// The state of a checkpoint, a line a key; of long values the size.
void print_state(const json_document& state) {
  for (const auto& item : state.items()) {
    const std::string text = item.value().dump();
    fmt::print("  {:<24} {}\n", item.key(),
               text.size() <= 70 ? text : fmt::format("{} ... ({} characters)", text.substr(0, 50), text.size()));
  }
}

exit_status inspect_hdf5(const std::string& path, const communicator& world) {
  const hdf5_input file(path, world);
  const auto say = [&](const char* kind, std::initializer_list<const char*> sets) {
    std::string text = fmt::format("kind       {}\n", kind);  // of all ranks: the file is read together
    for (const char* set : sets) {
      if (!file.has(set)) continue;
      std::string shape;
      for (const auto extent : file.extents_of(set)) shape += (shape.empty() ? "" : "x") + std::to_string(extent);
      text += fmt::format("data       {} {}\n", set, shape);
    }
    if (world.rank() == 0) fmt::print("{}", text);
  };
  if (file.has("/vectors_0")) {
    say("setup of plaquette-multigrid", {"/vectors_0", "/vectors_1", "/vectors_2", "/vectors_3", "/coefficients"});
  } else if (file.has("/propagator")) {
    say("propagator", {"/propagator"});
  } else if (!file.has("/state")) {
    throw input_error(printable(path) + ": expected an HDF5 file of this suite, found other data sets");
  }
  if (!file.has("/state")) return exit_status::success;
  const json_document state = parse_checkpoint_text(path, file.read_text("/state"));
  say(state.contains("columns") ? "checkpoint of plaquette-mixed-precision-solver"
                                : "file of plaquette-overlap-propagator",
      {"/vectors", "/state"});
  if (world.rank() == 0) print_state(state);
  return exit_status::success;
}

constexpr std::string_view lime_magic{"\x45\x67\x89\xab", 4};

/// The record of a checkpoint of make-configuration; null if the file has none.
json_document state_in_lime(const std::string& path) {
  const file_source source(path);
  for (const lime_record& record : lime_records(source)) {
    if (record.type != "plaquette-checkpoint") continue;
    std::string text = source.read_text(record.offset, record.size);
    if (!text.empty() && text.back() == '\0') text.pop_back();
    return parse_checkpoint_text(path, text);
  }
  return nullptr;
}

exit_status inspect_dg_checkpoint(const std::string& path) {
  const file_source source(path);
  std::uint64_t length = 0;
  source.read(8, std::as_writable_bytes(std::span(&length, 1)));
  if (source.size() < 16 || length > source.size() - 16)
    throw input_error(printable(path) + ": expected a checkpoint of plaquette-nodal-dg, found one that is truncated");
  fmt::print("kind       checkpoint of plaquette-nodal-dg\n");
  print_state(parse_checkpoint_text(path, source.read_text(16, length)));
  return exit_status::success;
}

/// True for a file that begins with a checksum and an object of JSON, as checkpoint_text() writes them.
bool begins_as_state(std::string_view start) {
  constexpr std::size_t digits = 8;
  return start.size() > digits + 1 && start.substr(digits, 2) == "\n{" &&
         start.substr(0, digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

exit_status inspect_state(const std::string& path) {
  const file_source source(path);
  fmt::print("kind       what a stopped run of this suite has left\n");
  print_state(parse_checkpoint_text(path, source.read_text(0, source.size())));
  return exit_status::success;
}

/// A propagator of Chroma's or tmLQCD's kind: numbers and checksums are read.
exit_status inspect_lime_propagator(const std::string& path, const extents& lattice, const communicator& world) {
  const lattice_geometry geometry(lattice, smallest_surface_grid(lattice, world.size()), world.rank());
  std::vector<std::string> remarks;
  const auto columns = read_lime_propagator(path, geometry, world, {}, &remarks);
  const std::vector<double> pion = cpu::pion_correlator(columns, world);
  if (world.rank() != 0) return exit_status::success;
  fmt::print("kind       propagator, LIME\nlattice    {}\n", to_string(lattice));
  for (std::size_t t = 0; t < pion.size(); ++t) fmt::print("sum |S|^2  {:4} {:.12e}\n", t, pion[t]);
  for (const std::string& remark : remarks) fmt::print("remark     {}\n", remark);
  return exit_status::success;
}

exit_status inspect(const std::string& path, const choices& chosen, const communicator& world) {
  const file_source source(path);
  const std::string start = source.read_text(0, std::min<std::uint64_t>(source.size(), 64));
  const bool has_links = !start.starts_with("\x89HDF") && !start.starts_with("$MeshFormat") &&
                         !start.starts_with("PlaqDG01") && !begins_as_state(start);
  const auto propagator = start.starts_with(lime_magic) ? lime_propagator_lattice(source) : std::nullopt;
  if (chosen.flow.time > 0.0 && (!has_links || propagator))
    throw input_error(printable(path) + ": expected a configuration where --flow is given, found a file without links");
  if (start.starts_with("\x89HDF")) return inspect_hdf5(path, world);
  const bool is_root = world.rank() == 0;
  if (start.starts_with("$MeshFormat")) return is_root ? inspect_mesh(path) : exit_status::success;
  if (begins_as_state(start)) return is_root ? inspect_state(path) : exit_status::success;
  if (start.starts_with("PlaqDG01")) return is_root ? inspect_dg_checkpoint(path) : exit_status::success;
  if (start.starts_with(lime_magic)) {
    const json_document state = state_in_lime(path);
    if (!state.is_null() && is_root) {
      fmt::print("kind       checkpoint of plaquette-make-configuration\n");
      print_state(state);
    }
    if (propagator) return inspect_lime_propagator(path, *propagator, world);
  }
  return inspect_gauge(path, chosen, world);
}

exit_status body(int argc, const char* const* argv, const communicator& world) {
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h"))
    throw help_requested{help};
  if (argc < 2 || std::string_view(argv[1]).starts_with("--"))
    throw input_error("expected one file (--help says more), found " + std::to_string(argc - 1) + " arguments");
  choices chosen;
  for (int i = 2; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--reunitarise")
      chosen.reunitarise = true;
    else if (option == "--flow" && i + 1 < argc)
      chosen.flow = parse_flow(argv[++i]);
    else if (option == "--lattice" && i + 1 < argc)
      chosen.lattice = parse_extents(argv[++i], "--lattice");
    else
      throw input_error(
          "expected --flow TIME, --lattice XxYxZxT or --reunitarise after the file (--help says more), found " +
          printable(argv[i]));
  }
  enter_stage("the reading of " + std::string(argv[1]));
  run_control control(world, std::numeric_limits<double>::infinity());
  sparse_stop asks(control, world);
  const stop_question question([&](stop_kind) {
    if (asks()) control.stop_if_requested(stage_now());
  });
  if (world.rank() == 0) fmt::print("file       {}\n", printable(argv[1]));
  return inspect(argv[1], chosen, world);
}

}  // namespace

}  // namespace plaquette

int main(int argc, char** argv) { return plaquette::run_app("plaquette-inspect", argc, argv, plaquette::body); }
