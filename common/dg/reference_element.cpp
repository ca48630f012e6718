// SPDX-License-Identifier: BSD-3-Clause
#include "common/dg/reference_element.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "common/error.hpp"

namespace plaquette {

namespace {

using eigen_matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using eigen_map = Eigen::Map<const eigen_matrix>;

eigen_map as_eigen(const dense_matrix& a) { return {a.values.data(), a.rows, a.columns}; }

dense_matrix from_eigen(const eigen_matrix& a) {
  dense_matrix result(static_cast<int>(a.rows()), static_cast<int>(a.cols()));
  std::copy(a.data(), a.data() + a.size(), result.values.begin());
  return result;
}

dense_matrix inverse(const dense_matrix& a) { return from_eigen(eigen_matrix(as_eigen(a)).fullPivLu().inverse()); }

/// A value and its derivatives with respect to r, s, t.
struct jet {
  double value = 0.0;
  std::array<double, 3> slope{};

  friend jet operator+(const jet& a, const jet& b) {
    return {a.value + b.value, {a.slope[0] + b.slope[0], a.slope[1] + b.slope[1], a.slope[2] + b.slope[2]}};
  }
  friend jet operator*(double a, const jet& b) {
    return {a * b.value, {a * b.slope[0], a * b.slope[1], a * b.slope[2]}};
  }
  friend jet operator-(const jet& a, const jet& b) { return a + (-1.0) * b; }
  friend jet operator*(const jet& a, const jet& b) {
    jet c{a.value * b.value, {}};
    for (std::size_t i = 0; i < 3; ++i) c.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
    return c;
  }
};

/// s^n P_n^(alpha,0)(x / s) by the recurrence of Jacobi's polynomials: a polynomial in x and s, without a division.
jet homogeneous_jacobi(int n, double alpha, const jet& x, const jet& s) {
  jet before{1.0, {}};
  if (n == 0) return before;
  jet now = 0.5 * ((alpha + 2.0) * x + alpha * s);
  for (int k = 2; k <= n; ++k) {
    const double c = 2.0 * k + alpha;
    const double scale = 2.0 * k * (k + alpha) * (c - 2.0);
    const jet next = ((c - 1.0) / scale) * ((c * (c - 2.0)) * (x * now) + (alpha * alpha) * (s * now)) -
                     (2.0 * (k + alpha - 1.0) * (k - 1.0) * c / scale) * (s * s * before);
    before = now;
    now = next;
  }
  return now;
}

/// Orthonormal polynomials of the reference element at a point, with their derivatives (Koornwinder, Dubiner), in the
/// order of k slowest within j within i.
std::vector<jet> polynomials_at(int dimension, int order, const reference_point& at) {
  const jet one{1.0, {}};
  const jet r{at[0], {1, 0, 0}}, s{at[1], {0, 1, 0}}, t{at[2], {0, 0, 1}};
  std::vector<jet> values;
  if (dimension == 2) {
    const jet x = r + 0.5 * (one + s), width = 0.5 * (one - s);  // first factor: P_i(x / width)
    for (int i = 0; i <= order; ++i)
      for (int j = 0; i + j <= order; ++j) {
        const double norm = std::sqrt((2.0 * i + 1.0) * (2.0 * i + 2.0 * j + 2.0) / 4.0);
        values.push_back(norm * (homogeneous_jacobi(i, 0.0, x, width) * homogeneous_jacobi(j, 2.0 * i + 1.0, s, one)));
      }
    return values;
  }
  const jet x = r + 0.5 * (2.0 * one + s + t), x_width = -0.5 * (s + t);
  const jet y = s + 0.5 * (one + t), y_width = 0.5 * (one - t);
  for (int i = 0; i <= order; ++i)
    for (int j = 0; i + j <= order; ++j)
      for (int k = 0; i + j + k <= order; ++k) {
        const double norm =
            std::sqrt((2.0 * i + 1.0) * (2.0 * i + 2.0 * j + 2.0) * (2.0 * i + 2.0 * j + 2.0 * k + 3.0) / 8.0);
        values.push_back(
            norm * (homogeneous_jacobi(i, 0.0, x, x_width) * (homogeneous_jacobi(j, 2.0 * i + 1.0, y, y_width) *
                                                              homogeneous_jacobi(k, 2.0 * (i + j) + 2.0, t, one))));
      }
  return values;
}

dense_matrix vandermonde_at(int dimension, int order, std::span<const reference_point> points) {
  dense_matrix v(static_cast<int>(points.size()), nodes_of_order(dimension, order));
  for (int n = 0; n < v.rows; ++n) {
    const auto values = polynomials_at(dimension, order, points[static_cast<std::size_t>(n)]);
    for (int m = 0; m < v.columns; ++m) v(n, m) = values[static_cast<std::size_t>(m)].value;
  }
  return v;
}

/// P_N and its first two derivatives at x.
std::array<double, 3> legendre(int n, double x) {
  std::array<double, 3> before{1.0, 0.0, 0.0}, now{x, 1.0, 0.0};
  if (n == 0) return before;
  for (int k = 2; k <= n; ++k) {
    const double a = (2.0 * k - 1.0) / k, b = (k - 1.0) / k;
    const std::array<double, 3> next{a * x * now[0] - b * before[0], a * (now[0] + x * now[1]) - b * before[1],
                                     a * (2.0 * now[1] + x * now[2]) - b * before[2]};
    before = now;
    now = next;
  }
  return now;
}

/// Legendre-Gauss-Lobatto points of order n on [-1, 1], ascending: the ends and the zeros of P_n'.
std::vector<double> lobatto_points(int n) {
  std::vector<double> x(static_cast<std::size_t>(n) + 1);
  for (int i = 0; i <= n; ++i) {
    double at = -std::cos(std::numbers::pi * i / n);
    for (int iteration = 0; i > 0 && i < n && iteration < 60; ++iteration) {
      const auto p = legendre(n, at);
      at -= p[1] / p[2];
    }
    x[static_cast<std::size_t>(i)] = at;
  }
  return x;
}

/// How far Lobatto points are from equidistant ones, interpolated along an edge and divided by 1 - x^2 (which is 0
/// where both agree). `x` in [-1, 1] along the edge.
class edge_warp {
 public:
  explicit edge_warp(int order) : order_(order), lobatto_(lobatto_points(order)) {}
  double operator()(double x) const {
    double sum = 0.0;
    for (int i = 1; i < order_; ++i) {  // the ends do not move
      double term = lobatto_[static_cast<std::size_t>(i)] - equidistant(i);
      for (int j = 1; j < order_; ++j)
        if (j != i) term *= (x - equidistant(j)) / (equidistant(i) - equidistant(j));
      sum += term / (1.0 - equidistant(i) * equidistant(i));
    }
    return sum;
  }

