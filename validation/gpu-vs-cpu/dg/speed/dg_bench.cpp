// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/dg_bench.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <random>

#include "common/algorithms/precision.hpp"
#include "common/mesh/box_mesh.hpp"
#include "common/mesh/mesh_part.hpp"
#include "cpu_ref/dg/textbook.hpp"
#include "gpu/device/timing.hpp"

namespace plaquette::gpu::dg {

dg_domain make_speed_domain(int order, std::int64_t nodes) {
  const double cells = static_cast<double>(nodes) / (6.0 * nodes_of_order(3, order));
  const int side = std::max(2, static_cast<int>(std::cbrt(cells)));
  box_shape shape;
  shape.cells = {side, side, std::max(2, static_cast<int>(cells / (side * side)))};
  shape.periodic = {true, true, true};
  shape.high = {2.0, 2.0, 2.0};
  shape.shaking = 0.2;
  simplex_mesh mesh = box_mesh(shape);
  mesh = reordered(mesh, curve_order(mesh));
  return make_domain(mesh, std::vector<std::int32_t>(static_cast<std::size_t>(mesh.size()), 0), order, dg_problem{},
                     communicator());
}

template <class T, int fields>
stage_bench<T, fields>::stage_bench(const dg_domain& domain, const queue& q, const speed_options& options)
    : domain_(domain),
      queue_(q),
      options_(options),
      mesh_(q, domain),
      places_(std::int64_t{domain.elements()} * domain.nodes()) {
  domain_.problem.equations = fields == 6 ? wave_equations::maxwell : wave_equations::acoustics;
  domain_.fields = fields;
  const auto count = static_cast<std::size_t>(places_);
  in_ = device_array<values>(q, count);
  out_ = device_array<values>(q, count);
  residual_ = device_array<values>(q, count);
  std::uint64_t random = 88172645463325252U;
  const auto number = [&] {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    return static_cast<T>(static_cast<double>(random >> 11) * 0x1p-52 - 1.0);
  };
  start_.resize(count);
  register_.resize(count);
  for (auto& v : start_)
    for (T& x : v.f) x = number();
  for (auto& v : register_)
    for (T& x : v.f) x = number();
  expected_.resize(count);
  expected_register_.resize(count);
  fill();
  const auto gather = make_gather_launcher<T, fields>(domain_.problem.equations);
  gather->run(q, {mesh_.arrays(), in_.data(), out_.data(), residual_.data(), places_, 1, 0, domain.elements(), T(0.5),
                  T(0.25), T(1)});
  copy_to_host(q, expected_.data(), out_.data(), out_.bytes());
  copy_to_host(q, expected_register_.data(), residual_.data(), residual_.bytes());
  for (const auto& v : expected_register_)
    for (const T x : v.f) largest_ = std::max(largest_, std::abs(static_cast<double>(x)));
  compare_with_textbook();
}

template <class T, int fields>
void stage_bench<T, fields>::fill() {
  copy_to_device(queue_, in_.data(), start_.data(), in_.bytes());
  copy_to_device(queue_, residual_.data(), register_.data(), residual_.bytes());
  fill_bytes(queue_, out_.data(), 0xff, out_.bytes());
}

/// Sums of some 3 Np + 4 Nfp terms, each rounded by u, add in another order. Fused kernels work in the coordinates of
/// the element, which for flat elements are far from orthogonal: terms are larger by the condition of the map.
template <class T, int fields>
double stage_bench<T, fields>::allowed_error() const {
  double condition = 1.0;
  for (const element_geometry& g : domain_.geometry) {
    double squares = 0.0, inverse = 0.0;
    for (std::size_t a = 0; a < 3; ++a) {
      const auto &b = g.metric[(a + 1) % 3], &c = g.metric[(a + 2) % 3];
      for (std::size_t x = 0; x < 3; ++x) {
        const double e = g.jacobian * (b[(x + 1) % 3] * c[(x + 2) % 3] - b[(x + 2) % 3] * c[(x + 1) % 3]);
        squares += g.metric[a][x] * g.metric[a][x];
        inverse += e * e;
      }
    }
    condition = std::max(condition, std::sqrt(squares * inverse) / 3.0);
  }
  const double terms = 3.0 * domain_.nodes() + 4.0 * domain_.reference.face_nodes;
  return condition * std::sqrt(terms) * unit_roundoff(sizeof(T) == 8 ? precision::double_ : precision::single);
}

template <class T, int fields>
void stage_bench<T, fields>::compare_with_textbook() {
  const auto nodes = static_cast<std::size_t>(domain_.nodes()), count = static_cast<std::size_t>(places_);
  std::vector<double> state(count * fields);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t f = 0; f < fields; ++f) state[f * count + i] = static_cast<double>(start_[i].f[f]);
  double worst = 0.0;
  std::mt19937 generator(7);
  for (int sample = 0; sample < 24; ++sample) {
    const auto e = sample == 0   ? 0
                   : sample == 1 ? domain_.elements() - 1
                                 : static_cast<std::int32_t>(generator() % static_cast<unsigned>(domain_.elements()));
    const std::vector<double> rhs = cpu::textbook_right_hand_side(domain_, state, {}, 0.0, e);
    for (std::size_t n = 0; n < nodes; ++n)
      for (std::size_t f = 0; f < fields; ++f) {
        const std::size_t i = static_cast<std::size_t>(e) * nodes + n;
        const double expected = 0.5 * static_cast<double>(register_[i].f[f]) + rhs[f * nodes + n];
        const double error = std::abs(expected - static_cast<double>(expected_register_[i].f[f]));
        if (!(error <= worst)) worst = error;
      }
  }
  const double tolerance = 64.0 * unit_roundoff(sizeof(T) == 8 ? precision::double_ : precision::single);
  std::printf("%s%d N%d K %d nodes %.2fM: gather against textbook %.1e %s\n", fields == 6 ? "M" : "A",
              static_cast<int>(sizeof(T)) * 8, domain_.reference.order, domain_.elements(),
              static_cast<double>(places_) * 1e-6, worst / largest_, worst <= tolerance * largest_ ? "ok" : "WRONG");
  std::fflush(stdout);
}

