// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The eigenvectors of H with the smallest |eigenvalues|, by a Chebyshev filter of H^2 under a restarted Krylov method.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "common/algorithms/implicit_arnoldi.hpp"
#include "common/algorithms/spectrum.hpp"

namespace plaquette {

enum class mode_method { lanczos, arnoldi };

/// What is sought, and how. Zeros are chosen.
struct mode_search {
  int modes = 0;
  double tolerance = 1e-10;  ///< of |H v - lambda v|
  mode_method method = mode_method::lanczos;
  double highest = 0.0;  ///< bound of |H|
  double window = 0.0;   ///< the filter amplifies |lambda| below
  int degree = 0;        ///< of the filter
  int block = 0;         ///< vectors at once
  int keep = 0, most = 0;
  int cycles = 30;
  /// Told after each cycle: how many of the modes look converged, and the largest estimate among those sought.
  std::function<void(int cycle, int converged, double worst)> progress = nullptr;
  std::function<bool()> interrupted = nullptr;
};

/// Orthonormal, |values| ascending.
template <class F>
struct mode_set {
  F vectors;
  std::vector<double> values, residuals;
  // How they were found:
  double highest = 0.0, window = 0.0;
  int degree = 0, block = 1, keep = 0, most = 0, cycles = 0, widened = 0;
  int late = 0;          ///< how often random vectors brought modes that were not there yet
  bool complete = true;  ///< as many as were sought
};

/// |H v_i - lambda_i v_i|, computed anew.
template <field_batch F, class H>
std::vector<double> eigen_residuals(const H& h, const F& v, const std::vector<double>& values, int width) {
  std::vector<double> residuals;
  in_batches(v.columns(), width, [&](int first, int n) {
    F hv = like(v, n);
    const F some = view(v, first, n);
    h.apply(hv, some);
    std::vector<complex<double>> minus;
    for (int i = 0; i < n; ++i) minus.push_back({-values[static_cast<std::size_t>(first + i)], 0.0});
    axpy(hv, make_scalars(hv, std::span<const complex<double>>(minus)), some);
    for (const complex<double>& number : host_values(norm2(hv))) residuals.push_back(std::sqrt(number.re));
  });
  return residuals;
}

namespace detail {

/// V's columns become Ritz vectors of H in span V, |values| ascending.
template <field_batch F, class H>
void rayleigh_ritz_of_h(const H& h, F& v, int count, int width, std::vector<double>& values) {
  const int m = v.columns();
  host_matrix projected(m, m);
  in_batches(m, width, [&](int first, int n) {
    F hv = like(v, n);
    h.apply(hv, view(v, first, n));
    set_block(projected, 0, first, overlaps(v, hv));
  });
  const hermitian_eigenpairs pairs = eigenpairs_of_hermitian(hermitian_part(projected));
  std::vector<int> order(static_cast<std::size_t>(m));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int i) { return std::abs(pairs.values[static_cast<std::size_t>(i)]); });
  order.resize(static_cast<std::size_t>(count));
  rotate_basis(v, columns_of(pairs.vectors, order));
  values.clear();
  for (const int i : order) values.push_back(pairs.values[static_cast<std::size_t>(i)]);
}

