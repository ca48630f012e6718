// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The lowest modes of the overlap operator D, through those of D^+ D in one chirality, where a product takes one sign
/// function. (Alexandru, Pelissier, Gamari, Lee 2011; Giusti, Hoelbling, Luescher, Wittig, hep-lat/0212012)
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "common/overlap/mode_pairs.hpp"
#include "common/overlap/mode_refinement.hpp"
#include "common/overlap/pair_search.hpp"
#include "common/overlap/zero_modes.hpp"

namespace plaquette {

/// The lowest modes of D in both chiralities. Lanczos on -D^+ D in the chirality of `search`; after each cycle the sign
/// function's accuracy follows the residuals. Then Rayleigh-Ritz with the accurate sign function, partners in the other
/// chirality P D v / sqrt(e - e^2/4), and zero modes there. (Symmetric links, as those of a free field, may have some
/// in both.) Collective.
/// \param shape_of  a field of 2 spins
/// \param stored    a state of an earlier call, with its basis, or none
/// \param make_basis  of the search, fields of 2 spins
template <class Backend>
overlap_mode_set<typename sign_function<Backend>::Field> lowest_overlap_modes(
    const sign_function<Backend>& calibrated, const typename sign_function<Backend>::Field& shape_of,
    const overlap_mode_search& search, const random_fill<typename sign_function<Backend>::Field>& fill, int width,
    const restart_keeper<typename sign_function<Backend>::Field>& keeper = nullptr,
    std::optional<std::pair<typename sign_function<Backend>::Field, restart_state>> stored = std::nullopt,
    int stored_chirality = 0, const overlap_basis_makers<Backend>& make_basis = {}) {
  using Field = typename sign_function<Backend>::Field;
  const sign_function<Backend> sign = calibrated.near_modes();
  const int l = search.modes;
  const int chi = search.chirality != 0 ? search.chirality
                  : stored              ? stored_chirality
                  : l == 0              ? +1  // none is searched
                           : detail::chirality_without_zero_modes(sign, shape_of, fill, search.interrupted);
  // Its copy of the modes of H in single precision serves corrections too, and then is given back.
  struct single_copy {
    const sign_function<Backend>& of;
    ~single_copy() { of.forget_single_modes(); }
  } const copy_of_modes{sign};
  const double final_delta = accuracy_of_residuals(search.tolerance);
  overlap_mode_set<Field> found{{detail::half_like(shape_of, 0)}, {detail::half_like(shape_of, 0)}};
  found.searched = chi;
  chiral_modes<Field>& main = found.of(chi);
  chiral_modes<Field>& other = found.of(-chi);
  Field partners = detail::half_like(shape_of, l);
  std::vector<double> of_partners;  // residuals
  std::optional<Field> start;       // of a search that begins again
  double top = 1.0;                 // the largest e that is wanted
  for (int attempt = 0; l > 0; ++attempt) {
    // A second search is accurate all the way.
    const bool relaxed = search.relaxed && attempt == 0;
    const bool is_single =
        attempt == 0 && overlap_search_is_single(search.tolerance) && sign.is_single(0.5 * least_single_tolerance);
    overlap_mode_search first_search = search;
    if (is_single) first_search.tolerance = std::max(search.tolerance, least_single_tolerance);
    const auto searched = [&]<class V>(V basis, const random_fill<V>& fill_basis) {
      const bool resumes = stored && attempt == 0;
      detail::pair_search<sign_function<Backend>, V> pairs(sign, chi, first_search, relaxed, basis);
      restart_state state;
      if (resumes) {
        state = stored->second;
        V first = view(basis, 0, stored->first.columns());
        assign(first, stored->first);
      } else {
        V first = view(basis, 0, pairs.sizes().block);
        if (start)
          assign(first, *start);
        else
          fill_basis(first);
      }
      const auto outcome = pairs.run(state, fill_basis, found.cycles, keeper);
      if (outcome == detail::search_outcome::stopped) return outcome;
      main.vectors = detail::half_like(shape_of, l);
      assign(main.vectors, view(basis, 0, l));
      start = detail::half_like(shape_of, pairs.sizes().block);
      pairs.mix(*start, fill);
      top = pairs.top();
      return outcome;
    };
    const int columns = sizes_of_search(search).most + sizes_of_search(search).block;
    detail::search_outcome outcome;
    if (is_single) {
      using InnerField = typename sign_function<Backend>::InnerField;
      const random_fill<InnerField> single_fill = detail::converted_fill<InnerField>(fill);
      outcome = searched(make_basis.as_single ? make_basis.as_single(columns)
                                              : like(detail::half_like(shape_of, 0), columns, as<InnerField>),
                         single_fill);
    } else {
      outcome =
          searched(make_basis.as_double ? make_basis.as_double(columns) : detail::half_like(shape_of, columns), fill);
    }
    found.complete = outcome == detail::search_outcome::converged;
    if (outcome == detail::search_outcome::stopped) return found;
    if (outcome != detail::search_outcome::disturbed) {
      orthonormalise(main.vectors, fill);
      const std::function<void(Field&)> project = [&](Field& x) {
        subtract_combinations(x, main.vectors, inner_products(main.vectors, x));
      };
      if (is_single || search.tolerance > 1e-8)
        of_partners = detail::mode_refinement<sign_function<Backend>, Field>(
                          chiral_square<sign_function<Backend>>(sign, chi), main, &partners, project,
                          detail::goal_of_pairs(search, top), search, width)
                          .run();
      else
        of_partners = detail::judge_modes(sign, chi, main, partners, final_delta, width);
      if (search.interrupted && search.interrupted()) {
        found.complete = false;
        return found;
      }
      if (*std::max_element(main.residuals.begin(), main.residuals.end()) <= search.tolerance || attempt == 2) break;
    }
    ++found.restarts;
  }
  if (l > 0) detail::refine_candidates(sign, chi, main, partners, search, width);
  const int zeros = detail::count_below(main, search.zero), pairs = l - zeros;
  (chi > 0 ? found.zero_plus : found.zero_minus) = zeros;
  Field pair_vectors = detail::half_like(shape_of, 0);
  chiral_modes<Field> zero_modes{detail::half_like(shape_of, 0)};
  if (pairs > 0) {
    pair_vectors = detail::partners_of_pairs(partners, main, zeros);
    const chiral_modes<Field> others =
        detail::search_in_complement(sign, -chi, pair_vectors, main.eigenvalues.back(), search, fill, width);
    const int count = detail::count_below(others, search.zero);
    zero_modes = detail::part_of(others, 0, count);
    (chi > 0 ? found.zero_minus : found.zero_plus) = count;
    found.late = others.vectors.columns() - count;
    const chiral_modes<Field> late = detail::part_of(others, count, found.late);
    // Those that are no zero modes and have not converged are left out.
    const auto has_converged = [&](double residual) { return residual <= search.tolerance; };
    if (found.late > 0 && std::ranges::all_of(late.residuals, has_converged))
      detail::join_late_modes(sign, chi, late, main, zeros, pair_vectors, final_delta, width);
  }
  other.vectors = detail::side_by_side(zero_modes.vectors, pair_vectors);
  if (found.late > 0) rotate_basis(other.vectors, inverse_root(overlaps(other.vectors, other.vectors)));
  other.eigenvalues = zero_modes.eigenvalues;
  other.residuals = zero_modes.residuals;
  other.eigenvalues.insert(other.eigenvalues.end(), main.eigenvalues.begin() + zeros, main.eigenvalues.end());
  for (std::size_t i = static_cast<std::size_t>(zeros); i < static_cast<std::size_t>(l); ++i)
    other.residuals.push_back(i < of_partners.size() ? std::max(main.residuals[i], of_partners[i]) : main.residuals[i]);
  return found;
}
}  // namespace plaquette
