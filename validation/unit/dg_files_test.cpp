// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What nodal-dg writes for ParaView.
#include <gtest/gtest.h>

#include <cmath>

#include "common/dg/reference_element.hpp"
#include "miniapps/nodal-dg/field_files.hpp"

namespace plaquette::nodal_dg {
namespace {

/// Volume of the simplex between these points, with its sign.
double volume(int dimension, const std::array<reference_point, 4>& x) {
  std::array<reference_point, 3> e{};
  e[2] = {0, 0, 1};
  for (std::size_t c = 0; c < static_cast<std::size_t>(dimension); ++c)
    for (std::size_t i = 0; i < 3; ++i) e[c][i] = x[c + 1][i] - x[0][i];
  return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
          e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
         (dimension == 3 ? 6.0 : 2.0);
}

TEST(DgFiles, PartsFillTheElement) {
  for (const int dimension : {2, 3})
    for (int order = 1; order <= 10; ++order) {
      const auto element = make_reference_element(dimension, order);
      const auto parts = parts_of_element(dimension, order);
      EXPECT_EQ(static_cast<double>(parts.size()), std::pow(order, dimension));
      double sum = 0.0;
      for (const auto& part : parts) {
        std::array<reference_point, 4> x{};
        for (std::size_t c = 0; c <= static_cast<std::size_t>(dimension); ++c)
          x[c] = element.points[static_cast<std::size_t>(part[c])];
        const double v = volume(dimension, x);
        EXPECT_GT(v, 0.0);
        sum += v;
      }
      EXPECT_NEAR(sum, dimension == 3 ? 4.0 / 3.0 : 2.0, 1e-12);
    }
}

}  // namespace
}  // namespace plaquette::nodal_dg
