// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dg/dg_plan.hpp"

#include <algorithm>
#include <cmath>

namespace plaquette::cpu {

namespace {

using vector3 = std::array<double, 3>;

vector3 cross(const vector3& a, const vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double dot(const vector3& a, const vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

dense_matrix scaled(dense_matrix m, double factor) {
  for (double& x : m.values) x *= factor;
  return m;
}

/// Edges of an element over 2: the columns d(x, y, z) / d(r_a) of the affine map.
std::array<vector3, 3> covariant_basis(const std::array<vector3, 4>& corners) {
  std::array<vector3, 3> basis{};
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t i = 0; i < 3; ++i) basis[a][i] = 0.5 * (corners[a + 1][i] - corners[0][i]);
  return basis;
}

/// Two directions that make a right-handed orthonormal frame with n, the first from corner i to corner j of a face.
std::array<vector3, 2> tangents_of(const vector3& n, const std::array<vector3, 4>& corners, int face, std::size_t i,
                                   std::size_t j) {
  const auto of_face = corners_of_face(3, face);
  const auto &from = corners[static_cast<std::size_t>(of_face[i])], &to = corners[static_cast<std::size_t>(of_face[j])];
  vector3 first{to[0] - from[0], to[1] - from[1], to[2] - from[2]};
  const double length = std::sqrt(dot(first, first));
  for (double& x : first) x /= length;
  return {first, cross(n, first)};
}

/// Corner of a face that lies on corner `there` of its neighbour's.
std::size_t corner_behind(const face_link& link, int there) {
  const auto& permutation = face_permutations[link.orientation];
  return static_cast<std::size_t>(std::ranges::find(permutation, there) - std::begin(permutation));
}

/// How a trace of the neighbour's is read in this element's frame t: (a, b, c) such that its tangential vector with
/// components (w_0, w_1) there has the components (a w_0 + b w_1, b w_0 + c w_1) here. The frames have opposite
/// normals, so that c = -a but for walls, behind which lies the element's own trace, reversed.
vector3 rotation_of(const std::array<vector3, 2>& t, const vector3& n, const std::array<vector3, 4>& corners, int face,
                    const face_link& link) {
  if (link.is_boundary()) return {-1.0, 0.0, -1.0};
  const auto there = tangents_of({-n[0], -n[1], -n[2]}, corners, face, corner_behind(link, 0), corner_behind(link, 1));
  return {dot(t[0], there[0]), dot(t[1], there[0]), dot(t[1], there[1])};
}

/// Returns the trace of a wave outside behind a face, as a neighbour with this face's frame mirrored, -n, t_0, -t_1,
/// and the impedance z would write it: dg_trace_components as sums over kernel fields.
std::array<std::array<double, most_fields>, 4> outside_trace(dg_system system, bool central, const vector3& n,
                                                             const std::array<vector3, 2>& t, double z) {
  std::array<std::array<double, most_fields>, 4> w{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (system != dg_system::maxwell) {
      w[central ? 1 : 0][i + 1] = central ? -n[i] : -z * n[i];
      continue;
    }
    w[0][i + 3] = t[0][i];
    w[1][i + 3] = -t[1][i];
    w[central ? 2 : 1][i] = central ? t[0][i] : -z * t[0][i];
    w[central ? 3 : 0][i] = central ? -t[1][i] : -z * t[1][i];
  }
  if (system != dg_system::maxwell) w[0][0] = 1.0;
  return w;
}

}  // namespace

dg_field_map field_map_of(wave_equations equations, int dimension) {
  switch (equations) {
    case wave_equations::acoustics:
      return {dimension == 2 ? dg_system::acoustics_2d : dg_system::acoustics_3d,
              dimension + 1,
              {0, 1, 2, 3, 0, 0},
              {1, 1, 1, 1, 0, 0}};
    case wave_equations::maxwell:
      return {dg_system::maxwell, 6, {0, 1, 2, 3, 4, 5}, {1, 1, 1, 1, 1, 1}};
    default:
      return {dg_system::acoustics_2d, 3, {2, 1, 0, 0, 0, 0}, {1, -1, 1, 0, 0, 0}};
  }
}

template <class T>
dg_plan<T>::dg_plan(const dg_domain& domain, const dg_kernel_table<T>& kernels, const stop_check& stop)
    : map(field_map_of(domain.problem.equations, domain.reference.dimension)),
      central(domain.problem.upwinding != 1.0),
      block(kernels.block()),
      blocks((domain.elements() + block - 1) / block),
      interior_blocks(domain.part.interior / block),
      components(dg_trace_components(map.system, central)),
      slot_words(components * domain.reference.face_nodes),
      element_words(std::max(kernels.width, slot_words * domain.reference.faces())),
      nodes_(domain.nodes()),
      face_nodes_(domain.reference.face_nodes),
      faces_(domain.reference.faces()),
      face_node_(domain.reference.face_node),
      matching_(domain.reference.matching) {
  if (domain.part.interior == domain.elements()) interior_blocks = blocks;
  make_matrices(domain, kernels.panel_rows);
  paced_stop pace(stop);
  make_slots(domain, pace);
  make_constants(domain, pace);
  make_sources(domain);
}

template <class T>
panel_matrix<T> dg_plan<T>::packed(const std::vector<dense_matrix>& segments, int panel_rows) {
  panel_matrix<T> m;
  m.rows = segments[0].rows;
  m.depth = segments[0].columns;
  m.segments = static_cast<int>(segments.size());
  m.panels = (m.rows + panel_rows - 1) / panel_rows;
  aligned_buffer<T> values(static_cast<std::size_t>(m.rows) * static_cast<std::size_t>(m.depth * m.segments));
  T* to = values.data();
  for (int p = 0, row = 0; p < m.panels; ++p) {
    const int rows = m.rows / m.panels + (p < m.rows % m.panels ? 1 : 0);
    for (const dense_matrix& segment : segments)
      for (int k = 0; k < m.depth; ++k)
        for (int r = 0; r < rows; ++r) *to++ = static_cast<T>(segment(row + r, k));
    row += rows;
  }
  m.values = values.data();
  matrices_.push_back(std::move(values));
  return m;
}

template <class T>
void dg_plan<T>::make_matrices(const dg_domain& domain, int panel_rows) {
  const reference_element& ref = domain.reference;
  const auto& d = ref.derivative;
  if (map.system == dg_system::maxwell) {
    for (std::size_t a = 0; a < 3; ++a) curl_[a] = packed({d[(a + 1) % 3], scaled(d[(a + 2) % 3], -1.0)}, panel_rows);
  } else {
    const auto directions = static_cast<std::size_t>(ref.dimension);
    divergence_ = packed({d.begin(), d.begin() + ref.dimension}, panel_rows);
    dense_matrix stacked(ref.dimension * ref.nodes, ref.nodes);
    for (std::size_t a = 0; a < directions; ++a)
      std::ranges::copy(d[a].values, stacked.values.begin() + static_cast<std::ptrdiff_t>(a * d[a].values.size()));
    gradient_ = packed({stacked}, panel_rows);
  }
  for (int face = 0; face < ref.faces(); ++face) {
    dense_matrix lift(ref.nodes, ref.face_nodes);
    for (int n = 0; n < ref.nodes; ++n)
      for (int m = 0; m < ref.face_nodes; ++m) lift(n, m) = ref.lift(n, face * ref.face_nodes + m);
    lift_[static_cast<std::size_t>(face)] = packed({lift}, panel_rows);
  }
}

/// Lists slots in this order: of all elements and faces here, lanes without an element included; of the halo; of faces
/// with an incident wave. The last is one of zeros, behind absorbing faces and lanes without an element.
template <class T>
void dg_plan<T>::make_slots(const dg_domain& domain, paced_stop& pace) {
  halo_slot = blocks * block * faces_;
  const std::int64_t incident_slot = halo_slot + domain.part.halo_faces;
  std::int64_t incident_faces = 0;
  for (const auto& links : domain.part.links)
    for (int f = 0; f < faces_; ++f) {
      const face_link& link = links[static_cast<std::size_t>(f)];
      if (link.is_boundary() && domain.boundary_of(link) == boundary_kind::incident) ++incident_faces;
    }
  const std::int64_t zero_slot = incident_slot + incident_faces;
  slots = zero_slot + 1;
  slots_.assign(static_cast<std::size_t>(halo_slot), static_cast<std::int32_t>(zero_slot));
  reversed_.assign(slots_.size(), 0);
  bool any_reversed = false;
  for (std::int32_t e = 0; e < domain.elements(); ++e, pace())
    for (int f = 0; f < faces_; ++f) {
      const face_link& link = domain.part.links[static_cast<std::size_t>(e)][static_cast<std::size_t>(f)];
      const auto place = static_cast<std::size_t>((std::int64_t{e} / block * faces_ + f) * block + e % block);
      std::int64_t slot = zero_slot;
      if (link.is_halo())
        slot = halo_slot + link.halo_face();
      else if (!link.is_boundary())
        slot = std::int64_t{link.element} * faces_ + link.face;
      else if (domain.boundary_of(link) == boundary_kind::reflecting)
        slot = std::int64_t{e} * faces_ + f;
      else if (domain.boundary_of(link) == boundary_kind::incident) {
        slot = incident_slot + static_cast<std::int64_t>(incident.size());
        incident.push_back({e, f, static_cast<std::int32_t>(slot), {}});
      }
      slots_[place] = static_cast<std::int32_t>(slot);
      reversed_[place] = link.is_boundary() ? std::uint8_t{0} : static_cast<std::uint8_t>(link.orientation);
      any_reversed = any_reversed || reversed_[place] != 0;
    }
  if (!any_reversed) reversed_.clear();
}

template <class T>
void dg_plan<T>::make_constants(const dg_domain& domain, paced_stop& pace) {
  const int words = dg_constants::words(map.system, faces_);
  constants_ = aligned_buffer<T>(static_cast<std::size_t>(blocks * block * words));
  std::fill_n(constants_.data(), constants_.size(), T{0});
  const bool is_maxwell = map.system == dg_system::maxwell;
  const bool soft_walls = domain.problem.equations == wave_equations::maxwell_tm;
  auto next_incident = incident.begin();
  for (std::int32_t e = 0; e < domain.elements(); ++e, pace()) {
    T* to = constants_.data() + std::int64_t{e} / block * words * block + e % block;
    const auto put = [to, this](int i, double x) { to[i * block] = static_cast<T>(x); };
    const auto element = static_cast<std::size_t>(e);
    const element_geometry& g = domain.geometry[element];
    const auto& corners = domain.corners[element];
    const medium& m = domain.media[element];
    const double z = m.impedance();
    const auto basis = covariant_basis(corners);
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t i = 0; i < 3; ++i) put(static_cast<int>(3 * a + i), is_maxwell ? basis[a][i] : g.metric[a][i]);
    const double signed_jacobian = is_maxwell ? dot(basis[0], cross(basis[1], basis[2])) : 1.0;
    put(9, -1.0 / (signed_jacobian * (is_maxwell ? m.second : m.first)));
    put(10, is_maxwell ? 1.0 / (signed_jacobian * m.first) : -1.0 / m.second);
    put(11, z);
    put(12, central ? 1.0 : (is_maxwell ? 1.0 : -1.0) / z);
    for (int f = 0; f < faces_; ++f) {
      const auto face = static_cast<std::size_t>(f);
      const face_link& link = domain.part.links[element][face];
      const bool wall = link.is_boundary() && domain.boundary_of(link) == boundary_kind::reflecting;
      const double alpha = link.is_boundary() && !wall ? 1.0 : domain.problem.upwinding;
      const double z_behind = domain.impedance_behind[element][face], sum = z + z_behind;
      const double of_first = g.face_scale[face] / m.first, of_second = g.face_scale[face] / m.second;
      const vector3& n = g.normal[face];
      const auto t = is_maxwell ? tangents_of(n, corners, f, 0, 1) : std::array<vector3, 2>{};
      vector3 rotation = {wall && soft_walls ? -1.0 : 1.0, 0.0, 0.0};  // acoustics: the mirror
      if (is_maxwell) rotation = rotation_of(t, n, corners, f, link);
      if (next_incident != incident.end() && next_incident->element == e && next_incident->face == f) {
        next_incident->weights = outside_trace(map.system, central, n, t, z_behind);
        rotation = {1.0, 0.0, -1.0};
        ++next_incident;
      }
      if (!central)
        for (double& x : rotation) x *= of_first / sum;

      const int k = is_maxwell ? dg_constants::maxwell_faces + f * dg_constants::maxwell_face
                               : dg_constants::acoustics_faces + f * dg_constants::acoustics_face;
      const int factors = k + (is_maxwell ? 6 : 3), central_factors = factors + (is_maxwell ? 5 : 3);
      for (int i = 0; i < 3; ++i) {
        const auto at = static_cast<std::size_t>(i);
        put(k + i, is_maxwell ? t[0][at] : n[at]);
        if (is_maxwell) put(k + 3 + i, t[1][at]);
        if (is_maxwell || i == 0) put(factors + 2 + i, rotation[at]);
      }
      put(factors, of_first * alpha / sum);
      put(factors + 1, of_first * z_behind / sum);
      put(central_factors, of_second * alpha * z * z_behind / sum);
      put(central_factors + 1, of_second * z / sum);
      if (is_maxwell) put(central_factors + 2, wall ? -1.0 : 1.0);
    }
  }
}

template <class T>
void dg_plan<T>::make_sources(const dg_domain& domain) {
  for (const placed_source& s : domain.sources) {
    dg_kernel_source<T> source;
    source.block = s.element / block;
    source.lane = s.element % block;
    double scale = 1.0;
    for (int i = 0; i < map.fields; ++i)
      if (map.from[static_cast<std::size_t>(i)] == s.source.field) {
        source.field = i;
        scale = map.sign[static_cast<std::size_t>(i)];
      }
    const medium& m = domain.media[static_cast<std::size_t>(s.element)];
    const bool first = map.system == dg_system::maxwell ? source.field >= 3 : source.field == 0;
    scale /= first ? m.first : m.second;
    for (const double w : s.weights) source_weights.push_back(static_cast<T>(scale * w));
    sources.push_back(source);
  }
  for (std::size_t i = 0; i < sources.size(); ++i)
    sources[i].weights = source_weights.data() + i * static_cast<std::size_t>(nodes_);
}

template <class T>
dg_stage_arguments<T> dg_plan<T>::arguments() const {
  dg_stage_arguments<T> s;
  s.nodes = nodes_;
  s.face_nodes = face_nodes_;
  s.fields = map.fields;
  s.faces = faces_;
  s.divergence = divergence_;
  s.gradient = gradient_;
  for (std::size_t a = 0; a < 3; ++a) s.curl[a] = curl_[a];
  for (std::size_t f = 0; f < most_faces; ++f) s.lift[f] = lift_[f];
  s.face_node = face_node_.data();
  s.matching = matching_.data();
  s.constants = constants_.data();
  s.slots = slots_.data();
  s.reversed = reversed_.empty() ? nullptr : reversed_.data();
  s.element_words = element_words;
  return s;
}

template class dg_plan<float>;
template class dg_plan<double>;

}  // namespace plaquette::cpu
