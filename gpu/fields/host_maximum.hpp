// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The largest of a number a site, which the host wants at once. For .cu files only.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/device/launch.hpp"
#include "gpu/execution.hpp"

namespace plaquette::gpu {

/// Returns the larger number; a NaN stays.
PLAQUETTE_HOST_DEVICE inline double larger(double a, double b) { return a != a || a > b ? a : b; }

/// Computes to[n] = value(n).
template <class Value>
struct store_values {
  double* to;
  Value value;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const { to[n] = value(n); }
};

/// to[n] is the largest from[k] whose k is n modulo `count`.
struct fold_maximum {
  double* to;
  const double* from;
  std::int64_t size, count;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    double worst = 0.0;
    for (std::int64_t k = n; k < size; k += count) worst = larger(worst, from[k]);
    to[n] = worst;
  }
};

/// Returns the largest of value(n), 0 <= n < count, and 0, over all ranks; NaN if one is. Collective; waits.
/// \param value  the body of a kernel
template <class Value>
double host_maximum(const execution& on, std::int64_t count, const Value& value) {
  constexpr std::int64_t folds = 1024;
  const auto memory = on.workspace().take(static_cast<std::size_t>(count + folds) * sizeof(double));
  auto* const values = reinterpret_cast<double*>(memory.get());
  for_each_index(on.queue(), count, store_values<Value>{values, value}, 128);
  for_each_index(on.queue(), folds, fold_maximum{values + count, values, count, folds});
  std::vector<double> worst(folds);
  copy_to_host(on.queue(), worst.data(), values + count, folds * sizeof(double));
  double result = 0.0;
  for (double w : worst) result = larger(result, w);
  on.comm().maximum({&result, 1});
  return result;
}

}  // namespace plaquette::gpu
