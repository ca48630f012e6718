// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A stage of nodal DG: the fused kernel of an order; with `all` also the textbook's ways. Each is compared at all
/// nodes with the pure gather, which tests hold to the CPU.
///
///   kernel_bench dg acoustics|maxwell PRECISION ORDER [central] [nodes=MILLIONS] [all]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/dg/dg_solver.hpp"
#include "common/error.hpp"
#include "common/krylov/precision.hpp"
#include "common/mesh/box_mesh.hpp"
#include "common/mesh/mesh_part.hpp"
#include "gpu/dg/fused_launcher.hpp"
#include "gpu/dg/mesh_on_device.hpp"
#include "gpu/dg/stage_kernels.hpp"
#include "gpu/lab/kernel_bench.hpp"

namespace plaquette::gpu::dg {
namespace {

/// Makes a periodic box of about `nodes` nodes, elements in the order of a space-filling curve, vertices shaken.
dg_domain make_bench_domain(int order, std::int64_t nodes) {
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

/// One system, precision and order.
template <class T, int fields>
class stage_bench {
 public:
  using values = node_values<T, fields>;
  using maker = std::function<std::unique_ptr<stage_launcher<T, fields>>()>;

  stage_bench(const dg_domain& domain, const queue& q, lab::bench_report& report);
  void run(const std::string& name, const maker& make);
  void run_fused() {
    run("fused", [&] {
      return make_fused_launcher<T, fields>(domain_.reference, domain_.geometry, domain_.problem.upwinding == 1.0,
                                            queue_);
    });
  }
  void run_textbook_ways() {
    const wave_equations equations = domain_.problem.equations;
    run("gather", [&] { return make_gather_launcher<T, fields>(equations); });
    run("classic", [&] { return make_classic_launcher<T, fields>(equations, queue_, places_); });
    run("products",
        [&] { return make_products_launcher<T, fields>(equations, queue_, domain_.reference, domain_.elements()); });
  }

 private:
  void fill();
  double allowed_error() const;  ///< relative to the largest number

  dg_domain domain_;
  queue queue_;
  lab::bench_report& report_;
  mesh_on_device<T> mesh_;
  std::int64_t places_;
  std::vector<values> start_, register_, expected_, expected_register_;
  double largest_ = 0.0;
  device_array<values> in_, out_, residual_;
};

template <class T, int fields>
stage_bench<T, fields>::stage_bench(const dg_domain& domain, const queue& q, lab::bench_report& report)
    : domain_(domain),
      queue_(q),
      report_(report),
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

/// Prints a row: the error of a stage, and the time of the next ones.
template <class T, int fields>
void stage_bench<T, fields>::run(const std::string& name, const maker& make) {
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
      const double e =
          std::abs(static_cast<double>(out[i].f[f]) - static_cast<double>(expected_[i].f[f])) +
          std::abs(static_cast<double>(residual[i].f[f]) - static_cast<double>(expected_register_[i].f[f]));
      worst = std::max(worst, std::isfinite(e) ? e : HUGE_VAL);
    }
  const auto there_and_back = [&] {
    stage(out_.data(), in_.data(), T(-0.4), T(0.1), T(1e-6));
    stage(in_.data(), out_.data(), T(-0.4), T(0.1), T(1e-6));
  };
  const double seconds = lab::seconds_of_call(queue_, there_and_back, 2, lab::queueing::one_by_one);
  const double nodes = static_cast<double>(places_);
  const double multiply_adds = fields == 6 ? 12.0 * domain_.nodes() + 8.0 * domain_.reference.face_nodes
                                           : 6.0 * domain_.nodes() + 4.0 * domain_.reference.face_nodes;
  char shape[96];
  std::snprintf(shape, sizeof shape, "%s%d N %d, %.1fM nodes", fields == 6 ? "M" : "A", static_cast<int>(sizeof(T)) * 8,
                domain_.reference.order, nodes * 1e-6);
  report_.add({name, shape, 1, seconds, 4.0 * fields * sizeof(T) * nodes, 2.0 * multiply_adds * nodes, worst / largest_,
               allowed_error()});
}

template <class T, int fields>
int bench_of(const dg_domain& domain, const queue& q, const lab::bench_words& words) {
  lab::bench_report report(q, words);
  stage_bench<T, fields> bench(domain, q, report);
  if (domain.reference.order <= highest_fused_order) bench.run_fused();
  if (words.has("all")) bench.run_textbook_ways();
  return report.finish();
}

}  // namespace
}  // namespace plaquette::gpu::dg

int plaquette::gpu::lab::bench_dg(const bench_words& words) {
  const std::string system = words.word(0, "acoustics or maxwell"), precision = words.word(1, "PRECISION");
  const int order = words.number(2, "ORDER");
  if ((system != "acoustics" && system != "maxwell") || (precision != "single" && precision != "double"))
    throw input_error("kernel_bench dg: expected acoustics or maxwell, single or double; found '" + system + "', '" +
                      precision + "'");
  const queue q;
  const double millions = std::atof(words.named("nodes", "3").c_str());
  dg_domain domain = dg::make_bench_domain(order, static_cast<std::int64_t>(millions * 1e6));
  if (words.has("central")) domain.problem.upwinding = 0.0;
  if (system == "acoustics")
    return precision == "single" ? dg::bench_of<float, 4>(domain, q, words) : dg::bench_of<double, 4>(domain, q, words);
  return precision == "single" ? dg::bench_of<float, 6>(domain, q, words) : dg::bench_of<double, 6>(domain, q, words);
}
