// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// D(m) x = b for many masses and some columns at once by minimal residuals in one search space: directions, their
/// images, the best solutions, corrections by the accurate sign function. (After Brannick, Frommer, Kahl, Leder,
/// Rottmann, Strebel 2016, arXiv:1410.7170)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/eigen/krylov_basis.hpp"
#include "common/error.hpp"
#include "common/overlap/chiral_modes.hpp"
#include "common/overlap/nested_preconditioner.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/overlap_solve_rule.hpp"
#include "common/overlap/residual_minimiser.hpp"
#include "common/overlap/search_space.hpp"

namespace plaquette {

namespace detail {

/// Where the solves of one column stand.
struct preconditioned_column {
  int number = 0;                   ///< among those that are solved for together
  double norm = 0.0;                ///< of the source
  std::vector<double> residuals{};  ///< of each mass, |r| / |source|
  bool is_open = true;
  std::vector<double> computed{};     ///< of the residuals, when vectors r told them last
  std::vector<bool> is_computed{};    ///< whether they tell those of now
  std::optional<std::size_t> held{};  ///< the mass of which r is kept

  /// Takes what fell of the squares of residuals: they are known without vectors.
  void reduce(std::size_t mass, double gain) {
    double& residual = residuals[mass];
    residual = std::sqrt(std::max(0.0, residual * residual - gain / (norm * norm)));
    is_computed[mass] = false;
  }
  /// Returns whether a residual must be computed by vectors. That is the worst, all once they seem to be below the
  /// goal, and one that fell to where rounding may count.
  bool is_wanted(std::size_t mass, double goal) const {
    if (is_computed[mass]) return false;
    const std::size_t most = worst();
    return mass == most || !(residuals[most] > goal) || residuals[mass] < 1e-3 * computed[mass];
  }

  /// Takes a residual that vectors tell. Returns whether r is to be kept.
  bool take(std::size_t mass, double length) {
    residuals[mass] = computed[mass] = length / norm;
    is_computed[mass] = true;
    if (held && !(residuals[mass] > residuals[*held])) return false;
    held = mass;
    return true;
  }

  std::size_t worst() const {
    return static_cast<std::size_t>(std::ranges::max_element(residuals) - residuals.begin());
  }
  bool is_finite() const {
    return std::ranges::all_of(residuals, [](double residual) { return std::isfinite(residual); });
  }
};

}  // namespace detail

/// The solves of some columns, made together in one search space.
template <class Sign, class Inverse>
class preconditioned_solver {
 public:
  using Field = typename Sign::Field;
  using InnerField = typename Sign::InnerField;

  /// All must outlive it.
  /// \param first  the space to begin with
  preconditioned_solver(const overlap_operator<Sign>& d, const search_space<Field, InnerField>& first,
                        const std::vector<double>& masses, const overlap_solve_rule& rule, const Inverse& inverse,
                        overlap_solve_report& report)
      : d_(&d),
        first_(&first),
        masses_(&masses),
        rule_(&rule),
        inverse_(d, inverse, rule, report.work),
        report_(&report),
        space_(first) {}

  /// Computes x[i] = D(masses[i])^-1 b, as far as the rule allows; adds to the report.
  /// \param solutions  returns the x of all masses, whose numbers do not matter. It is called when they are known, so
  ///                   that a search space may grow into their memory.
  /// \param records    whether the report's history is of these columns
  void solve(const std::function<std::vector<Field>()>& solutions, const Field& b, bool records) {
    records_ = records;
    x_.clear();
    const auto take_solutions = [&] {
      if (!x_.empty()) return;
      x_ = solutions();
      for (Field& of_mass : x_) zero(of_mass);
    };
    begin(b);
    for (int round = 0; !open_.empty(); ++round) {
      start_round(round);
      iterate();
      r_.reset();
      take_solutions();
      correct();
      std::erase_if(open_, [&](int n) { return !at(n).is_open; });
      if (open_.empty() || round == rule_->corrections || stops_) break;
      ++report_->work.corrections;
    }
    take_solutions();
    note();
  }

