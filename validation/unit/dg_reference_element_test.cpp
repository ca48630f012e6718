// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The reference element of nodal DG against polynomials, whose derivatives and integrals are known.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "common/dg/reference_element.hpp"
#include "common/error.hpp"

namespace plaquette {
namespace {

struct monomial {
  std::array<int, 3> power;
  double at(const reference_point& x) const {
    return std::pow(x[0], power[0]) * std::pow(x[1], power[1]) * std::pow(x[2], power[2]);
  }
  double slope(const reference_point& x, std::size_t direction) const {
    monomial lower = *this;
    const int n = lower.power[direction]--;
    return n == 0 ? 0.0 : n * lower.at(x);
  }
};

std::vector<monomial> monomials_up_to(int dimension, int degree) {
  std::vector<monomial> all;
  for (int i = 0; i <= degree; ++i)
    for (int j = 0; i + j <= degree; ++j)
      for (int k = 0; i + j + k <= (dimension == 3 ? degree : i + j); ++k) all.push_back({{i, j, k}});
  return all;
}

class ReferenceElement : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  int dimension = std::get<0>(GetParam()), order = std::get<1>(GetParam());
  reference_element element = make_reference_element(dimension, order);
  /// Sums of Np products with entries up to N^2.
  double tolerance = 1e-15 * element.nodes * order * order + 1e-14;
};

TEST_P(ReferenceElement, DifferentiatesPolynomialsExactly) {
  for (const monomial& f : monomials_up_to(dimension, order)) {
    if (f.power[0] + f.power[1] + f.power[2] < order - 1) continue;  // the highest are the hardest
    for (std::size_t a = 0; a < static_cast<std::size_t>(dimension); ++a)
      for (int n = 0; n < element.nodes; ++n) {
        double found = 0.0;
        for (int m = 0; m < element.nodes; ++m)
          found += element.derivative[a](n, m) * f.at(element.points[static_cast<std::size_t>(m)]);
        ASSERT_NEAR(found, f.slope(element.points[static_cast<std::size_t>(n)], a), tolerance);
      }
  }
}

TEST_P(ReferenceElement, InterpolatesPolynomialsExactly) {
  const auto points = make_cubature(dimension, 3).points;
  const dense_matrix to_points = interpolation(element, points);
  for (const monomial& f : monomials_up_to(dimension, order))
    for (std::size_t p = 0; p < points.size(); ++p) {
      double found = 0.0;
      for (int m = 0; m < element.nodes; ++m)
        found += to_points(static_cast<int>(p), m) * f.at(element.points[static_cast<std::size_t>(m)]);
      ASSERT_NEAR(found, f.at(points[p]), tolerance);
    }
}

TEST_P(ReferenceElement, MassMatrixIntegratesProductsAsCubatureDoes) {
  const cubature rule = make_cubature(dimension, 2 * order);
  const dense_matrix l = interpolation(element, rule.points);
  for (int i = 0; i < element.nodes; i += 3)
    for (int j = 0; j < element.nodes; j += 2) {
      double integral = 0.0;
      for (std::size_t p = 0; p < rule.points.size(); ++p)
        integral += rule.weights[p] * l(static_cast<int>(p), i) * l(static_cast<int>(p), j);
      ASSERT_NEAR(integral, element.mass(i, j), tolerance);
    }
}

/// M LIFT g, tested with a polynomial f, is the sum over faces of the integrals of f g, each over the reference face.
TEST_P(ReferenceElement, LiftIntegratesOverFacesExactly) {
  const cubature on_face = dimension == 3 ? make_cubature(2, 2 * order) : cubature{};
  const monomial f{{order / 2, order - order / 2, 0}}, g{{order, 0, 0}};
  for (int face = 0; face < element.faces(); ++face) {
    std::vector<double> lifted(static_cast<std::size_t>(element.nodes));
    for (int n = 0; n < element.nodes; ++n)
      for (int m = 0; m < element.face_nodes; ++m)
        lifted[static_cast<std::size_t>(n)] +=
            element.lift(n, face * element.face_nodes + m) *
            g.at(element.points[static_cast<std::size_t>(element.node_of_face(face, m))]);
    double found = 0.0;
    for (int i = 0; i < element.nodes; ++i)
      for (int j = 0; j < element.nodes; ++j)
        found += f.at(element.points[static_cast<std::size_t>(i)]) * element.mass(i, j) *
                 lifted[static_cast<std::size_t>(j)];
    // Corners of the face in the reference element.
    const auto corner = [&](int c) {
      reference_point x{-1, -1, dimension == 3 ? -1.0 : 0.0};
      if (c > 0) x[static_cast<std::size_t>(c - 1)] = 1.0;
      return x;
    };
    const auto corners = corners_of_face(dimension, face);
    double expected = 0.0;
    if (dimension == 3) {
      for (std::size_t p = 0; p < on_face.points.size(); ++p) {
        reference_point x = corner(corners[0]);
        for (std::size_t i = 0; i < 3; ++i)
          x[i] += 0.5 * (1 + on_face.points[p][0]) * (corner(corners[1])[i] - corner(corners[0])[i]) +
                  0.5 * (1 + on_face.points[p][1]) * (corner(corners[2])[i] - corner(corners[0])[i]);
        expected += on_face.weights[p] * f.at(x) * g.at(x);
      }
    } else {  // Simpson's rule on many pieces, on [-1, 1]
      const int pieces = 4000;
      for (int k = 0; k <= pieces; ++k) {
        const double at = static_cast<double>(k) / pieces;
        reference_point x{};
        for (std::size_t i = 0; i < 2; ++i) x[i] = (1 - at) * corner(corners[0])[i] + at * corner(corners[1])[i];
        expected += (k == 0 || k == pieces ? 1 : k % 2 == 1 ? 4 : 2) * f.at(x) * g.at(x) * 2.0 / (3.0 * pieces);
      }
    }
    EXPECT_NEAR(found, expected, tolerance + (dimension == 2 ? 1e-11 : 0.0)) << "face " << face;
  }
}

TEST_P(ReferenceElement, FacesHaveTheNodesThatLieOnThem) {
  for (int face = 0; face < element.faces(); ++face) {
    std::set<int> listed;
    for (int m = 0; m < element.face_nodes; ++m) listed.insert(element.node_of_face(face, m));
    for (int n = 0; n < element.nodes; ++n)
      EXPECT_EQ(listed.count(n) == 1,
                std::abs(element.barycentric[static_cast<std::size_t>(n)][static_cast<std::size_t>(face)]) < 1e-13);
  }
}

/// Two faces that share corners share nodes, whatever the order of corners.
TEST_P(ReferenceElement, MatchingNodesLieAtTheSamePlace) {
  if (dimension == 2) return;
  const auto weights = [&](int m, int corner) {  // of node m of face 3, whose corners are 0, 1, 2
    return element.barycentric[static_cast<std::size_t>(element.node_of_face(3, m))][static_cast<std::size_t>(corner)];
  };
  for (int o = 0; o < face_orientations; ++o)
    for (int m = 0; m < element.face_nodes; ++m)
      for (int corner = 0; corner < 3; ++corner)
        EXPECT_NEAR(weights(m, corner), weights(element.matching_node(o, m), face_permutations[o][corner]), 1e-14);
}

INSTANTIATE_TEST_SUITE_P(AllOrders, ReferenceElement, testing::Combine(testing::Values(2, 3), testing::Range(1, 11)));

/// Nodes of the book's own program: on edges they are Legendre-Gauss-Lobatto points.
TEST(ReferenceElementNodes, EdgesHaveLobattoPoints) {
  const double expected[] = {-1.0, -std::sqrt(3.0 / 7.0), 0.0, std::sqrt(3.0 / 7.0), 1.0};
  for (const int dimension : {2, 3}) {
    const auto element = make_reference_element(dimension, 4);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(element.points[i][0], expected[i], 1e-14);
  }
}

TEST(ReferenceElementNodes, FaceNodesOfBothDimensionsDifferFromOrderFiveOn) {
  for (int order = 1; order <= 10; ++order) {
    const auto flat = make_reference_element(2, order), solid = make_reference_element(3, order);
    double largest = 0.0;
    for (int m = 0; m < solid.face_nodes; ++m)
      largest = std::max(largest, std::abs(flat.points[static_cast<std::size_t>(m)][0] -
                                           solid.points[static_cast<std::size_t>(solid.node_of_face(3, m))][0]));
    if (order < 3) {
      EXPECT_LT(largest, 1e-14);
    }
    if (order >= 5) {
      EXPECT_GT(largest, 1e-4) << "order " << order;
    }
  }
}

TEST(ReferenceElementNodes, OrdersOutsideAreRefused) {
  EXPECT_THROW(make_reference_element(3, 0), input_error);
  EXPECT_THROW(make_reference_element(3, highest_order + 1), input_error);
  EXPECT_THROW(make_reference_element(4, 2), input_error);
}

}  // namespace
}  // namespace plaquette
