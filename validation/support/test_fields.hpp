// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields for tests on one rank: links, spinors, and linear algebra on them in the plainest form.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/lattice/site_field.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"

namespace plaquette::validation {

/// Calls visit(x) for every site of a lattice held by one rank, in lexicographic order.
template <class Visit>
void visit_sites(const lattice_geometry& geometry, Visit&& visit) {
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) visit(geometry.local_coordinate(site));
}

inline gauge_configuration unit_links(const extents& lattice) {
  return cpu::unit_configuration(lattice_geometry(lattice));
}

/// Links that know nothing of each other.
inline gauge_configuration random_links(const extents& lattice, std::uint64_t seed) {
  return cpu::random_configuration(lattice_geometry(lattice), seed, communicator());
}

/// Returns unit links with noise of size `noise`.
inline gauge_configuration weak_links(const extents& lattice, double noise, std::uint64_t seed) {
  return cpu::weak_field_configuration(lattice_geometry(lattice), noise, seed, communicator());
}

inline spinor_configuration random_spinor(const extents& lattice, std::uint64_t seed) {
  return cpu::random_spinor(lattice_geometry(lattice), seed, 0, communicator());
}

/// Returns 1 at one site, spin and colour.
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

/// Returns a + f b
inline spinor_configuration sum(spinor_configuration a, complex<double> f, const spinor_configuration& b) {
  visit_sites(a.geometry(), [&](const coordinate& x) { a(x) += f * b(x); });
  return a;
}

/// Returns |a - b| / |b|; NaN where a field holds one.
inline double relative_distance(const spinor_configuration& a, const spinor_configuration& b) {
  return norm(sum(a, {-1.0, 0.0}, b)) / norm(b);
}

inline complex<double> unit_phase(double angle) { return {std::cos(angle), std::sin(angle)}; }

/// Returns a spin matrix or a colour matrix times a whole field.
template <class Matrix>
spinor_configuration times(const Matrix& m, spinor_configuration psi) {
  visit_sites(psi.geometry(), [&](const coordinate& x) { psi(x) = m * psi(x); });
  return psi;
}

/// Returns the image of a field under a dirac_operator-like function.
template <class Operator>
spinor_configuration image(const Operator& m, const spinor_configuration& psi, bool dagger = false) {
  spinor_configuration out(psi.geometry());
  m(out, psi, dagger);
  return out;
}

}  // namespace plaquette::validation
