// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random colour matrices, on host and device.
#pragma once

#include <cmath>

#include "common/algebra/su3.hpp"
#include "common/random/random_stream.hpp"

namespace plaquette {

/// Returns 18 normal deviates of variance 1.
PLAQUETTE_HOST_DEVICE inline su3<double> gaussian_matrix(random_stream& random) {
  su3<double> g;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) {
      const auto [re, im] = random.gaussians();
      g(i, j) = {re, im};
    }
  return g;
}

/// std::sqrt as an object, for `reunitarised`.
struct real_square_root {
  PLAQUETTE_HOST_DEVICE double operator()(double v) const { return std::sqrt(v); }
};

PLAQUETTE_HOST_DEVICE inline su3<double> put_into_su3(const su3<double>& u) {
  return reunitarised(u, real_square_root{});
}

/// Returns a matrix with the Haar measure of SU(3). Rows of normal deviates have no preferred direction, and
/// Gram-Schmidt keeps that. So the first two rows are a random orthonormal pair, of which a matrix in SU(3) is the
/// unique completion.
PLAQUETTE_HOST_DEVICE inline su3<double> haar_matrix(random_stream& random) {
  return put_into_su3(gaussian_matrix(random));
}

/// Returns 1 + noise * G, put into SU(3), G a `gaussian_matrix`.
PLAQUETTE_HOST_DEVICE inline su3<double> matrix_near_one(double noise, random_stream& random) {
  return put_into_su3(su3<double>::identity() + noise * gaussian_matrix(random));
}

}  // namespace plaquette
