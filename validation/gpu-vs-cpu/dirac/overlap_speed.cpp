// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast the device does what the overlap propagator is made of, each result verified before it is timed; beside the
/// bandwidth of a copy in the same run. For whoever changes a kernel.
///
///   overlap_speed LATTICE h|clenshaw PRECISION REALS COLUMNS [OPTION]...
///   overlap_speed LATTICE basis PRECISION VECTORS COLUMNS
///
/// `h` and `clenshaw` try ways to launch H, each verified against variant 1, bit for bit. Options:
///   try=N         the first N ways (default 1, the table's choice)
///   show=N        prints the fastest N (default 6) and the table's
///   launch=TEXT   part of a launch's name; without=TEXT is not in it
///   past          stores past the caches
///   final         the fastest, cool and sustained
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "common/lattice/extents.hpp"
#include "gpu/blas/basis.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/blas/cublas_library.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/machine_speed.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/dirac/hermitian_wilson.hpp"
#include "gpu/fields/random_spinor.hpp"

namespace plaquette::gpu {
namespace {

struct request {
  extents lattice{};
  std::string what, precision, filter, without = "none";
  int numbers[2] = {12, 1};  ///< reals and columns, or vectors and columns
  int tries = 1, shown = 6;
  bool final = false, past = false;
};

request parse(int count, char** words) {
  if (count < 6) throw std::invalid_argument("expected LATTICE h|clenshaw|basis PRECISION NUMBER NUMBER");
  request r;
  r.lattice = parse_extents(words[1], "lattice");
  r.what = words[2];
  r.precision = words[3];
  for (int k = 0; k < 2; ++k) r.numbers[k] = std::stoi(words[4 + k]);
  for (int i = 6; i < count; ++i) {
    const std::string word = words[i];
    if (word.starts_with("try=")) r.tries = std::stoi(word.substr(4));
    if (word.starts_with("show=")) r.shown = std::stoi(word.substr(5));
    if (word.starts_with("launch=")) r.filter = word.substr(7);
    if (word.starts_with("without=")) r.without = word.substr(8);
    if (word == "final") r.final = true;
    if (word == "past") r.past = true;
  }
  return r;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Zero where all numbers are the same bits.
template <class T>
double relative_difference(const field<T>& a, const field<T>& b) {
  if constexpr (is_half<T>) {
    auto x = like(a, a.columns(), as<field<float>>), y = like(a, a.columns(), as<field<float>>);
    convert(x, a), convert(y, b);
    return relative_difference(x, y);
  }
  auto d = like(a);
  const auto difference = host_values(subtract_norm2(d, a, b)), size = host_values(norm2(b));
  double worst = 0.0;
  for (std::size_t c = 0; c < size.size(); ++c) {
    const double r = std::sqrt(difference[c].re / size[c].re);
    if (!(r <= worst)) worst = r;
  }
  return worst;
}

/// H there and back, or a step of Clenshaw's recurrence for the squared operator.
template <class T>
class work {
 public:
  work(const context& ctx, const request& r)
      : h_(ctx, random_configuration(ctx, 11), fermion_action::isotropic(-1.4, 0.0),
           static_cast<reconstruct>(r.numbers[0])),
        psi_(ctx, {spins, colours, site_subset::full, r.numbers[1]}),
        x_(like(psi_)),
        y_(like(psi_)),
        z_(like(psi_)),
        clenshaw_(r.what == "clenshaw") {
    random_spinors(psi_, 12);
    restart();
  }
  hermitian_wilson<T>& h() { return h_; }
  void restart() {
    copy(x_, psi_), copy(y_, psi_), copy(z_, psi_);
    next_ = 0;
  }
  const field<T>& result() const { return x_; }

  /// Two applications of H. Numbers keep their size: |H| is below 8, and typically 3.
  void step() {
    if (!clenshaw_) {
      h_.apply(y_, 0.33, x_, 0.0, nullptr, 0.0, nullptr);
      h_.apply(x_, 0.33, y_, 0.0, nullptr, 0.0, nullptr);
      return;
    }
    // b_new = 4 / (1 - eps) (Q - s)(Q + s) b_1 + c psi - b_2, where b_new takes the place of b_2; smaller by 0.7.
    field<T>&b1 = next_ == 0 ? x_ : z_, &b2 = next_ == 0 ? z_ : x_;
    const double top = 1.0 / 6.6, s = 0.71;
    h_.apply(y_, top, b1, s, 0.0, nullptr, 0.0, nullptr);
    h_.apply(b2, 2.0 * top, y_, -2.0 * s, 0.3, &psi_, -0.6, &b2);
    next_ = 1 - next_;
  }
  double flops() const { return 2.0 * h_.flops_per_site(); }
  double bytes(int columns) const {
    return h_.bytes_per_site(columns, 0) + h_.bytes_per_site(columns, clenshaw_ ? 2 : 0);
  }

 private:
  hermitian_wilson<T> h_;
  field<T> psi_, x_, y_, z_;
  bool clenshaw_;
  int next_ = 0;
};

template <class T>
int measure_operator(const context& ctx, const request& r, double copy_rate) {
  const queue& q = ctx.queue();
  const int columns = r.numbers[1];
  work<T> w(ctx, r);
  const auto chain = [&] {
    w.restart();
    for (int k = 0; k < 4; ++k) w.step();
  };
  w.h().set_launch(hermitian_launch{});
  chain();
  auto expected = like(w.result());
  copy(expected, w.result());

  auto list = hermitian_candidates(w.h().hopping().problem(columns, false), 2000);
  const hermitian_launch table = list[0];
  std::erase_if(list, [&](const auto& how) {
    const std::string name = how.name();
    return name.find(r.filter) == std::string::npos || name.find(r.without) != std::string::npos;
  });
  for (auto& how : list) how.past_caches = r.past;
  if (static_cast<int>(list.size()) > r.tries) list.resize(static_cast<std::size_t>(r.tries));
  list.push_back({});
  const double sites = static_cast<double>(volume(r.lattice));
  const std::string what = to_string(r.lattice) + " " + r.what + " " + r.precision + " " +
                           std::to_string(r.numbers[0]) + " x" + std::to_string(columns);
  const auto print = [&](double seconds, double difference, const hermitian_launch& how, const char* note) {
    std::printf("%s: %6.2f TFLOP/s %8.2f us a column, %5.1f%% of copy, differs %.1e  %s%s\n", what.c_str(),
                w.flops() * sites * columns / seconds * 1e-12, 0.5e6 * seconds / columns,
                100.0 * w.bytes(columns) * sites * columns / seconds * 1e-9 / copy_rate, difference, how.name().c_str(),
                note);
  };
  struct outcome {
    hermitian_launch how;
    double seconds, difference;
  };
  std::vector<outcome> outcomes;
  for (const hermitian_launch& how : list) {
    w.h().set_launch(how);
    chain();
    const double difference = relative_difference(w.result(), expected);
    w.restart();
    const double rough = seconds_a_launch(q, 2, [&] { w.step(), w.step(); }) / 2;
    const int pairs = 2 * std::clamp(static_cast<int>(1e-3 / rough), 1, 50);
    const work_graph graph(q, pairs / 2, [&] { w.step(), w.step(); });
    graph.launch();
    std::vector<double> seconds;
    for (int s = 0; s < 3; ++s) seconds.push_back(seconds_a_launch(q, 1, [&] { graph.launch(); }) / pairs);
    outcomes.push_back({how, median(seconds), difference});
  }
  std::ranges::stable_sort(outcomes, {}, &outcome::seconds);
  bool right = true;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const outcome& o = outcomes[i];
    right = right && o.difference == 0.0;
    if (static_cast<int>(i) < r.shown || o.how == table || o.difference != 0.0 || o.how.gather)
      print(o.seconds, o.difference, o.how, o.how == table ? "  (table)" : "");
  }
  if (r.final) {
    w.h().set_launch(outcomes[0].how);
    w.restart();
    const int pairs = 2 * std::clamp(static_cast<int>(1e-3 / outcomes[0].seconds), 1, 50);
    const work_graph graph(q, pairs / 2, [&] { w.step(), w.step(); });
    for (const auto protocol : {timing_protocol::cool, timing_protocol::sustained}) {
      timing_rule rule;
      rule.idle_seconds = 0.7;
      rule.running_seconds = 0.8;
      print(median(timed_launches(
                q, protocol, [&] { graph.launch(); }, rule)) /
                pairs,
            0.0, outcomes[0].how, protocol == timing_protocol::cool ? "  cool" : "  sustained");
    }
  }
  if (!right) std::printf("%s: FAILED\n", what.c_str());
  return right ? 0 : 1;
}

template <class T>
int measure_basis(const context& ctx, const request& r, double copy_rate) {
  const queue& q = ctx.queue();
  const int n = r.numbers[0], m = r.numbers[1];
  field<T> v(ctx, {spins, colours, site_subset::full, n}), w = like(v, m), out = like(v, m);
  random_spinors(v, 1), random_spinors(w, 2);
  std::vector<complex<double>> c;
  for (int k = 0; k < n * m; ++k) c.push_back({std::sin(k + 1.0) / n, std::cos(1.7 * k) / n});
  const auto products = inner_products(v, w);
  combine(out, v, c);
  // A few elements, and a column, by other functions of the library.
  double worst = 0.0;
  const double size = 24.0 * static_cast<double>(volume(r.lattice));
  for (int k = 0; k < 5; ++k) {
    const int i = (k * 7919) % n, j = (k * 104729) % m;
    const auto expected = host_values(dot(view(v, i, 1), view(w, j, 1)))[0];
    worst = std::max(worst, std::sqrt(norm2(products[static_cast<std::size_t>(i + j * n)] - expected)) / size);
  }
  auto column = like(v, 1);
  zero(column);
  const int last = m - 1;
  for (int i = 0; i < n; ++i)
    axpy(column, make_scalars(column, std::vector<complex<double>>{c[static_cast<std::size_t>(i + last * n)]}),
         view(v, i, 1));
  const double difference = relative_difference(view(out, last, 1), column);
  const double sites = static_cast<double>(volume(r.lattice)), vector_bytes = 24.0 * sizeof(T) * sites;
  const double flops = 8.0 * 12.0 * sites * n * m;
  const auto report = [&](const char* name, double vectors, const std::function<void()>& f) {
    f();
    std::vector<double> seconds;
    for (int s = 0; s < 3; ++s) seconds.push_back(seconds_a_launch(q, 1, f));
    const double t = median(seconds);
    std::printf("%s basis %s %d x %d %s: %9.3f ms, %5.1f%% of copy, %6.2f TFLOP/s; errors %.1e %.1e\n",
                to_string(r.lattice).c_str(), r.precision.c_str(), n, m, name, 1e3 * t,
                100.0 * vectors * vector_bytes / t * 1e-9 / copy_rate, flops / t * 1e-12, worst, difference);
  };
  report("V^+ W", n + m, [&] { static_cast<void>(inner_products(v, w)); });
  report("V Q", n + m, [&] { combine(out, v, c); });
  report("W -= V C", n + 2 * m, [&] { subtract_combinations(w, v, c); });
  const bool right =
      worst <= 10 * std::numeric_limits<T>::epsilon() && difference <= 50 * std::numeric_limits<T>::epsilon();
  if (!right) std::printf("basis: FAILED\n");
  return right ? 0 : 1;
}

template <class T>
int measure(const context& ctx, const request& r) {
  const double copy_rate = copy_gbytes_per_s(ctx.queue());
  std::printf("copy %.0f GB/s, %s\n", copy_rate, cublas_description().c_str());
  if (r.what != "basis") return measure_operator<T>(ctx, r, copy_rate);
  if constexpr (!is_half<T>) return measure_basis<T>(ctx, r, copy_rate);
  throw std::invalid_argument("basis: double or single");
}

}  // namespace
}  // namespace plaquette::gpu

int main(int count, char** words) {
  using namespace plaquette;
  try {
    const auto r = gpu::parse(count, words);
    const gpu::context ctx(lattice_geometry(r.lattice), communicator());
    if (r.precision == "double") return gpu::measure<double>(ctx, r);
    if (r.precision == "single") return gpu::measure<float>(ctx, r);
    if (r.precision == "half") return gpu::measure<half>(ctx, r);
    throw std::invalid_argument("precision: double, single or half");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "overlap_speed: %s\n", error.what());
    return 2;
  }
}
