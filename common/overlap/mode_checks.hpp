// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What modes of D^+ D are held to, whatever found them or read them from a file: residuals, orthonormality, and random
/// vectors that would show a mode that is missing.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/eigen/thick_restart.hpp"
#include "common/overlap/chiral_modes.hpp"
#include "common/overlap/overlap_mode_search.hpp"

namespace plaquette {

/// |D^+ D v - e v| of each mode, with products made here, whatever found the modes or read them from a file.
/// Collective.
/// \param delta  accuracy of the sign function
template <class Sign, class Field>
std::vector<double> residuals_of_modes(const Sign& sign, int chirality, const chiral_modes<Field>& modes, double delta,
                                       int width) {
  Field residual_vectors = like(modes.vectors);
  if (modes.vectors.columns() == 0) return {};
  detail::apply_to_block(sign, chirality, modes.vectors, residual_vectors, static_cast<Field*>(nullptr), delta, width);
  std::vector<complex<double>> minus;
  for (const double e : modes.eigenvalues) minus.push_back({-e, 0.0});
  axpy(residual_vectors, make_scalars(residual_vectors, std::span<const complex<double>>(minus)), modes.vectors);
  return detail::square_roots(host_values(norm2(residual_vectors)));
}

namespace detail {

template <class V, class Sign, class Field>
complement_probe probe_complement_with(const chiral_square<Sign>& square, const Field& known, double bound, double size,
                                       bool zero_modes_alone, const random_fill<V>& fill,
                                       const std::function<bool()>& interrupted) {
  const double delta = accuracy_of_probe(bound), floor = zero_modes_alone ? 0.0 : bound;
  constexpr int keep = 6, most = 48;
  const int alone = steps_to_find(bound, size, zero_modes_alone),
            enough = alone <= most ? alone : alone * 3 / 2;  // restarts take more
  const restart_sizes sizes{.keep = keep, .most = std::clamp(alone, 2 * keep, most), .block = 1, .cycles = 200};
  V off = like(half_like(known, 0), known.columns(), as<V>), basis = like(off, sizes.most + 1);
  if (known.columns() > 0) assign(off, known);
  const auto project = [&](V& x) {
    if (off.columns() > 0) subtract_combinations(x, off, inner_products(off, x));
  };
  V start = view(basis, 0, 1);
  fill(start);
  project(start);
  complement_probe found;
  int steps = 0;
  thick_restart_lanczos<V>(
      basis, sizes, {},
      [&](V& out, const V& in) {  // P (4 - D^+ D) P, as in lowest_in_complement
        square.apply(out, in, delta);
        scale(out, uniform_scalars(out, -1.0));
        axpy(out, uniform_scalars(out, 4.0), in);
        project(out);
        ++steps;
      },
      [&](V&, const restart_state& state) {
        found.lowest = 4.0 - state.values[0];
        const double error = state.estimates[0];
        // A Ritz value below the bound proves that a mode is there. One above is no lower for sure once it has settled.
        found.settled = steps >= enough && error < std::max(0.5 * (found.lowest - floor), 1e-3 * bound);
        return found.lowest < bound || found.settled || (interrupted && interrupted());
      },
      fill, interrupted);
  return found;
}

}  // namespace detail

/// Searches the least e of D^+ D in a chirality orthogonal to orthonormal `known` modes, until it is clear whether it
/// is below `bound`. Starts from random vectors, and so does not depend on the search that found the modes. Collective.
/// \param size  components of a vector on the whole lattice
/// \param zero_modes_alone  others below the bound would have shown in the other chirality: half the steps do
template <class Sign, class Field>
complement_probe probe_complement(const Sign& sign, int chirality, const Field& known, double bound, double size,
                                  bool zero_modes_alone, const random_fill<Field>& fill,
                                  const std::function<bool()>& interrupted) {
  using InnerField = typename Sign::InnerField;
  const chiral_square<Sign> square(sign, chirality);
  const complement_probe found =
      sign.is_single(accuracy_of_probe(bound))
          ? detail::probe_complement_with<InnerField>(square, known, bound, size, zero_modes_alone,
                                                      detail::converted_fill<InnerField>(fill), interrupted)
          : detail::probe_complement_with<Field>(square, known, bound, size, zero_modes_alone, fill, interrupted);
  sign.forget_single_modes();
  return found;
}

/// max |V^+ V - 1|
template <class Field>
double distance_from_orthonormal(const Field& v) {
  if (v.columns() == 0) return 0.0;
  const host_matrix c = overlaps(v, v);
  double worst = 0.0;
  for (int j = 0; j < c.columns(); ++j)
    for (int i = 0; i < c.rows(); ++i) {
      const complex<double> expected{i == j ? 1.0 : 0.0, 0.0};
      const double d = std::sqrt(norm2(c(i, j) - expected));
      keep_largest(worst, d);
    }
  return worst;
}

}  // namespace plaquette
