// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finds the lowest modes of gamma_5 M by the solves of a multigrid solver.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/eigen/inverse_modes.hpp"
#include "common/solvers/multigrid_hierarchy.hpp"
#include "common/solvers/multigrid_solves.hpp"

namespace plaquette {

/// Finds modes of gamma_5 M by inverse iterations, and describes them.
template <multigrid_backend Backend>
class low_mode_finder {
  using types = multigrid_types<Backend>;
  using library_type = typename types::library;
  using outer_field = typename types::outer_field;
  using cycle_field = typename types::cycle_field;

 public:
  using mode_set = inverse_mode_set<outer_field>;

  /// All must live as long as this object.
  low_mode_finder(const multigrid_operators<Backend>& operators, multigrid_hierarchy<Backend>& hierarchy,
                  const multigrid_solves<Backend>& solves)
      : operators_(operators), hierarchy_(hierarchy), solves_(solves) {}

  /// Returns modes, |values| ascending. Inverse iterations start from the null vectors, and end when the signs of the
  /// two lowest values are known.
  mode_set find(const mode_probe& probe, const std::function<bool()>& interrupted) const {
    const auto& cycle = hierarchy_.cycle(probe.modes);
    stopping_rule rule;
    rule.tolerance = probe.tolerance;
    rule.limit = probe.iteration_limit;
    rule.guess_is_zero = true;
    rule.interrupted = interrupted;
    const auto inverse = [&](outer_field& x, const outer_field& b) {  // (gamma_5 M)^-1 = M^-1 gamma_5
      outer_field rotated = like(b);
      gamma5(rotated, b);
      solves_.once(x, rotated, cycle, rule);
    };
    std::uint64_t drawn = hierarchy_.seed() + 1000;
    const random_fill<outer_field> fill = [&](outer_field& v) {
      assign(v, hierarchy_.library().random_fine_field(v.columns(), drawn++));
    };
    outer_field start = start_of(probe.modes, fill);
    const hermitian_in_double h{operators_.full()};
    auto modes = modes_by_inverse(h, inverse, start, probe.steps, probe.modes, fill);
    for (int round = 1; round < probe.rounds && has_unknown_sign(modes) && !(interrupted && interrupted()); ++round) {
      copy(start, modes.vectors);
      modes = modes_by_inverse(h, inverse, start, probe.steps, probe.modes, fill);
    }
    return modes;
  }

  /// Returns values, residuals and chiralities, and the part of each mode that the null space misses.
  std::vector<low_mode> described(const mode_set& modes) const {
    const outer_field& v = modes.vectors;
    outer_field rotated = like(v);
    gamma5(rotated, v);
    const auto chirality = host_values(dot(v, rotated));
    const auto& p = *hierarchy_.lattices().levels().front().from_finer;
    cycle_field fine = like(v, v.columns(), as<cycle_field>), kept = like(fine);
    assign(fine, v);
    auto coarse = p.coarse_like(v.columns());
    p.restrict_to(coarse, fine);
    p.prolong(kept, coarse);
    const auto missed2 = host_values(subtract_norm2(kept, fine, kept)), all2 = host_values(norm2(fine));
    std::vector<low_mode> found;
    for (std::size_t k = 0; k < modes.values.size(); ++k)
      found.push_back({modes.values[k], modes.residuals[k], chirality[k].re, std::sqrt(missed2[k].re / all2[k].re)});
    return found;
  }

 private:
  /// gamma_5 M in double, and in the precision of the null vectors.
  struct hermitian_in_double {
    const typename types::template full_operator<double>& full;
    void apply(outer_field& out, const outer_field& in) const {
      full.apply(out, in);
      gamma5(out, out);
    }
  };
  struct hermitian_in_single {
    const library_type& of;
    void apply(cycle_field& out, const cycle_field& in) const {
      of.apply_full(out, in);
      gamma5(out, out);
    }
  };

  /// Returns the best modes in the span of the null vectors, and random vectors if these are too few.
  outer_field start_of(int columns, const random_fill<outer_field>& fill) const {
    outer_field start(operators_.get_context(), field_shape{.columns = columns});
    fill(start);
    const auto best =
        lowest_in_span(hermitian_in_single{hierarchy_.library()}, hierarchy_.lattices().null_vectors(), columns);
    outer_field some = view(start, 0, best.columns());
    assign(some, best);
    return start;
  }
  /// Returns whether a residual is so large that a value near zero may have the other sign.
  static bool has_unknown_sign(const mode_set& modes) {
    for (std::size_t k = 0; k < std::min<std::size_t>(2, modes.values.size()); ++k)
      if (modes.residuals[k] > 0.3 * std::abs(modes.values[k])) return true;
    return false;
  }

  const multigrid_operators<Backend>& operators_;
  multigrid_hierarchy<Backend>& hierarchy_;
  const multigrid_solves<Backend>& solves_;
};

}  // namespace plaquette
