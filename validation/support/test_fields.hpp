// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields for tests on one rank: links, spinors, and linear algebra on them in the plainest form.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "common/algebra/su2.hpp"
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

/// Returns an instanton of size `radius` in the first two colours, in singular gauge, cut where the lattice closes,
/// with noise of size `noise`. Along a link the potential A_mu = eta_mu,nu x_nu 2 r^2 / (x^2 (x^2 + r^2)) has one
/// direction of SU(2), so that its integral is the angle. (Belavin et al., Phys. Lett. B 59 (1975) 85)
inline gauge_configuration instanton_links(const extents& lattice, double radius, double noise, std::uint64_t seed) {
  gauge_configuration links = weak_links(lattice, noise, seed);
  visit_sites(links.geometry(), [&](const coordinate& site) {
    std::array<double, dimensions> x{};  // from the centre, which is in the middle of a cell of the dual lattice
    for (int mu = 0; mu < dimensions; ++mu) x[static_cast<std::size_t>(mu)] = site[mu] + 0.5 - lattice[mu] / 2;
    for (int mu = 0; mu < dimensions; ++mu) {
      std::array<double, 3> direction{};  // eta_a,mu,nu x_nu, of 't Hooft: epsilon in space, and +-1 with time
      for (int a = 0; a < 3; ++a) {
        const auto b = static_cast<std::size_t>((a + 1) % 3), c = static_cast<std::size_t>((a + 2) % 3);
        double& d = direction[static_cast<std::size_t>(a)];
        if (mu == static_cast<int>(b)) d = x[c];
        if (mu == static_cast<int>(c)) d = -x[b];
        if (mu == a) d = x[3];
        if (mu == 3) d = -x[static_cast<std::size_t>(a)];
      }
      double s2 = 0.0, length2 = 0.0;
      for (std::size_t nu = 0; nu < x.size(); ++nu) s2 += static_cast<int>(nu) == mu ? 0.0 : x[nu] * x[nu];
      for (const double d : direction) length2 += d * d;
      const auto integral = [&](double t) {
        const double s = std::sqrt(s2), w = std::sqrt(s2 + radius * radius);
        return 2.0 * (std::atan(t / s) / s - std::atan(t / w) / w);
      };
      const double t = x[static_cast<std::size_t>(mu)], length = std::sqrt(length2);
      const double half = -0.5 * length * (integral(t + 1.0) - integral(t)), scaled = std::sin(half) / length;
      const quaternion<double> g{std::cos(half), scaled * direction[0], scaled * direction[1], scaled * direction[2]};
      multiply_from_left(links(site)[static_cast<std::size_t>(mu)], g, su2_subgroup{0, 1});
    }
  });
  exchange_ghosts(links, communicator());
  return links;
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

/// Returns |a - b| / |b|; NaN if a field holds one.
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
