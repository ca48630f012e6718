// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/wave_case.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "common/app/parse.hpp"
#include "common/error.hpp"
#include "common/mesh/box_mesh.hpp"
#include "common/mesh/gmsh_file.hpp"
#include "common/mesh/mesh_contact.hpp"
#include "common/mesh/mesh_part.hpp"

namespace plaquette::nodal_dg {

namespace {

std::string name_of_mesh(const nodal_dg_options& o) { return o.mesh.empty() ? "box mesh" : printable(o.mesh); }

/// The mesh as its file has it, refined.
simplex_mesh make_mesh(const nodal_dg_options& o, const stop_check& stop,
                       const std::function<void(double)>& before_refining) {
  simplex_mesh mesh;
  if (!o.mesh.empty()) {
    mesh = read_gmsh(o.mesh, o.equations == "maxwell" ? 3 : o.equations == "maxwell-tm" ? 2 : 0, stop);
    if (before_refining && o.refinements > 0)
      before_refining(static_cast<double>(mesh.size()) * std::pow(mesh.dimension == 3 ? 8.0 : 4.0, o.refinements));
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
    mesh = box_mesh(shape, stop);
  }
  for (int i = 0; i < o.refinements; ++i) mesh = refined(mesh, name_of_mesh(o) + ", refined", stop);
  return mesh;
}

/// Returns true if all sides of the mesh lie on sides of the box.
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

/// True if cos(k x) and sin(k x) along each axis are the same on both of all pairs of periodic sides.
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

std::string faces_text(std::int64_t number) { return fmt::format("{} face{}", number, number == 1 ? "" : "s"); }

/// Groups of one dimension. An option gives values to them by name, by number, or to the rest by "default".
class groups_of_mesh {
 public:
  groups_of_mesh(const simplex_mesh& mesh, int dimension, std::string file, std::string option)
      : mesh_(mesh), dimension_(dimension), file_(std::move(file)), option_(std::move(option)) {
    const bool are_sides = dimension < mesh.dimension;
    sets_ = are_sides ? &mesh.boundary_tags : &mesh.material_tags;
    members_.resize(sets_->size());
    for (std::size_t e = 0; e < mesh.elements.size(); ++e) {
      if (!are_sides) ++members_[static_cast<std::size_t>(mesh.materials[e])];
      for (int f = 0; f < mesh.faces() && are_sides; ++f)
        if (const face_link& link = mesh.links[e][static_cast<std::size_t>(f)]; link.is_boundary())
          ++members_[static_cast<std::size_t>(link.boundary)];
    }
    for (const auto& [group, name] : mesh.names) has_names_ = has_names_ || group.first == dimension;
    has_groups_ = has_names_ || sets_->size() > 1 || (are_sides && !mesh.inner_groups.empty());
  }

  bool has_groups() const { return has_groups_; }
  std::size_t sets() const { return sets_->size(); }
  const group_set& set(std::size_t i) const { return (*sets_)[i]; }
  std::int64_t members(std::size_t i) const { return members_[i]; }
  std::string what(std::int64_t number) const {
    const bool are_sides = dimension_ < mesh_.dimension;
    return fmt::format("{} {}{}", number, are_sides ? "side" : "element", number == 1 ? "" : "s");
  }
  /// The group's name, or its number.
  std::string name(int tag) const {
    const auto known = mesh_.names.find({dimension_, tag});
    return known == mesh_.names.end() ? std::to_string(tag) : known->second;
  }
  bool is_known(int tag) const { return !has_names_ || mesh_.names.contains({dimension_, tag}); }

  /// Returns the groups that a word names: all of this name, else the one of this number.
  std::set<int> tags_named(const std::string& word) const {
    std::set<int> tags;
    for (const auto& [group, name] : mesh_.names)
      if (group.first == dimension_ && name == word) tags.insert(group.second);
    if (!tags.empty()) return tags;
    for (const int tag : all_tags())
      if (word == std::to_string(tag)) tags.insert(tag);
    return tags;
  }
  /// Groups that are named, or that a face or an element is in.
  std::set<int> all_tags() const {
    std::set<int> tags;
    for (const group_set& s : *sets_) tags.insert(s.tags.begin(), s.tags.end());
    for (const auto& [group, name] : mesh_.names)
      if (group.first == dimension_) tags.insert(group.second);
    if (dimension_ < mesh_.dimension)
      for (const auto& [tag, faces] : mesh_.inner_groups) tags.insert(tag);
    return tags;
  }
  [[noreturn]] void refuse(const std::string& text) const {
    throw input_error(fmt::format("{}: {}: {}", option_, file_, text));
  }

  /// Refuses a word that names no group, or a group without members.
  void require_members(const std::string& word, const std::set<int>& tags) const {
    if (word == "0" && members_[0] > 0) return;
    std::int64_t members = 0;
    inner_faces inner;
    for (const int tag : tags) {
      for (std::size_t i = 0; i < sets(); ++i)
        if (std::ranges::binary_search(set(i).tags, tag)) members += members_[i];
      if (const auto found = mesh_.inner_groups.find(tag);
          found != mesh_.inner_groups.end() && dimension_ < mesh_.dimension) {
        inner.between_elements += found->second.between_elements;
        inner.periodic += found->second.periodic;
      }
    }
    if (members > 0) return;
    if (inner.between_elements > 0)
      refuse(fmt::format("group '{}' lies inside: waves pass its {}; expected a group of outer sides", printable(word),
                         faces_text(inner.between_elements)));
    if (inner.periodic > 0)
      refuse(fmt::format("group '{}' is periodic: what leaves by its {} enters opposite; expected other sides",
                         printable(word), faces_text(inner.periodic)));
    std::string there = members_[0] > 0 ? "0" : "";
    for (const int tag : all_tags()) there += (there.empty() ? "" : ", ") + name(tag);
    if (!tags.empty()) refuse(fmt::format("group '{}' has no members in the mesh", printable(word)));
    refuse(fmt::format("the mesh has no group '{}'; it has {}", printable(word),
                       there.empty() ? "none" : printable(there)));
  }

