// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/nodal_dg_options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/app/command_line.hpp"
#include "common/app/parse.hpp"
#include "common/dg/reference_element.hpp"
#include "common/error.hpp"

namespace plaquette::nodal_dg {

namespace {

constexpr int most_steps = 1'000'000'000;

/// Pieces between separators; an empty text has none.
std::vector<std::string> pieces_of(const std::string& text, char separator) {
  return text.empty() ? std::vector<std::string>{} : split(text, separator);
}

std::vector<int> parse_cells(const std::string& text, const std::string& option) {
  std::vector<int> cells;
  for (const std::string& piece : pieces_of(text, 'x'))
    cells.push_back(static_cast<int>(parse_integer(piece, option, 1, 4096)));
  if (cells.size() != 2 && cells.size() != 3)
    throw input_error(fmt::format("{}: expected NxN or NxNxN, found '{}'", option, printable(text)));
  return cells;
}

/// "NAME:VALUE" taken apart at the last colon.
std::pair<std::string, std::string> named_value(const std::string& text, const std::string& option) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    throw input_error(fmt::format("{}: expected NAME:VALUE, found '{}'", option, printable(text)));
  return {text.substr(0, colon), text.substr(colon + 1)};
}

constexpr std::array<std::pair<const char*, boundary_kind>, 3> kinds_of_boundary{
    {{"reflecting", boundary_kind::reflecting},
     {"absorbing", boundary_kind::absorbing},
     {"incident", boundary_kind::incident}}};

boundary_kind parse_boundary(const std::string& word, const std::string& option) {
  for (const auto& [name, kind] : kinds_of_boundary)
    if (word == name) return kind;
  throw input_error(fmt::format("{}: expected reflecting, absorbing or incident, found '{}'", option, printable(word)));
}

std::array<double, 6> parse_sides(const std::string& text, const std::string& option) {
  const auto sides = parse_reals<6>(text, option);
  for (std::size_t i = 0; i < 6; i += 2)
    if (!(sides[i] < sides[i + 1]))
      throw input_error(fmt::format("{}: expected each low side below its high side, found {:g} and {:g}", option,
                                    sides[i], sides[i + 1]));
  return sides;
}

point_source parse_source(const std::string& text, const std::string& option) {
  const auto n = parse_reals<7>(text, option);
  if (n[3] != std::floor(n[3]) || n[3] < 0 || n[3] > 5)
    throw input_error(fmt::format("{}: expected a field's number, 0 to 5, as the fourth, found {}", option, n[3]));
  return {{n[0], n[1], n[2]}, static_cast<int>(n[3]), n[4], n[5], n[6]};
}

std::pair<std::string, medium> parse_medium(const std::string& text, const std::string& option) {
  const auto [name, numbers] = named_value(text, option);
  const auto two = parse_real_list(numbers, option, 2, real_range::positive());
  return {name, medium{two[0], two[1]}};
}

std::pair<std::string, boundary_kind> parse_named_boundary(const std::string& text, const std::string& option) {
  const auto [name, kind] = named_value(text, option);
  return {name, parse_boundary(kind, option)};
}

plane_of_values parse_plane(const std::string& text, const std::string& option) {
  const auto pieces = pieces_of(text, ',');
  if (pieces.size() < 2 || pieces.size() > 3 || pieces[0].size() != 1 || pieces[0][0] < 'x' || pieces[0][0] > 'z')
    throw input_error(fmt::format("{}: expected x, y or z and a number, found '{}'", option, printable(text)));
  plane_of_values plane;
  plane.axis = pieces[0][0] - 'x';
  plane.at = parse_real(pieces[1], option);
  if (pieces.size() == 3) plane.pixels = static_cast<int>(parse_integer(pieces[2], option, 2, 8192));
  return plane;
}

/// Returns a function that appends the values of a list "A;B;..." to `values`, each by `read`.
template <class Value, class Read>
auto list_into(std::vector<Value>& values, Read read) {
  return [&values, read](const std::string& text, const std::string& option) {
    for (const std::string& piece : pieces_of(text, ';')) values.push_back(read(piece, option));
  };
}

json_document described(const std::vector<std::pair<std::string, medium>>& media) {
  json_document all = json_document::array();
  for (const auto& [name, m] : media) all.push_back({{"name", name}, {"first", m.first}, {"second", m.second}});
  return all;
}

json_document described(const std::vector<std::pair<std::string, boundary_kind>>& boundaries) {
  json_document all = json_document::array();
  for (const auto& [name, kind] : boundaries)
    all.push_back({{"name", name}, {"kind", std::ranges::find(kinds_of_boundary, kind, [](const auto& k) {
                                              return k.second;
                                            })->first}});
  return all;
}

json_document described(const std::vector<point_source>& sources) {
  json_document all = json_document::array();
  for (const point_source& s : sources)
    all.push_back({{"position", s.position},
                   {"field", s.field},
                   {"amplitude", s.amplitude},
                   {"frequency", s.frequency},
                   {"delay", s.delay}});
  return all;
}

void declare_mesh(command_line& line, nodal_dg_options& o) {
  const bool is_box = o.mesh.empty();
  line.section("Mesh");
  line.reports(true);
  line.text("--mesh", o.mesh, "FILE", "A Gmsh mesh (.msh 2 or 4, text or binary) of tetrahedra, or of triangles")
      .reported("mesh", !is_box);
  line.value("--box", o.box, "NxNxN", parse_cells,
             "Cells of a box of six tetrahedra a cell; NxN: a rectangle of two triangles a cell")
      .shows("4x4x4")
      .excludes("--mesh")
      .reported("box", is_box);
  line.value(
      "--box-sides", o.box_sides, "X0,X1,Y0,Y1,Z0,Z1", parse_sides,
      "Where the box lies; with --mesh, the box whose modes --problem means: without it the one around the mesh");
  line.real("--shaking", o.shaking, "Moves the box's inner vertices at random by up to this share of a cell",
            {0.0, 0.24})
      .excludes("--mesh")
      .reported("shaking", is_box);
  line.integer("--refine", o.refinements, "Times that each element is cut into eight (four)", 0, 6);
  line.choice("--partition", o.partition, {"auto", "metis", "curve"},
              "How elements are shared among ranks: METIS where it was built in, or a space-filling curve")
      .unreported();
}

void declare_problem(command_line& line, nodal_dg_options& o) {
  line.section("Problem");
  line.choice("--equations", o.equations, {"acoustics", "maxwell", "maxwell-tm"},
              "Four fields p, u, v, w; six fields H, E; three fields Hx, Hy, Ez in two dimensions");
  line.choice("--problem", o.problem, {"standing", "plane-wave", "pulse"},
              "A standing wave between rigid walls, or a cavity's mode; a plane wave in a periodic box; a plane pulse "
              "that comes in from outside, to be scattered. The first two are known exactly");
  line.value(
      "--modes", o.modes, "L,M,N",
      [](const std::string& text, const std::string& option) {
        std::array<int, 3> modes;
        std::ranges::transform(parse_integer_list(text, option, 3, 0, 1000), modes.begin(),
                               [](std::int64_t n) { return static_cast<int>(n); });
        return modes;
      },
      "Half waves of the standing wave along each side");
  line.value("--polarisation", o.polarisation, "X,Y,Z", parse_reals<3>,
             "Of the electric field; the part along the wave vector is left out");
  line.value("--wave-vector", o.wave_vector, "X,Y,Z", parse_reals<3>,
             "Of the plane wave: whole waves along each side; of the pulse: its direction");
  line.real("--pulse-width", o.pulse_width, "Of the pulse exp(-(x / width)^2)", real_range::positive());
  line.real("--pulse-start", o.pulse_start, "Where the pulse's middle is at time 0, along its direction");
  line.choice("--flux", o.flux, {"upwind", "central"}, "Between elements");
  line.custom(
          "--media", "NAME:A,B;...", "1,1", list_into(o.media, parse_medium),
          "Of groups of elements, by name or number; default: of all others. Permittivity and permeability; acoustics: "
          "compressibility and density")
      .reported_as("media", described(o.media));
  line.custom("--boundaries", "NAME:KIND;...", "reflecting", list_into(o.boundaries, parse_named_boundary),
              "Of groups of sides, by name or number; default: of all others, those without a group too. reflecting "
              "(conductor, rigid wall), absorbing, incident (the pulse comes in, the rest goes out)")
      .reported_as("boundaries", described(o.boundaries));
  line.custom("--sources", "X,Y,Z,FIELD,AMPLITUDE,FREQUENCY,DELAY;...", "none", list_into(o.sources, parse_source),
              "Points that send out Ricker's wavelet; FIELD: its number in the order of --equations, from 0")
      .reported_as("sources", described(o.sources));
}

void declare_scheme(command_line& line, nodal_dg_options& o) {
  line.section("Scheme and run");
  line.integer("--order", o.order, "Of the polynomials", 1, highest_order);
  line.integer("--states", o.states, "States that are advanced side by side; all but the first are scaled copies", 1,
               64);
  line.reports(false);
  line.real("--final-time", o.final_time, "To be reached in equal steps", real_range::positive());
  line.flag("--shorten-last-step", o.shorten_last_step,
            "Reaches --final-time in steps of --dt, but for the last one, which is shorter")
      .reported_as("shorten_last_step", o.final_time, o.shorten_last_step);
  line.real(
      "--dt", o.dt,
      "Time step; 0: 0.9 times the largest stable one, which is measured, or a little less. One that is not stable "
      "is refused",
      real_range::not_negative());
  line.value(
          "--steps", o.steps, "N",
          [](const std::string& text, const std::string& option) { return parse_integer(text, option, 1, most_steps); },
          "Time steps")
      .shows("as --final-time takes")
      .excludes("--final-time")
      .excludes("--shorten-last-step");
  line.integer("--samples", o.samples, "Stretches of the run that are timed by themselves", 1, 10000);
  line.choice("--kernel", o.kernel, {"auto", "products", "gather", "classic", "fused"},
              "On a GPU: which kernels do a stage")
      .reported("kernel", o.shared.device == "gpu");
  line.custom("--probe", "X,Y,Z;...", "none", list_into(o.probes, parse_reals<3>),
              "Points where the fields at the end are reported");
  line.text("--vtk", o.vtk, "FILE.vtkhdf", "Write the fields at the end there, for ParaView (VTK's HDF format)");
  line.text("--plane", o.plane, "FILE.txt", "Write the fields at the end on a plane there, a line a pixel");
  line.custom(
          "--plane-at", "x|y|z,VALUE[,PIXELS]", "z,0,256",
          [&o](const std::string& text, const std::string& option) { o.plane_at = parse_plane(text, option); },
          "Which plane, and how many pixels along each side")
      .needs("--plane FILE.txt");
  line.text("--energy", o.energy, "FILE.csv", "Write the energy over time there");
  line.text("--checkpoint", o.checkpoint, "FILE",
            "Keep the state of the run there; where the file exists already, the run continues from it, on any number "
            "of ranks");
  line.integer("--checkpoint-every", o.checkpoint_every, "Time steps from one checkpoint to the next", 1, most_steps)
      .needs("--checkpoint FILE");
}

void declare(command_line& line, nodal_dg_options& o) {
  declare_mesh(line, o);
  declare_problem(line, o);
  declare_scheme(line, o);
}

}  // namespace

