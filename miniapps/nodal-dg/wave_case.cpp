// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/wave_case.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "common/app/parse.hpp"
#include "common/error.hpp"
#include "common/mesh/box_mesh.hpp"
#include "common/mesh/gmsh_file.hpp"
#include "common/mesh/mesh_part.hpp"

namespace plaquette::nodal_dg {

namespace {

/// The mesh as its file has it, refined.
simplex_mesh make_mesh(const nodal_dg_options& o) {
  simplex_mesh mesh;
  if (!o.mesh.empty()) {
    mesh = read_gmsh(o.mesh, o.equations == "maxwell" ? 3 : o.equations == "maxwell-tm" ? 2 : 0);
  } else {
    box_shape shape;
    shape.dimension = static_cast<int>(o.box.size());
    for (std::size_t i = 0; i < 3; ++i) {
      shape.cells[i] = i < o.box.size() ? o.box[i] : 1;
      shape.low[i] = o.box_sides[2 * i];
      shape.high[i] = o.box_sides[2 * i + 1];
      shape.periodic[i] = o.problem == "plane-wave" && i < o.box.size();
    }
    shape.shaking = o.shaking;
    mesh = box_mesh(shape);
  }
  for (int i = 0; i < o.refinements; ++i) mesh = refined(mesh);
  return mesh;
}

/// True where all sides of the mesh lie on those of the box.
bool fills(const simplex_mesh& mesh, const std::array<double, 6>& box) {
  const auto lies_on = [&](const std::array<std::int32_t, 4>& corners, int face, std::size_t side) {
    const double at = box[side], size = std::abs(box[side | 1U] - box[side & ~1U]);
    for (int c = 0; c < mesh.faces(); ++c)
      if (c != face &&
          !(std::abs(mesh.vertices[static_cast<std::size_t>(corners[static_cast<std::size_t>(c)])][side / 2] - at) <=
            1e-6 * size))
        return false;
    return true;
  };
  for (std::size_t e = 0; e < mesh.elements.size(); ++e)
    for (int f = 0; f < mesh.faces(); ++f) {
      if (!mesh.links[e][static_cast<std::size_t>(f)].is_boundary()) continue;
      bool found = false;
      for (std::size_t side = 0; side < 2 * static_cast<std::size_t>(mesh.dimension); ++side)
        found = found || lies_on(mesh.elements[e], f, side);
      if (!found) return false;
    }
  return true;
}

/// True where cos(k x) and sin(k x) along each axis are the same on both of all pairs of periodic sides.
bool has_periods(const simplex_mesh& mesh, const std::array<double, 3>& k) {
  for (const vertex_pairs& pairs : mesh.periodic)
    for (const auto& [from, to] : pairs)
      for (std::size_t i = 0; i < static_cast<std::size_t>(mesh.dimension); ++i) {
        const double waves =
            k[i] * (mesh.vertices[static_cast<std::size_t>(to)][i] - mesh.vertices[static_cast<std::size_t>(from)][i]) /
            (2.0 * std::numbers::pi);
        if (!(std::abs(waves - std::round(waves)) <= 1e-6)) return false;
      }
  return true;
}

/// True where a group of the mesh is the one that an option names: by its name, or by its number.
bool is_named(const simplex_mesh& mesh, int dimension, int tag, const std::string& name) {
  if (name == std::to_string(tag)) return true;
  const auto found = mesh.names.find({dimension, tag});
  return found != mesh.names.end() && found->second == name;
}

/// What groups are given by an option, in the order of `tags`.
template <class Value>
std::vector<Value> by_group(const simplex_mesh& mesh, int dimension, const std::vector<int>& tags,
                            const std::vector<std::pair<std::string, Value>>& given, const Value& other,
                            const std::string& option) {
  std::vector<Value> values(tags.size(), other);
  for (const auto& [name, value] : given) {
    bool found = false;
    for (std::size_t i = 0; i < tags.size(); ++i)
      if (is_named(mesh, dimension, tags[i], name)) {
        values[i] = value;
        found = true;
      }
    if (found) continue;
    std::string there;
    auto sorted = tags;
    std::ranges::sort(sorted);
    for (const int tag : sorted) {
      const auto known = mesh.names.find({dimension, tag});
      there += (there.empty() ? "" : ", ") + (known == mesh.names.end() ? std::to_string(tag) : known->second);
    }
    throw input_error(
        fmt::format("{}: the mesh has no group '{}'; it has {}", option, printable(name), printable(there)));
  }
  return values;
}

bool has_boundary(const simplex_mesh& mesh) {
  return std::ranges::any_of(mesh.links, [&](const auto& links) {
    return std::any_of(links.begin(), links.begin() + mesh.faces(), [](const face_link& l) { return l.is_boundary(); });
  });
}

void require_uniform(const wave_case& c, const std::string& problem) {
  std::set<std::int16_t> used(c.mesh.materials.begin(), c.mesh.materials.end());
  for (const std::int16_t m : used)
    if (!(c.problem.media[static_cast<std::size_t>(m)] == c.problem.media[static_cast<std::size_t>(*used.begin())]))
      throw input_error("--problem " + problem +
                        ": expected one medium everywhere, found several (--problem pulse takes them)");
}

double length(const std::array<double, 3>& k) { return std::sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]); }