  /// Returns the directions that D makes shortest, in single precision, with images as they are. The space is given
  /// back.
  /// \param count  at most
  direction_block<Field, InnerField> give_shortest(const Field& shape, int count) {
    const host_matrix chosen = space_.shortest_images(count);
    direction_block<Field, InnerField> some(shape, chosen.columns(), false);
    in_batches(chosen.columns(), 4, [&](int first, int n) {
      Field z = like(shape, n), w = like(z);
      const host_matrix combination = block_of(chosen, 0, first, chosen.rows(), n);
      zero(z);
      zero(w);
      space_.add(z, combination);
      space_.add(w, host_matrix(chosen.rows(), n), &combination);
      some.append(z, w);
    });
    space_ = *first_;
    return some;
  }
  bool is_stopped() const { return stops_; }

 private:
  using column = detail::preconditioned_column;

  int mass_count() const { return static_cast<int>(masses_->size()); }
  double weight(std::size_t mass) const { return d_->rho() - 0.5 * (*masses_)[mass]; }
  column& at(int n) { return columns_[static_cast<std::size_t>(n)]; }
  /// Number of the right-hand side of an open column: all masses have one until true residuals are known.
  int source_of(int slot, int mass) const {
    return b_->columns() == std::ssize(open_) ? slot : slot * mass_count() + mass;
  }

  void begin(const Field& b) {
    const std::vector<double> norms = detail::square_roots(host_values(norm2(b)));
    columns_.clear();
    open_.clear();
    for (int n = 0; n < b.columns(); ++n) {
      const double norm = norms[static_cast<std::size_t>(n)];
      columns_.push_back({n, norm, std::vector<double>(masses_->size(), norm > 0.0 ? 1.0 : 0.0), norm > 0.0});
      if (norm > 0.0) open_.push_back(n);
    }
    b_ = some_columns(b, open_);
    history_of_masses_.assign(static_cast<std::size_t>(b.columns()), {});
  }

  /// Begins to solve for what is left of each open column.
  void start_round(int round) {
    // Images that are as inexact as they were allowed to be serve once more and no longer.
    if (round != 1 || space_.size() >= limit() || has_no_room_) {
      space_ = *first_;
      space_.set_columns(static_cast<int>(columns_.size()));
    }
    minimisers_.clear();
    for (std::size_t i = 0; i < masses_->size(); ++i) minimisers_.emplace_back(weight(i), (*masses_)[i]);
    along_ = residual_minimiser(0.0, 1.0);
    r_ = like(*b_, static_cast<int>(open_.size()), as<InnerField>);
    std::tie(zb_, wb_) = space_.products_with(*b_);
    y_ = host_matrix(space_.dimension(), static_cast<int>(open_.size()) * mass_count());
    for (const int n : open_) {
      at(n).computed = at(n).residuals;
      at(n).is_computed.assign(masses_->size(), false);
    }
    std::vector<int> all(open_.size());
    std::iota(all.begin(), all.end(), 0);
    find_residuals(all);
  }
  /// Of directions.
  int limit() const { return first_->size() + rule_->preconditioner.directions * static_cast<int>(columns_.size()); }

  /// For iterated residuals.
  double goal() const { return 0.7 * rule_->tolerance; }

  /// Takes new directions until the iterated residuals of all masses and columns are below the tolerance.
  void iterate() {
    std::vector<int> active(open_.size());  // places among the open columns
    std::iota(active.begin(), active.end(), 0);
    for (int k = 0;; ++k) {
      std::erase_if(active, [&](int slot) {
        const column& c = at(open_of(slot));
        return !c.is_finite() || !(c.residuals[c.worst()] > goal());
      });
      if (active.empty() || space_.size() >= limit()) return;
      stops_ = stops_ || (rule_->interrupted && rule_->interrupted());
      if (stops_ || k >= rule_->limit) return;
      const int size = space_.size();
      const host_matrix y = y_;
      try {
        if (!take_directions(active)) return;
      } catch (const memory_error&) {
        // As if the space were full. One of few directions is worth nothing.
        if (!rule_->may_shrink_batch || k < 4) throw;
        space_.truncate(size);
        y_ = y;
        has_no_room_ = true;
        return;
      }
    }
  }

