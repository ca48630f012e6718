// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gauge_fields.hpp"

#include <cmath>
#include <numbers>
#include <span>

#include "common/random/random_stream.hpp"
#include "cpu_ref/gauge/site_sum.hpp"

namespace plaquette::cpu {
namespace {

su3<double> gaussian_matrix(random_stream& random) {
  su3<double> g;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) {
      const auto [re, im] = random.gaussians();
      g(i, j) = {re, im};
    }
  return g;
}

su3<double> in_su3(const su3<double>& u) {
  return reunitarised(u, [](double v) { return std::sqrt(v); });
}

/// Rows of normal deviates have no preferred direction, and Gram-Schmidt keeps that: the first two rows are a random
/// orthonormal pair, of which a matrix in SU(3) is the unique completion.
su3<double> haar_matrix(random_stream& random) { return in_su3(gaussian_matrix(random)); }

random_stream stream_of_site(const lattice_geometry& geometry, const coordinate& x, std::uint64_t seed,
                             random_purpose purpose) {
  return {seed, random_stream_id(purpose), static_cast<std::uint64_t>(geometry.global_index(x))};
}

/// make(stream) for every link of the lattice, the four of a site in the order x, y, z, t.
template <class Make>
gauge_configuration links_from_streams(const lattice_geometry& geometry, std::uint64_t seed, const communicator& comm,
                                       Make&& make) {
  gauge_configuration links(geometry);
  for_each_site(geometry, [&](const coordinate& x) {
    random_stream random = stream_of_site(geometry, x, seed, random_purpose::gauge_field);
    for (su3<double>& u : links(x)) u = make(random);
  });
  exchange_ghosts(links, comm);
  return links;
}

su3<double> abelian_link(double angle, abelian_embedding embedding) {
  const complex<double> phase{std::cos(angle), std::sin(angle)};
  su3<double> u = su3<double>::identity();
  if (embedding == abelian_embedding::all_colours) return phase * u;
  u(0, 0) = phase;
  u(1, 1) = conj(phase);
  return u;
}

}  // namespace

gauge_configuration unit_configuration(const lattice_geometry& geometry) {
  gauge_configuration links(geometry);
  const extents& local = geometry.local();
  coordinate x;  // the ghosts of a field of ones are ones
  for (x[3] = -1; x[3] <= local[3]; ++x[3])
    for (x[2] = -1; x[2] <= local[2]; ++x[2])
      for (x[1] = -1; x[1] <= local[1]; ++x[1])
        for (x[0] = -1; x[0] <= local[0]; ++x[0]) links(x).fill(su3<double>::identity());
  return links;
}

gauge_configuration random_configuration(const lattice_geometry& geometry, std::uint64_t seed,
                                         const communicator& comm) {
  return links_from_streams(geometry, seed, comm, haar_matrix);
}

gauge_configuration weak_field_configuration(const lattice_geometry& geometry, double noise, std::uint64_t seed,
                                             const communicator& comm) {
  return links_from_streams(geometry, seed, comm, [noise](random_stream& random) {
    return in_su3(su3<double>::identity() + noise * gaussian_matrix(random));
  });
}

gauge_configuration constant_flux_configuration(const lattice_geometry& geometry, const std::array<int, 2>& fluxes,
                                                abelian_embedding embedding, const communicator& comm) {
  const extents& length = geometry.global();
  gauge_configuration links(geometry);
  for_each_site(geometry, [&](const coordinate& local) {
    const coordinate x = geometry.to_global(local);
    for (int plane = 0; plane < 2; ++plane) {
      const int mu = 2 * plane, nu = mu + 1;
      const double strength = 2.0 * std::numbers::pi * fluxes[plane] / (length[mu] * length[nu]);
      const bool wraps = x[mu] == length[mu] - 1;
      links(local)[mu] = abelian_link(wraps ? -strength * length[mu] * x[nu] : 0.0, embedding);
      links(local)[nu] = abelian_link(strength * x[mu], embedding);
    }
  });
  exchange_ghosts(links, comm);
  return links;
}

gauge_transformation random_gauge_transformation(const lattice_geometry& geometry, std::uint64_t seed,
                                                 const communicator& comm) {
  gauge_transformation g(geometry);
  for_each_site(geometry, [&](const coordinate& x) {
    random_stream random = stream_of_site(geometry, x, seed, random_purpose::gauge_transformation);
    g(x) = haar_matrix(random);
  });
  exchange_ghosts(g, comm);
  return g;
}

gauge_configuration transformed(const gauge_configuration& links, const gauge_transformation& g,
                                const communicator& comm) {
  gauge_configuration result(links.geometry());
  for_each_site(links.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu) result(x)[mu] = g(x) * links(x)[mu] * adjoint(g(shifted(x, mu, +1)));
  });
  exchange_ghosts(result, comm);
  return result;
}

spinor_configuration transformed(const spinor_configuration& psi, const gauge_transformation& g,
                                 const communicator& comm) {
  spinor_configuration result(psi.geometry());
  for_each_site(psi.geometry(), [&](const coordinate& x) {
    for (int spin = 0; spin < spins; ++spin) result(x)[spin] = g(x) * psi(x)[spin];
  });
  exchange_ghosts(result, comm);
  return result;
}

double distance_from_su3(const gauge_configuration& links, const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  double worst = 0.0;
  for (std::int64_t site = 0; site < geometry.local_volume() && worst == worst; ++site)
    for (const su3<double>& u : links.at_site(site)) {
      const double distance = plaquette::distance_from_su3(u);
      if (!(distance <= worst)) worst = distance;
      if (worst != worst) break;
    }
  comm.maximum({&worst, 1});
  return worst;
}

}  // namespace plaquette::cpu
