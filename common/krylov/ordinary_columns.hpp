// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Right-hand sides of any length. The solution of s b is s times the solution of b, and a power of two changes no bit
/// of a number but its exponent. So a column that is too short or too long for squares of its numbers, or for single
/// and half precision, is solved at about length 1, and the solution scaled back.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/krylov/batch.hpp"
#include "common/krylov/precision.hpp"

namespace plaquette {

/// x *= the factors, a column each.
template <field_batch Field>
void scale_columns(Field& x, const std::vector<double>& factors) {
  std::vector<complex<double>> numbers;
  for (const double f : factors) numbers.push_back({f, 0.0});
  scale(x, make_scalars(x, std::span<const complex<double>>(numbers)));
}

/// A batch of right-hand sides, and the power of two for each that makes its length about 1. It is 1 for a column of
/// ordinary length, for zero and for numbers that are not finite.
template <field_batch Field>
class ordinary_columns {
 public:
  /// Reads |b|^2, and once or twice more for columns whose squares are none.
  explicit ordinary_columns(const Field& b) : ordinary_columns(b, host_values(norm2(b))) { ++host_reads_; }
  ordinary_columns(const Field& b, const std::vector<complex<double>>& b2) : ordinary_columns(b, squares_of(b2)) {}
  /// \param b2  |b|^2 as summed; may have underflowed or overflowed
  ordinary_columns(const Field& b, const std::vector<double>& b2) : b_(&b), factors_(b2.size(), 1.0) {
    std::vector<int> lost;
    for (std::size_t n = 0; n < b2.size(); ++n) {
      if (std::isnan(b2[n]) || (b2[n] >= 1.0 / ordinary && b2[n] <= ordinary)) continue;
      if (has_all_digits(b2[n]))
        factors_[n] = factor_of(b2[n]);
      else
        lost.push_back(static_cast<int>(n));
    }
    if (lost.empty() || precision_of<Field> != precision::double_) return;
    for (const double by : {0x1p800, 0x1p-800}) {
      Field scaled = gather_columns(b, lost);
      scale(scaled, uniform_scalars(scaled, by));
      const std::vector<double> squares = squares_of(host_values(norm2(scaled)));
      ++host_reads_;
      for (std::size_t k = 0; k < lost.size(); ++k)
        if (has_all_digits(squares[k]))
          factors_[static_cast<std::size_t>(lost[k])] = std::min(by * factor_of(squares[k]), 0x1p1000);
    }
  }

  bool are_scaled() const {
    return std::ranges::any_of(factors_, [](double f) { return f != 1.0; });
  }
  const std::vector<double>& factors() const { return factors_; }
  /// How often the host has waited.
  long host_reads() const { return host_reads_; }

  /// Returns x times the factors: x itself if all are 1.
  /// \param x  as wide as b
  Field scaled(const Field& x) const {
    if (!are_scaled()) return view(x, 0, x.columns());
    Field y = like(x);
    copy(y, x);
    scale_columns(y, factors_);
    return y;
  }

  /// Divides x by the factors.
  void restore(Field& x) const {
    if (!are_scaled()) return;
    std::vector<double> back;
    for (const double f : factors_) back.push_back(1.0 / f);
    scale_columns(x, back);
  }

  /// Returns the result of `solve` for the scaled b, and scales its solutions back to solutions of b.
  /// \param x      solutions, one or more for each right-hand side; their numbers before are a guess
  /// \param solve  (const Field& b) for the same x
  template <class Solve>
  auto solve(std::span<Field> x, Solve&& solve) const {
    if (!are_scaled()) return solve(*b_);
    const Field b = scaled(*b_);
    for (const Field& one : x)
      if (!(one.shape() == b.shape())) throw input_error("right-hand sides and solutions differ in shape");
    for (Field& one : x) scale_columns(one, factors_);
    auto report = solve(b);
    for (Field& one : x) restore(one);
    return report;
  }

 private:
  static constexpr double ordinary = 0x1p80, least = 0x1p-900;

  static std::vector<double> squares_of(const std::vector<complex<double>>& values) {
    std::vector<double> squares;
    for (const complex<double>& value : values) squares.push_back(value.re);
    return squares;
  }
  static bool has_all_digits(double square) { return square >= least && std::isfinite(square); }
  static double factor_of(double square) { return std::ldexp(1.0, -std::ilogb(std::sqrt(square))); }

  const Field* b_;
  std::vector<double> factors_;
  long host_reads_ = 0;
};

}  // namespace plaquette
