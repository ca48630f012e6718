// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Modes of D^+ D that are roughly known become better, until their residuals are within a goal.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "common/krylov/conjugate_gradients.hpp"
#include "common/overlap/chiral_modes.hpp"
#include "common/overlap/mode_pairs.hpp"
#include "common/overlap/overlap_mode_search.hpp"

namespace plaquette {

namespace detail {

/// A function as an operator.
template <class Function>
struct function_operator {
  const Function& function;
  template <class Field>
  void apply(Field& out, const Field& in) const {
    function(out, in);
  }
  template <class Field>
  void apply_dagger(Field& out, const Field& in) const {
    function(out, in);
  }
};

/// What residuals modes shall have.
struct refinement_goal {
  std::function<double(double e)> of;         ///< at most this, of a mode e
  double final_delta = 1e-9;                  ///< accuracy of the sign function that judges them
  double pairs_from = 1e300, pairs_to = 0.0;  ///< partners of e between these have goals too:
  std::function<double(double e)> of_partner = nullptr;
  double of_eigenvalues = 1.0;  ///< what products of a correction may leave in e
};

/// Improves eigenvectors that are roughly known, until their residuals are within a goal: v loses t, where
/// (D^+ D - e) t = (D^+ D - e) v off all that is known. This is Newton's method for the space that they span.
/// (Jacobi's correction; Sleijpen, van der Vorst 1996) The sign function within is as accurate as each residual takes.
/// What D makes of v is computed once. Then what it makes of t is taken off, which may be less accurate, as t is small.
template <class Sign, class Field>
class mode_refinement {
 public:
  /// \param found    orthonormal; what is refined
  /// \param others   becomes what D makes of them in the other chirality; or null
  /// \param project  takes off what is known, these too
  mode_refinement(const chiral_square<Sign>& square, chiral_modes<Field>& found, Field* others,
                  const std::function<void(Field&)>& project, refinement_goal goal, const overlap_mode_search& search,
                  int width)
      : square_(square),
        found_(found),
        others_(others),
        project_(project),
        goal_(std::move(goal)),
        search_(search),
        width_(width),
        products_(like(found.vectors)),
        residual_vectors_(like(found.vectors)) {}

  /// Returns residuals of the partners, where the goal has some for them.
  std::vector<double> run() {
    const Field& v = found_.vectors;
    const int all = v.columns();
    apply_to_block(square_.sign(), square_.chirality(), v, products_, others_, goal_.final_delta, width_);
    rayleigh_ritz_of_products(found_, products_, others_, residual_vectors_);
    if (has_pairs()) make_low_products_accurate();
    for (int step = 0;; ++step) {
      of_partners_.assign(has_pairs() ? static_cast<std::size_t>(all) : 0, 0.0);
      const auto below = [&](double e) {
        return static_cast<int>(std::ranges::count_if(found_.eigenvalues, [&](double x) { return x < e; }));
      };
      const int first_pair = has_pairs() ? below(goal_.pairs_from) : 0;
      const int last_pair = has_pairs() ? std::max(first_pair, below(goal_.pairs_to)) : 0;
      find_residuals_of_partners(first_pair, last_pair);
      // The first two iterations cut the noise of a cheap search to a sixth: worth it for all that deflate.
      const double enough = step == 0 && search_.for_deflation ? 0.4 : 1.0;
      std::vector<int> rough;
      for (int i = 0; i < all; ++i)
        if (!(excess(i) <= enough)) rough.push_back(i);
      if (rough.empty() || step == 8 || stops()) {
        if (has_pairs()) {
          find_residuals_of_partners(0, first_pair);
          find_residuals_of_partners(last_pair, all);
        }
        return of_partners_;
      }
      // Full batches of columns that need about as much; those that need less leave earlier.
      std::ranges::stable_sort(rough, std::greater<>{}, [&](int i) { return excess(i); });
      for (auto first = rough.begin(); first != rough.end() && !stops();) {
        const auto last = first + std::min<std::ptrdiff_t>(width_, rough.end() - first);
        std::sort(first, last);
        correct({first, last});
        first = last;
      }
      const host_matrix orthonormal = inverse_root(overlaps(v, v));
      rotate_basis(found_.vectors, orthonormal);
      rotate_basis(products_, orthonormal);
      if (others_ != nullptr) rotate_basis(*others_, orthonormal);
      rayleigh_ritz_of_products(found_, products_, others_, residual_vectors_);
    }
  }