 private:
  const simplex_mesh& mesh_;
  int dimension_;
  std::string file_, option_;
  const std::vector<group_set>* sets_ = nullptr;
  std::vector<std::int64_t> members_;  ///< faces or elements of each set
  bool has_names_ = false, has_groups_ = false;
};

/// Returns the values that an option gives, by set of groups. Sets without a group in the option have `other`, or the
/// value of "default".
/// \param needs_all  refuse members without a known group, in a mesh that has groups, if there is no "default"
template <class Value>
std::vector<Value> by_group(const groups_of_mesh& groups, const std::vector<std::pair<std::string, Value>>& given,
                            const Value& other, bool needs_all, const std::string& example) {
  std::map<int, Value> of_tag;
  std::optional<Value> rest;
  for (const auto& [word, value] : given) {
    if (word == "default") {
      if (rest && !(*rest == value)) groups.refuse("expected one value of 'default', found two");
      rest = value;
      continue;
    }
    std::set<int> tags = groups.tags_named(word);
    groups.require_members(word, tags);
    if (tags.empty()) tags.insert(0);  // members without a group
    for (const int tag : tags)
      if (const auto at = of_tag.try_emplace(tag, value).first; !(at->second == value))
        groups.refuse(fmt::format("expected one value of group '{}', found two", printable(word)));
  }
  std::vector<Value> values(groups.sets(), rest.value_or(other));
  for (std::size_t i = 0; i < groups.sets(); ++i) {
    if (groups.members(i) == 0) continue;
    std::optional<int> decides;
    for (const int tag : groups.set(i).empty() ? std::vector<int>{0} : groups.set(i).tags) {
      const auto found = of_tag.find(tag);
      if (found == of_tag.end()) continue;
      if (decides && !(values[i] == found->second))
        groups.refuse(fmt::format("{} in the groups '{}' and '{}' are given two different values; expected one",
                                  groups.what(groups.members(i)), printable(groups.name(*decides)),
                                  printable(groups.name(tag))));
      decides = tag;
      values[i] = found->second;
    }
    const bool is_known = std::ranges::any_of(groups.set(i).tags, [&](int tag) { return groups.is_known(tag); });
    if (decides || rest || is_known || !needs_all || !groups.has_groups()) continue;
    if (groups.set(i).empty())
      groups.refuse(fmt::format("{} in no group, others in some: a hole? If that is meant: {}",
                                groups.what(groups.members(i)), example));
    groups.refuse(fmt::format("{} in group {}, which $PhysicalNames lacks. If that is meant: {}",
                              groups.what(groups.members(i)), groups.set(i).tags[0], example));
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

std::vector<std::string> remarks_on(const wave_case& c, const groups_of_mesh& sides) {
  std::vector<std::string> remarks;
  for (const std::string& text : c.mesh.remarks) remarks.push_back("mesh: " + text);
  for (const auto& [tag, faces] : c.mesh.inner_groups)
    if (faces.between_elements > 0)
      remarks.push_back(fmt::format("mesh: {} of group '{}' inside: waves pass there",
                                    faces_text(faces.between_elements), printable(sides.name(tag))));
  return remarks;
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
          "ends (" +
          name_of_mesh(o) + ")");
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

wave_case make_case(const nodal_dg_options& o, const stop_check& stop,
                    const std::function<void(double)>& before_refining) {
  wave_case c;
  {
    const simplex_mesh mesh = make_mesh(o, stop, before_refining);
    c.file_numbers = curve_order(mesh, stop);
    c.mesh = reordered(mesh, c.file_numbers, stop);
  }
  c.box = o.mesh.empty() || o.box_sides_given ? o.box_sides : box_around(c.mesh);
  c.problem.equations = o.system();
  c.problem.upwinding = o.upwinding();
  c.problem.sources = o.sources;
  const groups_of_mesh elements(c.mesh, c.mesh.dimension, name_of_mesh(o), "--media");
  c.problem.media = by_group(elements, o.media, medium{}, !o.media.empty(), "--media 'default:1,1'");
  const groups_of_mesh sides(c.mesh, c.mesh.dimension - 1, name_of_mesh(o), "--boundaries");
  c.problem.boundaries =
      by_group(sides, o.boundaries, boundary_kind::reflecting, !o.mesh.empty(), "--boundaries default:reflecting");
  c.remarks = remarks_on(c, sides);
  if (!o.mesh.empty() && !sides.has_groups() && o.boundaries.empty() && has_boundary(c.mesh)) {
    if (const std::int64_t cavities = c.mesh.periodic.empty() ? cavities_of(c.mesh) : 0; cavities > 0)
      sides.refuse(fmt::format("no groups of sides, and {} inside: meant? Then: --boundaries default:reflecting",
                               cavities == 1 ? "a cavity" : fmt::format("{} cavities", cavities)));
    c.remarks.push_back("mesh: no groups of sides: all reflect");
  }
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
