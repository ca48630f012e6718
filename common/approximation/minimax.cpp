// SPDX-License-Identifier: BSD-3-Clause
#include "common/approximation/minimax.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

#include "common/error.hpp"

namespace plaquette {

namespace {

// Twice the digits of the smallest error: the coefficients solve a system of condition 1/sqrt(eps).
using real = long double;
using real_matrix = Eigen::Matrix<real, Eigen::Dynamic, Eigen::Dynamic>;
using real_vector = Eigen::Matrix<real, Eigen::Dynamic, 1>;

constexpr real pi = std::numbers::pi_v<real>;

/// Returns sum_j c_j T_j(z) of n numbers z.
template <class Real, std::size_t n, class Coefficients>
std::array<Real, n> clenshaw_sums(const Coefficients& c, int degree, const std::array<Real, n>& z) {
  std::array<Real, n> b1{}, b2{};
  for (int j = degree; j >= 1; --j)
    for (std::size_t i = 0; i < n; ++i) {
      const Real b0 = static_cast<Real>(c[j]) + 2 * z[i] * b1[i] - b2[i];
      b2[i] = b1[i];
      b1[i] = b0;
    }
  for (std::size_t i = 0; i < n; ++i) b1[i] = static_cast<Real>(c[0]) + z[i] * b1[i] - b2[i];
  return b1;
}

/// h(theta) = 1 - sqrt(x) P(x) with z = cos theta.
class error_curve {
 public:
  error_curve(const real_vector& c, int degree, real eps) : c_(c), degree_(degree), eps_(eps) {}
  /// Of two angles at a time: one waits for each step of the recurrence.
  std::array<real, 2> operator()(real theta, real other) const {
    const std::array<real, 2> z{std::cos(theta), std::cos(other)}, p = clenshaw_sums(c_, degree_, z);
    return {1 - std::sqrt(x_of(z[0], eps_)) * p[0], 1 - std::sqrt(x_of(z[1], eps_)) * p[1]};
  }
  static real x_of(real z, real eps) { return (z * (1 - eps) + 1 + eps) / 2; }

