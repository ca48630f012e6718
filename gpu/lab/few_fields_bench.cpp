// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums and products of a few fields at once (gpu/blas/few_fields.hpp). Each is compared with what vector operations
/// make of the same fields.
///
///   kernel_bench few-fields PRECISION FIELDS [COLUMNS] [only=sum|sum-dot|products] [lattice=XxYxZxT]
#include <cmath>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "common/krylov/batch.hpp"
#include "common/krylov/few_fields.hpp"
#include "common/krylov/precision.hpp"
#include "common/lattice/extents.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/lab/kernel_bench.hpp"

namespace plaquette::gpu {
namespace {

/// The numbers of a handle, largest difference over `sizes`.
double handle_distance(const std::vector<complex<double>>& a, const std::vector<complex<double>>& b, double size) {
  double worst = 0.0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    const double far = std::sqrt(norm2(a[c] - b[c])) / size;
    keep_largest(worst, far);
  }
  return worst;
}

/// Returns the larger error; NaN stays.
double worse(double a, double b) { return b <= a ? a : b; }

template <class T>
void time_few(const context& ctx, int fields, int columns, const std::string& only, const std::string& name,
              lab::bench_report& report) {
  using Field = field<T>;
  const double half_sites = 0.5 * static_cast<double>(volume(ctx.geometry().global()));
  const double field_bytes = half_sites * (24.0 * sizeof(real_of<T>) / (is_half<T> ? 2 : 1) + (is_half<T> ? 4.0 : 0.0));
  const field_shape shape{.sites = site_subset::even, .columns = columns};
  std::vector<Field> v;
  for (int k = 0; k < fields + 3; ++k) {
    v.emplace_back(ctx, shape);
    random_spinors(v.back(), 5, static_cast<std::uint64_t>(100 * k));
  }
  Field y = v.back(), d = like(y), z = like(y), x = v[static_cast<std::size_t>(fields) + 1],
        w = v[static_cast<std::size_t>(fields)];
  const std::span<const Field> few(v.data(), static_cast<std::size_t>(fields));
  std::vector<scalars> c, norms;
  for (int k = 0; k < fields; ++k) {
    const complex<double> z{0.1 + 0.05 * k, -0.1};
    c.push_back(make_scalars(x, std::vector<complex<double>>(static_cast<std::size_t>(columns), z)));
    norms.push_back(norm2(few[static_cast<std::size_t>(k)]));
  }
  const std::span<const scalars> by(c), lengths(norms);
  const scalars one = uniform_scalars(x, 1.0);

  // The same by vector operations.
  copy(y, x);
  for (int k = 0; k < fields; ++k) axpy(y, -c[static_cast<std::size_t>(k)], few[static_cast<std::size_t>(k)]);
  const auto size = host_values(norm2(y));
  const double unit = 8.0 * unit_roundoff(precision_of<Field>), length = size.front().re;
  const auto wanted = [&](const char* operation) { return only.empty() || only == operation; };
  const std::string label = to_string(ctx.geometry().global()) + " " + name + ", " + std::to_string(fields);
  const auto row = [&](const char* what, int moved, double error, const std::function<void()>& work) {
    const double bytes = moved * field_bytes * columns;
    report.add({what, label, columns, lab::seconds_of_call(ctx.queue(), work), bytes,
                96.0 * half_sites * columns * (moved - 2), error, fields * unit});
  };
  // Sums of this many numbers, in double: 1e-12 of their size.
  const double of_sums = unit / 1e-12;
  if (wanted("sum-dot")) {
    copy(z, x);
    const auto sums = subtract_combination_dot_norm2(z, by, few, w);
    double error = std::sqrt(host_values(subtract_norm2(d, z, y)).front().re / length);
    error = worse(error, of_sums * handle_distance(host_values(sums.first), host_values(dot(w, z)), length));
    error = worse(error, of_sums * handle_distance(host_values(sums.second), host_values(norm2(z)), length));
    row("sum-dot", fields + 3, error, [&] { static_cast<void>(subtract_combination_dot_norm2(z, by, few, w)); });
  }
  if (wanted("sum")) {
    copy(z, y);
    add_combination(z, by, few);  // back to x
    const double error = std::sqrt(host_values(subtract_norm2(d, z, x)).front().re / length);
    row("sum", fields + 2, error, [&] { add_combination(z, by, few); });
  }
  if (wanted("products")) {
    const auto along = coefficients_along(few, lengths, std::as_const(w), one);
    double error = 0.0;
    for (int k = 0; k < fields; ++k) {
      const auto at = static_cast<std::size_t>(k);
      error = worse(error, of_sums * handle_distance(host_values(along[at]),
                                                     host_values(ratio(dot(few[at], w), norms[at])), 1.0));
    }
    row("products", fields + 1, error,
        [&] { static_cast<void>(coefficients_along(few, lengths, std::as_const(w), one)); });
  }
}

}  // namespace

int lab::bench_few_fields(const bench_words& words) {
  const context ctx(lattice_geometry(parse_extents(words.named("lattice", "32x32x32x64"), "lattice")), communicator());
  bench_report report(ctx.queue(), words);
  const std::string precision = words.word(0, "PRECISION"), only = words.named("only", "");
  const int fields = words.number(1, "FIELDS"), columns = words.number_or(2, 1);
  in_precision("few-fields", precision,
               [&]<class T>(std::type_identity<T>) { time_few<T>(ctx, fields, columns, only, precision, report); });
  return report.finish();
}

}  // namespace plaquette::gpu
