// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The eigenvectors of H with the smallest |eigenvalues|, by a Chebyshev filter of H^2 under a restarted Krylov method.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/algorithms/implicit_arnoldi.hpp"
#include "common/algorithms/mode_search.hpp"
#include "common/algorithms/spectrum.hpp"

namespace plaquette {

/// Orthonormal, |values| ascending.
template <class Field>
struct mode_set : mode_search_course {
  explicit mode_set(Field no_vectors) : vectors(std::move(no_vectors)) {}

  Field vectors;
  std::vector<double> values, residuals;
  int late = 0;                         ///< how often random vectors brought modes that were missing
  double filtered = 0.0, probed = 0.0;  ///< columns that the filter took, and of these for random vectors at the end
  bool complete = true;                 ///< as many as were sought
};

/// A search ends when random vectors would have shown a mode that is missing, but for this chance.
inline constexpr double chance_of_a_hidden_mode = 1e-5;

/// Told after each cycle. The columns of the basis are the kept vectors and the next block.
template <class Field>
using mode_keeper = std::function<void(const Field& basis, const mode_search_state& state)>;

/// Returns |H v_i - lambda_i v_i|, recomputed.
template <field_batch Field, class H>
std::vector<double> eigen_residuals(const H& h, const Field& v, const std::vector<double>& values, int width) {
  std::vector<double> residuals;
  in_batches(v.columns(), width, [&](int first, int n) {
    Field hv = like(v, n);
    const Field some = copied_columns(v, first, n);
    h.apply(hv, some);
    std::vector<complex<double>> minus;
    for (int i = 0; i < n; ++i) minus.push_back({-values[static_cast<std::size_t>(first + i)], 0.0});
    axpy(hv, make_scalars(hv, std::span<const complex<double>>(minus)), some);
    for (const complex<double>& number : host_values(norm2(hv))) residuals.push_back(std::sqrt(number.re));
  });
  return residuals;
}

namespace detail {

/// Makes V's columns Ritz vectors of H in span V, |values| ascending.
template <field_batch Field, class H>
void rayleigh_ritz_of_h(const H& h, Field& v, int count, int width, std::vector<double>& values) {
  const int m = v.columns();
  host_matrix projected(m, m);
  in_batches(m, width, [&](int first, int n) {
    Field hv = like(v, n);
    h.apply(hv, copied_columns(v, first, n));
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

/// Returns V^+ H^2 V
template <field_batch Field, class H>
host_matrix square_in_basis(const H& h, const Field& v, int width) {
  host_matrix squared(v.columns(), v.columns());
  in_batches(v.columns(), width, [&](int first, int n) {
    Field hv = like(v, n), some = copied_columns(v, first, n);
    h.apply(hv, some);
    h.apply(some, hv);
    set_block(squared, 0, first, overlaps(v, some));
  });
  return squared;
}

/// Makes the first `kept` columns of the basis Ritz vectors of H, the `count` lowest |lambda| first, with residuals.
///
/// H^2 chooses them: H itself would take mixtures of high modes of both signs for a low one. H among those, then, tells
/// their signs. Where a degenerate level of H^2 with both signs was cut, what is left is not invariant under H: the
/// residuals of such vectors complete it.
/// \param count    at least 1
/// \param squared  square_in_basis of the kept columns
template <field_batch Field, class H>
void rayleigh_ritz(const H& h, Field& basis, int kept, int count, double tolerance, int width,
                   const host_matrix& squared, std::vector<double>& values, std::vector<double>& residuals) {
  Field all = view(basis, 0, kept), first_ones = view(basis, 0, count);
  const hermitian_eigenpairs by_square = eigenpairs_of_hermitian(hermitian_part(squared));
  rotate_basis(all, block_of(by_square.vectors, 0, 0, kept, count));
  rayleigh_ritz_of_h(h, first_ones, count, width, values);
  residuals = eigen_residuals(h, first_ones, values, width);

  std::vector<int> cut;  // a mixture of +-lambda has a residual of their size; a smaller one is of a mode not converged
  const double mixture = std::max(tolerance, 1e-6 * std::abs(values.back()));
  for (int i = 0; i < count && count + std::ssize(cut) < basis.columns(); ++i)
    if (residuals[static_cast<std::size_t>(i)] > mixture) cut.push_back(i);
  if (cut.empty()) return;
  Field left = like(basis, static_cast<int>(cut.size()));
  for (std::size_t k = 0; k < cut.size(); ++k) {
    const Field v = view(basis, cut[k], 1);
    Field r = view(left, static_cast<int>(k), 1);
    h.apply(r, v);
    axpy(r, uniform_scalars(r, -values[static_cast<std::size_t>(cut[k])]), v);
  }
  for (int pass = 0; pass < 2; ++pass) subtract_combinations(left, first_ones, inner_products(first_ones, left));
  // Residuals may depend on each other. Only what is independent joins: a vector of rounding errors would be a mixture
  // of high modes of both signs, which passes for a low one.
  const host_matrix directions = independent_directions(overlaps(left, left), 1e-8);
  Field rest = view(basis, count, directions.columns());
  combine(rest, left, directions.numbers());
  Field completed = view(basis, 0, count + rest.columns());
  rayleigh_ritz_of_h(h, completed, count, width, values);
  residuals = eigen_residuals(h, first_ones, values, width);
}

/// Parts of modes of the opposite sign leave vectors that have residuals above the tolerance. Of a cluster of nearly
/// equal |eigenvalues| that was cut, those modes are not among the vectors: H^2 hardly tells such modes apart. So the
/// residuals join, as directions, and H tells the signs. The first `count` columns become those of its Ritz vectors
/// that are within the tolerance, |values| ascending, and others after them.
/// \param wanted  the first of these whose residuals count
template <field_batch Field, class H>
void separate_signs(const H& h, Field& basis, int count, int wanted, double tolerance, int width,
                    std::vector<double>& values, std::vector<double>& residuals) {
  std::vector<int> mixed;
  for (int i = 0; i < wanted && count + std::ssize(mixed) < basis.columns(); ++i)
    if (residuals[static_cast<std::size_t>(i)] > tolerance) mixed.push_back(i);
  if (mixed.empty()) return;
  Field left = like(basis, static_cast<int>(mixed.size()));
  for (std::size_t k = 0; k < mixed.size(); ++k) {
    const Field v = view(basis, mixed[k], 1);
    Field r = view(left, static_cast<int>(k), 1);
    h.apply(r, v);
    axpy(r, uniform_scalars(r, -values[static_cast<std::size_t>(mixed[k])]), v);
  }
  normalise_columns(left);
  const Field known = view(basis, 0, count);
  for (int pass = 0; pass < 2; ++pass) subtract_combinations(left, known, inner_products(known, left));
  const host_matrix directions = independent_directions(overlaps(left, left), 1e-4);
  const int all = count + directions.columns();
  Field rest = view(basis, count, directions.columns()), completed = view(basis, 0, all);
  combine(rest, left, directions.numbers());
  rayleigh_ritz_of_h(h, completed, all, width, values);
  residuals = eigen_residuals(h, completed, values, width);
  std::vector<int> order(static_cast<std::size_t>(all));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_partition(order, [&](int i) { return residuals[static_cast<std::size_t>(i)] <= tolerance; });
  order.resize(static_cast<std::size_t>(count));
  rotate_basis(completed, columns_of(identity_matrix(all), order));
  const std::vector<double> all_values = std::exchange(values, {}), all_residuals = std::exchange(residuals, {});
  for (const int i : order) {
    values.push_back(all_values[static_cast<std::size_t>(i)]);
    residuals.push_back(all_residuals[static_cast<std::size_t>(i)]);
  }
}

/// Random vectors, times a factor, plus the others cyclically.
template <field_batch Field>
void mix_into(Field& random, const Field& vectors, double factor) {
  scale(random, uniform_scalars(random, factor));
  if (vectors.columns() == 0) return;
  Field mixed = like(random);
  combine_cyclically(mixed, vectors);
  axpy(random, uniform_scalars(random, 1.0), mixed);
}

}  // namespace detail

/// Returns the lowest modes. Window, degree, block and search space are found where `search` leaves them open; the
/// window is widened where it holds too few. A search that was interrupted returns none. Where only some converge,
/// those below the first that did not are returned, with complete = false. Where modes above search.highest come, the
/// bound is raised and the search begins again. Collective.
/// \param as_single  H in low precision, for the stochastic count of modes, on columns like `random_single`
/// \param size    of the space: 12 numbers a site of the whole lattice
/// \param width   columns that H takes at once where there are many
/// \param keeper  told where a search stands, or null
/// \param stored  what a keeper was told in an earlier call for the same search, or none
/// \param make_basis  of the search
template <field_batch Field, class H, class HSingle, field_batch InnerField>
mode_set<Field> lowest_modes(const H& h, const HSingle& as_single, const Field& shape_of,
                             const InnerField& random_single, double size, const mode_search& search,
                             const random_fill<Field>& fill, int width = 12, const mode_keeper<Field>& keeper = nullptr,
                             std::optional<std::pair<Field, mode_search_state>> stored = std::nullopt,
                             const basis_maker<Field>& make_basis = nullptr) {
  const int l = search.modes;
  if (l < 1 || 3.0 * l > size)
    throw input_error("modes of H: expected from 1 to a third of the " + std::to_string(std::llround(size)) +
                      " dimensions of this lattice, found " + std::to_string(l));
  mode_set<Field> found{like(shape_of, 0)};
  found.highest = search.highest > 0.0 ? search.highest : largest_eigenvalue(h, shape_of, fill, search.interrupted);
  const auto stops = [&] { return search.interrupted && search.interrupted(); };
  // Moments larger than 1 are of modes above the bound.
  const auto window_of_count = [&] {
    while (true) {
      const mode_count count = count_modes(as_single, random_single, 250, size, found.highest, search.interrupted);
      if (stops()) return 0.5 * found.highest;
      if (count.is_bounded()) return count.value_of(2.0 * l + 4.0);
      found.highest = std::max(1.02 * found.highest, largest_eigenvalue(h, shape_of, fill, search.interrupted));
      ++found.raised;
    }
  };
  const restart_sizes chosen = sizes_of_search(search);
  found.keep = chosen.keep;
  found.most = chosen.most;
  found.block = chosen.block;
  restart_state state;
  // A search may take search.cycles cycles after modes came late, or the window or blocks were widened. These are
  // widened where it has not converged after a third.
  constexpr int least_cycles = 10;
  int cycles = 0, last_news = 0, limit = 0, fixed_degree = search.degree + search.degree % 2;
  if (stored) {
    static_cast<mode_search_course&>(found) = stored->second;
    state = stored->second.restart;
    cycles = found.cycles;
    if (cycles >= search.cycles) last_news = cycles;
    fixed_degree = found.degree;
  } else {
    found.window = search.window > 0.0 ? search.window : window_of_count();
  }
  const auto sizes = [&] {
    const int later = chosen.later > 0 ? std::min(found.most, std::max(chosen.later, found.keep + 5 * found.block)) : 0;
    return restart_sizes{found.keep, found.most, found.block, search.cycles, later};
  };

  const auto new_basis = [&] {
    const int columns = found.most + found.block;
    return make_basis ? make_basis(columns) : like(shape_of, columns);
  };
  Field basis = new_basis();
  if (stored) {
    Field before = view(basis, 0, stored->first.columns());
    copy(before, stored->first);
    stored.reset();
  } else {
    Field start = view(basis, 0, found.block);
    fill(start);
  }
  // A Krylov space of blocks of p vectors holds p copies of a level at most.
  const int first_block = found.block;
  const int widest = std::max({found.block, l, 48});
  const auto widen_blocks = [&](int factor) {
    const int block = std::min(factor * found.block, widest);
    if (block == found.block) return false;
    found.block = block;
    found.keep = std::max(found.keep, l + block + 4);
    found.most = std::max(found.most, found.keep + 6 * block);
    Field larger = new_basis(), first = view(larger, 0, state.kept);
    copy(first, view(basis, 0, state.kept));
    basis = larger;
    return true;
  };
  while (true) {
    const int degree =
        fixed_degree > 0 ? fixed_degree : chosen_filter_degree(search.method, found.window, found.highest);
    fixed_degree = search.degree + search.degree % 2;
    found.degree = degree;
    const squared_map z = squared_map::of_range(found.window, found.highest);
    bool stopped = false, is_converged = false, is_exhausted = false;
    const std::function<void(Field&, const Field&)> filter = [&](Field& out, const Field& in) {
      found.filtered += in.columns();
      chebyshev_filter(h, out, in, degree, z, search.interrupted);
    };
    int inside = 0, converged = 0, first_cycle = state.cycle;
    double worst = 1.0;          // estimate of an error among those that are sought
    std::vector<double> errors;  // estimates of all inside
    const auto start_counting = [&] {
      first_cycle = state.cycle;
      limit = std::min(last_news + search.cycles, cycles + std::max(search.cycles / 3, least_cycles));
    };
    start_counting();
    const restart_decision<Field> decide = [&](Field& kept, const restart_state& now) {
      if (!now.cut) ++cycles;
      // A residual e of the filter, over the distance from the range [-1, 1] of the rest, is the error of the vector.
      inside = 0;
      errors.clear();
      int settled = 0;
      converged = 0;
      const double before = std::exchange(worst, 0.0);
      for (int i = 0; i < now.kept; ++i) {
        const auto k = static_cast<std::size_t>(i);
        if (!(now.values[k] > 1.02)) break;
        ++inside;
        const double error = found.highest * now.estimates[k] / (now.values[k] - 1.0);
        errors.push_back(error);
        if (error < 1e-4) ++settled;
        if (i < l) worst = std::max(worst, error);
        if (error < 0.3 * search.tolerance && converged == i) ++converged;
      }
      if (inside < l) worst = std::max(worst, 1.0);
      if (search.progress) search.progress(cycles, std::min(converged, l), worst);
      if (keeper && now.coupling.columns() == found.block) {
        found.cycles = cycles;
        keeper(view(kept, 0, now.kept + found.block), {found, now});
      }
      if (stops()) stopped = true;
      is_converged = converged >= l;
      is_exhausted = inside < l && settled == inside && now.cycle >= first_cycle + 2;
      if (worst < 0.3 * before) limit = std::max(limit, std::min(last_news + search.cycles, cycles + 2));  // on its way
      return stopped || is_converged || is_exhausted || cycles >= limit;
    };
    restart_sizes these = sizes();
    these.cycles = state.cycle + search.cycles;
    state = search.method == mode_method::lanczos
                ? thick_restart_lanczos<Field>(basis, these, state, filter, decide, fill, search.interrupted)
                : implicitly_restarted_arnoldi<Field>(basis, these, state, filter, decide, fill, search.interrupted);
    stopped = stopped || state.cut;
    const double before_probes = found.filtered;
    // One Krylov space may hold fewer copies of a degenerate mode than there are. So others follow, orthogonal to what
    // has converged, from random vectors, until one has shown nothing below the last mode that would have had a part of
    // its start. Kept vectors that have not converged are coupled to the next block, which is no part of the new
    // Krylov space: they go into its start.
    bool is_proven = false, is_single = false;
    const auto can_widen_window = [&] { return search.cycles >= least_cycles && found.window < 0.9 * found.highest; };
    for (int pass = 0; pass < 20 + l && !stopped && !is_proven; ++pass) {
      if (!is_converged && !is_exhausted) {
        is_single = inside >= l && state.values[static_cast<std::size_t>(l) - 1] < 1.5 && can_widen_window();
        if (search.cycles < least_cycles || is_single) break;
        if (widen_blocks(4))
          last_news = cycles;
        else if (cycles >= last_news + search.cycles)
          break;
      }
      const bool is_full = is_converged;
      if (is_full) last_news = cycles;
      const double last = is_full ? state.values[static_cast<std::size_t>(l) - 1] : 1.02;
      const auto count_above_last = [&] {
        return std::ranges::count_if(state.values, [&](double value) { return value > last * (1.0 + 1e-7); });
      };
      const auto before = count_above_last();
      // Few vectors prove with the fewest columns that nothing is hidden, as long as nothing speaks for degenerate
      // levels.
      const int block = is_full && found.block == first_block ? std::min(found.block, 2) : found.block;
      // Vectors beyond the wanted ones that are known well enough are no concern of a search for what is hidden. (With
      // an error e they hide that much of a mode at most.)
      int locked = converged;
      const auto is_known = [&](int i) {
        const auto k = static_cast<std::size_t>(i);
        return errors[k] < 1e-6 && state.values[k] < last * (1.0 - 1e-3);
      };
      while (is_full && locked < std::ssize(errors) && is_known(locked)) ++locked;
      restart_sizes few = sizes();
      few.block = block;
      few.keep = std::min(std::max(few.keep, locked + 2 * block), few.most - 2 * block);
      locked = std::max(std::min(locked, few.keep - block), std::min(converged, few.keep));
      few.most = std::min(few.most, std::max(locked + 6 * block, few.keep + 2 * block));
      few.later = std::min(few.most, few.keep + (block > 2 ? 4 : 2) * block);
      few.cycles = state.cycle + search.cycles;
      Field random_start = like(shape_of, block);
      fill(random_start);
      normalise_columns(random_start);
      if (!is_full)
        detail::mix_into(random_start, view(basis, locked, state.kept - locked), std::clamp(worst, 1e-8, 1.0));
      state.kept = locked;
      Field next = view(basis, state.kept, block);
      copy(next, random_start);
      const host_matrix lengths = orthogonalise(view(basis, 0, state.kept), next, fill).r;
      state.coupling = {};
      start_counting();
      hidden_share share{.at = last * (1.0 + 1e-7), .transfer = {}};
      // Of random vectors the parts along a mode have the variance 1 / size.
      double chance = hidden_share{0.0, lengths}.volume();
      for (int i = 1; i <= block; ++i) chance *= size / i;
      double hidden = 1e300;
      // A copy on its way disturbs those that are there, so they have to converge again.
      const restart_decision<Field> settled = [&](Field& kept, const restart_state& now) {
        if (!decide(kept, now)) return false;
        if (!is_full || !is_converged || stopped) return true;
        const bool is_late = now.values[static_cast<std::size_t>(l) - 1] > last * (1.0 + 1e-7);
        const double now_hidden = chance * share.volume();
        if (now_hidden < 0.1 * hidden) limit = std::max(limit, std::min(last_news + search.cycles, cycles + 2));
        hidden = now_hidden;
        is_proven = !is_late && hidden <= chance_of_a_hidden_mode;
        return is_proven || is_late || cycles >= limit;
      };
      state = thick_restart_lanczos<Field>(basis, few, state, filter, settled, fill, search.interrupted, &share);
      stopped = stopped || state.cut;
      const auto late = count_above_last() - before;
      if (late > 0) {
        if (is_full) ++found.late;
        is_proven = false;
        last_news = cycles;
      } else if (is_exhausted && !is_full) {
        break;
      } else if (!is_proven && is_full) {  // a level at the end has more copies than the block
        if (!widen_blocks(4)) break;
      }
      if (late >= block) widen_blocks(2);
    }
    found.probed += found.filtered - before_probes;
    if (((is_exhausted && inside < l && found.window < 0.9 * found.highest) || is_single) && !stopped) {
      // The number of modes below a value grows with a power of it between 1 and 4.
      found.window *= inside == 0 ? 1.5 : std::max(is_single ? 1.15 : 1.08, std::pow(1.2 * l / inside, 0.4));
      found.window = std::min(found.window, 0.9 * found.highest);
      ++found.widened;
      Field mixed = like(shape_of, found.block),
            start = view(basis, 0, found.block);  // what was found is in the new start
      fill(mixed);
      detail::mix_into(mixed, view(basis, 0, state.kept), std::sqrt(1e-2 / size));
      copy(start, mixed);
      state = {};
      last_news = cycles;
      continue;
    }
    found.cycles = cycles;
    const auto end_with_none = [&] {
      found.complete = false;
      found.values.clear();
      found.residuals.clear();
      return found;
    };
    if (stopped) return end_with_none();
    // Vectors that have converged are not mixed with copies that have not. Those beyond the wanted ones help where a
    // level was cut, or modes of both signs are close to each other.
    const int columns = is_converged ? converged : state.kept, count = is_converged ? converged : std::min(l, inside);
    if (count == 0) return end_with_none();
    // Each restart adds its rounding to what is left of orthonormality.
    Field found_ones = view(basis, 0, columns);
    rotate_basis(found_ones, inverse_root(overlaps(found_ones, found_ones)));
    const host_matrix squared = detail::square_in_basis(h, view(basis, 0, columns), width);
    // Beyond the bound the filter grows as it does in the window.
    double largest = 0.0;
    for (int i = 0; i < std::min(inside, columns); ++i) largest = std::max(largest, squared(i, i).re);
    if (largest > 0.999 * found.highest * found.highest && found.raised < 10) {
      found.highest = 1.005 * std::sqrt(largest);
      ++found.raised;
      if (search.window <= 0.0) found.window = window_of_count();
      cycles = last_news = 0;
      state = {};
      Field start = view(basis, 0, found.block);
      fill(start);
      continue;
    }
    detail::rayleigh_ritz(h, basis, columns, count, search.tolerance, width, squared, found.values, found.residuals);
    // Of modes that have converged H^2 knows the |values|: one that is passed over for a higher one is missed.
    std::vector<double> known;
    if (is_converged)
      for (const double square : eigenpairs_of_hermitian(hermitian_part(squared)).values)
        known.push_back(std::sqrt(std::max(square, 0.0)));
    const auto is_good = [&](std::size_t i) {
      return found.residuals[i] <= search.tolerance &&
             (known.empty() || std::abs(std::abs(found.values[i]) - known[i]) <= 10.0 * search.tolerance);
    };
    const auto count_good = [&] {
      int good = 0;
      while (good < std::min(l, count) && is_good(static_cast<std::size_t>(good))) ++good;
      return good;
    };
    int good = count_good();
    // Rayleigh-Ritz mixes copies of a degenerate level, those that have not converged too: the filter once more, as
    // long as it helps.
    double before = 1e-2;
    for (int step = 0; step < 6 && good < std::min(l, count); ++step) {
      const double now = *std::max_element(found.residuals.begin(), found.residuals.begin() + std::min(l, count));
      if (!(now < 0.5 * before)) break;
      before = now;
      Field first_ones = view(basis, 0, count);
      in_batches(count, found.block, [&](int first, int n) {
        Field some = view(first_ones, first, n), filtered = like(some);
        filter(filtered, some);
        normalise_columns(filtered);
        copy(some, filtered);
      });
      if (stops()) return end_with_none();
      orthonormalise(first_ones, fill);
      detail::rayleigh_ritz_of_h(h, first_ones, count, width, found.values);
      found.residuals = eigen_residuals(h, first_ones, found.values, width);
      good = count_good();
    }
    for (int step = 0; step < 2 && is_converged && good < l; ++step) {
      detail::separate_signs(h, basis, count, l, search.tolerance, width, found.values, found.residuals);
      good = count_good();
    }
    found.complete = good == l && is_proven;
    found.values.resize(static_cast<std::size_t>(good));
    found.residuals.resize(static_cast<std::size_t>(good));
    found.vectors = like(shape_of, good);
    copy(found.vectors, view(basis, 0, good));
    return found;
  }
}

}  // namespace plaquette
