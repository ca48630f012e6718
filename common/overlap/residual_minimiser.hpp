// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The best solution in a search space that grows: minimal residuals of one mass, with matrices of the host alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/eigen/krylov_basis.hpp"

namespace plaquette {

namespace detail {

/// Returns independent_directions of a Gram matrix without those whose eigenvalue is at most `least`.
inline host_matrix directions_above(const host_matrix& gram, double least) {
  return independent_directions(gram, least / eigenpairs_of_hermitian(hermitian_part(gram)).values.back());
}

}  // namespace detail

/// Minimises |b - A y|, A = alpha W + beta Z of a search space that grows: of one mass.
class residual_minimiser {
 public:
  residual_minimiser(double alpha, double beta) : alpha_(alpha), beta_(beta) {}

  double alpha() const { return alpha_; }
  double beta() const { return beta_; }

  /// Takes the directions into account that are new in the space, and after all of them their partners. Those that are
  /// nearly combinations of others, as partners of modes of D are of modes, are left out: large multiples of them would
  /// add errors of images.
  template <class Space>
  void update(const Space& space) {
    constexpr double least = 1e-2;
    const int before = q_.rows(), each = space.rows_of_direction();
    enlarge(space);
    const int all = normal_.rows();
    for (int which = 0; which < each; ++which)
      for (int from = before + which; from < all; from += each * at_once) {
        std::vector<int> fresh;
        for (int i = from; i < std::min(all, from + each * at_once); i += each) fresh.push_back(i);
        host_matrix units(all, static_cast<int>(fresh.size()));
        for (int j = 0; j < units.columns(); ++j) units(fresh[static_cast<std::size_t>(j)], j).re = 1.0;
        grow(units, least);
      }
  }
  /// Adds the new combinations of another minimiser.
  template <class Space>
  void update(const Space& space, const residual_minimiser& other) {
    enlarge(space);
    for (; taken_ < other.q_.columns(); taken_ += std::min(at_once, other.q_.columns() - taken_))
      grow(block_of(other.q_, 0, taken_, other.q_.rows(), std::min(at_once, other.q_.columns() - taken_)), 0.0);
  }
  /// Returns the y of each column.
  /// \param zb, wb  Z^+ b and W^+ b
  host_matrix solve(const host_matrix& zb, const host_matrix& wb) const {
    const host_matrix right = image_products(zb, wb), y = solution(right);
    // The second time makes good what rounding of Q leaves.
    return sum(y, solution(rest_of(right, y)));
  }
  /// Returns by how much the squares of residuals |b - A y| fall when y becomes the best, of each column.
  std::vector<double> gains(const host_matrix& zb, const host_matrix& wb, const host_matrix& y) const {
    std::vector<double> squares = column_norms(adjoint_product(q_, rest_of(image_products(zb, wb), y)));
    for (double& gain : squares) gain *= gain;
    return squares;
  }
  /// Does the same as solve() to some ten digits.
  host_matrix solve_about(const host_matrix& zb, const host_matrix& wb) const {
    return solution(image_products(zb, wb));
  }

 private:
  /// A^+ b
  host_matrix image_products(const host_matrix& zb, const host_matrix& wb) const {
    host_matrix right(zb.rows(), zb.columns());
    for (int j = 0; j < zb.columns(); ++j)
      for (int i = 0; i < zb.rows(); ++i) right(i, j) = alpha_ * wb(i, j) + beta_ * zb(i, j);
    return right;
  }
  /// A^+ (b - A y), from right = A^+ b
  host_matrix rest_of(host_matrix right, const host_matrix& y) const {
    const host_matrix of_y = product(normal_, y);
    for (int j = 0; j < right.columns(); ++j)
      for (int i = 0; i < right.rows(); ++i) right(i, j) = right(i, j) - of_y(i, j);
    return right;
  }
  host_matrix solution(const host_matrix& right) const { return product(q_, adjoint_product(q_, right)); }

  template <class Space>
  void enlarge(const Space& space) {
    normal_ = space.normal_matrix(alpha_, beta_);
    host_matrix longer(normal_.rows(), q_.columns());
    if (q_.columns() > 0) set_block(longer, 0, 0, q_);
    q_ = std::move(longer);
  }
  /// Makes the images of some combinations of directions orthonormal, and orthogonal to those of the others. Those
  /// whose images are combinations of others tell nothing.
  /// \param least  square of the least part of an image that others lack
  void grow(const host_matrix& candidates, double least) {
    const host_matrix images = product(normal_, candidates);
    host_matrix left = adjoint_product(candidates, images), along(q_.columns(), left.columns());
    double longest = 0.0;
    for (int i = 0; i < left.rows(); ++i) longest = std::max(longest, left(i, i).re);
    if (q_.columns() > 0) {
      along = adjoint_product(q_, images);
      const host_matrix known = adjoint_product(along, along);
      for (int j = 0; j < left.columns(); ++j)
        for (int i = 0; i < left.rows(); ++i) left(i, j) = left(i, j) - known(i, j);
    }
    const host_matrix chosen = detail::directions_above(left, std::max(1e-13 * longest, least));
    if (chosen.columns() == 0) return;
    host_matrix larger(q_.rows(), q_.columns() + chosen.columns());
    if (q_.columns() > 0) set_block(larger, 0, 0, q_);
    host_matrix fresh = product(candidates, chosen);
    if (q_.columns() > 0) {
      host_matrix minus = product(q_, product(along, chosen));
      scale_columns(minus, std::vector<double>(static_cast<std::size_t>(minus.columns()), -1.0));
      fresh = sum(fresh, minus);
    }
    set_block(larger, 0, q_.columns(), fresh);
    q_ = std::move(larger);
  }

  static constexpr int at_once = 64;  // eigenpairs of many take long
  int taken_ = 0;                     ///< columns of the other's q_
  double alpha_, beta_;
  host_matrix normal_, q_;  ///< A^+ A; A Q is orthonormal
};

}  // namespace plaquette
