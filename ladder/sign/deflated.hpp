// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 4 brings: the lowest modes of H, along which the sign is exact, and a polynomial for the rest.
#pragma once

#include <algorithm>
#include <numeric>

#include "ladder/sign/clenshaw.hpp"

namespace ladder::sign {

inline constexpr int known = 12;

class deflated_rung : public sign_rung {
 public:
  deflated_rung(size s, std::uint64_t seed) : sign_rung(s, seed) {
    std::vector<std::size_t> order(modes.values.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    const auto size_of = [&](std::size_t k) { return std::abs(modes.values[k]); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size_of(a) < size_of(b); });
    for (int k = 0; k < known; ++k) {
      modes_.push_back(modes.vectors[order[std::size_t(k)]]);
      signs_.push_back(modes.values[order[std::size_t(k)]] > 0 ? 1.0 : -1.0);
    }
    polynomial_ = plaquette::minimax_of_error(delta, std::pow(size_of(order[known]) / highest, 2));
  }

  void run() override {
    m.applications = 0;
    for (int column = 0; column < p.columns; ++column) {
      vector rest = x[column];
      std::vector<std::complex<double>> parts;  // of x along the modes
      for (const vector& mode : modes_) {
        parts.push_back(dot(mode, x[column]));
        for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= parts.back() * mode[i];
      }
      apply_polynomial(y[column], rest);
      for (std::size_t k = 0; k < modes_.size(); ++k)
        for (std::size_t i = 0; i < rest.size(); ++i) y[column][i] += signs_[k] * parts[k] * modes_[k][i];
    }
    applied = m.applications;
  }
  std::string remark() const override {
    return sign_rung::remark() + ", degree " + std::to_string(polynomial_.degree()) + ", 12 modes";
  }

 protected:
  /// Computes to = sign(H) rest by the polynomial.
  virtual void apply_polynomial(vector& to, const vector& rest) {
    vector t = rest;
    polynomial_of(
        to, rest, polynomial_, highest, [&](vector& out, const vector& in) { h(out, in); },
        [&](vector& out, const vector& in) { h(t, in), h(out, t); });
  }

  plaquette::minimax_polynomial polynomial_;

 private:
  std::vector<vector> modes_;
  std::vector<double> signs_;
};

}  // namespace ladder::sign
