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

#include "common/eigen/implicit_arnoldi.hpp"
#include "common/eigen/mode_search.hpp"
#include "common/eigen/spectrum.hpp"
#include "common/krylov/batch.hpp"

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

/// The space in which modes are sought.
template <field_batch Field, field_batch InnerField>
struct mode_space {
  const Field& shape;               ///< a field of it
  const InnerField& random_single;  ///< columns of norm 1, for the stochastic count of modes
  double size;                      ///< its dimension: 12 numbers a site of the whole lattice
  random_fill<Field> fill;          ///< fills columns with random numbers
};

/// How a search uses memory, and where it begins.
template <field_batch Field>
struct lowest_modes_options {
  int width = 12;                           ///< the most columns that H takes at once
  mode_keeper<Field> keeper = nullptr;      ///< told where the search stands, or null
  basis_maker<Field> make_basis = nullptr;  ///< makes the basis of the search, or null
  /// What a keeper was told in an earlier call for the same search, or none.
  std::optional<std::pair<Field, mode_search_state>> stored = std::nullopt;
};

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

/// Searches for the lowest modes of H: `search` by a restarted Krylov method, `prove` by random vectors, `widen` the
/// window where it holds too few, `refine` what was found. `run` is their order.
template <field_batch Field, class H, class HSingle, field_batch InnerField>
class lowest_mode_search {
 public:
  /// All but the options must live as long as this object.
  lowest_mode_search(const H& h, const HSingle& as_single, const mode_space<Field, InnerField>& space,
                     const mode_search& sought, lowest_modes_options<Field> options)
      : h_(h),
        as_single_(as_single),
        space_(space),
        sought_(sought),
        options_(std::move(options)),
        wanted_(sought.modes),
        chosen_(sizes_of_search(sought)),
        fixed_degree_(given_degree()),
        found_(like(space.shape, 0)),
        basis_(like(space.shape, 0)) {
    if (wanted_ < 1 || 3.0 * wanted_ > space.size)
      throw input_error("modes of H: expected from 1 to a third of the " + std::to_string(std::llround(space.size)) +
                        " dimensions of this lattice, found " + std::to_string(wanted_));
  }

  /// Returns the modes. To be called once.
  mode_set<Field> run() {
    start();
    while (true) {
      search();
      prove();
      if (holds_too_few())
        widen();
      else if (refine())
        return std::move(found_);
    }
  }

 private:
  static constexpr int least_cycles = 10;

  int given_degree() const { return sought_.degree + sought_.degree % 2; }
  bool stops() const { return sought_.interrupted && sought_.interrupted(); }
  bool can_widen_window() const { return sought_.cycles >= least_cycles && found_.window < 0.9 * found_.highest; }
  double last_wanted_value() const { return state_.values[static_cast<std::size_t>(wanted_) - 1]; }

  Field new_basis() const {
    const int columns = found_.most + found_.block;
    return options_.make_basis ? options_.make_basis(columns) : like(space_.shape, columns);
  }

  restart_sizes sizes() const {
    const int later =
        chosen_.later > 0 ? std::min(found_.most, std::max(chosen_.later, found_.keep + 5 * found_.block)) : 0;
    return {found_.keep, found_.most, found_.block, sought_.cycles, later};
  }

  /// Returns a window that holds a few modes more than are wanted. Moments larger than 1 are of modes above the bound,
  /// which is raised then.
  double window_of_count() {
    while (true) {
      const mode_count count =
          count_modes(as_single_, space_.random_single, 250, space_.size, found_.highest, sought_.interrupted);
      if (stops()) return 0.5 * found_.highest;
      if (count.is_bounded()) return count.value_of(2.0 * wanted_ + 4.0);
      found_.highest =
          std::max(1.02 * found_.highest, largest_eigenvalue(h_, space_.shape, space_.fill, sought_.interrupted));
      ++found_.raised;
    }
  }

