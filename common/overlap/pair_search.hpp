// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One search for the lowest modes of D^+ D in one chirality.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "common/eigen/thick_restart.hpp"
#include "common/overlap/chiral_modes.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/sign_function.hpp"

namespace plaquette {

/// Told after each cycle of the search for pairs: what a later call goes on from. `basis` makes a copy in double, where
/// the search is in single precision.
template <class Field>
using restart_keeper =
    std::function<void(const std::function<Field()>& basis, const restart_state& state, int chirality)>;

/// Make the basis of a search for pairs, fields of 2 spins, in double or single precision; null: like other fields.
template <class Backend>
struct overlap_basis_makers {
  basis_maker<typename sign_function<Backend>::Field> as_double = nullptr;
  basis_maker<typename sign_function<Backend>::InnerField> as_single = nullptr;
};

namespace detail {

enum class search_outcome { converged, not_converged, stopped, disturbed };

/// One search for the lowest modes of D^+ D in a chirality: Lanczos on -D^+ D, with a sign function whose accuracy
/// follows the residuals.
/// \tparam V  fields of the basis: double precision, or single where the sign function is
template <class Sign, class V>
class pair_search {
 public:
  using Field = typename Sign::Field;

  /// \param basis  of sizes_of_search(search).most + .block columns
  pair_search(const Sign& sign, int chirality, const overlap_mode_search& search, bool relaxed, const V& basis)
      : square_(sign, chirality),
        search_(search),
        relaxed_(relaxed),
        sizes_(sizes_of_search(search)),
        basis_(basis),
        delta_(least()) {}

  const restart_sizes& sizes() const { return sizes_; }

  /// \param state   the start is in the first columns of the basis; or what it says is
  /// \param cycles  counted on
  search_outcome run(restart_state state, const random_fill<V>& fill, int& cycles,
                     const restart_keeper<Field>& keeper) {
    const int l = search_.modes, p = sizes_.block;
    if (state.kept > 0) delta_ = accuracy_after(state);
    bool stopped = false, converged = false, disturbed = false;
    bool near = false, comes_near = false;
    double best = 1.0;
    const auto apply = [&](V& out, const V& in) {
      square_.apply(out, in, delta_);
      scale(out, uniform_scalars(out, -1.0));
    };
    const restart_decision<V> decide = [&](V& kept, const restart_state& s) {
      const double worst = worst_of(s);
      int good = 0;
      // The sign function's error adds to a residual. What is left above the tolerance is refined.
      const double enough = (search_.for_deflation ? 0.3 : 0.5) * search_.tolerance;
      while (good < l && s.estimates[static_cast<std::size_t>(good)] < enough) ++good;
      converged = good == l;
      // A mode that comes late, as the copies of a degenerate one do, is known no better than the sign function
      // has become meanwhile.
      disturbed = relaxed_ && delta_ > least() && worst > 100.0 * best;
      best = std::min(best, worst);
      delta_ = accuracy_after(s);
      if (!s.cut) ++cycles;
      if (search_.progress) search_.progress(cycles, good, worst, delta_);
      if (keeper && !disturbed) {
        const auto copied = [&] {
          Field all(kept.get_context(), field_shape{2, 3, kept.shape().sites, s.kept + p});
          assign(all, view(kept, 0, s.kept + p));
          return all;
        };
        keeper(copied, s, square_.chirality());
      }
      stopped = search_.interrupted && search_.interrupted();
      comes_near = !near && 2 * good >= l;
      return converged || stopped || disturbed || comes_near;
    };
    // Near the end cycles are short: the last one would go on for long after all has converged.
    do {
      near = near || comes_near;
      comes_near = false;
      restart_sizes these = sizes_;
      if (near) these.most = sizes_.keep + std::max(2 * p, (sizes_.most - sizes_.keep) / 3);
      state = thick_restart_lanczos<V>(basis_, these, state, apply, decide, fill, search_.interrupted);
    } while (comes_near && !converged && !stopped && !disturbed && !state.cut && state.cycle < sizes_.cycles);
    kept_ = state.kept;
    if (kept_ >= l) top_ = -state.values[static_cast<std::size_t>(l) - 1];
    if (disturbed) return search_outcome::disturbed;
    if (converged && !state.cut) return search_outcome::converged;
    return stopped || state.cut ? search_outcome::stopped : search_outcome::not_converged;
  }

  /// The largest e that is wanted, as the search knows it.
  double top() const { return top_; }

  /// A block that begins another search: a mixture of what was found, and noise.
  void mix(Field& block, const random_fill<Field>& fill) const {
    V mixed = like(basis_, sizes_.block);
    combine_cyclically(mixed, view(basis_, 0, kept_));
    assign(block, mixed);
    Field noise = like(block);
    fill(noise);
    normalise_columns(noise);
    axpy(block, uniform_scalars(block, 0.1), noise);
  }

 private:
  double least() const { return overlap_search_accuracy(search_.tolerance, 1.0, 1.0); }
  double worst_of(const restart_state& s) const {
    double worst = 0.0;
    for (int i = 0; i < std::min(search_.modes, s.kept); ++i)
      worst = std::max(worst, s.estimates[static_cast<std::size_t>(i)]);
    return worst;
  }
  double accuracy_after(const restart_state& s) const {
    if (!relaxed_ || s.kept < search_.modes) return least();
    return overlap_search_accuracy(search_.tolerance, worst_of(s),
                                   -s.values[static_cast<std::size_t>(search_.modes) - 1]);
  }

  chiral_square<Sign> square_;
  const overlap_mode_search& search_;
  bool relaxed_;
  restart_sizes sizes_;
  V basis_;
  double delta_;
  double top_ = 1.0;
  int kept_ = 0;
};

}  // namespace detail

}  // namespace plaquette