/// The first `kept` columns of the basis become Ritz vectors of H, the `count` lowest |lambda| first, with residuals.
///
/// H^2 chooses them: H itself would take mixtures of high modes of both signs for a low one. H among those, then, tells
/// their signs. Where a degenerate level of H^2 with both signs was cut, what is left is not invariant under H: the
/// residuals of such vectors complete it.
template <field_batch F, class H>
void rayleigh_ritz(const H& h, F& basis, int kept, int count, double tolerance, int width, const random_fill<F>& fill,
                   std::vector<double>& values, std::vector<double>& residuals) {
  F all = view(basis, 0, kept), first_ones = view(basis, 0, count);
  host_matrix squared(kept, kept);
  in_batches(kept, width, [&](int first, int n) {
    F hv = like(all, n), hhv = like(all, n);
    h.apply(hv, view(all, first, n));
    h.apply(hhv, hv);
    set_block(squared, 0, first, overlaps(all, hhv));
  });
  const hermitian_eigenpairs by_square = eigenpairs_of_hermitian(hermitian_part(squared));
  rotate_basis(all, block_of(by_square.vectors, 0, 0, kept, count));
  rayleigh_ritz_of_h(h, first_ones, count, width, values);
  residuals = eigen_residuals(h, first_ones, values, width);

  std::vector<int> cut;  // a mixture of +-lambda has a residual of their size; a smaller one is of a mode not converged
  const double mixture = std::max(tolerance, 1e-6 * std::abs(values.back()));
  for (int i = 0; i < count && count + std::ssize(cut) < basis.columns(); ++i)
    if (residuals[static_cast<std::size_t>(i)] > mixture) cut.push_back(i);
  if (cut.empty()) return;
  F left = like(basis, static_cast<int>(cut.size()));
  for (std::size_t k = 0; k < cut.size(); ++k) {
    const F v = view(basis, cut[k], 1);
    F r = view(left, static_cast<int>(k), 1);
    h.apply(r, v);
    axpy(r, uniform_scalars(r, -values[static_cast<std::size_t>(cut[k])]), v);
  }
  for (int pass = 0; pass < 2; ++pass) subtract_combinations(left, first_ones, inner_products(first_ones, left));
  // Residuals may depend on each other. Only what is independent joins: a vector of rounding errors would be a mixture
  // of high modes of both signs, which passes for a low one.
  const hermitian_eigenpairs gram = eigenpairs_of_hermitian(hermitian_part(overlaps(left, left)));
  std::vector<int> independent;
  const double largest = gram.values.back();
  for (int i = 0; i < std::ssize(cut); ++i)
    if (gram.values[static_cast<std::size_t>(i)] > 1e-8 * largest) independent.push_back(i);
  host_matrix directions = columns_of(gram.vectors, independent);
  for (int j = 0; j < std::ssize(independent); ++j)
    for (int i = 0; i < std::ssize(cut); ++i)
      directions(i, j) =
          (1.0 / std::sqrt(gram.values[static_cast<std::size_t>(independent[static_cast<std::size_t>(j)])])) *
          directions(i, j);
  F rest = view(basis, count, static_cast<int>(independent.size()));
  combine(rest, left, directions.numbers());
  F completed = view(basis, 0, count + rest.columns());
  rayleigh_ritz_of_h(h, completed, count, width, values);
  residuals = eigen_residuals(h, first_ones, values, width);
}

}  // namespace detail