void choose_solution(wave_case& c, const nodal_dg_options& o) {
  const int dimension = c.mesh.dimension, fields = fields_of(c.problem.equations, dimension);
  const medium m = c.problem.media[static_cast<std::size_t>(c.mesh.materials.at(0))];
  box_sides box;
  for (std::size_t i = 0; i < 3; ++i) {
    box.low[i] = c.box[2 * i];
    box.high[i] = c.box[2 * i + 1];
  }
  if (o.problem == "standing") {
    require_uniform(c, o.problem);
    std::array<double, 3> k{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(dimension); ++i)
      k[i] = std::numbers::pi * o.modes[i] / (box.high[i] - box.low[i]);
    c.frequency = m.speed() * length(k);
    c.exact = c.problem.equations == wave_equations::acoustics ? standing_wave(box, o.modes, m, dimension)
              : c.problem.equations == wave_equations::maxwell ? cavity_mode(box, o.modes, o.polarisation, m)
                                                               : cavity_mode_tm(box, o.modes, m);
    c.initial = *c.exact;
    if (!fills(c.mesh, c.box)) c.why_not_exact = "the mesh does not fill its box (--box-sides)";
    if (!has_periods(c.mesh, k)) c.why_not_exact = "the mesh is periodic, and these modes are not";
    return;
  }
  std::array<double, 3> k = o.wave_vector;
  if (o.problem == "plane-wave") {
    require_uniform(c, o.problem);
    for (std::size_t i = 0; i < 3; ++i) {
      if (o.mesh.empty() && k[i] != std::round(k[i]))
        throw input_error(fmt::format("--wave-vector: expected whole waves in a periodic box, found {}", k[i]));
      k[i] *= 2.0 * std::numbers::pi / (box.high[i] - box.low[i]);
    }
    if (!has_periods(c.mesh, k))
      throw input_error(
          "--wave-vector: expected whole waves between the periodic sides of the mesh (--box-sides says which box is "
          "meant), found others");
    if (has_boundary(c.mesh) &&
        std::ranges::find(c.problem.boundaries, boundary_kind::incident) == c.problem.boundaries.end())
      throw input_error(
          "--problem plane-wave: expected a periodic mesh, or sides with --boundaries NAME:incident, found a mesh that "
          "ends");
    c.problem.incident = make_plane_wave(c.problem.equations, dimension, k, o.polarisation, m);
    c.exact = wave_function(c.problem.incident, fields);
    c.initial = *c.exact;
    c.frequency = m.speed() * length(c.problem.incident.wave_vector);
    return;
  }
  if (const double size = length(k); size > 0.0)
    for (double& x : k) x /= size;
  c.problem.incident = make_plane_wave(c.problem.equations, dimension, k, o.polarisation, m);
  c.problem.incident.form = plane_wave::shape::pulse;
  c.problem.incident.width = o.pulse_width;
  c.problem.incident.phase = -o.pulse_start;
  c.initial = wave_function(c.problem.incident, fields);
}

}  // namespace

std::array<double, 6> box_around(const simplex_mesh& mesh) {
  std::array<double, 6> box{};
  for (std::size_t i = 0; i < 3; ++i) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& corners : mesh.elements)
      for (std::size_t c = 0; c < static_cast<std::size_t>(mesh.faces()); ++c) {
        const double x = mesh.vertices[static_cast<std::size_t>(corners[c])][i];
        low = std::min(low, x);
        high = std::max(high, x);
      }
    box[2 * i] = low;
    box[2 * i + 1] = high;
  }
  return box;
}

mesh_sample sample_of_mesh(const nodal_dg_options& options) {
  constexpr double enough = 200'000;  // elements, made within a second
  mesh_sample sample{options};
  nodal_dg_options& o = sample.options;
  const bool is_flat = o.mesh.empty() ? o.box.size() == 2 : o.equations == "maxwell-tm";
  const double parts = is_flat ? 4.0 : 8.0;
  for (; o.refinements > (o.mesh.empty() ? 2 : 1); --o.refinements) {
    sample.elements *= parts;
    sample.element_length *= 0.5;
  }
  if (!o.mesh.empty()) return sample;
  const auto cells = [&] {
    double product = 1.0;
    for (const int n : o.box) product *= n;
    return product;
  };
  const double of_cell = (is_flat ? 2.0 : 6.0) * std::pow(parts, o.refinements);
  while (cells() * of_cell > enough && std::ranges::all_of(o.box, [](int n) { return n >= 8; })) {
    const double before = cells();
    for (int& n : o.box) n = (n + 1) / 2;
    sample.elements *= before / cells();
    sample.element_length *= std::pow(cells() / before, 1.0 / static_cast<double>(o.box.size()));
  }
  return sample;
}

wave_case make_case(const nodal_dg_options& o) {
  wave_case c;
  {
    const simplex_mesh mesh = make_mesh(o);
    c.file_numbers = curve_order(mesh);
    c.mesh = reordered(mesh, c.file_numbers);
  }
  c.box = o.mesh.empty() || o.box_sides_given ? o.box_sides : box_around(c.mesh);
  c.problem.equations = o.system();
  c.problem.upwinding = o.upwinding();
  c.problem.sources = o.sources;
  c.problem.media = by_group(c.mesh, c.mesh.dimension, c.mesh.material_tags, o.media, medium{}, "--media");
  c.problem.boundaries = by_group(c.mesh, c.mesh.dimension - 1, c.mesh.boundary_tags, o.boundaries,
                                  boundary_kind::reflecting, "--boundaries");
  choose_solution(c, o);
  const bool lets_in = std::ranges::find(c.problem.boundaries, boundary_kind::incident) != c.problem.boundaries.end();
  const bool all_reflect =
      std::ranges::all_of(c.problem.boundaries, [](boundary_kind k) { return k == boundary_kind::reflecting; });
  c.closed = !lets_in && o.sources.empty();
  if (o.problem == "standing" && !all_reflect) c.why_not_exact = "sides do not reflect";
  if (c.exact && !o.sources.empty()) c.why_not_exact = "there are sources";
  if (!c.why_not_exact.empty()) c.exact.reset();
  return c;
}

}  // namespace plaquette::nodal_dg