  /// Finds bound, window and sizes, and fills the first block: random vectors, or what was stored.
  void start() {
    auto& stored = options_.stored;
    found_.highest = sought_.highest > 0.0 ? sought_.highest
                                           : largest_eigenvalue(h_, space_.shape, space_.fill, sought_.interrupted);
    found_.keep = chosen_.keep;
    found_.most = chosen_.most;
    found_.block = chosen_.block;
    if (stored) {
      static_cast<mode_search_course&>(found_) = stored->second;
      state_ = stored->second.restart;
      cycles_ = found_.cycles;
      if (cycles_ >= sought_.cycles) last_news_ = cycles_;
      fixed_degree_ = found_.degree;
    } else {
      found_.window = sought_.window > 0.0 ? sought_.window : window_of_count();
    }
    basis_ = new_basis();
    if (stored) {
      Field before = view(basis_, 0, stored->first.columns());
      copy(before, stored->first);
      stored.reset();
    } else {
      fill_first_block();
    }
    first_block_ = found_.block;
    widest_ = std::max({found_.block, wanted_, 48});
  }

  void fill_first_block() {
    Field first = view(basis_, 0, found_.block);
    space_.fill(first);
  }

  void filter(Field& out, const Field& in) {
    found_.filtered += in.columns();
    chebyshev_filter(h_, out, in, found_.degree, squared_map::of_range(found_.window, found_.highest),
                     sought_.interrupted);
  }

  void start_counting() {
    first_cycle_ = state_.cycle;
    limit_ = std::min(last_news_ + sought_.cycles, cycles_ + std::max(sought_.cycles / 3, least_cycles));
  }

  /// Grants a search that is on its way two cycles more.
  void extend_limit() { limit_ = std::max(limit_, std::min(last_news_ + sought_.cycles, cycles_ + 2)); }

  /// Counts what is inside the window and what of it has converged. A residual e of the filter, over the distance from
  /// the range [-1, 1] of the rest, is the error of the vector. Returns how many inside have settled.
  int judge_values(const restart_state& now) {
    inside_ = 0;
    errors_.clear();
    int settled = 0;
    converged_ = 0;
    worst_ = 0.0;
    for (int i = 0; i < now.kept; ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (!(now.values[k] > 1.02)) break;
      ++inside_;
      const double error = found_.highest * now.estimates[k] / (now.values[k] - 1.0);
      errors_.push_back(error);
      if (error < 1e-4) ++settled;
      if (i < wanted_) worst_ = std::max(worst_, error);
      if (error < 0.3 * sought_.tolerance && converged_ == i) ++converged_;
    }
    if (inside_ < wanted_) worst_ = std::max(worst_, 1.0);
    return settled;
  }

  /// Judges a cycle, tells of it, and returns whether the Krylov method ends here.
  bool decide(Field& kept, const restart_state& now) {
    if (!now.cut) ++cycles_;
    const double before = worst_;
    const int settled = judge_values(now);
    if (sought_.progress) sought_.progress(cycles_, std::min(converged_, wanted_), worst_);
    if (options_.keeper && now.coupling.columns() == found_.block) {
      found_.cycles = cycles_;
      options_.keeper(view(kept, 0, now.kept + found_.block), {found_, now});
    }
    if (stops()) stopped_ = true;
    is_converged_ = converged_ >= wanted_;
    is_exhausted_ = inside_ < wanted_ && settled == inside_ && now.cycle >= first_cycle_ + 2;
    if (worst_ < 0.3 * before) extend_limit();
    return stopped_ || is_converged_ || is_exhausted_ || cycles_ >= limit_;
  }

  /// Runs the Krylov method from where it stands until the modes have converged, or the window or the cycles are used
  /// up.
  void search() {
    found_.degree =
        fixed_degree_ > 0 ? fixed_degree_ : chosen_filter_degree(sought_.method, found_.window, found_.highest);
    fixed_degree_ = given_degree();
    stopped_ = is_converged_ = is_exhausted_ = false;
    inside_ = converged_ = 0;
    worst_ = 1.0;
    errors_.clear();
    start_counting();
    const restart_decision<Field> ends = [this](Field& kept, const restart_state& now) { return decide(kept, now); };
    restart_sizes these = sizes();
    these.cycles = state_.cycle + sought_.cycles;
    state_ = sought_.method == mode_method::lanczos
                 ? thick_restart_lanczos<Field>(basis_, these, state_, filter_, ends, space_.fill, sought_.interrupted)
                 : implicitly_restarted_arnoldi<Field>(basis_, these, state_, filter_, ends, space_.fill,
                                                       sought_.interrupted);
    stopped_ = stopped_ || state_.cut;
  }

