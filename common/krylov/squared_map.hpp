// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Polynomials of H^2 for a Hermitian H, by three-term recurrences of two kernels a step.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "common/krylov/batch.hpp"

namespace plaquette {

/// z(x) = alpha (x - shift) maps [lowest, highest] to [-1, 1]; applied to x = h^2.
struct squared_map {
  double alpha = 1.0, shift = 0.0;

  /// \param lowest, highest  of |h|
  static squared_map of_range(double lowest, double highest) {
    const double a = lowest * lowest, b = highest * highest;
    return {2.0 / (b - a), 0.5 * (a + b)};
  }
  double operator()(double h) const { return alpha * (h * h - shift); }
};

/// Computes out = factor z(H^2) in + c u + e w. As z = alpha (H - s)(H + s), s^2 = shift, this is two applications of
/// H, each with its terms added while its result is in registers. Both u and w may be null; out may be w, but not in or
/// u.
/// \param scratch  of the shape of in
template <field_batch Field, class H>
void apply_map(const H& h, Field& out, Field& scratch, double factor, const squared_map& z, const Field& in, double c,
               const Field* u, double e, const Field* w) {
  const double root = std::sqrt(z.shift), a = factor * z.alpha;
  if constexpr (requires { h.apply(out, a, in, root, c, u, e, w); }) {
    h.apply(scratch, 1.0, in, root, 0.0, nullptr, 0.0, nullptr);
    h.apply(out, a, scratch, -a * root, c, u, e, w);
  } else {
    h.apply(scratch, 1.0, in, root, &in, 0.0, nullptr);
    h.apply(out, a, scratch, -a * root, &scratch, e, w);
    if (u != nullptr) axpy(out, uniform_scalars(out, c), *u);
  }
}

/// Returns the steps of a recurrence after which a loop asks whether it shall stop: some tenths of a second on one
/// core. The same on all ranks.
template <field_batch Field>
int steps_between_stops(const Field& x) {
  double sites = 1e4;
  if constexpr (requires { x.get_context().geometry().local_volume(); })
    sites = static_cast<double>(x.get_context().geometry().local_volume());
  return std::clamp(static_cast<int>(5e5 / (sites * std::max(1, x.columns()))), 1, 64);
}

/// Computes out = T_d(z(H^2)) in: amplifies the modes below the range of z. 2 d applications of H.
/// \param degree  1 or more
/// \param interrupted  asked in between, or null; if it is true the filter ends, and out is of no use
template <field_batch Field, class H>
void chebyshev_filter(const H& h, Field& out, const Field& in, int degree, const squared_map& z,
                      const std::function<bool()>& interrupted = nullptr) {
  Field before = like(in), now = like(in), scratch = like(in);
  copy(before, in);
  apply_map(h, now, scratch, 1.0, z, before, 0.0, static_cast<const Field*>(nullptr), 0.0,
            static_cast<const Field*>(nullptr));  // in may be part of a basis, which H reads more slowly
  const int steps = steps_between_stops(in);
  for (int k = 2; k <= degree; ++k) {
    if (interrupted && k % steps == 0 && interrupted()) break;
    apply_map(h, before, scratch, 2.0, z, now, 0.0, static_cast<const Field*>(nullptr), -1.0, &before);
    std::swap(before, now);
  }
  copy(out, now);
}

}  // namespace plaquette
