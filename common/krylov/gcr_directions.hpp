// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The directions of a GCR with a preconditioner, for the outer solver and for the cycles inside.
#pragma once

#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "common/krylov/batch.hpp"
#include "common/krylov/few_fields.hpp"

namespace plaquette::detail {

/// The directions p of a GCR, and their images made orthogonal to each other: q_k = A p_k - sum_j c_kj q_j, j < k. A
/// step s along q_k belongs to the direction d_k = p_k - sum_j c_kj d_j, which need not be formed.
template <field_batch Field>
struct gcr_directions {
  using scalars = typename Field::scalars;
  std::vector<Field> p, q;                  ///< as many as were ever needed
  std::vector<scalars> qq;                  ///< |q|^2 of the images in use
  std::vector<std::vector<scalars>> along;  ///< c_kj

  int count() const { return static_cast<int>(qq.size()); }
  void clear() { qq.clear(), along.clear(); }
  std::span<const Field> directions() const { return std::span<const Field>(p).first(qq.size()); }
  std::span<const Field> images() const { return std::span<const Field>(q).first(qq.size()); }

  /// Takes in a new direction, p[count()], and makes its image orthogonal to the earlier ones. Returns <q, r>, |q|^2,
  /// and |q|^2 before.
  /// \param active  1 in the columns that go on, 0 in the columns that stand still
  template <forward_operator<Field> A>
  std::tuple<scalars, scalars, scalars> add(const A& a, const Field& r, const scalars& active) {
    Field& q_new = q[qq.size()];
    auto [q_r, norm] = apply_dot_norm2(a, q_new, p[qq.size()], r);
    const scalars norm_before = norm;
    std::vector<scalars> c;
    if (!qq.empty()) {
      c = coefficients_along(images(), std::span<const scalars>(qq), std::as_const(q_new), active);
      auto [r_q, norm_after] = subtract_combination_dot_norm2(q_new, std::span<const scalars>(c), images(), r);
      q_r = conj(r_q);
      norm = norm_after;
    }
    along.push_back(std::move(c));
    qq.push_back(norm);
    return {q_r, norm, norm_before};
  }

  /// Makes the last p into its d, if all earlier ones are such already.
  void form_last() {
    const std::size_t last = qq.size() - 1;
    if (last == 0) return;
    subtract_combination(p[last], std::span<const scalars>(along[last]), std::span<const Field>(p).first(last));
    along[last].clear();
  }

  /// x += sum_k s_k d_k for directions none of which was formed.
  void add_steps(Field& x, std::vector<scalars> s) const {
    add_combination(x, std::span<const scalars>(on_p(std::move(s))), directions());
  }
  /// Returns the columns `list` of the same, ascending. Others are not read.
  Field some_with_steps(const Field& x, std::vector<scalars> s, const std::vector<int>& list) const {
    Field some = gather_columns(x, list);
    s = on_p(std::move(s));
    for (const column_run& run : runs_of(list)) {
      const auto columns =
          std::span<const int>(list).subspan(static_cast<std::size_t>(run.first), static_cast<std::size_t>(run.count));
      Field part = view(some, run.first, run.count);
      std::vector<Field> p_of_run;
      std::vector<scalars> s_of_run;
      for (std::size_t k = 0; k < s.size(); ++k) {
        p_of_run.push_back(view(p[k], columns.front(), run.count));
        s_of_run.push_back(run.count == x.columns() ? s[k] : compacted(s[k], columns));
      }
      add_combination(part, std::span<const scalars>(s_of_run), std::span<const Field>(p_of_run));
    }
    return some;
  }

 private:
  /// Returns t with sum_k t_k p_k = sum_k s_k d_k.
  std::vector<scalars> on_p(std::vector<scalars> s) const {
    for (std::size_t k = s.size(); k-- > 0;)  // s_k d_k = s_k p_k - sum_j s_k c_kj d_j
      for (std::size_t j = 0; j < k; ++j) s[j] = s[j] - s[k] * along[k][j];
    return s;
  }
};

}  // namespace plaquette::detail
