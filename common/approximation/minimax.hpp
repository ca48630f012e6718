// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Polynomials that approximate 1/sqrt(x) best, for the sign function sign(Q) = Q / sqrt(Q^2). (Giusti, Hoelbling,
/// Luescher, Wittig, hep-lat/0212012, sec. 4.1; Alexandru, Pelissier, Gamari, Lee 2011)
#pragma once

#include <vector>

namespace plaquette {

/// P(x) = sum_j c_j T_j(z), z = (2 x - 1 - eps) / (1 - eps), of smallest delta = max |1 - sqrt(x) P(x)| on [eps, 1].
struct minimax_polynomial {
  double eps = 1.0;
  double delta = 1.0;
  std::vector<double> coefficients;  ///< c_0 .. c_n
  int exchanges = 0;                 ///< of Remez' algorithm

  int degree() const { return static_cast<int>(coefficients.size()) - 1; }
  /// By Clenshaw's recurrence; for eps <= x <= 1, and below, where it stays finite.
  double operator()(double x) const;
};

/// Returns a_1, a_3, ... of q P(q^2) = sum_k a_k T_k(q) with k odd: by its values where T_{2n+2} is zero, which is
/// exact.
std::vector<double> odd_coefficients(const minimax_polynomial& p);

/// Returns the minimax polynomial of this degree, by Remez' exchange of n + 2 extrema, in long double; max |h| / |E| -
/// 1 < 1e-3 at the end. The largest error found is delta, an upper bound of the best to that. Throws input_error for
/// eps outside (0, 1), a degree below 1, or where the exchange fails (delta below some 1e-15).
minimax_polynomial minimax_of_degree(int degree, double eps);

/// Computes n = ln(A / delta) / (b sqrt eps), A = 0.41, b = 2.1: right within 15% for sqrt eps up to 0.1.
int estimated_degree(double eps, double delta);

/// Returns the smallest degree (to 2% of it) whose delta is not above the one given.
minimax_polynomial minimax_of_error(double delta, double eps);

}  // namespace plaquette
