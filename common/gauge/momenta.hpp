// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Momenta of links, for both libraries, on host and device: drawn, and measured. force.hpp has their conventions.
#pragma once

#include <cmath>

#include "common/algebra/matrix_parts.hpp"
#include "common/lattice/extents.hpp"
#include "common/random/random_stream.hpp"

namespace plaquette {

/// Root mean square and largest |F| of a link, |F|^2 = sum_k f_k^2 = -2 tr F^2 for F = i f_k T_k.
struct force_size {
  double rms, largest;
};

/// Returns the random numbers of a site's momenta, of all four directions one after the other.
/// \param index  number of the momenta of this seed, below 2^56: a trajectory
PLAQUETTE_HOST_DEVICE inline random_stream momentum_stream(std::uint64_t seed, std::uint64_t index,
                                                           std::uint64_t global_site) {
  return {seed, random_stream_id(random_purpose::momenta, index), global_site};
}

/// Returns A = i a_k T_k, a_k eight normal deviates of variance 1, T_k = lambda_k / 2 (Gell-Mann's matrices).
PLAQUETTE_HOST_DEVICE inline su3<double> gaussian_momentum(random_stream& random) {
  constexpr double inverse_root_of_3 = 0.57735026918962576451;
  const auto [a1, a2] = random.gaussians();
  const auto [a3, a4] = random.gaussians();
  const auto [a5, a6] = random.gaussians();
  const auto [a7, a8] = random.gaussians();
  const double eighth = inverse_root_of_3 * a8;
  su3<double> m;
  const auto set_pair = [&m](int i, int j, double real, double imaginary) {  // of lambda's real and imaginary matrix
    m(i, j) = {0.5 * imaginary, 0.5 * real};
    m(j, i) = {-0.5 * imaginary, 0.5 * real};
  };
  set_pair(0, 1, a1, a2);
  set_pair(0, 2, a4, a5);
  set_pair(1, 2, a6, a7);
  m(0, 0).im = 0.5 * (eighth + a3);
  m(1, 1).im = 0.5 * (eighth - a3);
  m(2, 2).im = -eighth;
  return m;
}

/// Returns -tr A^2 = sum_k a_k^2 / 2, the kinetic energy of a link.
PLAQUETTE_HOST_DEVICE constexpr double kinetic_energy(const su3<double>& momentum) {
  return real_trace_with_adjoint(momentum, momentum);
}

/// Returns the kinetic energy of `after` less that of `before`, as a product of their difference: no digits are lost.
PLAQUETTE_HOST_DEVICE constexpr double kinetic_energy_difference(const su3<double>& after, const su3<double>& before) {
  return real_trace_with_adjoint(after - before, after + before);
}

}  // namespace plaquette