/// The lowest modes. Window, degree, block and search space are found where `search` leaves them open; the window is
/// widened where it holds too few. Where only some converge, those below the first that did not are returned, with
/// complete = false. Collective.
/// \param narrow  H in low precision, for the stochastic count of modes, on columns like `random_narrow`
/// \param size    of the space: 12 numbers a site of the whole lattice
/// \param width   columns that H takes at once where there are many
template <field_batch F, class H, class HNarrow, field_batch G>
mode_set<F> lowest_modes(const H& h, const HNarrow& narrow, const F& shape_of, const G& random_narrow, double size,
                         const mode_search& search, const random_fill<F>& fill, int width = 12) {
  const int l = search.modes;
  mode_set<F> found{like(shape_of, 0)};
  found.highest = search.highest > 0.0 ? search.highest : largest_eigenvalue(h, shape_of, fill);
  found.window = search.window;
  if (found.window <= 0.0) {
    const mode_count count = count_modes(narrow, random_narrow, 250, size, found.highest);
    found.window = count.value_of(2.0 * l + 4.0);
  }
  const int extra = std::max(4, l / 8);
  found.keep = search.keep > 0 ? search.keep : l + extra;
  found.most = search.most > 0 ? search.most : std::max(found.keep + 12, (5 * l) / 2);
  found.block = search.method == mode_method::arnoldi ? 1
                : search.block > 0                    ? search.block
                                                      : std::clamp(found.most / 50, 1, 10);
  const restart_sizes sizes{found.keep, found.most, found.block, search.cycles};

  F basis = like(shape_of, sizes.most + sizes.block);
  F start = view(basis, 0, sizes.block);
  fill(start);
  int cycles = 0;
  while (true) {
    const int degree = search.degree > 0
                           ? search.degree + search.degree % 2
                           : std::max(8, 2 * static_cast<int>(std::lround(1.25 * found.highest / found.window)));
    found.degree = degree;
    const squared_map z = squared_map::of_range(found.window, found.highest);
    bool too_narrow = false, stopped = false;
    const std::function<void(F&, const F&)> filter = [&](F& out, const F& in) {
      chebyshev_filter(h, out, in, degree, z);
    };
    int inside = 0;
    const restart_decision<F> decide = [&](F&, const restart_state& state) {
      ++cycles;
      // A residual e of the filter, over the distance from the range [-1, 1] of the rest, is the error of the vector.
      inside = 0;
      int converged = 0, settled = 0;
      double worst = 0.0;
      for (int i = 0; i < state.kept; ++i) {
        const auto k = static_cast<std::size_t>(i);
        if (!(state.values[k] > 1.02)) break;
        ++inside;
        const double error = found.highest * state.estimates[k] / (state.values[k] - 1.0);
        if (error < 1e-4) ++settled;
        if (i < l) worst = std::max(worst, error);
        if (error < 0.3 * search.tolerance && converged == i) ++converged;
      }
      if (inside < l) worst = std::max(worst, 1.0);
      if (search.progress) search.progress(cycles, std::min(converged, l), worst);
      if (search.interrupted && search.interrupted()) stopped = true;
      if (stopped) return true;
      if (converged < l) {
        too_narrow = inside < l && settled == inside && state.cycle >= 2;
        return too_narrow || cycles >= search.cycles;
      }
      return true;
    };
    restart_state state = search.method == mode_method::lanczos
                              ? thick_restart_lanczos<F>(basis, sizes, {}, filter, decide, fill)
                              : implicitly_restarted_arnoldi<F>(basis, sizes, filter, decide, fill);
    // One Krylov space may hold fewer copies of a degenerate mode than there are. So random vectors join what was
    // found, until nothing new comes.
    const auto is_converged = [&] { return !too_narrow && !stopped && inside >= l && cycles < search.cycles; };
    for (int probe = 0; probe < 20 && is_converged(); ++probe) {
      const std::vector<double> known(state.values.begin(), state.values.begin() + l);
      F next = view(basis, state.kept, sizes.block);
      fill(next);
      orthogonalise(view(basis, 0, state.kept), next, fill);
      state.coupling = {};
      restart_sizes few = sizes;
      few.most = std::min(sizes.most, state.kept + std::max(10, 2 * sizes.block));
      few.cycles = state.cycle + search.cycles;
      // A copy on its way disturbs those that are there, so they have to converge again. And a Ritz value below the
      // last one counts as one of another level only where its error is below the difference.
      const restart_decision<F> settled = [&](F& kept, const restart_state& now) {
        if (!decide(kept, now)) return false;
        const double least = now.values[static_cast<std::size_t>(l) - 1] * (1.0 + 1e-7);
        for (auto k = static_cast<std::size_t>(l); k < static_cast<std::size_t>(now.kept); ++k)
          if (now.values[k] + now.estimates[k] > least && !stopped && cycles < search.cycles) return false;
        return true;
      };
      state = thick_restart_lanczos<F>(basis, few, state, filter, settled, fill);
      const auto is_old = [](double before, double now) { return now <= before * (1.0 + 1e-7); };
      if (std::ranges::equal(known, std::span(state.values).first(known.size()), is_old)) break;
      ++found.late;
    }
    if (too_narrow && cycles < search.cycles && !stopped) {
      // The number of modes below a value grows with a power of it between 1 and 4.
      found.window *= inside == 0 ? 1.5 : std::max(1.08, std::pow(1.2 * l / inside, 0.4));
      ++found.widened;
      host_matrix mixture(state.kept, sizes.block);  // what was found is in the new start
      for (int i = 0; i < state.kept; ++i) mixture(i, i % sizes.block) = {1.0, 0.0};
      F mixed = like(shape_of, sizes.block);
      combine(mixed, view(basis, 0, state.kept), mixture.numbers());
      F noise = like(mixed);
      fill(noise);
      scale(noise, uniform_scalars(noise, std::sqrt(1e-2 / size)));
      axpy(mixed, uniform_scalars(mixed, 1.0), noise);
      copy(start, mixed);
      continue;
    }
    const int count = std::min(l, std::max(inside, 0));
    detail::rayleigh_ritz(h, basis, state.kept, count, search.tolerance, width, fill, found.values, found.residuals);
    int good = 0;
    while (good < count && found.residuals[static_cast<std::size_t>(good)] <= search.tolerance) ++good;
    found.complete = good == l;
    found.cycles = cycles;
    found.values.resize(static_cast<std::size_t>(good));
    found.residuals.resize(static_cast<std::size_t>(good));
    found.vectors = like(shape_of, good);
    copy(found.vectors, view(basis, 0, good));
    return found;
  }
}

}  // namespace plaquette
