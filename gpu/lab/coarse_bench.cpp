// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coarse operator of multigrid. One kernel; or the ladder of steps from a thread a site to the kernel in use,
/// whose JSON plots/coarse_ladder.py draws; or batches of right-hand sides. Each is compared with the pure gather.
///
///   kernel_bench coarse N single|half [COLUMNS] [lattice=XxYxZxT]
///   kernel_bench coarse ladder|batches [quick] [columns=N] [json=FILE]
#include <memory>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/lattice/extents.hpp"
#include "gpu/coarse/coarse_operator.hpp"
#include "gpu/lab/coarse_ladder.hpp"
#include "gpu/lab/kernel_bench.hpp"

namespace plaquette::gpu {
namespace {

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
  lab::bench_report& report;

  operator_bench(const execution& execution, const operator_case& c, lab::bench_report& to)
      : on(execution), shape(c), m(random_matrices(on, c.lattice, c.n)), name(to_string(c.lattice)), report(to) {}

  coarse_field<float> field(int columns) const {
    return {on, m.shared_lattice(), {2, shape.n / 2, site_subset::full, columns}};
  }
  void add(const std::string& kernel, int columns, double seconds, double bytes, double error) const {
    const std::string n = std::to_string(shape.n);
    report.add({kernel, name + " n " + n, columns, seconds, bytes, operator_flops(shape, columns), error, 1e-5,
                "\"lattice\": \"" + name + "\", \"n\": " + n + ", "});
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
    const double error = lab::distance(out, expected);
    const double bytes = operator_bytes(shape, columns, storage);
    const double t = lab::seconds_of_call(on.queue(), [&] { a.apply(out, in), a.apply(in, out); }, 2);
    add(kernel, columns, t, bytes, error);
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
    const double error = lab::distance(out, expected);
    const double bytes = operator_bytes(shape, 1, coarse_storage::single);
    const auto there_and_back = [&] {
      a.apply(y.numbers().begin, x.numbers().begin);
      a.apply(x.numbers().begin, y.numbers().begin);
    };
    const double t = lab::seconds_of_call(on.queue(), there_and_back, 2);
    add(kernel, 1, t, bytes, error);
  }
};

void run_ladder(const execution& on, bool quick, lab::bench_report& report) {
  for (const int n : {48, 64})
    for (const int length : {2, 4, 6, 8, 10}) {
      if (quick && (n == 48 || length == 6 || length == 10)) continue;
      const operator_bench bench(on, {{length, length, length, length}, n}, report);
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

void run_batches(const execution& on, bool quick, int only_columns, lab::bench_report& report) {
  for (const auto& c :
       {operator_case{{2, 2, 2, 2}, 48}, operator_case{{2, 2, 2, 2}, 64}, operator_case{{4, 4, 4, 8}, 48},
        operator_case{{8, 8, 8, 16}, 48}, operator_case{{8, 8, 8, 16}, 64}, operator_case{{8, 8, 8, 16}, 40},
        operator_case{{4, 4, 4, 8}, 96}}) {
    if (quick && c.n != 48) continue;
    const operator_bench bench(on, c, report);
    for (const int columns : {1, 4, 12, 24}) {
      if (only_columns > 0 && columns != only_columns) continue;
      bench.library_kernel("fp32", columns, coarse_storage::single);
      bench.library_kernel("16 bit", columns, coarse_storage::half);
    }
  }
}

}  // namespace

int lab::bench_coarse(const bench_words& words) {
  const execution on{communicator()};
  bench_report report(on.queue(), words);
  const std::string what = words.word(0, "N, ladder or batches");
  if (what == "ladder") {
    run_ladder(on, words.has("quick"), report);
  } else if (what == "batches") {
    run_batches(on, words.has("quick"), words.named("columns", 0), report);
  } else {
    const std::string storage = words.word(1, "single or half");
    if (storage != "single" && storage != "half")
      throw input_error("kernel_bench coarse: matrices are single or half, found '" + storage + "'");
    const operator_bench bench(on, {parse_extents(words.named("lattice", "8x8x8x16"), "lattice"), words.number(0, "N")},
                               report);
    bench.library_kernel(storage == "half" ? "16 bit" : "fp32", words.number_or(2, 1),
                         storage == "half" ? coarse_storage::half : coarse_storage::single);
  }
  return report.finish();
}

}  // namespace plaquette::gpu
