// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields for tests on one rank: links, spinors, and linear algebra on them in the plainest form.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "common/lattice/site_field.hpp"

namespace plaquette::validation {

/// Calls visit(x) for every site of a lattice held by one rank, in lexicographic order.
template <class Visit>
void visit_sites(const lattice_geometry& geometry, Visit&& visit) {
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) visit(geometry.local_coordinate(site));
}

inline gauge_configuration unit_links(const extents& lattice) {
  gauge_configuration links{lattice_geometry(lattice)};
  visit_sites(links.geometry(), [&](const coordinate& x) {
    for (auto& u : links(x)) u = su3<double>::identity();
  });
  exchange_ghosts(links, communicator());
  return links;
}

inline complex<double> random_complex(std::mt19937_64& generator) {
  std::normal_distribution<double> normal;
  const double re = normal(generator);
  return {re, normal(generator)};
}

/// An SU(3) matrix made of `base` plus Gaussian noise of size `noise` an element.
inline su3<double> noisy_su3(const su3<double>& base, double noise, std::mt19937_64& generator) {
  su3<double> u = base;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) u(i, j) += noise * random_complex(generator);
  return reunitarised(u, [](double a) { return std::sqrt(a); });
}

/// Links that know nothing of each other.
inline gauge_configuration random_links(const extents& lattice, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  gauge_configuration links{lattice_geometry(lattice)};
  visit_sites(links.geometry(), [&](const coordinate& x) {
    for (auto& u : links(x)) u = noisy_su3({}, 1.0, generator);
  });
  exchange_ghosts(links, communicator());
  return links;
}

/// Unit links with noise of size `noise`.
inline gauge_configuration weak_links(const extents& lattice, double noise, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  gauge_configuration links{lattice_geometry(lattice)};
  visit_sites(links.geometry(), [&](const coordinate& x) {
    for (auto& u : links(x)) u = noisy_su3(su3<double>::identity(), noise, generator);
  });
  exchange_ghosts(links, communicator());
  return links;
}

inline spinor_configuration random_spinor(const extents& lattice, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  spinor_configuration psi{lattice_geometry(lattice)};
  visit_sites(psi.geometry(), [&](const coordinate& x) {
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) psi(x)(s, c) = random_complex(generator);
  });
  return psi;
}

/// 1 at one site, spin and colour.
inline spinor_configuration point_source(const extents& lattice, const coordinate& at, int spin, int colour) {
  spinor_configuration psi{lattice_geometry(lattice)};
  psi(at)(spin, colour) = {1.0, 0.0};
  return psi;
}

inline complex<double> dot(const spinor_configuration& a, const spinor_configuration& b) {
  complex<double> sum;
  visit_sites(a.geometry(), [&](const coordinate& x) { sum += plaquette::dot(a(x), b(x)); });
  return sum;
}

inline double norm(const spinor_configuration& a) { return std::sqrt(dot(a, a).re); }

/// a + f b
inline spinor_configuration sum(spinor_configuration a, complex<double> f, const spinor_configuration& b) {
  visit_sites(a.geometry(), [&](const coordinate& x) { a(x) += f * b(x); });
  return a;
}

/// |a - b| / |b|; NaN where a field holds one.
inline double relative_distance(const spinor_configuration& a, const spinor_configuration& b) {
  return norm(sum(a, {-1.0, 0.0}, b)) / norm(b);
}

/// A spin matrix or a colour matrix times a whole field.
template <class Matrix>
spinor_configuration times(const Matrix& m, spinor_configuration psi) {
  visit_sites(psi.geometry(), [&](const coordinate& x) { psi(x) = m * psi(x); });
  return psi;
}

}  // namespace plaquette::validation