  /// Adds to the space what the preconditioner makes of the worst residual of the masses of each of these columns.
  /// Returns whether there was something new.
  bool take_directions(const std::vector<int>& active) {
    std::vector<int> numbers;
    std::vector<double> masses, lengths;
    for (const int slot : active) {
      const column& c = at(open_of(slot));
      numbers.push_back(static_cast<int>(c.held.value()));
      masses.push_back((*masses_)[*c.held]);
      lengths.push_back(c.residuals[*c.held]);
    }
    InnerField t = gather_columns(*r_, active);
    normalise_columns(t);
    in_batches(t.columns(), width_of(t.columns()), [&](int first, int n) {
      InnerField part = view(t, first, n), residuals = like(t, n);
      copy(residuals, part);
      const auto of_part = [&](const auto& list) {
        return std::vector(list.begin() + first, list.begin() + first + n);
      };
      const std::vector<int> of_images = of_part(numbers);
      copy(part, inverse_.apply(std::move(residuals), of_part(masses),
                                [&](InnerField& image) { project_images(image, of_images); }));
    });
    double share = 0.0;
    Field both = new_directions(t, lengths, share);
    const int count = both.columns() / 2;
    if (count == 0) return false;
    // A direction of norm 1 enters x with about this share: by that its image may err less.
    const double delta =
        detail::rounded_down(std::clamp(rule_->preconditioner.relaxation * rule_->tolerance / share, 1e-13, 1e-2));
    // Images that err more than single precision need no more; what it leaves of x is a small share of the tolerance.
    const bool as_single = delta >= least_delta_of_single;
    const Field q = view(both, 0, count);
    Field dq = view(both, count, count);
    detail::add_seconds(report_->work.accurate_sign_seconds, rule_->finish, [&] {
      in_batches(count, width_of(count), [&](int first, int n) {
        Field part = view(dq, first, n);
        d_->apply(part, view(q, first, n), delta);
      });
    });
    if (as_single) round_to_single(dq);
    report_->work.accurate_signs += count;
    report_->work.directions += count;
    space_.append(both, !as_single);
    add_products(both);
    find_residuals(active);
    double largest = 0.0, lightest = 0.0;
    for (const int slot : active) {
      const column& c = at(open_of(slot));
      keep_largest(largest, c.residuals[c.worst()]);
      keep_largest(lightest, c.residuals.front());
    }
    if (records_) {
      report_->history.push_back(lightest);
      report_->deltas.push_back(delta);
    }
    ++iterations_;
    if (rule_->progress) rule_->progress(iterations_, largest);
    return true;
  }

  /// Columns at once in inner steps and sign functions.
  int width_of(int columns) const {
    const int narrow = rule_->preconditioner.narrow;
    return narrow > 0 ? std::min(narrow, columns) : columns;
  }

  /// Takes out of images of D(m) what those of the space hold.
  /// \param numbers  of the masses
  void project_images(InnerField& image, const std::vector<int>& numbers) const {
    if (space_.size() == 0) return;
    const auto [zy, wy] = space_.products_with(image);
    host_matrix c(zy.rows(), zy.columns()), e(zy.rows(), zy.columns());
    for (int m = 0; m < mass_count(); ++m) {
      std::vector<int> some;
      for (int j = 0; j < zy.columns(); ++j)
        if (numbers[static_cast<std::size_t>(j)] == m) some.push_back(j);
      if (some.empty()) continue;
      const residual_minimiser& a = minimisers_[static_cast<std::size_t>(m)];
      const host_matrix y = a.solve_about(columns_of(zy, some), columns_of(wy, some));
      for (std::size_t j = 0; j < some.size(); ++j)
        for (int i = 0; i < y.rows(); ++i) {
          c(i, some[j]) = -a.beta() * y(i, static_cast<int>(j));
          e(i, some[j]) = -a.alpha() * y(i, static_cast<int>(j));
        }
    }
    space_.add(image, c, &e);
  }

