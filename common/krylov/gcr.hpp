// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Generalised conjugate residuals with restarts, and the minimal residual iteration.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "common/krylov/convergence_watch.hpp"
#include "common/number_text.hpp"

namespace plaquette {

/// GCR(k): the residual is minimised over up to k directions, whose images under A are orthogonal; then the directions
/// are thrown away. 2 k fields of storage. (Eisenstat, Elman, Schultz, SIAM J. Numer. Anal. 20 (1983) 345)
/// \param x       the initial guess, and the solution
/// \param length  k, at least 1
template <field_batch Field, forward_operator<Field> A>
solve_report gcr(const A& a, Field& x, const Field& b, const stopping_rule& rule, int length) {
  if (length < 1) throw input_error("gcr: the restart length must be at least 1, found " + std::to_string(length));
  convergence_watch<Field> watch("gcr(" + std::to_string(length) + ")", x, b, rule);
  const auto op = watch.counted(a);
  Field y = like(b), r = like(b);  // y: the iterated solution of the columns still in the batch
  copy(y, x);
  auto rr = residual_of_guess(rule, r, op, y, b, watch.b2());
  watch.begin(rr, y, r, rr);

  using scalars = typename Field::scalars;
  std::vector<Field> p, q;  // directions and their images q = A p
  std::vector<scalars> qq;  // |q|^2 of the images in use
  while (watch.running()) {
    if (std::ssize(qq) == length) qq.clear();
    const std::size_t m = qq.size();
    if (p.size() == m) p.push_back(like(r)), q.push_back(like(r));

    // A column that has converged keeps its r, whose image is spanned by the directions there are: orthogonalising
    // would leave rounding, which grows without bound from direction to direction. Masked, it takes q = A r as it is.
    const auto active = watch.unconverged(rr);
    op.apply(q[m], r);
    // Modified Gram-Schmidt: each pass takes one image out of q and projects onto the next, and at last onto r.
    const auto next = [&](std::size_t j) -> const Field& { return j < m ? q[j] : r; };
    auto [q_next, norm] = dot_norm2(q[m], next(0));
    const scalars norm_before = norm;
    scalars projection = conj(q_next);
    std::vector<scalars> taken;
    for (std::size_t j = 0; j < m; ++j) {
      taken.push_back(-(active * ratio(projection, qq[j])));
      std::tie(projection, norm) = axpy_dot_norm2(q[m], taken[j], q[j], next(j + 1));
    }
    copy(p[m], r);
    std::size_t j = 0;
    for (; j + 1 < m; j += 2) axpy_pair(p[m], taken[j], p[j], taken[j + 1], p[j + 1]);
    if (j < m) axpy(p[m], taken[j], p[j]);
    qq.push_back(norm);

    const scalars q_r = conj(projection), rr_before = rr;
    const auto alpha = ratio(active * q_r, norm);
    rr = cg_update(y, r, alpha, p[m], q[m]);
    watch.record(rr, {watch.norm("the new direction's image", norm, norm_before),
                      watch.inner_product("the new direction's step <A p, r>", q_r, norm, rr_before)});
    watch.check_convergence(y, r, p, q, qq, rr);
  }
  return watch.report();
}

/// The minimal residual iteration x += omega <A r, r> / |A r|^2 r, a smoother more than a solver. It converges if the
/// Hermitian part of A is definite.
/// \param x           the initial guess, and the solution
/// \param relaxation  omega, in (0, 2)
template <field_batch Field, linear_operator<Field> A>
solve_report minimal_residual(const A& a, Field& x, const Field& b, const stopping_rule& rule, double relaxation) {
  if (!(relaxation > 0.0 && relaxation < 2.0))
    throw input_error("mr: the relaxation factor must be between 0 and 2, found " + number_text(relaxation));
  convergence_watch<Field> watch("mr", x, b, rule);
  const auto op = watch.counted(a);
  Field y = like(b), r = like(b);
  copy(y, x);
  auto rr = residual_of_guess(rule, r, op, y, b, watch.b2());
  watch.begin(rr, y, r, rr);
  if (!watch.running()) return watch.report();

  Field ar = like(r);
  auto omega = uniform_scalars(r, relaxation);
  while (watch.running()) {
    op.apply(ar, r);
    const auto [ar_r, arar] = dot_norm2(ar, r);
    const auto rr_before = rr;
    const auto alpha = ratio(watch.unconverged(rr) * omega * ar_r, arar);
    axpy(y, alpha, r);
    rr = axpy_norm2(r, -alpha, ar);
    watch.record(rr, {watch.inner_product("<A r, r>", ar_r, arar, rr_before)});
    watch.check_convergence(y, r, ar, rr, omega);
  }
  return watch.report();
}

}  // namespace plaquette
