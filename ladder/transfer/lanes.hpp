// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 3 brings: eight rows of P in a register, real and imaginary parts apart. The numbers of an aggregate and
/// chirality are gathered into such registers first. Then a sum over rows has one step across lanes, at its end.
#pragma once

#include "ladder/dirac-cpu/lanes.hpp"
#include "ladder/transfer/problem.hpp"

namespace ladder::transfer {

class lanes_of_rows {
 public:
  using R = dirac::register_of<double>::type;
  static constexpr int width = 8, most_registers = 12;  ///< 16 sites of an aggregate, 6 numbers each

  explicit lanes_of_rows(const aggregates& a) : a_(a), registers_(a.rows / width) {
    for (std::size_t k = 0; k < a.coarse.size(); ++k)
      for (int r = 0; r < registers_; ++r) {
        v_.emplace_back();
        for (int lane = 0; lane < width; ++lane) {
          const number z = a.column(k)[r * width + lane];
          v_.back().re[lane] = z.real(), v_.back().im[lane] = z.imag();
        }
      }
    for (std::size_t k = 0; k < a.coarse.size(); k += std::size_t(a.vectors))
      for (int row = 0; row < a.rows; ++row) places_.push_back(a.place(k, row));
  }

  /// Computes c = P^+ x of C columns.
  template <int C>
  void restrict_to(vector* c, const vector* x) const {
    const std::size_t vectors = std::size_t(a_.vectors);
    for (std::size_t first = 0; first < a_.coarse.size(); first += vectors) {
      const std::size_t* place = &places_[first / vectors * std::size_t(a_.rows)];
      dirac::complex<R> in[C][most_registers];
      for (int column = 0; column < C; ++column)
        for (int row = 0; row < a_.rows; ++row) {
          in[column][row / width].re[row % width] = x[column][place[row]].real();
          in[column][row / width].im[row % width] = x[column][place[row]].imag();
        }
      for (std::size_t k = first; k < first + vectors; ++k) {
        dirac::complex<R> sum[C]{};
        for (int r = 0; r < registers_; ++r)
          for (int column = 0; column < C; ++column)
            add_conjugate_product(sum[column], v_[k * std::size_t(registers_) + std::size_t(r)], in[column][r]);
        for (int column = 0; column < C; ++column) {
          number total = 0;
          for (int lane = 0; lane < width; ++lane) total += number(sum[column].re[lane], sum[column].im[lane]);
          c[column][k] = total;
        }
      }
    }
  }

  /// Computes y = P d of C columns.
  template <int C>
  void prolong(vector* y, const vector* d) const {
    const std::size_t vectors = std::size_t(a_.vectors);
    for (std::size_t first = 0; first < a_.coarse.size(); first += vectors) {
      const std::size_t* place = &places_[first / vectors * std::size_t(a_.rows)];
      for (int r = 0; r < registers_; ++r) {
        dirac::complex<R> sum[C]{};
        for (std::size_t k = first; k < first + vectors; ++k)
          for (int column = 0; column < C; ++column) {
            const dirac::complex<R> factor{R{} + d[column][k].real(), R{} + d[column][k].imag()};  // in all lanes
            add_product(sum[column], v_[k * std::size_t(registers_) + std::size_t(r)], factor);
          }
        for (int column = 0; column < C; ++column)
          for (int lane = 0; lane < width; ++lane)
            y[column][place[r * width + lane]] = {sum[column].re[lane], sum[column].im[lane]};
      }
    }
  }

 private:
  const aggregates& a_;
  int registers_;                     // of a column of P
  std::vector<dirac::complex<R>> v_;  // [column of P][register]
  std::vector<std::size_t> places_;   // [coarse site][chirality][row] in a fine vector
};

}  // namespace ladder::transfer