 private:
  bool stops() const { return search_.interrupted && search_.interrupted(); }
  bool has_pairs() const { return others_ != nullptr && goal_.pairs_from < goal_.pairs_to; }
  double eigenvalue_of(int i) const { return found_.eigenvalues[static_cast<std::size_t>(i)]; }
  /// The residual in units of its goal.
  double excess(int i) const {
    const auto k = static_cast<std::size_t>(i);
    const double e = found_.eigenvalues[k];
    const double of_mode = found_.residuals[k] / goal_.of(e);
    if (!has_pairs() || of_partners_[k] == 0.0) return of_mode;
    return std::max(of_mode, of_partners_[k] / goal_.of_partner(e));
  }

  /// Of modes first ... last - 1.
  void find_residuals_of_partners(int first, int last) {
    if (first == last) return;
    const std::vector<double> eigenvalues(found_.eigenvalues.begin() + first, found_.eigenvalues.begin() + last);
    std::ranges::copy(residuals_of_partners(square_.sign(), square_.chirality(),
                                            view(residual_vectors_, first, last - first), eigenvalues, width_),
                      of_partners_.begin() + first);
  }

  /// The error of the sign function counts by 1 / sqrt(e) in a partner.
  void make_low_products_accurate() {
    int low = 0;
    while (low < found_.vectors.columns() && eigenvalue_of(low) <= goal_.pairs_to &&
           goal_.final_delta >
               0.2 * goal_.of_partner(eigenvalue_of(low)) * std::sqrt(std::max(0.0, eigenvalue_of(low))))
      ++low;
    if (low == 0) return;
    Field products = view(products_, 0, low), others = view(*others_, 0, low);
    apply_to_block(square_.sign(), square_.chirality(), view(found_.vectors, 0, low), products, &others,
                   0.1 * goal_.final_delta, width_);
    rayleigh_ritz_of_products(found_, products_, others_, residual_vectors_);
  }

  /// One correction of the columns `places`, which take the lowest e of them.
  void correct(const std::vector<int>& places) {
    stopping_rule rule;
    rule.tolerance = 0.3;  // the least
    double e = 4.0;
    for (const int i : places) {
      rule.column_tolerances.push_back(std::clamp(0.5 / excess(i), 1e-3, 0.3));
      rule.tolerance = std::min(rule.tolerance, rule.column_tolerances.back());
      e = std::min(e, std::max(0.0, eigenvalue_of(i)));
    }
    Field residual = gather_columns(residual_vectors_, places), t = like(residual);
    zero(t);
    project_(residual);
    rule.limit = 300;
    rule.guess_is_zero = true;
    rule.interrupted = search_.interrupted;
    double delta = 0.0, zeta = 0.0;
    const auto set_accuracy = [&](double reached) {  // as in solve_overlap
      zeta += 1.0 / (reached * reached);
      delta = rounded_down(std::clamp(0.06 * rule.tolerance * std::sqrt(zeta), 1e-6, 3e-3));
    };
    set_accuracy(1.0);
    rule.progress = [&](int, double reached) {
      if (reached > 0.0 && std::isfinite(reached)) set_accuracy(reached);
    };
    const auto off_modes = [&](Field& out, const Field& in) {
      square_.apply(out, in, delta);
      axpy(out, uniform_scalars(out, -e), in);
      project_(out);
    };
    conjugate_gradients(function_operator<decltype(off_modes)>{off_modes}, t, residual, rule);
    double longest = 0.0;  // of t, in units of what its products may err by
    const auto norms2_of_t = host_values(norm2(t));
    for (std::size_t k = 0; k < places.size(); ++k)
      longest = std::max(longest, std::sqrt(norms2_of_t[k].re) /
                                      std::min(goal_.of(eigenvalue_of(places[k])), 50.0 * goal_.of_eigenvalues));
    if (!(longest > 0.0) || !std::isfinite(longest)) return;
    Field products = like(t), others = like(t);
    apply_to_block(square_.sign(), square_.chirality(), t, products, &others, std::clamp(0.02 / longest, 1e-10, 1e-3),
                   width_);
    subtract(found_.vectors, places, t);
    subtract(products_, places, products);
    if (others_ != nullptr) subtract(*others_, places, others);
  }
  static void subtract(Field& from, const std::vector<int>& places, const Field& what) {
    Field some = gather_columns(from, places);
    axpy(some, uniform_scalars(some, -1.0), what);
    scatter_columns(from, places, some);
  }

