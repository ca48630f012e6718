// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of a basis of vectors: V^+ W, V Q, W -= V C. Elements and a column are compared with other functions of the
/// library.
///
///   kernel_bench basis PRECISION VECTORS [COLUMNS] [only=products|combine] [lattice=XxYxZxT]
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "common/lattice/extents.hpp"
#include "gpu/blas/basis.hpp"
#include "gpu/blas/cublas_library.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/lab/kernel_bench.hpp"

namespace plaquette::gpu {
namespace {

template <class T>
void measure_basis(const context& ctx, int n, int m, const std::string& only, lab::bench_report& report) {
  field<T> v(ctx, {spins, colours, site_subset::full, n}), w = like(v, m), out = like(v, m);
  random_spinors(v, 1), random_spinors(w, 2);
  std::vector<complex<double>> c;
  for (int k = 0; k < n * m; ++k) c.push_back({std::sin(k + 1.0) / n, std::cos(1.7 * k) / n});
  const double sites = static_cast<double>(volume(ctx.geometry().global())), vector_bytes = 24.0 * sizeof(T) * sites;
  const std::string shape = to_string(ctx.geometry().global()) + " " + std::to_string(n) + " x " + std::to_string(m);
  const auto row = [&](const char* what, int moved, double error, double bound, const std::function<void()>& f) {
    const double seconds = lab::seconds_of_call(ctx.queue(), f, 1, lab::queueing::one_by_one);
    report.add({what, shape, m, seconds, moved * vector_bytes, 96.0 * sites * n * m, error, bound});
  };
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  if (only != "combine") {
    // A few elements by another function of the library, relative to the length of the vectors.
    const auto products = inner_products(v, w);
    double worst = 0.0;
    for (int k = 0; k < 5; ++k) {
      const int i = (k * 7919) % n, j = (k * 104729) % m;
      const auto expected = host_values(dot(view(v, i, 1), view(w, j, 1)))[0];
      const double error = std::sqrt(norm2(products[static_cast<std::size_t>(i + j * n)] - expected)) / (24.0 * sites);
      keep_largest(worst, error);
    }
    row("V^+ W", n + m, worst, 10 * epsilon, [&] { static_cast<void>(inner_products(v, w)); });
  }
  if (only != "products") {
    combine(out, v, c);
    field<T> column = like(v, 1);
    zero(column);
    const int last = m - 1;
    for (int i = 0; i < n; ++i)
      axpy(column, make_scalars(column, std::vector<complex<double>>{c[static_cast<std::size_t>(i + last * n)]}),
           view(v, i, 1));
    const double error = lab::distance(view(out, last, 1), column);
    row("V Q", n + m, error, 50 * epsilon, [&] { combine(out, v, c); });
    field<T> less = like(v, 1);
    copy(less, view(w, last, 1));
    axpy(less, make_scalars(less, std::vector<complex<double>>{{-1.0, 0.0}}), column);
    subtract_combinations(w, v, c);
    row("W -= V C", n + 2 * m, lab::distance(view(w, last, 1), less), 50 * epsilon,
        [&] { subtract_combinations(w, v, c); });
  }
}

}  // namespace

int lab::bench_basis(const bench_words& words) {
  const context ctx(lattice_geometry(parse_extents(words.named("lattice", "16x16x16x32"), "lattice")), communicator());
  const std::string precision = words.word(0, "PRECISION"), only = words.named("only", "");
  const int vectors = words.number(1, "VECTORS"), columns = words.number_or(2, 12);
  bench_report report(ctx.queue(), words);
  std::printf("%s\n", cublas_description().c_str());
  if (precision == "double")
    measure_basis<double>(ctx, vectors, columns, only, report);
  else if (precision == "single")
    measure_basis<float>(ctx, vectors, columns, only, report);
  else
    throw input_error("kernel_bench basis: PRECISION is double or single, found '" + precision + "'");
  return report.finish();
}

}  // namespace plaquette::gpu