 private:
  double equidistant(int i) const { return -1.0 + 2.0 * i / order_; }
  int order_;
  std::vector<double> lobatto_;
};

/// Moves by which a triangle's three edges shift a point with barycentric coordinates (a, b, c), in those coordinates.
/// (Warburton 2006, eqs. 5-8) Edge i, opposite corner i, moves the point along itself.
std::array<double, 3> triangle_shift(const edge_warp& warp, double alpha, const std::array<double, 3>& lambda) {
  std::array<double, 3> shift{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t from = (i + 1) % 3, to = (i + 2) % 3;
    const double blend = lambda[from] * lambda[to] * (1.0 + alpha * alpha * lambda[i] * lambda[i]);
    const double along = 4.0 * blend * warp(lambda[to] - lambda[from]);
    shift[to] += 0.5 * along;
    shift[from] -= 0.5 * along;
  }
  return shift;
}

/// The parameters of the blend that make the Lebesgue constant smallest, by order (book, Nodes2D and Nodes3D).
constexpr double alpha_of_triangle[] = {0.0, 0.0, 0.0, 1.4152, 0.1001, 0.2751, 0.9800, 1.0999, 1.2832, 1.3648, 1.4773};
constexpr double alpha_of_tetrahedron[] = {0.0, 0.0, 0.0, 0.0, 0.1002, 1.1332, 1.5608, 1.3413, 1.2577, 1.1603, 1.10153};

using lattice_index = std::array<int, 4>;  ///< of a node: N times its equidistant barycentric coordinates

std::vector<lattice_index> lattice_of(int dimension, int order) {
  std::vector<lattice_index> lattice;
  for (int k = 0; k <= (dimension == 3 ? order : 0); ++k)
    for (int j = 0; j + k <= order; ++j)
      for (int i = 0; i + j + k <= order; ++i) lattice.push_back({order - i - j - k, i, j, k});
  return lattice;
}

std::array<double, 4> warped_in_triangle(const edge_warp& warp, int order, const lattice_index& index) {
  std::array<double, 3> lambda{};
  for (std::size_t i = 0; i < 3; ++i) lambda[i] = static_cast<double>(index[i]) / order;
  const auto shift = triangle_shift(warp, alpha_of_triangle[order], lambda);
  return {lambda[0] + shift[0], lambda[1] + shift[1], lambda[2] + shift[2], 0.0};
}

/// Blends the shifts of the four faces: each is that of a triangle, faded out towards the opposite corner.
std::array<double, 4> warped_in_tetrahedron(const edge_warp& warp, int order, const lattice_index& index) {
  const double alpha = alpha_of_tetrahedron[order];
  std::array<double, 4> lambda{}, moved{};
  for (std::size_t i = 0; i < 4; ++i) moved[i] = lambda[i] = static_cast<double>(index[i]) / order;
  const auto on_edge_or_corner = std::ranges::count(index, 0) >= 2;
  for (int face = 0; face < 4; ++face) {
    const auto corners = corners_of_face(3, face);
    const auto at = [&](std::size_t i) { return lambda[static_cast<std::size_t>(corners[i])]; };
    const double above = lambda[static_cast<std::size_t>(face)];
    double blend = 1.0;
    if (on_edge_or_corner) {  // an edge lies in two faces, which agree: one of them moves it, whole
      const int first = static_cast<int>(std::ranges::find(index, 0) - index.begin());
      blend = face == first ? 1.0 : 0.0;
    } else {
      for (std::size_t i = 0; i < 3; ++i) blend *= at(i) / (at(i) + 0.5 * above);
      blend *= 1.0 + alpha * alpha * above * above;
    }
    const auto shift = triangle_shift(warp, alpha, {at(0), at(1), at(2)});
    for (std::size_t i = 0; i < 3; ++i) moved[static_cast<std::size_t>(corners[i])] += blend * shift[i];
  }
  return moved;
}

void place_nodes(reference_element& e) {
  const edge_warp warp(e.order);
  for (const lattice_index& index : lattice_of(e.dimension, e.order)) {
    const auto lambda =
        e.dimension == 2 ? warped_in_triangle(warp, e.order, index) : warped_in_tetrahedron(warp, e.order, index);
    e.barycentric.push_back(lambda);
    e.points.push_back({2.0 * lambda[1] - 1.0, 2.0 * lambda[2] - 1.0, e.dimension == 3 ? 2.0 * lambda[3] - 1.0 : 0.0});
  }
}

/// Lattice indices of a face's nodes on its own corners, in the order of `reference_element::face_node`.
std::vector<std::array<int, 3>> face_lattice(int dimension, int order) {
  std::vector<std::array<int, 3>> lattice;
  for (int j = 0; j <= (dimension == 3 ? order : 0); ++j)
    for (int i = 0; i + j <= order; ++i) lattice.push_back({order - i - j, i, j});
  return lattice;
}

void list_face_nodes(reference_element& e) {
  std::map<lattice_index, std::int32_t> number;
  for (const lattice_index& index : lattice_of(e.dimension, e.order))
    number.emplace(index, static_cast<std::int32_t>(number.size()));
  const auto on_face = face_lattice(e.dimension, e.order);
  for (int face = 0; face < e.faces(); ++face) {
    const auto corners = corners_of_face(e.dimension, face);
    for (const auto& index : on_face) {
      lattice_index in_element{};
      for (std::size_t i = 0; i < static_cast<std::size_t>(e.dimension); ++i)
        in_element[static_cast<std::size_t>(corners[i])] = index[i];
      e.face_node.push_back(number.at(in_element));
    }
  }
  std::map<std::array<int, 3>, std::int32_t> number_on_face;
  for (const auto& index : on_face) number_on_face.emplace(index, static_cast<std::int32_t>(number_on_face.size()));
  for (const auto& permutation : face_permutations)
    for (const auto& index : on_face) {
      std::array<int, 3> there{};
      for (std::size_t i = 0; i < 3; ++i) there[static_cast<std::size_t>(permutation[i])] = index[i];
      const auto found = number_on_face.find(there);  // an edge has no third corner: four permutations mean nothing
      e.matching.push_back(found == number_on_face.end() ? 0 : found->second);
    }
}

/// M^-1 times the integrals over the faces, each measured as the reference triangle (edge) of the dimension below.
dense_matrix make_lift(const reference_element& e) {
  dense_matrix faces(e.nodes, e.faces() * e.face_nodes);
  for (int face = 0; face < e.faces(); ++face) {
    const auto corners = corners_of_face(e.dimension, face);
    std::vector<reference_point> points;
    for (int m = 0; m < e.face_nodes; ++m) {
      const auto& lambda = e.barycentric[static_cast<std::size_t>(e.node_of_face(face, m))];
      const auto along = [&](std::size_t i) { return 2.0 * lambda[static_cast<std::size_t>(corners[i])] - 1.0; };
      points.push_back({along(1), e.dimension == 3 ? along(2) : 0.0, 0.0});
    }
    dense_matrix v;
    if (e.dimension == 3) {
      v = vandermonde_at(2, e.order, points);
    } else {
      v = dense_matrix(e.face_nodes, e.face_nodes);
      for (int m = 0; m < e.face_nodes; ++m)
        for (int n = 0; n <= e.order; ++n)
          v(m, n) = std::sqrt(n + 0.5) * legendre(n, points[static_cast<std::size_t>(m)][0])[0];
    }
    const dense_matrix mass = inverse(v * transposed(v));
    for (int m = 0; m < e.face_nodes; ++m)
      for (int n = 0; n < e.face_nodes; ++n) faces(e.node_of_face(face, m), face * e.face_nodes + n) = mass(m, n);
  }
  return e.vandermonde * (transposed(e.vandermonde) * faces);
}

/// Points and weights of Gauss's rule for the weight (1 - x)^alpha on [-1, 1], alpha 0, 1 or 2: eigenvalues of the
/// Jacobi matrix (Golub, Welsch 1969).
std::pair<std::vector<double>, std::vector<double>> gauss_jacobi(int points, double alpha) {
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(points, points);
  for (int k = 0; k < points; ++k) {
    const double c = 2.0 * k + alpha;
    a(k, k) = alpha == 0.0 ? 0.0 : -alpha * alpha / (c * (c + 2.0));
    if (k + 1 == points) break;
    const double n = k + 1.0, d = 2.0 * n + alpha;
    a(k, k + 1) = a(k + 1, k) = std::sqrt(4.0 * n * n * (n + alpha) * (n + alpha) / (d * d * (d + 1.0) * (d - 1.0)));
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(a);
  const double total = std::pow(2.0, alpha + 1.0) / (alpha + 1.0);
  std::vector<double> x, w;
  for (int k = 0; k < points; ++k) {
    x.push_back(solver.eigenvalues()(k));
    w.push_back(total * solver.eigenvectors()(0, k) * solver.eigenvectors()(0, k));
  }
  return {x, w};
}

}  // namespace

dense_matrix operator*(const dense_matrix& a, const dense_matrix& b) { return from_eigen(as_eigen(a) * as_eigen(b)); }
dense_matrix transposed(const dense_matrix& a) { return from_eigen(as_eigen(a).transpose()); }

reference_element make_reference_element(int dimension, int order) {
  if (dimension != 2 && dimension != 3)
    throw input_error("reference element: expected dimension 2 or 3, found " + std::to_string(dimension));
  if (order < 1 || order > highest_order)
    throw input_error("polynomial order: expected 1 to " + std::to_string(highest_order) + ", found " +
                      std::to_string(order));
  reference_element e;
  e.dimension = dimension;
  e.order = order;
  e.nodes = nodes_of_order(dimension, order);
  e.face_nodes = dimension == 3 ? nodes_of_order(2, order) : order + 1;
  place_nodes(e);
  list_face_nodes(e);
  e.vandermonde = vandermonde_at(dimension, order, e.points);
  e.inverse_vandermonde = inverse(e.vandermonde);
  e.mass = transposed(e.inverse_vandermonde) * e.inverse_vandermonde;
  for (std::size_t a = 0; a < static_cast<std::size_t>(dimension); ++a) {
    dense_matrix slopes(e.nodes, e.nodes);
    for (int n = 0; n < e.nodes; ++n) {
      const auto values = polynomials_at(dimension, order, e.points[static_cast<std::size_t>(n)]);
      for (int m = 0; m < e.nodes; ++m) slopes(n, m) = values[static_cast<std::size_t>(m)].slope[a];
    }
    e.derivative[a] = slopes * e.inverse_vandermonde;
  }
  e.lift = make_lift(e);
  return e;
}

dense_matrix interpolation(const reference_element& element, std::span<const reference_point> points) {
  return vandermonde_at(element.dimension, element.order, points) * element.inverse_vandermonde;
}

/// Gauss's rules in coordinates that map the cube to the simplex (Duffy 1982).
cubature make_cubature(int dimension, int degree) {
  const int points = degree / 2 + 1;
  const auto [x, wx] = gauss_jacobi(points, 0.0);
  const auto [y, wy] = gauss_jacobi(points, 1.0);
  cubature rule;
  if (dimension == 2) {
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < y.size(); ++j) {
        rule.points.push_back({0.5 * (1.0 + x[i]) * (1.0 - y[j]) - 1.0, y[j], 0.0});
        rule.weights.push_back(0.5 * wx[i] * wy[j]);
      }
    return rule;
  }
  const auto [z, wz] = gauss_jacobi(points, 2.0);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < y.size(); ++j)
      for (std::size_t k = 0; k < z.size(); ++k) {
        const double s = 0.5 * (1.0 + y[j]) * (1.0 - z[k]) - 1.0;
        rule.points.push_back({-0.5 * (1.0 + x[i]) * (s + z[k]) - 1.0, s, z[k]});
        rule.weights.push_back(0.125 * wx[i] * wy[j] * wz[k]);
      }
  return rule;
}

}  // namespace plaquette