 private:
  const real_vector& c_;
  int degree_;
  real eps_;
};

struct extremum {
  real theta, value;
};

/// The extrema of alternating sign, x ascending (theta from pi to 0), the largest of each stretch of one sign.
std::vector<extremum> alternating_extrema(const error_curve& h, int degree) {
  const int points = 16 * (degree + 2);
  std::vector<real> values(static_cast<std::size_t>(points) + 2);  // the last one is not used
  const auto theta_of = [points](real i) { return pi * (1 - i / points); };
#pragma omp parallel for
  for (int i = 0; i <= points; i += 2) {
    const auto pair = h(theta_of(i), theta_of(i + 1));
    std::ranges::copy(pair, values.begin() + i);
  }

  std::vector<extremum> found;
  for (int i = 0; i <= points; ++i) {
    const real here = values[static_cast<std::size_t>(i)];
    const real before = i > 0 ? values[static_cast<std::size_t>(i) - 1] : 0;
    const real after = i < points ? values[static_cast<std::size_t>(i) + 1] : 0;
    const real side = here > 0 ? 1 : -1;
    if ((i > 0 && side * here < side * before) || (i < points && side * here <= side * after)) continue;
    extremum e{static_cast<real>(i), here};
    const real curvature = before - 2 * here + after;
    if (i > 0 && i < points && curvature != 0) {  // the vertex of the parabola through three points
      const real shift = (before - after) / (2 * curvature);
      e = {i + shift, here - (before - after) * shift / 4};
    }
    e.theta = theta_of(e.theta);
    if (found.empty() || (found.back().value > 0) != (e.value > 0))
      found.push_back(e);
    else if (std::abs(e.value) > std::abs(found.back().value))
      found.back() = e;
  }
  while (std::ssize(found) > degree + 2)
    found.erase(std::abs(found.front().value) < std::abs(found.back().value) ? found.begin() : found.end() - 1);
  return found;
}

/// x of A x = (1, 1, ...): factors in double precision, then residuals in that of A.
real_vector solution_of_ones(const real_matrix& a) {
  const Eigen::PartialPivLU<Eigen::MatrixXd> factors(a.cast<double>());
  const real_vector ones = real_vector::Ones(a.rows());
  real_vector x = real_vector::Zero(a.rows());
  for (int step = 0; step < 4; ++step) {
    const Eigen::VectorXd residual = (ones - a * x).cast<double>();
    const Eigen::VectorXd change = factors.solve(residual);
    x += change.cast<real>();
  }
  return x;
}

}  // namespace

double minimax_polynomial::operator()(double x) const {
  return clenshaw_sums(coefficients, degree(), std::array{(2.0 * x - 1.0 - eps) / (1.0 - eps)})[0];
}

std::vector<double> odd_coefficients(const minimax_polynomial& p) {
  const int terms = p.degree() + 1, nodes = 2 * terms;
  std::vector<real> cosines, values;
  for (int i = 0; i < 4 * nodes; ++i) cosines.push_back(std::cos(pi * i / (2 * nodes)));
  for (int i = 0; i < terms; ++i) {  // positive zeros; the function is odd
    const real q = cosines[static_cast<std::size_t>(2 * i + 1)], eps = p.eps;
    values.push_back(q * clenshaw_sums(p.coefficients, p.degree(), std::array{(2 * q * q - 1 - eps) / (1 - eps)})[0]);
  }
  std::vector<double> a;
  for (int k = 1; k < nodes; k += 2) {
    real sum = 0;
    for (int i = 0; i < terms; ++i)
      sum += values[static_cast<std::size_t>(i)] *
             cosines[static_cast<std::size_t>(std::int64_t{k} * (2 * i + 1) % (4 * nodes))];
    a.push_back(static_cast<double>(2 * sum / terms));
  }
  return a;
}

minimax_polynomial minimax_of_degree(int degree, double eps_given) {
  if (!(eps_given > 0.0 && eps_given < 1.0))
    throw input_error("minimax polynomial: expected an interval [eps, 1] with 0 < eps < 1, found eps = " +
                      std::to_string(eps_given));
  if (degree < 1)
    throw input_error("minimax polynomial: expected a degree of 1 or more, found " + std::to_string(degree));
  const real eps = eps_given;
  const int nodes = degree + 2;
  std::vector<real> theta;
  for (int k = 0; k < nodes; ++k) theta.push_back(pi * (1 - static_cast<real>(k) / (degree + 1)));

  minimax_polynomial result;
  result.eps = eps_given;
  constexpr int most_exchanges = 40;
  for (result.exchanges = 1;; ++result.exchanges) {
    // sqrt(x_k) P(x_k) + (-1)^k E = 1 at the nodes.
    real_matrix a(nodes, nodes);
    for (int k = 0; k < nodes; ++k) {
      const real z = std::cos(theta[static_cast<std::size_t>(k)]), root = std::sqrt(error_curve::x_of(z, eps));
      real t0 = 1, t1 = z;
      for (int j = 0; j <= degree; ++j) {
        a(k, j) = root * t0;
        const real t2 = 2 * z * t1 - t0;
        t0 = t1;
        t1 = t2;
      }
      a(k, degree + 1) = k % 2 == 0 ? 1 : -1;
    }
    const real_vector solution = solution_of_ones(a);
    const real_vector c = solution.head(degree + 1);
    const real e = std::abs(solution(degree + 1));
    const std::vector<extremum> extrema = alternating_extrema(error_curve(c, degree, eps), degree);
    real largest = 0;
    for (const extremum& x : extrema) largest = std::max(largest, std::abs(x.value));
    const bool alternates = std::ssize(extrema) == nodes;
    if ((alternates && largest / e - 1 < 1e-3L)) {
      result.delta = static_cast<double>(largest);
      result.coefficients.clear();
      for (int j = 0; j <= degree; ++j) result.coefficients.push_back(static_cast<double>(c(j)));
      return result;
    }
    if (!alternates || result.exchanges == most_exchanges)
      throw input_error("minimax polynomial: degree " + std::to_string(degree) + " on [" + std::to_string(eps_given) +
                        ", 1]: the exchange of extrema does not converge; expected an error above some 1e-15: take a "
                        "smaller degree");
    for (int k = 0; k < nodes; ++k) theta[static_cast<std::size_t>(k)] = extrema[static_cast<std::size_t>(k)].theta;
  }
}

int estimated_degree(double eps, double delta) {
  return std::max(2, static_cast<int>(std::ceil(std::log(0.41 / delta) / (2.1 * std::sqrt(eps)))));
}

minimax_polynomial minimax_of_error(double delta, double eps) {
  int degree = estimated_degree(eps, delta);
  minimax_polynomial p = minimax_of_degree(degree, eps);
  const double slope = 2.1 * std::sqrt(eps);  // of -ln delta, a degree
  for (int tries = 0; tries < 10; ++tries) {
    int next = degree + static_cast<int>(std::lround(std::log(p.delta / delta) / slope));
    if (p.delta <= delta && degree - next <= std::max(1, degree / 50)) break;
    if (p.delta > delta && next <= degree) next = degree + 1;
    degree = std::max(2, next);
    p = minimax_of_degree(degree, eps);
    if (degree == 2 && p.delta <= delta) break;
  }
  return p;
}

}  // namespace plaquette