template <class T, int fields>
void stage_bench<T, fields>::run(const std::string& name, const maker& make) {
  if (!options_.only.empty() && name.find(options_.only) == std::string::npos) return;
  const char* const label = fields == 6 ? "M" : "A";
  const int bits = static_cast<int>(sizeof(T)) * 8, order = domain_.reference.order;
  try {
    const auto launcher = make();
    fill();
    const auto stage = [&](const values* in, values* out, T a, T b, T dt) {
      launcher->run(queue_, {mesh_.arrays(), in, out, residual_.data(), places_, 1, 0, domain_.elements(), a, b, dt});
    };
    stage(in_.data(), out_.data(), T(0.5), T(0.25), T(1));
    std::vector<values> out(start_.size()), residual(start_.size());
    copy_to_host(queue_, out.data(), out_.data(), out_.bytes());
    copy_to_host(queue_, residual.data(), residual_.data(), residual_.bytes());
    double worst = 0.0;
#pragma omp parallel for reduction(max : worst)
    for (std::size_t i = 0; i < out.size(); ++i)
      for (int f = 0; f < fields; ++f) {
        const double e1 = std::abs(static_cast<double>(out[i].f[f]) - static_cast<double>(expected_[i].f[f]));
        const double e2 =
            std::abs(static_cast<double>(residual[i].f[f]) - static_cast<double>(expected_register_[i].f[f]));
        const double e = e1 + e2;
        worst = std::max(worst, std::isfinite(e) ? e : HUGE_VAL);
      }
    const double tolerance = allowed_error();
    if (!(worst <= tolerance * largest_)) {
      std::printf("%s%d N%d %-28s err %.1e WRONG\n", label, bits, order, name.c_str(), worst / largest_);
      std::fflush(stdout);
      return;
    }
    std::vector<double> seconds;
    values *from = out_.data(), *to = in_.data();
    for (int s = 0; s < options_.samples; ++s)
      seconds.push_back(seconds_a_launch(queue_, options_.stages, [&] {
        stage(from, to, T(-0.4), T(0.1), T(1e-6));
        std::swap(from, to);
      }));
    std::sort(seconds.begin(), seconds.end());
    const double nodes = static_cast<double>(places_), speed = nodes / seconds.front() * 1e-9;
    const double bytes = 4.0 * fields * sizeof(T) * speed;
    const double multiply_adds = fields == 6 ? 12.0 * domain_.nodes() + 8.0 * domain_.reference.face_nodes
                                             : 6.0 * domain_.nodes() + 4.0 * domain_.reference.face_nodes;
    std::printf("%s%d N%d %-28s err %.0e %6.2f (%5.2f) Gn/s %4.1f TF %4.0f GB/s %2.0f%%\n", label, bits, order,
                name.c_str(), worst / largest_, speed, nodes / seconds[seconds.size() / 2] * 1e-9,
                2e-3 * multiply_adds * speed, bytes,
                options_.copy_gbytes > 0.0 ? 100.0 * bytes / options_.copy_gbytes : 0.0);
    if (speed > best_speed_) best_speed_ = speed, best_name_ = name;
  } catch (const std::exception& error) {
    std::printf("%s%d N%d %-28s %s\n", label, bits, order, name.c_str(), error.what());
  }
  std::fflush(stdout);
}

template <class T, int fields>
std::string stage_bench<T, fields>::best() const {
  char line[128];
  std::snprintf(line, sizeof line, "BEST %s%d N%d %6.2f %s", fields == 6 ? "M" : "A", static_cast<int>(sizeof(T)) * 8,
                domain_.reference.order, best_speed_, best_name_.c_str());
  return line;
}

template class stage_bench<float, 4>;
template class stage_bench<double, 4>;
template class stage_bench<float, 6>;
template class stage_bench<double, 6>;

}  // namespace plaquette::gpu::dg
