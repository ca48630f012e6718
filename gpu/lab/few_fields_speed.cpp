// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast the operations on a few fields at once are (gpu/blas/few_fields.hpp). Each is compared with what vector
/// operations make of the same fields before it is timed.
///
///   few_fields_speed [half|single|double]...
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/algorithms/batch.hpp"
#include "common/algorithms/few_fields.hpp"
#include "common/algorithms/precision.hpp"
#include "common/error.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/machine_speed.hpp"
#include "gpu/fields/random_spinor.hpp"

namespace plaquette::gpu {
namespace {

/// Median seconds of a call inside a graph.
double seconds_in_graph(const execution& on, const std::function<void()>& work) {
  constexpr int times = 6, samples = 9;
  work(), work();
  on.queue().synchronize();
  const work_graph graph(on.queue(), times, work);
  device_timer timer(on.queue());
  std::vector<double> seconds;
  graph.launch();
  for (int s = 0; s < samples; ++s) {
    timer.start();
    graph.launch();
    timer.stop();
    seconds.push_back(timer.seconds() / times);
  }
  std::ranges::sort(seconds);
  return seconds[samples / 2];
}

/// The numbers of a handle, largest difference over `sizes`.
double distance(const std::vector<complex<double>>& a, const std::vector<complex<double>>& b, double size) {
  double worst = 0.0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    const double far = std::sqrt(norm2(a[c] - b[c])) / size;
    if (!(far <= worst)) worst = far;
  }
  return worst;
}

template <class T>
void time_precision(const context& ctx, double copy_speed, const std::string& name) {
  using F = field<T>;
  const double half_sites = 0.5 * static_cast<double>(volume(ctx.geometry().global()));
  const double field_bytes = half_sites * (24.0 * sizeof(real_of<T>) / (is_half<T> ? 2 : 1) + (is_half<T> ? 4.0 : 0.0));
  for (const int columns : {1, 12})
    for (const int fields : {2, 4, 7, 8}) {
      const field_shape shape{.sites = site_subset::even, .columns = columns};
      std::vector<F> v;
      for (int k = 0; k < fields + 3; ++k) {
        v.emplace_back(ctx, shape);
        random_spinors(v.back(), 5, static_cast<std::uint64_t>(100 * k));
      }
      F y = v.back(), x = v[static_cast<std::size_t>(fields) + 1], w = v[static_cast<std::size_t>(fields)];
      const std::span<const F> few(v.data(), static_cast<std::size_t>(fields));
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
      const double unit = 8.0 * unit_roundoff(precision_of<F>), length = size.front().re;
      const auto sums = subtract_combination_dot_norm2(x, by, few, w);
      double error = distance(host_values(sums.first), host_values(dot(w, x)), length) / 1e-12 * unit;
      error = std::max(error, distance(host_values(sums.second), host_values(norm2(x)), length) / 1e-12 * unit);
      error = std::max(error, std::sqrt(host_values(subtract_norm2(y, x, y)).front().re / length));
      const auto along = coefficients_along(few, lengths, std::as_const(w), one);
      for (int k = 0; k < fields; ++k) {
        const auto at = static_cast<std::size_t>(k);
        error = std::max(error, distance(host_values(along[at]), host_values(ratio(dot(few[at], w), norms[at])), 1.0) /
                                    1e-12 * unit);
      }
      if (!(error <= fields * unit)) throw std::runtime_error("few_fields_speed: " + name + " is wrong");

      const auto row = [&](const char* what, int moved, const std::function<void()>& work) {
        const double seconds = seconds_in_graph(ctx, work);
        std::printf("%-7s %-12s of %d fields, %2d columns %8.1f us a column, %5.1f%% of copy, error %.1e\n",
                    name.c_str(), what, fields, columns, seconds * 1e6 / columns,
                    100.0 * moved * field_bytes * columns / seconds / copy_speed, error);
        std::fflush(stdout);
      };
      row("sum", fields + 2, [&] { add_combination(x, by, few); });
      row("sum, dot", fields + 3, [&] {
        const auto unused = subtract_combination_dot_norm2(x, by, few, w);
        static_cast<void>(unused);
      });
      row("products", fields + 1, [&] {
        const auto unused = coefficients_along(few, lengths, std::as_const(w), one);
        static_cast<void>(unused);
      });
    }
}

int run(int count, char** words) {
  const double copy_speed = kernels_run_on_host() ? 1e10 : 1e9 * copy_gbytes_per_s(queue(0));
  std::printf("copy %.0f GB/s; 32x32x32x64, sites of one parity; medians inside a CUDA graph\n", copy_speed * 1e-9);
  const context ctx(lattice_geometry({32, 32, 32, 64}), communicator());
  const std::vector<std::string> names = count > 1 ? std::vector<std::string>(words + 1, words + count)
                                                   : std::vector<std::string>{"half", "single", "double"};
  for (const std::string& name : names) {
    if (name == "half")
      time_precision<half>(ctx, copy_speed, name);
    else if (name == "single")
      time_precision<float>(ctx, copy_speed, name);
    else if (name == "double")
      time_precision<double>(ctx, copy_speed, name);
    else
      throw input_error("few_fields_speed: expected half, single or double, found " + name);
  }
  return 0;
}

}  // namespace
}  // namespace plaquette::gpu

int main(int count, char** words) {
  try {
    return plaquette::gpu::run(count, words);
  } catch (const plaquette::error& stop) {
    std::fprintf(stderr, "%s\n", stop.what());
    return static_cast<int>(stop.status());
  } catch (const std::exception& stop) {
    std::fprintf(stderr, "few_fields_speed: %s\n", stop.what());
    return 70;
  }
}