  /// Shows that no mode is hidden. One Krylov space may hold fewer copies of a degenerate mode than there are. So
  /// others follow, orthogonal to what has converged, from random vectors, until one has shown nothing below the last
  /// mode that would have had a part of its start.
  void prove() {
    const double before = found_.filtered;
    is_proven_ = is_single_ = false;
    for (int pass = 0; pass < 20 + wanted_ && !stopped_ && !is_proven_; ++pass) {
      const bool is_stuck = !is_converged_ && !is_exhausted_;
      if ((is_stuck && !widen_search()) || !probe()) break;
    }
    found_.probed += found_.filtered - before;
  }

  /// Widens the blocks of a search that is stuck. Returns false if that does not help.
  bool widen_search() {
    is_single_ = inside_ >= wanted_ && last_wanted_value() < 1.5 && can_widen_window();
    if (sought_.cycles < least_cycles || is_single_) return false;
    if (!widen_blocks(4)) return cycles_ < last_news_ + sought_.cycles;
    last_news_ = cycles_;
    return true;
  }

  /// A Krylov space of blocks of p vectors holds p copies of a level at most. Returns whether the blocks are larger
  /// now.
  bool widen_blocks(int factor) {
    const int block = std::min(factor * found_.block, widest_);
    if (block == found_.block) return false;
    found_.block = block;
    found_.keep = std::max(found_.keep, wanted_ + block + 4);
    found_.most = std::max(found_.most, found_.keep + 6 * block);
    Field larger = new_basis(), first = view(larger, 0, state_.kept);
    copy(first, view(basis_, 0, state_.kept));
    basis_ = larger;
    return true;
  }

  auto count_above(double last) const {
    return std::ranges::count_if(state_.values, [&](double value) { return value > last * (1.0 + 1e-7); });
  }

  /// Returns how many vectors a search for what is hidden leaves alone. Vectors beyond the wanted ones that are known
  /// well enough are no concern of it. (With an error e they hide that much of a mode at most.)
  int known_vectors(double last) const {
    int locked = converged_;
    const auto is_known = [&](int i) {
      const auto k = static_cast<std::size_t>(i);
      return errors_[k] < 1e-6 && state_.values[k] < last * (1.0 - 1e-3);
    };
    while (is_converged_ && locked < std::ssize(errors_) && is_known(locked)) ++locked;
    return locked;
  }

  /// Puts a random block after the first `locked` vectors, orthogonal to these. Returns the factor R of the block. Kept
  /// vectors that have not converged are coupled to the next block, which is no part of the new Krylov space: they go
  /// into its start.
  host_matrix put_random_block(int locked, int block) {
    Field random_start = like(space_.shape, block);
    space_.fill(random_start);
    normalise_columns(random_start);
    if (!is_converged_)
      mix_into(random_start, view(basis_, locked, state_.kept - locked), std::clamp(worst_, 1e-8, 1.0));
    state_.kept = locked;
    Field next = view(basis_, state_.kept, block);
    copy(next, random_start);
    host_matrix lengths = orthogonalise(view(basis_, 0, state_.kept), next, space_.fill).r;
    state_.coupling = {};
    return lengths;
  }

  /// Searches once from random vectors, orthogonal to what has converged. Returns whether another such search may help
  /// or the proof is there.
  bool probe() {
    const bool is_full = is_converged_;
    if (is_full) last_news_ = cycles_;
    const double last = is_full ? last_wanted_value() : 1.02;
    const auto before = count_above(last);
    // Few vectors prove with the fewest columns that nothing is hidden, as long as nothing speaks for degenerate
    // levels.
    const int block = is_full && found_.block == first_block_ ? std::min(found_.block, 2) : found_.block;
    int locked = known_vectors(last);
    restart_sizes few = sizes();
    few.block = block;
    few.keep = std::min(std::max(few.keep, locked + 2 * block), few.most - 2 * block);
    locked = std::max(std::min(locked, few.keep - block), std::min(converged_, few.keep));
    few.most = std::min(few.most, std::max(locked + 6 * block, few.keep + 2 * block));
    few.later = std::min(few.most, few.keep + (block > 2 ? 4 : 2) * block);
    few.cycles = state_.cycle + sought_.cycles;
    const host_matrix lengths = put_random_block(locked, block);
    start_counting();
    hidden_share share{.at = last * (1.0 + 1e-7), .transfer = {}};
    // Of random vectors the parts along a mode have the variance 1 / size.
    double chance = hidden_share{0.0, lengths}.volume();
    for (int i = 1; i <= block; ++i) chance *= space_.size / i;
    double hidden = 1e300;
    // A copy on its way disturbs those that are there, so they have to converge again.
    const restart_decision<Field> settled = [&](Field& kept, const restart_state& now) {
      if (!decide(kept, now)) return false;
      if (!is_full || !is_converged_ || stopped_) return true;
      const bool is_late = now.values[static_cast<std::size_t>(wanted_) - 1] > last * (1.0 + 1e-7);
      const double now_hidden = chance * share.volume();
      if (now_hidden < 0.1 * hidden) extend_limit();
      hidden = now_hidden;
      is_proven_ = !is_late && hidden <= chance_of_a_hidden_mode;
      return is_proven_ || is_late || cycles_ >= limit_;
    };
    state_ =
        thick_restart_lanczos<Field>(basis_, few, state_, filter_, settled, space_.fill, sought_.interrupted, &share);
    stopped_ = stopped_ || state_.cut;
    const auto late = count_above(last) - before;
    if (late > 0) {
      if (is_full) ++found_.late;
      is_proven_ = false;
      last_news_ = cycles_;
      if (late >= block) widen_blocks(2);
      return true;
    }
    if (!is_full) return !is_exhausted_;
    return is_proven_ || widen_blocks(4);  // a level at the end may have more copies than the block
  }