  chiral_square<Sign> square_;
  chiral_modes<Field>& found_;
  Field* others_;
  const std::function<void(Field&)>& project_;
  refinement_goal goal_;
  const overlap_mode_search& search_;
  int width_;
  Field products_, residual_vectors_;
  std::vector<double> of_partners_;
};

/// The lowest modes become so good that residuals tell zero modes from others.
/// \param gap  e of what is not known begins there
template <class Sign, class Field>
void refine_lowest_modes(const chiral_square<Sign>& square, chiral_modes<Field>& found, Field* others,
                         const std::function<void(Field&)>& project, const overlap_mode_search& search, int width,
                         double gap) {
  // A residual r leaves an error of r^2 / gap in e, a quarter of what a zero mode may have.
  const double enough = std::max(3e-7, 0.5 * std::sqrt(search.zero * gap));
  // In a deflated propagator of mass m the error of a zero mode counts by 1 / m^2.
  const double share = search.for_deflation ? 0.1 : 1.0;
  const double goal =
      search.tolerance > 1e-8 ? std::max(1e-8, std::min(share * search.tolerance, enough)) : 0.3 * search.tolerance;
  const refinement_goal one_goal{.of = [goal](double) { return goal; },
                                 .final_delta = std::min(1e-9, accuracy_of_residuals(search.tolerance)),
                                 .of_eigenvalues = 0.1 * search.zero};
  mode_refinement<Sign, Field>(square, found, others, project, one_goal, search, width).run();
}

/// Modes of an e above are not zero modes, whatever the tolerance leaves.
inline double surely_no_zero(const overlap_mode_search& search) {
  return search.zero + 10.0 * accuracy_of_residuals(search.tolerance) + 100.0 * search.tolerance * search.tolerance;
}

/// What a search for pairs of a loose tolerance leaves to be refined. In a propagator the error of a mode counts by
/// 1 / e, and that of a partner is longer by up to 2 / sqrt(e). So the lowest become better than others. A digit takes
/// some 18 applications of the sign function a mode. To take it off a dozen columns of propagators, of four masses,
/// takes 400: so it is not worth while for more than the lowest twenty.
/// \param top  the largest e. The lowest fifth lies below 0.04 of it.
inline refinement_goal goal_of_pairs(const overlap_mode_search& search, double top) {
  if (!search.for_deflation)
    return {.of = [all = search.tolerance](double) { return all; },
            .final_delta = accuracy_of_residuals(search.tolerance)};
  const double tolerance = search.tolerance, least = std::min(tolerance, 1e-8), from = surely_no_zero(search);
  const auto goal = [=](double e) {
    return e < from ? tolerance : std::max(least, tolerance * std::clamp(150.0 * e / top, 0.1, 1.0));
  };
  const auto goal_of_partner = [=](double e) { return std::max(least, tolerance * std::max(150.0 * e / top, 0.5)); };
  return {.of = goal,
          .final_delta = accuracy_of_residuals(tolerance),
          .pairs_from = from,
          .pairs_to = 0.04 * top,
          .of_partner = goal_of_partner};
}

/// Where the tolerance does not tell zero modes from others, those that may be some become better.
/// \param partners  what D makes of main in the other chirality
template <class Sign, class Field>
void refine_candidates(const Sign& sign, int chi, chiral_modes<Field>& main, Field& partners,
                       const overlap_mode_search& search, int width) {
  if (search.tolerance <= 1e-8) return;
  int count = 0;
  while (count < std::ssize(main.eigenvalues) &&
         main.eigenvalues[static_cast<std::size_t>(count)] < surely_no_zero(search))
    ++count;
  if (count == 0) return;
  Field place = view(main.vectors, 0, count), place_of_partners = view(partners, 0, count);
  chiral_modes<Field> low{like(place)};
  copy(low.vectors, place);
  const int rest = main.vectors.columns() - count;
  const auto project = [&](Field& x) {
    if (rest > 0) {
      const Field others = view(main.vectors, count, rest);
      subtract_combinations(x, others, inner_products(others, x));
    }
    subtract_combinations(x, low.vectors, inner_products(low.vectors, x));
  };
  Field products = like(place);
  refine_lowest_modes<Sign, Field>(chiral_square<Sign>(sign, chi), low, &products, project, search, width,
                                   main.eigenvalues.back());
  copy(place, low.vectors);
  copy(place_of_partners, products);
  std::ranges::copy(low.eigenvalues, main.eigenvalues.begin());
  std::ranges::copy(low.residuals, main.residuals.begin());
}

}  // namespace detail

}  // namespace plaquette