wave_equations nodal_dg_options::system() const {
  if (equations == "maxwell") return wave_equations::maxwell;
  return equations == "maxwell-tm" ? wave_equations::maxwell_tm : wave_equations::acoustics;
}

nodal_dg_options parse_nodal_dg_options(int argc, const char* const* argv) {
  nodal_dg_options options;
  command_line line(
      "plaquette-nodal-dg",
      "Solves the equations of sound, or Maxwell's, in time by the nodal discontinuous Galerkin method on "
      "tetrahedra or triangles, verifies the solution, and says how fast.");
  class_options size;
  line.section("Official problem");
  declare_class(line, size, {}, "Official class (RUN_RULES.md): mesh, order and problem; single options overrule it");
  line.examples({"--size nano", "--equations maxwell --box 8x8x8 --order 5 --steps 100",
                 "--mesh sphere.msh --problem pulse --boundaries default:absorbing --vtk fields.vtkhdf"});
  declare(line, options);
  options.shared.cpu_waits = true;
  shared_option_set shared(line, options.shared, {}, {"lattice", "gauge", "action", "--rhs", "--tol", "--seed"});
  line.parse(argc, argv);
  options.shared = shared.collected();
  options.command = line.typed();
  options.box_sides_given = line.given("--box-sides");
  options.run_class = find_class("nodal-dg", size, line);
  if (options.run_class) {
    if (!line.given("--mesh") && !line.given("--box"))
      options.box = options.run_class->fixed["box"].get<std::vector<int>>();
    if (!line.given("--order")) options.order = options.run_class->fixed["order"];
  }
  if (options.equations == "maxwell-tm" && options.mesh.empty() && !line.given("--box")) options.box = {8, 8};
  if (options.shared.device == "cpu" && line.given("--kernel"))
    throw input_error("--kernel: expected --device gpu with it, found --device cpu");
  if (options.mesh.empty()) {
    const bool flat = options.box.size() == 2;
    if (flat && options.equations == "maxwell")
      throw input_error("--equations maxwell: expected --box NxNxN with it, found a rectangle (maxwell-tm takes one)");
    if (!flat && options.equations == "maxwell-tm")
      throw input_error("--equations maxwell-tm: expected --box NxN with it, found a box");
    double elements = std::pow(flat ? 4.0 : 8.0, options.refinements) * (flat ? 2.0 : 6.0);
    for (const int cells : options.box) elements *= cells;
    if (elements > static_cast<double>(most_elements))
      throw input_error(fmt::format("--box: expected at most {} elements, found {:.0f}", most_elements, elements));
  }
  return options;
}

json_document parameters_of(const nodal_dg_options& o) {
  nodal_dg_options used = o;
  command_line line;
  declare(line, used);
  json_document p = line.parameters();
  p.update({{"precision", o.shared.precision}, {"device", o.shared.device}});
  return p;
}

json_document run_parameters_of(const nodal_dg_options& o) {
  json_document p = parameters_of(o);
  for (const char* key : {"mesh", "box", "shaking", "refine", "media", "boundaries"}) p.erase(key);
  return p;
}

}  // namespace plaquette::nodal_dg
