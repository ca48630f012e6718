// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dg/textbook.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/algebra/compensated_sum.hpp"
#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"

namespace plaquette::cpu {

namespace {

using vector3 = std::array<double, 3>;
using field_values = std::array<double, most_fields>;

double dot(const vector3& a, const vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
vector3 cross(const vector3& a, const vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
vector3 operator+(const vector3& a, const vector3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
vector3 operator-(const vector3& a, const vector3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
vector3 operator*(double a, const vector3& b) { return {a * b[0], a * b[1], a * b[2]}; }

/// Places of a state, [field][element][node].
struct state_view {
  const dg_domain& domain;
  std::span<const double> numbers;
  double operator()(int field, std::int32_t element, int node) const {
    return numbers[(static_cast<std::size_t>(field) * static_cast<std::size_t>(domain.elements()) +
                    static_cast<std::size_t>(element)) *
                       static_cast<std::size_t>(domain.nodes()) +
                   static_cast<std::size_t>(node)];
  }
};

/// E and H of all Maxwell systems, and back; components that a system lacks are zero.
struct electromagnetic {
  vector3 h{}, e{};
};
electromagnetic unpacked(wave_equations equations, const field_values& q) {
  if (equations == wave_equations::maxwell) return {{q[0], q[1], q[2]}, {q[3], q[4], q[5]}};
  return {{q[0], q[1], 0.0}, {0.0, 0.0, q[2]}};
}
field_values packed(wave_equations equations, const electromagnetic& f) {
  if (equations == wave_equations::maxwell) return {f.h[0], f.h[1], f.h[2], f.e[0], f.e[1], f.e[2]};
  return {f.h[0], f.h[1], f.e[2]};
}

/// The jump q+ - q- across a face node. `inside` is q-.
field_values jump_at(const dg_domain& domain, const state_view& state, std::span<const double> halo, double t,
                     std::int32_t element, int face, int m, const field_values& inside) {
  const face_link& link = domain.part.links[static_cast<std::size_t>(element)][static_cast<std::size_t>(face)];
  const reference_element& ref = domain.reference;
  const int fields = domain.fields;
  field_values jump{};
  if (!link.is_boundary()) {
    const int there = ref.matching_node(link.orientation, m);
    for (int f = 0; f < fields; ++f) {
      const double outside =
          link.is_halo() ? halo[static_cast<std::size_t>((link.halo_face() * fields + f) * ref.face_nodes + there)]
                         : state(f, link.element, ref.node_of_face(link.face, there));
      jump[static_cast<std::size_t>(f)] = outside - inside[static_cast<std::size_t>(f)];
    }
    return jump;
  }
  const wave_equations equations = domain.problem.equations;
  const vector3& n = domain.geometry[static_cast<std::size_t>(element)].normal[static_cast<std::size_t>(face)];
  switch (domain.boundary_of(link)) {
    case boundary_kind::reflecting:
      if (equations == wave_equations::acoustics) {  // rigid wall: p+ = p-, n.u+ = -n.u-
        const double normal_velocity = dot(n, {inside[1], inside[2], fields == 4 ? inside[3] : 0.0});
        for (int i = 0; i + 1 < fields; ++i)
          jump[static_cast<std::size_t>(i) + 1] = -2.0 * normal_velocity * n[static_cast<std::size_t>(i)];
        return jump;
      }
      return packed(equations, {{}, -2.0 * unpacked(equations, inside).e});  // H+ = H-, E+ = -E-
    case boundary_kind::absorbing:
      for (std::size_t f = 0; f < static_cast<std::size_t>(fields); ++f) jump[f] = -inside[f];
      return jump;
    default:
      const plane_wave& wave = domain.problem.incident;
      const vector3 x = domain.node_position(element, ref.node_of_face(face, m));
      const double profile = wave.profile(wave.argument(x[0], x[1], x[2], t));
      for (std::size_t f = 0; f < static_cast<std::size_t>(fields); ++f)
        jump[f] = wave.amplitude[f] * profile - inside[f];
      return jump;
  }
}

/// The input of LIFT, without Fscale: n.(F - F*).
field_values flux(const dg_domain& domain, const vector3& n, double alpha, double z, double z_behind,
                  const field_values& d) {
  if (domain.problem.equations == wave_equations::acoustics) {
    const vector3 du{d[1], d[2], domain.fields == 4 ? d[3] : 0.0};
    const double dp = d[0], dn = dot(n, du);
    const double fp = (alpha * dp - z_behind * dn) / (z + z_behind);
    const vector3 fu = (z * (alpha * z_behind * dn - dp) / (z + z_behind)) * n;
    return {fp, fu[0], fu[1], fu[2]};
  }
  const auto [dh, de] = unpacked(domain.problem.equations, d);
  const double y = 1.0 / z, y_behind = 1.0 / z_behind;
  return packed(domain.problem.equations,
                {(1.0 / (y + y_behind)) * (alpha * (dh - dot(n, dh) * n) - y_behind * cross(n, de)),
                 (1.0 / (z + z_behind)) * (alpha * (de - dot(n, de) * n) + z_behind * cross(n, dh))});
}

/// -F's divergence from the gradients of all fields.
field_values minus_divergence(const dg_domain& domain, const std::array<vector3, most_fields>& gradient) {
  if (domain.problem.equations == wave_equations::acoustics) {
    const double divergence = gradient[1][0] + gradient[2][1] + (domain.fields == 4 ? gradient[3][2] : 0.0);
    return {-divergence, -gradient[0][0], -gradient[0][1], -gradient[0][2]};
  }
  std::array<vector3, 3> h{}, e{};  // gradients of the components
  if (domain.problem.equations == wave_equations::maxwell) {
    h = {gradient[0], gradient[1], gradient[2]};
    e = {gradient[3], gradient[4], gradient[5]};
  } else {
    h = {gradient[0], gradient[1], vector3{}};
    e = {vector3{}, vector3{}, gradient[2]};
  }
  const auto curl = [](const std::array<vector3, 3>& g) -> vector3 {
    return {g[2][1] - g[1][2], g[0][2] - g[2][0], g[1][0] - g[0][1]};
  };
  return packed(domain.problem.equations, {-1.0 * curl(e), curl(h)});
}

/// The constant before the time derivative of a field.
double storage(const dg_domain& domain, std::int32_t element, int field) {
  const medium& m = domain.media[static_cast<std::size_t>(element)];
  switch (domain.problem.equations) {
    case wave_equations::acoustics:
      return field == 0 ? m.first : m.second;
    case wave_equations::maxwell:
      return field < 3 ? m.second : m.first;
    default:
      return field < 2 ? m.second : m.first;
  }
}

class textbook_solver final : public dg_solver {
 public:
  textbook_solver(const dg_domain& domain, int columns)
      : domain_(domain),
        columns_(columns),
        state_(size() * static_cast<std::size_t>(columns)),
        register_(state_.size()),
        rhs_(state_.size()) {}

  int columns() const override { return columns_; }
  void set_state(std::span<const double> state, double time) override {
    std::ranges::copy(state, state_.begin());
    std::ranges::fill(register_, 0.0);
    time_ = time;
  }
  void get_state(std::span<double> state) const override { std::ranges::copy(state_, state.begin()); }
  void right_hand_side(std::span<double> rhs) override {
    evaluate(time_);
    std::ranges::copy(rhs_, rhs.begin());
  }
  void advance(std::int64_t steps, double dt) override {
    for (std::int64_t step = 0; step < steps; ++step) {
      for (int s = 0; s < lserk4::stages; ++s) {
        evaluate(time_ + lserk4::c[s] * dt);
        for (std::size_t i = 0; i < state_.size(); ++i) {
          register_[i] = lserk4::a[s] * register_[i] + dt * rhs_[i];
          state_[i] += lserk4::b[s] * register_[i];
        }
        ++timings_.stages;
      }
      time_ += dt;
    }
  }
  double time() const override { return time_; }
  std::vector<double> energy() const override { return energy_of(domain_, state_, columns_); }
  dg_timings timings() const override { return timings_; }
  void reset_timings() override { timings_ = {}; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(domain_.state_size()); }

  void evaluate(double t) {
    const int nodes = domain_.nodes();
    for (int column = 0; column < columns_; ++column) {
      const std::size_t begin = static_cast<std::size_t>(column) * size();
      const std::span<const double> state(state_.data() + begin, size());
      const auto halo = halo_traces(domain_, state);
      for (std::int32_t e = 0; e < domain_.elements(); ++e) {
        const auto rhs = textbook_right_hand_side(domain_, state, halo, t, e);
        for (int f = 0; f < domain_.fields; ++f)
          for (int n = 0; n < nodes; ++n)
            rhs_[begin + static_cast<std::size_t>((std::int64_t{f} * domain_.elements() + e) * nodes + n)] =
                rhs[static_cast<std::size_t>(f * nodes + n)];
      }
    }
  }

  const dg_domain& domain_;
  int columns_;
  std::vector<double> state_, register_, rhs_;
  double time_ = 0.0;
  dg_timings timings_;
};

}  // namespace

std::vector<double> halo_traces(const dg_domain& domain, std::span<const double> state) {
  const reference_element& ref = domain.reference;
  const state_view q{domain, state};
  const auto per_face = static_cast<std::size_t>(domain.fields * ref.face_nodes);
  std::vector<double> halo(per_face * static_cast<std::size_t>(domain.part.halo_faces)), out;
  out.reserve(halo.size());
  for (const mesh_peer& peer : domain.part.peers)
    for (const auto& [element, face] : peer.send)
      for (int f = 0; f < domain.fields; ++f)
        for (int m = 0; m < ref.face_nodes; ++m) out.push_back(q(f, element, ref.node_of_face(face, m)));
  std::vector<outgoing_message> send;
  std::vector<incoming_message> receive;
  for (const mesh_peer& peer : domain.part.peers) {
    const std::size_t begin = per_face * static_cast<std::size_t>(peer.first_halo_face);
    const std::size_t count = per_face * peer.send.size();
    send.push_back({peer.rank, 0, std::as_bytes(std::span(out).subspan(begin, count))});
    receive.push_back({peer.rank, 0, std::as_writable_bytes(std::span(halo).subspan(begin, count))});
  }
  domain.comm.start_exchange(send, receive).wait();
  return halo;
}

std::vector<double> textbook_right_hand_side(const dg_domain& domain, std::span<const double> state,
                                             std::span<const double> halo, double t, std::int32_t element) {
  const reference_element& ref = domain.reference;
  const element_geometry& geometry = domain.geometry[static_cast<std::size_t>(element)];
  const state_view q{domain, state};
  const int nodes = ref.nodes;
  const auto fields = static_cast<std::size_t>(domain.fields);
  std::vector<field_values> here(static_cast<std::size_t>(nodes)), rhs(here.size());
  for (int n = 0; n < nodes; ++n)
    for (int f = 0; f < domain.fields; ++f)
      here[static_cast<std::size_t>(n)][static_cast<std::size_t>(f)] = q(f, element, n);

  // Inside: derivatives by the chain rule, d/dx = rx Dr + sx Ds + tx Dt. All fields in one: the others are zero.
  for (int n = 0; n < nodes; ++n) {
    std::array<vector3, most_fields> gradient{};
    for (std::size_t a = 0; a < static_cast<std::size_t>(ref.dimension); ++a) {
      field_values along{};
      for (int m = 0; m < nodes; ++m) {
        const double derivative = ref.derivative[a](n, m);
        for (std::size_t f = 0; f < along.size(); ++f) along[f] += derivative * here[static_cast<std::size_t>(m)][f];
      }
      for (std::size_t f = 0; f < fields; ++f)
        for (std::size_t i = 0; i < 3; ++i) gradient[f][i] += geometry.metric[a][i] * along[f];
    }
    rhs[static_cast<std::size_t>(n)] = minus_divergence(domain, gradient);
  }

  // Faces: LIFT (Fscale flux).
  const double z = domain.media[static_cast<std::size_t>(element)].impedance();
  for (int face = 0; face < ref.faces(); ++face) {
    const auto at_face = static_cast<std::size_t>(face);
    const face_link& link = domain.part.links[static_cast<std::size_t>(element)][at_face];
    const bool open = link.is_boundary() && domain.boundary_of(link) != boundary_kind::reflecting;
    const double alpha = open ? 1.0 : domain.problem.upwinding;
    for (int m = 0; m < ref.face_nodes; ++m) {
      const field_values& inside = here[static_cast<std::size_t>(ref.node_of_face(face, m))];
      const field_values jump = jump_at(domain, q, halo, t, element, face, m, inside);
      const field_values through = flux(domain, geometry.normal[at_face], alpha, z,
                                        domain.impedance_behind[static_cast<std::size_t>(element)][at_face], jump);
      for (int n = 0; n < nodes; ++n) {
        const double weight = ref.lift(n, face * ref.face_nodes + m) * geometry.face_scale[at_face];
        for (std::size_t f = 0; f < through.size(); ++f) rhs[static_cast<std::size_t>(n)][f] += weight * through[f];
      }
    }
  }

  for (const placed_source& s : domain.sources)
    if (s.element == element)
      for (int n = 0; n < nodes; ++n)
        rhs[static_cast<std::size_t>(n)][static_cast<std::size_t>(s.source.field)] +=
            s.weights[static_cast<std::size_t>(n)] * s.source.at(t);
  std::vector<double> by_field;
  by_field.reserve(fields * rhs.size());
  for (std::size_t f = 0; f < fields; ++f) {
    const double constant = storage(domain, element, static_cast<int>(f));
    for (const field_values& of_node : rhs) by_field.push_back(of_node[f] / constant);
  }
  return by_field;
}

double energy_rate(const dg_domain& domain, std::span<const double> state, std::span<const double> halo, double t) {
  const reference_element& ref = domain.reference;
  const state_view q{domain, state};
  const wave_equations equations = domain.problem.equations;
  const auto face_nodes = static_cast<std::size_t>(ref.face_nodes);
  // E = M LIFT: integrals over a face of the reference element, of products of its nodes' polynomials.
  const dense_matrix over_faces = ref.mass * ref.lift;
  std::vector<double> of_element(static_cast<std::size_t>(domain.elements()));
#pragma omp parallel for schedule(static)
  for (std::int32_t e = 0; e < domain.elements(); ++e) {
    const auto element = static_cast<std::size_t>(e);
    const element_geometry& geometry = domain.geometry[element];
    const double z = domain.media[element].impedance();
    // A face's power is the integral of the sum of a_i b_i.
    std::vector<field_values> a(face_nodes), b(face_nodes);
    double sum = 0.0;
    for (int face = 0; face < ref.faces(); ++face) {
      const auto at_face = static_cast<std::size_t>(face);
      const vector3& n = geometry.normal[at_face];
      const face_link& link = domain.part.links[element][at_face];
      const bool open = link.is_boundary() && domain.boundary_of(link) != boundary_kind::reflecting;
      for (std::size_t m = 0; m < face_nodes; ++m) {
        const auto node = static_cast<int>(m);
        field_values inside{};
        for (int f = 0; f < domain.fields; ++f)
          inside[static_cast<std::size_t>(f)] = q(f, e, ref.node_of_face(face, node));
        const field_values through =
            flux(domain, n, open ? 1.0 : domain.problem.upwinding, z, domain.impedance_behind[element][at_face],
                 jump_at(domain, q, halo, t, e, face, node, inside));
        a[m] = inside;
        b[m] = through;
        if (equations == wave_equations::acoustics) {
          for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(domain.fields); ++i) b[m][i + 1] -= n[i] * inside[0];
        } else {
          auto [h, electric] = unpacked(equations, inside);  // -n.(E x H) = -E.(H x n)
          const field_values more = packed(equations, {{}, cross(n, h)});
          for (std::size_t f = 0; f < static_cast<std::size_t>(domain.fields); ++f) b[m][f] += more[f];
        }
      }
      double power = 0.0;
      for (std::size_t i = 0; i < face_nodes; ++i)
        for (std::size_t j = 0; j < face_nodes; ++j) {
          double product = 0.0;
          for (std::size_t f = 0; f < static_cast<std::size_t>(domain.fields); ++f) product += a[i][f] * b[j][f];
          power +=
              over_faces(ref.node_of_face(face, static_cast<int>(i)), face * ref.face_nodes + static_cast<int>(j)) *
              product;
        }
      sum += geometry.jacobian * geometry.face_scale[at_face] * power;
    }
    of_element[element] = sum;
  }
  // Between elements nearly all cancels: the rounding errors of additions would grow with their number.
  double rate = compensated_sum(of_element);
  for (const placed_source& s : domain.sources) {  // J q M w: the field where the source is
    const double jacobian = domain.geometry[static_cast<std::size_t>(s.element)].jacobian;
    for (int i = 0; i < ref.nodes; ++i)
      for (int j = 0; j < ref.nodes; ++j)
        rate += jacobian * q(s.source.field, s.element, i) * ref.mass(i, j) * s.weights[static_cast<std::size_t>(j)] *
                s.source.at(t);
  }
  return rate;
}

std::unique_ptr<dg_solver> make_textbook_dg_solver(const dg_domain& domain, int columns) {
  return std::make_unique<textbook_solver>(domain, columns);
}

}  // namespace plaquette::cpu