  /// Returns an orthonormal basis of what t has beyond the space, rounded to single precision, with as much room again
  /// for images.
  /// \param lengths  of the residuals, of which t was made
  /// \param share    becomes the largest one that a solution is expected to take of a direction
  Field new_directions(InnerField& t, const std::vector<double>& lengths, double& share) const {
    // Below that a direction is rounding of single precision.
    constexpr double least = 1e-5;
    const std::vector<double> before = detail::square_roots(host_values(norm2(t)));
    space_.project(t, along_);
    const std::vector<double> fresh = detail::square_roots(host_values(norm2(t)));
    std::vector<int> kept;
    for (std::size_t i = 0; i < fresh.size(); ++i)
      if (fresh[i] > least * before[i]) kept.push_back(static_cast<int>(i));  // false for NaN
    if (kept.empty()) return like(*b_, 0);
    const InnerField some = gather_columns(t, kept);
    std::vector<double> shares, scales;
    for (const int i : kept) {
      const auto n = static_cast<std::size_t>(i);
      shares.push_back(lengths[n]);
      scales.push_back(1.0 / before[n]);
    }
    const host_matrix gram = overlaps(some, some);
    const auto scaled = [&](const std::vector<double>& factors) {
      host_matrix matrix = gram;
      scale_columns(matrix, factors);
      scale_rows(matrix, factors);
      return hermitian_part(matrix);
    };
    share = std::sqrt(eigenpairs_of_hermitian(scaled(shares)).values.back());
    host_matrix chosen = detail::directions_above(scaled(scales), least * least);
    const int count = chosen.columns();
    if (count == 0) return like(*b_, 0);
    scale_rows(chosen, scales);
    InnerField directions = like(t, count);
    combine(directions, some, chosen.numbers());
    Field both = like(*b_, 2 * count), q = view(both, 0, count);
    convert(q, directions);
    return both;
  }

