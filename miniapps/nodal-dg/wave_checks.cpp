// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/wave_checks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "cpu_ref/dg/textbook.hpp"
#include "miniapps/nodal-dg/step_judge.hpp"

namespace plaquette::nodal_dg {

double energy_norm(const dg_domain& domain, std::span<const double> state) {
  return std::sqrt(2.0 * energy_of(domain, state, 1)[0]);
}

double truncation_error(const dg_domain& domain, const wave_case& waves, std::span<const std::int32_t> drawn) {
  const double w = waves.frequency;
  const double weight =
      std::sqrt(static_cast<double>(domain.elements()) / static_cast<double>(std::max<std::size_t>(drawn.size(), 1)));
  double squares = 0.0;
  for (const double t : {0.0, 0.5 * std::numbers::pi / w}) {
    const double h = 1e-3 / w;  // (q(t + h) - q(t - h)) / (2 h) = q_t sin(w h) / (w h) exactly
    const auto now = sample(domain, *waves.exact, t);
    const auto halo = cpu::halo_traces(domain, now);
    std::vector<double> left(now.size());
#pragma omp parallel for schedule(dynamic)
    for (const std::int32_t e : drawn) {
      const auto rhs = cpu::textbook_right_hand_side(domain, now, halo, t, e);
      for (int n = 0; n < domain.nodes(); ++n) {
        std::array<double, most_fields> after{}, before{};
        (*waves.exact)(domain.node_position(e, n), t + h, after);
        (*waves.exact)(domain.node_position(e, n), t - h, before);
        for (std::size_t f = 0; f < static_cast<std::size_t>(domain.fields); ++f) {
          const auto i =
              static_cast<std::size_t>((static_cast<std::int64_t>(f) * domain.elements() + e) * domain.nodes() + n);
          left[i] = weight * (rhs[f * static_cast<std::size_t>(domain.nodes()) + static_cast<std::size_t>(n)] -
                              (after[f] - before[f]) * w / (2.0 * std::sin(w * h)));
        }
      }
    }
    const double norm = energy_norm(domain, left);
    squares += norm * norm;
  }
  return std::sqrt(squares);
}

void require_seen(const dg_domain& domain, const wave_case& waves) {
  constexpr std::int32_t enough = 2000;
  const std::int32_t stride = (domain.elements() / enough) | 1;
  const std::vector<double> nothing(static_cast<std::size_t>(domain.state_size()));
  const auto errors = errors_of(domain, nothing, *waves.exact, 0.0, stride);
  const medium& m = domain.problem.media[static_cast<std::size_t>(waves.mesh.materials.at(0))];
  double square = 0.0;
  for (std::size_t f = 0; f < errors.fine.size(); ++f)
    square += std::min(m.first, m.second) * errors.fine[f] * errors.fine[f];
  if (energy_norm(domain, sample(domain, *waves.exact, 0.0, stride)) < 0.1 * std::sqrt(square))
    throw input_error(
        "--modes: expected a wave that the nodes of the mesh can hold, found one that is zero at nearly all of them: "
        "refine the mesh, or raise --order");
}

double mismatch_of(const simplex_mesh& mesh) {
  double worst = 0.0;
  if (mesh.periodic.empty()) return worst;
  for (std::int32_t e = 0; e < static_cast<std::int32_t>(mesh.size()); ++e)
    for (int f = 0; f < mesh.faces(); ++f) {
      const face_link& link = mesh.links[static_cast<std::size_t>(e)][static_cast<std::size_t>(f)];
      if (link.is_boundary()) continue;
      const auto here = corners_of_face(mesh.dimension, f), there = corners_of_face(mesh.dimension, link.face);
      std::array<double, 3> first{};
      double farthest = 0.0;
      for (std::size_t c = 0; c < static_cast<std::size_t>(mesh.dimension); ++c) {
        const auto corner = [&mesh](std::int32_t element, int number) -> const std::array<double, 3>& {
          return mesh.vertices[static_cast<std::size_t>(
              mesh.elements[static_cast<std::size_t>(element)][static_cast<std::size_t>(number)])];
        };
        const int other = mesh.dimension == 2 && link.orientation != 0
                              ? 1 - static_cast<int>(c)
                              : face_permutations[static_cast<std::size_t>(link.orientation)][c];
        const auto& x = corner(e, here[c]);
        const auto& y = corner(link.element, there[static_cast<std::size_t>(other)]);
        for (std::size_t i = 0; i < 3; ++i) {
          if (c == 0) first[i] = y[i] - x[i];
          farthest = std::max(farthest, std::abs(y[i] - x[i] - first[i]));
        }
      }
      if (farthest == 0.0) continue;
      const auto scale = std::ranges::max(geometry_of(mesh, e).face_scale);  // 2 / height
      worst = std::max(worst, 0.25 * scale * farthest);
    }
  return worst;
}

double roundings_of_fluxes(const dg_domain& domain) {
  const reference_element& ref = domain.reference;
  const double count = domain.problem.equations == wave_equations::acoustics ? 17.0 : 27.0;
  double largest = 0.0;
  for (int n = 0; n < ref.nodes; ++n) {
    double squares = 0.0;
    for (int m = 0; m < ref.faces() * ref.face_nodes; ++m) squares += ref.lift(n, m) * ref.lift(n, m);
    largest = std::max(largest, squares);
  }
  return std::sqrt(2.0 * count * largest) / (0.5 * (ref.order + 1.0) * (ref.order + 1.0));
}

double rounding_of_energy(const dg_domain& domain) {
  return (16.0 * std::sqrt(static_cast<double>(domain.nodes())) +
          4.0 * std::sqrt(static_cast<double>(domain.global_elements))) *
         0x1p-53;
}

double distance_from_textbook(const dg_domain& domain, std::span<const double> states, int columns,
                              std::span<const double> rhs, double time, std::span<const std::int32_t> drawn) {
  const int nodes = domain.nodes();
  double worst = 0.0;
  for (int column = 0; column < columns; ++column) {
    const auto begin = static_cast<std::size_t>(column) * static_cast<std::size_t>(domain.state_size());
    const std::span<const double> state = states.subspan(begin, static_cast<std::size_t>(domain.state_size()));
    const auto halo = cpu::halo_traces(domain, state);
    double largest = 0.0;
    for (const double x : state) largest = std::max(largest, std::abs(x));
    domain.comm.maximum({&largest, 1});
    // A state of zeros says nothing: compare with the smallest number instead.
    largest = std::max(largest, 1e-30);
    std::vector<double> difference(drawn.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const std::int32_t e = drawn[i];
      const auto expected = cpu::textbook_right_hand_side(domain, state, halo, time, e);
      double scale = 0.0;
      for (const double s : domain.geometry[static_cast<std::size_t>(e)].face_scale) scale = std::max(scale, s);
      const medium& m = domain.media[static_cast<std::size_t>(e)];
      scale *= 0.5 * std::max({m.speed(), 1.0 / m.first, 1.0 / m.second}) * (domain.reference.order + 1.0) *
               (domain.reference.order + 1.0) * largest;
      for (int f = 0; f < domain.fields; ++f)
        for (int n = 0; n < nodes; ++n) {
          const double found =
              rhs[begin + static_cast<std::size_t>((std::int64_t{f} * domain.elements() + e) * nodes + n)];
          const double d = std::abs(found - expected[static_cast<std::size_t>(f * nodes + n)]) / scale;
          difference[i] = larger_or_nan(difference[i], d);
        }
    }
    for (const double d : difference) worst = larger_or_nan(worst, d);
  }
  domain.comm.maximum({&worst, 1});
  return worst;
}

double difference_of_columns(const dg_domain& domain, std::span<const double> states, int columns) {
  const auto size = static_cast<std::size_t>(domain.state_size());
  double worst = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(states[i]));
  for (int column = 1; column < columns; ++column)
    for (std::size_t i = 0; i < size; ++i) {
      const double d = std::abs(std::ldexp(states[static_cast<std::size_t>(column) * size + i], column) - states[i]);
      worst = larger_or_nan(worst, d);
    }
  std::array<double, 2> of_all{worst, largest};
  domain.comm.maximum(of_all);
  return of_all[0] / std::max(of_all[1], 1e-30);
}

double growth_of(const json_document& history, double growth_between) {
  double growth = growth_between, before = history[0][1].get<double>(), largest = before;
  for (const auto& line : history) {
    const double now = line[1].get<double>();
    keep_largest(largest, now);
    growth = std::isfinite(now) ? std::max(growth, (now - before) / std::max(largest, 1e-300)) : now;
    before = now;
  }
  return growth;
}

}  // namespace plaquette::nodal_dg
