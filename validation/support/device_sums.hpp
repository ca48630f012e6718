// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks of the sums that the device makes together with a result.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "gpu/blas/blas.hpp"

namespace plaquette::validation {

/// Expects that `dots` are <out, w> and `sizes` |out|^2, as `dot` and `norm2` find them: sums in double of some 10^5
/// products at most, in another order, with errors of random sign.
template <class T>
void expect_sums(const std::vector<complex<double>>& dots, const std::vector<complex<double>>& sizes,
                 const gpu::field<T>& out, const gpu::field<T>& w, const std::string& where) {
  constexpr double tolerance = 1e-13;
  const auto expected = host_values(dot(out, w)), out_sizes = host_values(norm2(out)), w_sizes = host_values(norm2(w));
  ASSERT_TRUE(dots.size() == expected.size() && sizes.size() == expected.size());
  for (std::size_t c = 0; c < dots.size(); ++c) {
    EXPECT_TRUE(std::sqrt(norm2(dots[c] - expected[c])) <= tolerance * std::sqrt(out_sizes[c].re * w_sizes[c].re))
        << where << ", column " << c;
    EXPECT_TRUE(std::abs(sizes[c].re - out_sizes[c].re) <= tolerance * out_sizes[c].re) << where << ", column " << c;
  }
}

}  // namespace plaquette::validation