  bool holds_too_few() const {
    return ((is_exhausted_ && inside_ < wanted_ && found_.window < 0.9 * found_.highest) || is_single_) && !stopped_;
  }

  /// Widens the window and starts again, with what was found in the new start. The number of modes below a value grows
  /// with a power of it between 1 and 4.
  void widen() {
    found_.window *= inside_ == 0 ? 1.5 : std::max(is_single_ ? 1.15 : 1.08, std::pow(1.2 * wanted_ / inside_, 0.4));
    found_.window = std::min(found_.window, 0.9 * found_.highest);
    ++found_.widened;
    Field mixed = like(space_.shape, found_.block), first = view(basis_, 0, found_.block);
    space_.fill(mixed);
    mix_into(mixed, view(basis_, 0, state_.kept), std::sqrt(1e-2 / space_.size));
    copy(first, mixed);
    state_ = {};
    last_news_ = cycles_;
  }

  /// Makes eigenvectors of H of the Ritz vectors of the filter. Returns false if the bound of |H| was too low: it is
  /// raised, and the search begins again.
  bool refine() {
    found_.cycles = cycles_;
    if (stopped_) return end_with_none();
    // Vectors that have converged are not mixed with copies that have not. Those beyond the wanted ones help where a
    // level was cut, or modes of both signs are close to each other.
    const int columns = is_converged_ ? converged_ : state_.kept;
    const int count = is_converged_ ? converged_ : std::min(wanted_, inside_);
    if (count == 0) return end_with_none();
    // Each restart adds its rounding to what is left of orthonormality.
    Field found_ones = view(basis_, 0, columns);
    rotate_basis(found_ones, inverse_root(overlaps(found_ones, found_ones)));
    const host_matrix squared = square_in_basis(h_, view(basis_, 0, columns), options_.width);
    if (raise_bound(squared, std::min(inside_, columns))) return false;
    rayleigh_ritz(h_, basis_, columns, count, sought_.tolerance, options_.width, squared, found_.values,
                  found_.residuals);
    known_.clear();
    if (is_converged_)
      for (const double square : eigenpairs_of_hermitian(hermitian_part(squared)).values)
        known_.push_back(std::sqrt(std::max(square, 0.0)));
    if (!filter_again(count)) return end_with_none();
    int good = count_good(count);
    for (int step = 0; step < 2 && is_converged_ && good < wanted_; ++step) {
      separate_signs(h_, basis_, count, wanted_, sought_.tolerance, options_.width, found_.values, found_.residuals);
      good = count_good(count);
    }
    found_.complete = good == wanted_ && is_proven_;
    found_.values.resize(static_cast<std::size_t>(good));
    found_.residuals.resize(static_cast<std::size_t>(good));
    found_.vectors = like(space_.shape, good);
    copy(found_.vectors, view(basis_, 0, good));
    return true;
  }

  bool end_with_none() {
    found_.complete = false;
    found_.values.clear();
    found_.residuals.clear();
    return true;
  }