  /// Rounds to single precision, so that inner products agree with those of the stored copy.
  static void round_to_single(Field& x) {
    InnerField rounded = like(x, x.columns(), as<InnerField>);
    convert(rounded, x);
    convert(x, rounded);
  }
  /// Adds the products of new directions and their images with b. In double precision, whatever they are kept in.
  void add_products(const Field& both) {
    const auto [of_z, of_w] = space_.sorted(overlaps(both, space_.doubled(*b_)));
    for (const auto& [products, fresh] : {std::pair{&zb_, &of_z}, std::pair{&wb_, &of_w}}) {
      host_matrix longer(products->rows() + fresh->rows(), fresh->columns());
      set_block(longer, 0, 0, *products);
      set_block(longer, products->rows(), 0, *fresh);
      *products = std::move(longer);
    }
  }
  /// Finds the best solutions of open columns in the space, and what they leave of the masses that are wanted.
  void find_residuals(const std::vector<int>& slots) {
    const int k = space_.dimension(), masses = mass_count();
    host_matrix y(k, y_.columns());
    set_block(y, 0, 0, y_);
    y_ = std::move(y);
    if (k > 0) along_.update(space_);
    for (int m = 0; m < masses && k > 0; ++m) {
      const auto i = static_cast<std::size_t>(m);
      std::vector<int> sources, places;
      for (const int slot : slots) {
        sources.push_back(source_of(slot, m));
        places.push_back(slot * masses + m);
      }
      residual_minimiser& minimiser = minimisers_[i];
      minimiser.update(space_, along_);
      const host_matrix zb = columns_of(zb_, sources), wb = columns_of(wb_, sources);
      const std::vector<double> gains = minimiser.gains(zb, wb, columns_of(y_, places));
      const host_matrix found = minimiser.solve(zb, wb);
      for (std::size_t n = 0; n < slots.size(); ++n) {
        at(open_of(slots[n])).reduce(i, gains[n]);
        set_block(y_, 0, places[n], block_of(found, 0, static_cast<int>(n), k, 1));
      }
    }
    for (const int slot : slots) at(open_of(slot)).held.reset();
    for (;;) {  // what is computed may change what is wanted
      std::vector<int> wanted;
      for (const int slot : slots)
        for (std::size_t m = 0; m < masses_->size(); ++m)
          if (at(open_of(slot)).is_wanted(m, goal())) wanted.push_back(slot * masses + static_cast<int>(m));
      if (wanted.empty()) return;
      in_batches(
          static_cast<int>(wanted.size()), search_space<Field, InnerField>::columns_of_sums,
          [&](int from, int count) { compute_residuals({wanted.begin() + from, wanted.begin() + from + count}); });
    }
  }
  /// Computes what some solutions leave, and keeps the largest of each column. It is a small difference, found in
  /// double precision; single holds it.
  /// \param places  of the solutions in y_
  void compute_residuals(const std::vector<int>& places) {
    const int count = static_cast<int>(places.size()), masses = mass_count();
    const auto mass_of = [&](int i) { return places[static_cast<std::size_t>(i)] % masses; };
    const auto slot_of = [&](int i) { return places[static_cast<std::size_t>(i)] / masses; };
    Field left = like(*b_, count);
    std::vector<double> of_z, of_w;
    for (int i = 0; i < count; ++i) {
      Field one = view(left, i, 1);
      copy(one, view(*b_, source_of(slot_of(i), mass_of(i)), 1));
      of_z.push_back(-(*masses_)[static_cast<std::size_t>(mass_of(i))]);
      of_w.push_back(-weight(static_cast<std::size_t>(mass_of(i))));
    }
    if (space_.dimension() > 0) {
      host_matrix z = columns_of(y_, places), w = z;
      scale_columns(z, of_z);
      scale_columns(w, of_w);
      space_.add(left, z, &w);
    }
    const std::vector<double> norms = detail::square_roots(host_values(norm2(left)));
    for (int i = 0; i < count; ++i) {
      column& c = at(open_of(slot_of(i)));
      if (!c.take(static_cast<std::size_t>(mass_of(i)), norms[static_cast<std::size_t>(i)])) continue;
      InnerField kept = view(*r_, slot_of(i), 1);
      convert(kept, view(left, i, 1));
    }
  }

  /// Adds the solutions of this round to x; b becomes what the accurate sign function leaves of those that stay open.
  void correct() {
    const int masses = mass_count(), slots = static_cast<int>(open_.size());
    const int at_once = std::max(1, static_cast<int>(columns_.size()) / masses);
    std::vector<Field> left;
    in_batches(slots, at_once, [&](int first, int count) {
      if (!stops_ && rule_->interrupted && rule_->interrupted()) stops_ = true;
      Field change = like(*b_, count * masses), image = like(change), part = like(change);
      std::vector<int> stay;
      zero(change);
      const host_matrix y = block_of(y_, 0, first * masses, y_.rows(), count * masses);
      if (space_.size() > 0) space_.add(change, y);
      const std::vector<double> lengths = column_norms(y);
      double longest = 1e-8;
      for (int i = 0; i < count * masses; ++i)
        longest = std::max(longest, lengths[static_cast<std::size_t>(i)] / at(open_of(first + i / masses)).norm);
      const double delta = std::clamp(0.05 * rule_->tolerance / longest, 1e-13, 1e-2);
      detail::add_seconds(report_->work.accurate_sign_seconds, rule_->finish,
                          [&] { apply_in_room(image, change, delta); });
      report_->work.accurate_signs += count * masses;
      std::vector<double> of_image, of_change;
      for (int i = 0; i < count; ++i) {
        for (int m = 0; m < masses; ++m) {
          const int number = i * masses + m;
          Field one = view(part, number, 1), x = view(x_[static_cast<std::size_t>(m)], open_of(first + i), 1);
          copy(one, view(*b_, source_of(first + i, m), 1));
          axpy(x, uniform_scalars(x, 1.0), view(change, number, 1));
          of_image.push_back(-weight(static_cast<std::size_t>(m)));
          of_change.push_back(-(*masses_)[static_cast<std::size_t>(m)]);
        }
      }
      axpy(part, detail::scalars_of(part, of_image), image);
      axpy(part, detail::scalars_of(part, of_change), change);
      const std::vector<double> norms = detail::square_roots(host_values(norm2(part)));
      for (int i = 0; i < count; ++i) {
        column& c = at(open_of(first + i));
        const std::vector<double> iterated = c.residuals;
        for (int m = 0; m < masses; ++m)
          c.residuals[static_cast<std::size_t>(m)] = norms[static_cast<std::size_t>(i * masses + m)] / c.norm;
        history_of_masses_[static_cast<std::size_t>(c.number)].push_back({iterated, c.residuals});
        c.is_open = c.is_finite() && !(c.residuals[c.worst()] <= 0.9 * rule_->tolerance);
        for (int m = 0; m < masses && c.is_open; ++m) stay.push_back(i * masses + m);
      }
      if (stay.empty()) return;
      left.push_back(gather_columns(part, stay));
    });
    b_ = detail::side_by_side(*b_, std::span<const Field>(left));
  }
  /// Computes D x; where memory runs out, of fewer columns at once.
  void apply_in_room(Field& y, const Field& x, double delta) const {
    const int all = x.columns(), half = all / 2;
    try {
      return d_->apply(y, x, delta);
    } catch (const memory_error&) {
      if (!rule_->may_shrink_batch || half == 0) throw;
    }
    for (const auto& [from, count] : {std::pair{0, half}, std::pair{half, all - half}}) {
      Field part = view(y, from, count);
      apply_in_room(part, view(x, from, count), delta);
    }
  }
  int open_of(int slot) const { return open_[static_cast<std::size_t>(slot)]; }

