// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 3 brings: metrics are constant in an element, so they go inside the derivative:
///   curl E = sum_a D_a (m_a x E),  m_a = grad r_a (rows of the metric; D_a is Dr, Ds, Dt).
/// Then all work of a block is one product: the np x (3 np + 4 nfp) matrix [Dr Ds Dt LIFT] times the stacked vectors
/// -m_a x E and fluxes, for six fields.
#pragma once

#include "ladder/dg-cpu/blocks.hpp"

namespace ladder::dg {

inline constexpr int depth = 3 * np + faces * nfp;
using stack = R[depth][fields];

class one_product {
 public:
  explicit one_product(const plaquette::reference_element& reference) {
    for (int n = 0; n < np; ++n) {
      for (int a = 0; a < 3; ++a)
        for (int m = 0; m < np; ++m)
          matrix_[n / rows][a * np + m][n % rows] = reference.derivative[std::size_t(a)](n, m);
      for (int m = 0; m < faces * nfp; ++m) matrix_[n / rows][3 * np + m][n % rows] = reference.lift(n, m);
    }
  }

  /// Fills the upper part of the stack from the fields of a block.
  static void fill(stack& x, const block_geometry& g, const R* q) {
    for (int a = 0; a < 3; ++a)
      for (int m = 0; m < np; ++m) {
        const lanes3 h = cross(g.metric[a], {q[m], q[np + m], q[2 * np + m]});
        const lanes3 e = cross(g.metric[a], {q[3 * np + m], q[4 * np + m], q[5 * np + m]});
        for (int i = 0; i < 3; ++i) x[a * np + m][i] = -e[i], x[a * np + m][3 + i] = h[i];
      }
  }
  /// Calls visit(field, node, number) for each number of the product. Sums of four rows and six fields stay in
  /// registers.
  template <class Visit>
  void multiply(const stack& x, const Visit& visit) const {
    for (int panel = 0; panel < np / rows; ++panel) {
      R sum[rows][fields]{};
      for (int k = 0; k < depth; ++k)
        for (int r = 0; r < rows; ++r)
          for (int f = 0; f < fields; ++f) sum[r][f] += matrix_[panel][k][r] * x[k][f];
      for (int r = 0; r < rows; ++r)
        for (int f = 0; f < fields; ++f) visit(f, panel * rows + r, sum[r][f]);
    }
  }

 private:
  static constexpr int rows = 4;
  double matrix_[np / rows][depth][rows];
};

}  // namespace ladder::dg
