// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 3 brings: eight rows of a matrix in a register. Matrices are kept by columns, real and imaginary parts
/// apart; then out += (column j) in_j needs no sum across lanes.
#pragma once

#include "ladder/coarse-cpu/nine_matrices.hpp"
#include "ladder/dirac-cpu/lanes.hpp"

namespace ladder::coarse {

class lanes_of_rows {
 public:
  using R = dirac::register_of<double>::type;
  static constexpr int width = 8, registers = n / width;

  explicit lanes_of_rows(const nine_matrices& m) : sites_(m.sites), neighbours_(m.neighbours) {
    for (std::size_t which = 0; which < neighbours_.size(); ++which)
      for (int j = 0; j < n; ++j)
        for (int r = 0; r < registers; ++r) {
          a_.emplace_back();
          for (int lane = 0; lane < width; ++lane) {
            const number z = m.numbers[(which * n + std::size_t(r * width + lane)) * n + std::size_t(j)];
            a_.back().re[lane] = z.real(), a_.back().im[lane] = z.imag();
          }
        }
  }

  /// Computes out = P^+ M P in of C columns.
  template <int C>
  void apply(vector* out, const vector* in) const {
    for (int site = 0; site < sites_; ++site) {
      dirac::complex<R> sum[C][registers]{};
      for (int k = 0; k < 1 + hops; ++k) {
        const std::size_t which = std::size_t(site * (1 + hops) + k), from = std::size_t(neighbours_[which]) * n;
        const dirac::complex<R>* a = &a_[which * n * registers];
        for (std::size_t j = 0; j < n; ++j, a += registers)
          for (int column = 0; column < C; ++column) {
            const number z = in[column][from + j];
            const dirac::complex<R> factor{R{} + z.real(), R{} + z.imag()};  // in all lanes
            for (int r = 0; r < registers; ++r) add_product(sum[column][r], a[r], factor);
          }
      }
      for (int column = 0; column < C; ++column)
        for (int i = 0; i < n; ++i)
          out[column][std::size_t(site * n + i)] = {sum[column][i / width].re[i % width],
                                                    sum[column][i / width].im[i % width]};
    }
  }

 private:
  int sites_;
  std::vector<int> neighbours_;
  std::vector<dirac::complex<R>> a_;  // [coarse site][X, Y...][column][register]
};

}  // namespace ladder::coarse