  /// Says how the solutions were found.
  void note() {
    for (std::size_t m = 0; m < masses_->size(); ++m) {
      overlap_mass_report& mass = report_->masses[m];
      mass.iterations = std::max(mass.iterations, iterations_);
      for (std::size_t n = 0; n < columns_.size(); ++n) {
        const column& c = columns_[n];
        const auto& rounds = history_of_masses_[n];
        const double residual = c.residuals[m];
        mass.corrections = std::max(mass.corrections, static_cast<int>(rounds.size()) - 1);
        mass.iterated.push_back(rounds.empty() ? 0.0 : rounds.front().iterated[m]);
        mass.residual.push_back(residual);
        for (std::size_t k = 0; k < rounds.size(); ++k) {
          if (mass.worst.size() <= k) mass.worst.push_back(0.0);
          keep_largest(mass.worst[k], rounds[k].found[m]);
        }
        mass.converged = mass.converged && residual <= 0.9 * rule_->tolerance;  // false for NaN
      }
    }
  }

  /// Residuals of the masses at the end of a round: iterated, and by the accurate sign function.
  struct round_record {
    std::vector<double> iterated, found;
  };

  const overlap_operator<Sign>* d_;
  const search_space<Field, InnerField>* first_;
  const std::vector<double>* masses_;
  const overlap_solve_rule* rule_;
  detail::nested_preconditioner<Sign, Inverse> inverse_;
  overlap_solve_report* report_;
  search_space<Field, InnerField> space_;
  std::vector<residual_minimiser> minimisers_;  ///< of the masses
  residual_minimiser along_{0.0, 1.0};          ///< minimises |t - Z y|
  std::vector<column> columns_;
  std::vector<int> open_;          ///< numbers of columns
  std::vector<Field> x_;           ///< the solutions so far
  std::optional<Field> b_;         ///< of open columns: what is solved for, of all masses together or of each
  std::optional<InnerField> r_;    ///< of open columns: what this round leaves of b, of the worst mass
  host_matrix zb_{}, wb_{}, y_{};  ///< Z^+ b and W^+ b; the solution of this round is Z y
  std::vector<std::vector<round_record>> history_of_masses_;
  int iterations_ = 0;
  bool records_ = false, stops_ = false, has_no_room_ = false;
};

}  // namespace plaquette