  /// Raises the bound of |H| if one of the first `count` modes is beyond, and starts from random vectors. Beyond the
  /// bound the filter grows as it does in the window.
  bool raise_bound(const host_matrix& squared, int count) {
    double largest = 0.0;
    for (int i = 0; i < count; ++i) largest = std::max(largest, squared(i, i).re);
    if (!(largest > 0.999 * found_.highest * found_.highest && found_.raised < 10)) return false;
    found_.highest = 1.005 * std::sqrt(largest);
    ++found_.raised;
    if (sought_.window <= 0.0) found_.window = window_of_count();
    cycles_ = last_news_ = 0;
    state_ = {};
    fill_first_block();
    return true;
  }

  /// Of modes that have converged H^2 knows the |values|: one that is passed over for a higher one is missed.
  bool is_good(std::size_t i) const {
    return found_.residuals[i] <= sought_.tolerance &&
           (known_.empty() || std::abs(std::abs(found_.values[i]) - known_[i]) <= 10.0 * sought_.tolerance);
  }

  int count_good(int count) const {
    int good = 0;
    while (good < std::min(wanted_, count) && is_good(static_cast<std::size_t>(good))) ++good;
    return good;
  }

  /// Filters the first `count` vectors once more, as long as it helps: Rayleigh-Ritz mixes copies of a degenerate
  /// level, those that have not converged too. Returns false if it was interrupted.
  bool filter_again(int count) {
    double before = 1e-2;
    for (int step = 0; step < 6 && count_good(count) < std::min(wanted_, count); ++step) {
      const double now =
          *std::max_element(found_.residuals.begin(), found_.residuals.begin() + std::min(wanted_, count));
      if (!(now < 0.5 * before)) break;
      before = now;
      Field first_ones = view(basis_, 0, count);
      in_batches(count, found_.block, [&](int first, int n) {
        Field some = view(first_ones, first, n), filtered = like(some);
        filter(filtered, some);
        normalise_columns(filtered);
        copy(some, filtered);
      });
      if (stops()) return false;
      orthonormalise(first_ones, space_.fill);
      rayleigh_ritz_of_h(h_, first_ones, count, options_.width, found_.values);
      found_.residuals = eigen_residuals(h_, first_ones, found_.values, options_.width);
    }
    return true;
  }

  const H& h_;
  const HSingle& as_single_;
  const mode_space<Field, InnerField>& space_;
  const mode_search& sought_;
  lowest_modes_options<Field> options_;
  int wanted_;
  restart_sizes chosen_;
  int fixed_degree_;
  mode_set<Field> found_;
  Field basis_;
  const std::function<void(Field&, const Field&)> filter_ = [this](Field& out, const Field& in) { filter(out, in); };

  restart_state state_{};
  // A search may take sought.cycles cycles after modes came late, or the window or blocks were widened. These are
  // widened where it has not converged after a third.
  int cycles_ = 0, last_news_ = 0, limit_ = 0, first_cycle_ = 0;
  int first_block_ = 0, widest_ = 0;
  int inside_ = 0, converged_ = 0;  ///< vectors in the window, and how many of the first ones have converged
  double worst_ = 1.0;              ///< estimate of an error among those that are sought
  std::vector<double> errors_{};    ///< estimates of all inside
  std::vector<double> known_{};     ///< |values| by H^2, or none
  bool stopped_ = false, is_converged_ = false, is_exhausted_ = false;
  bool is_proven_ = false;  ///< no mode is hidden
  bool is_single_ = false;  ///< modes at the edge of the window hold the search up: it is widened
};

}  // namespace detail

/// Returns the lowest modes. Window, degree, block and search space are found where `search` leaves them open; the
/// window is widened where it holds too few. A search that was interrupted returns none. Where only some converge,
/// those below the first that did not are returned, with complete = false. Where modes above search.highest come, the
/// bound is raised and the search begins again. Collective.
/// \param as_single  H in low precision, for the stochastic count of modes, on columns like space.random_single
template <field_batch Field, class H, class HSingle, field_batch InnerField>
mode_set<Field> lowest_modes(const H& h, const HSingle& as_single, const mode_space<Field, InnerField>& space,
                             const mode_search& search, lowest_modes_options<Field> options = {}) {
  return detail::lowest_mode_search<Field, H, HSingle, InnerField>(h, as_single, space, search, std::move(options))
      .run();
}

}  // namespace plaquette
