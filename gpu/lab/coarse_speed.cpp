// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast the kernels of coarse lattices are, each verified before it is timed. One line a kernel, and JSON for the
/// plot of figure 2 (plots/coarse_ladder.py).
///
///   coarse_speed ladder|batches|transfer [json=FILE] [quick] [only=LATTICE:N] [columns=N]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/coarse/coarse_operator.hpp"
#include "gpu/coarse/galerkin.hpp"
#include "gpu/coarse/transfer.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/machine_speed.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/lab/coarse_ladder.hpp"

namespace plaquette::gpu {
namespace {

double copy_speed = 0.0;  ///< bytes a second
std::vector<std::string> rows;
std::string only;      ///< lattice and n, as 8x8x8x16:48; empty: all
int only_columns = 0;  ///< 0: all

/// Random numbers for all matrices, scaled so that chains of applications neither grow nor vanish.
coarse_matrices random_matrices(const execution& on, const extents& lattice, int n) {
  const coarse_geometry geometry(lattice, {1, 1, 1, 1}, 0);
  auto tables = std::make_shared<const coarse_lattice>(on, geometry);
  coarse_matrices m(on, tables, n);
  // As many random numbers as a field of 9 n columns has.
  coarse_field<float> numbers(on, tables, {2, n / 2, site_subset::full, coarse_matrices_of_a_site * n});
  fill_random(numbers, 7, 0);
  std::vector<complex<double>> factor(static_cast<std::size_t>(numbers.columns()), {1.0 / std::sqrt(18.0 * n), 0.0});
  scale(numbers, make_scalars(numbers, std::span<const complex<double>>(factor)));
  copy_on_device(on.queue(), m.begin(), numbers.numbers().begin, static_cast<std::size_t>(m.count()) * 8);
  return m;
}

template <class F>
double distance(const F& a, const F& b) {
  F d = like(a);
  const auto difference = host_values(subtract_norm2(d, a, b)), size = host_values(norm2(b));
  double worst = 0.0;
  for (std::size_t c = 0; c < size.size(); ++c) {
    const double relative = std::sqrt(difference[c].re / size[c].re);
    if (!(relative <= worst)) worst = relative;
  }
  return worst;
}

/// Median seconds of a call inside a graph. `work(k)` queues call k.
double seconds_in_graph(const execution& on, const std::function<void(int)>& work, double about) {
  const int times = std::clamp(static_cast<int>(2e-3 / about), 2, 200) / 2 * 2;
  work(0), work(1);
  on.queue().synchronize();
  int k = 0;
  const work_graph graph(on.queue(), times, [&] { work(k++); });
  device_timer timer(on.queue());
  std::vector<double> samples;
  graph.launch();
  for (int s = 0; s < 9; ++s) {
    timer.start();
    graph.launch();
    timer.stop();
    samples.push_back(timer.seconds() / times);
  }
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

void print_row(const std::string& kernel, const std::string& lattice, int n, int columns, double seconds, double bytes,
               double flops, double error, double bound) {
  const bool verified = error <= bound;
  const double share = bytes / seconds / copy_speed;
  std::printf(
      "%-10s %-16s n %2d N %2d %9.2f us, a right-hand side %8.2f us %7.0f GFLOP/s %5.1f%% of copy, error %.1e%s\n",
      kernel.c_str(), lattice.c_str(), n, columns, seconds * 1e6, seconds * 1e6 / columns, flops / seconds * 1e-9,
      100.0 * share, error, verified ? "" : " WRONG");
  std::fflush(stdout);
  char text[512];
  std::snprintf(
      text, sizeof text,
      "{\"kernel\": \"%s\", \"lattice\": \"%s\", \"n\": %d, \"columns\": %d, \"seconds\": %.6g, \"gflops\": %.6g, "
      "\"fraction_of_copy\": %.4g, \"error\": %.3g, \"verified\": %s}",
      kernel.c_str(), lattice.c_str(), n, columns, seconds, flops / seconds * 1e-9, share, error,
      verified ? "true" : "false");
  rows.emplace_back(text);
  if (!verified) throw std::runtime_error("coarse_speed: " + kernel + " is wrong");
}

struct operator_case {
  extents lattice;
  int n;
};

/// Fewest bytes: every matrix once, every vector read and written once.
double operator_bytes(const operator_case& c, int columns, coarse_storage storage) {
  const double sites = static_cast<double>(volume(c.lattice)), n = c.n;
  return sites * (9.0 * n * n * (storage == coarse_storage::single ? 8.0 : 4.0) + 16.0 * n * columns);
}
double operator_flops(const operator_case& c, int columns) {
  return static_cast<double>(volume(c.lattice)) * (72.0 * c.n * c.n - 2.0 * c.n) * columns;
}

struct operator_bench {
  execution on;
  operator_case shape;
  coarse_matrices m;
  std::string name;

  operator_bench(const execution& execution, const operator_case& c)
      : on(execution), shape(c), m(random_matrices(on, c.lattice, c.n)), name(to_string(c.lattice)) {}

  coarse_field<float> field(int columns) const {
    return {on, m.shared_lattice(), {2, shape.n / 2, site_subset::full, columns}};
  }
  void library_kernel(const std::string& kernel, int columns, coarse_storage storage) const {
    coarse_operator<float> a(on, m, storage);
    auto in = field(columns), out = field(columns), expected = field(columns);
    fill_random(in, 3, 0);
    a.set_kernel(product_kernel::gather);
    a.apply(expected, in);
    a.set_kernel(product_kernel::fastest);
    fill_bytes(on.queue(), out.numbers().begin, 0xff, static_cast<std::size_t>(out.sites() * columns * shape.n) * 8);
    a.apply(out, in);
    const double error = distance(out, expected);
    const double bytes = operator_bytes(shape, columns, storage);
    const double t = seconds_in_graph(
        on, [&](int k) { k % 2 == 0 ? a.apply(out, in) : a.apply(in, out); }, bytes / copy_speed + 2e-6);
    print_row(kernel, name, shape.n, columns, t, bytes, operator_flops(shape, columns), error, 1e-5);
  }
  void rung(const std::string& kernel, ladder_rung which) const {
    const coarse_ladder a(m, which);
    auto in = field(1), out = field(1), expected = field(1), x = field(1), y = field(1);
    fill_random(in, 3, 0);
    coarse_operator<float> plain(on, m);
    plain.set_kernel(product_kernel::gather);
    plain.apply(expected, in);
    a.load(x.numbers().begin, in);
    fill_bytes(on.queue(), y.numbers().begin, 0xff, static_cast<std::size_t>(y.sites() * shape.n) * 8);
    a.apply(y.numbers().begin, x.numbers().begin);
    a.store(out, y.numbers().begin);
    const double error = distance(out, expected);
    const double bytes = operator_bytes(shape, 1, coarse_storage::single);
    const double about = which == ladder_rung::a ? 2e-3 : which == ladder_rung::b ? 2e-4 : bytes / copy_speed + 2e-6;
    const double t = seconds_in_graph(
        on,
        [&](int k) {
          k % 2 == 0 ? a.apply(y.numbers().begin, x.numbers().begin) : a.apply(x.numbers().begin, y.numbers().begin);
        },
        about);
    print_row(kernel, name, shape.n, 1, t, bytes, operator_flops(shape, 1), error, 1e-5);
  }
};

void run_ladder(bool quick) {
  const execution on{communicator()};
  for (const int n : {48, 64})
    for (const int length : {2, 4, 6, 8, 10}) {
      if (quick && (n == 48 || length == 6 || length == 10)) continue;
      const operator_bench bench(on, {{length, length, length, length}, n});
      bench.rung("a site", ladder_rung::a);
      bench.rung("b row", ladder_rung::b);
      bench.rung("c nine", ladder_rung::c);
      bench.rung("d split", ladder_rung::d);
      bench.rung("e 16 bytes", ladder_rung::e);
      bench.library_kernel("f tiles", 1, coarse_storage::single);
      bench.library_kernel("f 16 bit", 1, coarse_storage::half);
      for (const int columns : {12, 24}) {
        bench.library_kernel("batch", columns, coarse_storage::single);
        bench.library_kernel("batch 16 bit", columns, coarse_storage::half);
      }
    }
}

void run_batches(bool quick) {
  const execution on{communicator()};
  for (const auto& c :
       {operator_case{{2, 2, 2, 2}, 48}, operator_case{{2, 2, 2, 2}, 64}, operator_case{{4, 4, 4, 8}, 48},
        operator_case{{8, 8, 8, 16}, 48}, operator_case{{8, 8, 8, 16}, 64}, operator_case{{8, 8, 8, 16}, 40},
        operator_case{{4, 4, 4, 8}, 96}}) {
    if (quick && c.n != 48) continue;
    if (!only.empty() && to_string(c.lattice) + ":" + std::to_string(c.n) != only) continue;
    const operator_bench bench(on, c);
    for (const int columns : {1, 4, 12, 24}) {
      if (only_columns > 0 && columns != only_columns) continue;
      bench.library_kernel("fp32", columns, coarse_storage::single);
      bench.library_kernel("16 bit", columns, coarse_storage::half);
    }
  }
}

double timed(const execution& on, const std::function<void()>& work) {
  on.queue().synchronize();
  device_timer timer(on.queue());
  timer.start();
  work();
  timer.stop();
  return timer.seconds();
}

/// Restriction and prolongation of fields of quarks, verified against the pure gather.
template <class T>
void time_transfer(const context& ctx, const null_space& v, coarse_storage storage, site_subset sites, int columns) {
  transfer<float> p(ctx, v, storage);
  const field_shape shape{4, 3, sites, columns};
  field<T> fine(ctx, shape), prolonged(ctx, shape), expected_fine(ctx, shape);
  random_spinors(fine, 9, 0);
  auto coarse = p.coarse_like(columns), restricted = p.coarse_like(columns), expected = p.coarse_like(columns);
  fill_random(coarse, 9, 0);
  p.set_kernel(product_kernel::gather);
  p.restrict_to(expected, fine);
  p.prolong(expected_fine, coarse);
  p.set_kernel(product_kernel::fastest);
  fill_bytes(ctx.queue(), restricted.numbers().begin, 0xff,
             static_cast<std::size_t>(restricted.sites() * columns * restricted.components()) * 8);
  p.restrict_to(restricted, fine);
  p.prolong(prolonged, coarse);
  const double restriction_error = distance(restricted, expected), error = distance(prolonged, expected_fine);
  // Fewest bytes: null vectors of the sites that the field has, and the field. (The coarse field is 1% of that.)
  const double rows =
      12.0 * static_cast<double>(volume(ctx.geometry().global())) / (sites == site_subset::full ? 1 : 2);
  const double of_number = is_half<T> ? 4.0 + 4.0 / 12.0 : 8.0;
  const double bytes = rows * (v.vectors() * (storage == coarse_storage::half ? 4.0 : 8.0) + of_number * columns),
               flops = rows * v.vectors() * 8.0 * columns, about = 2.0 * bytes / copy_speed;
  const std::string name = std::string(storage == coarse_storage::half ? "16-bit " : "fp32 ") +
                           (is_half<T> ? "half" : "float") + (sites == site_subset::full ? "" : " even");
  print_row("restrict", name, 2 * v.vectors(), columns,
            seconds_in_graph(
                ctx, [&](int) { p.restrict_to(restricted, fine); }, about),
            bytes, flops, restriction_error, 1e-5);
  print_row("prolong", name, 2 * v.vectors(), columns,
            seconds_in_graph(
                ctx, [&](int) { p.prolong(prolonged, coarse); }, about),
            bytes, flops, error, is_half<T> ? 1e-4 : 1e-5);
}

void run_transfer(bool quick) {
  const extents lattice = quick ? extents{16, 16, 16, 32} : extents{32, 32, 32, 64};
  const int vectors = 24;
  const context ctx{lattice_geometry(lattice), communicator()};
  const std::string name = to_string(lattice);
  const auto tables = std::make_shared<const aggregate_tables>(
      ctx, aggregates(ctx.geometry(), coarsened(ctx.geometry(), {4, 4, 4, 4})), false);
  const auto make = [&] {
    field<float> seeds(ctx, {4, 3, site_subset::full, vectors});
    random_spinors(seeds, 5, 0);
    return gathered(seeds, tables);
  };
  null_space v = make();
  std::printf("orthonormalise  %s  %.1f ms\n", name.c_str(), 1e3 * timed(ctx, [&] { orthonormalise(v); }));
  const gauge_configuration links = weak_field_configuration(ctx, 0.2, 3);
  const auto action = fermion_action::isotropic(0.05, 1.0);
  std::unique_ptr<coarse_matrices> m;
  for (int k = 0; k < 2; ++k)
    std::printf("galerkin        %s  %.1f ms\n", name.c_str(),
                1e3 * timed(ctx, [&] { m = std::make_unique<coarse_matrices>(galerkin_product(links, action, v)); }));
  for (int k = 0; k < 2; ++k)
    std::printf("inverse, links  %s  %.1f ms\n", name.c_str(),
                1e3 * timed(ctx, [&] { const coarse_schur<float> schur(ctx, *m, coarse_storage::half); }));
  std::fflush(stdout);
  m.reset();
  for (const auto storage : {coarse_storage::single, coarse_storage::half})
    for (const int columns : {1, 4, 12, 24}) {
      if (only_columns > 0 && columns != only_columns) continue;
      time_transfer<float>(ctx, v, storage, site_subset::full, columns);
      if (storage == coarse_storage::half) {
        time_transfer<half>(ctx, v, storage, site_subset::full, columns);
        time_transfer<half>(ctx, v, storage, site_subset::even, columns);
      }
    }
}

int run(int count, char** words) {
  std::string json;
  bool quick = false;
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    if (word.starts_with("json=")) json = word.substr(5);
    if (word.starts_with("only=")) only = word.substr(5);
    if (word.starts_with("columns=")) only_columns = std::stoi(word.substr(8));
    if (word == "quick") quick = true;
  }
  const std::string what = count > 1 ? words[1] : "";
  if (kernels_run_on_host())
    copy_speed = 1e10;
  else
    copy_speed = 1e9 * copy_gbytes_per_s(queue(0));
  std::printf("copy %.0f GB/s; shares are of that, by the fewest bytes; times are medians inside a CUDA graph\n",
              copy_speed * 1e-9);
  if (what == "ladder")
    run_ladder(quick);
  else if (what == "batches")
    run_batches(quick);
  else if (what == "transfer")
    run_transfer(quick);
  else
    throw input_error("expected ladder, batches or transfer");
  if (json.empty()) return 0;
  std::FILE* file = std::fopen(json.c_str(), "w");
  if (file == nullptr) throw input_error(json + ": cannot be written");
  std::fprintf(file, "{\"copy_gbytes_per_s\": %.6g, \"device\": \"%s\", \"rows\": [\n", copy_speed * 1e-9,
               describe_device(0).name.c_str());
  for (std::size_t k = 0; k < rows.size(); ++k)
    std::fprintf(file, "%s%s\n", rows[k].c_str(), k + 1 < rows.size() ? "," : "");
  std::fprintf(file, "]}\n");
  std::fclose(file);
  return 0;
}

}  // namespace
}  // namespace plaquette::gpu

int main(int count, char** words) {
  try {
    return plaquette::gpu::run(count, words);
  } catch (const plaquette::error& stop) {
    std::fprintf(stderr, "coarse_speed: %s\n", stop.what());
    return static_cast<int>(stop.status());
  } catch (const std::exception& stop) {
    std::fprintf(stderr, "coarse_speed: %s\n", stop.what());
    return 70;
  }
}
