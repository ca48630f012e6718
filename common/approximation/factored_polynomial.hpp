// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Polynomials of an operator as products of linear factors.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

namespace plaquette {

/// A polynomial of B as product: factor times all (B - root) gain. Roots that are conjugate follow each other.
struct factored_polynomial {
  struct linear {
    std::complex<double> root;
    double gain;  ///< such that the product with it is as long as before, about
  };
  std::vector<linear> factors;
  double factor = 1.0;
};

/// Returns the coefficients of p as a polynomial of B = A / a - 1.
inline std::vector<double> around_centre(std::vector<double> c, double a) {
  double power = 1.0;
  for (double& number : c) {
    number *= power;
    power *= a;
  }
  // sum c_j (1 + B)^j by Horner's rule with polynomials.
  std::vector<double> e(c.size(), 0.0);
  for (std::size_t j = c.size(); j-- > 0;) {
    for (std::size_t k = e.size() - 1; k > 0; --k) e[k] += e[k - 1];
    e[0] += c[j];
  }
  return e;
}

/// Returns the roots of a polynomial with real coefficients. (Durand and Kerner)
inline std::vector<std::complex<double>> roots_of(const std::vector<double>& e) {
  using complex_double = std::complex<double>;
  const std::size_t degree = e.size() - 1;
  double largest = 0.0;
  for (const double x : e) largest = std::max(largest, std::abs(x / e.back()));
  std::vector<complex_double> z;
  const double radius = std::pow(largest, 1.0 / static_cast<double>(degree));
  for (std::size_t k = 0; k < degree; ++k)
    z.push_back(std::polar(radius, 0.4 + 2.0 * std::acos(-1.0) * static_cast<double>(k) / static_cast<double>(degree)));
  for (int step = 0; step < 500; ++step)
    for (std::size_t k = 0; k < degree; ++k) {
      complex_double value = 0.0, others = e.back();
      for (std::size_t j = e.size(); j-- > 0;) value = value * z[k] + e[j];
      for (std::size_t j = 0; j < degree; ++j)
        if (j != k) others *= z[k] - z[j];
      if (others != 0.0) z[k] -= value / others;
    }
  return z;
}

/// Returns the product. No part of it is large or small for long: next comes the root that is farthest from those
/// before. (Leja)
/// \param e  coefficients, two at least; the last is not zero
inline factored_polynomial factored(const std::vector<double>& e) {
  factored_polynomial p;
  p.factor = e.back();
  std::vector<std::complex<double>> left = roots_of(e);
  const auto take = [&](std::complex<double> root) {
    p.factors.push_back({root, 1.0 / std::sqrt(1.0 + std::norm(root))});
    p.factor *= std::sqrt(1.0 + std::norm(root));
  };
  while (!left.empty()) {
    const auto far = [&](std::complex<double> z) {
      double product = p.factors.empty() ? std::abs(z) : 1.0;
      for (const auto& f : p.factors) product *= std::abs(z - f.root);
      return product;
    };
    const auto next = std::ranges::max_element(left, {}, far);
    const std::complex<double> root = *next;
    left.erase(next);
    if (left.empty() || std::abs(root.imag()) <= 1e-7 * std::abs(root)) {
      take(root.real());
      continue;
    }
    take(root);
    take(std::conj(root));
    left.erase(std::ranges::min_element(left, {}, [&](auto z) { return std::abs(z - std::conj(root)); }));
  }
  return p;
}

}  // namespace plaquette
