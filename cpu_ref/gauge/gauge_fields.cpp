// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gauge_fields.hpp"

#include <span>

#include "common/algebra/largest.hpp"
#include "common/lattice/constant_flux.hpp"
#include "common/random/random_matrix.hpp"
#include "cpu_ref/fields/stoppable_sites.hpp"

namespace plaquette::cpu {
namespace {

random_stream stream_of_site(const lattice_geometry& geometry, const coordinate& x, std::uint64_t seed,
                             random_purpose purpose) {
  return {seed, random_stream_id(purpose), static_cast<std::uint64_t>(geometry.global_index(x))};
}

/// make(stream) for every link of the lattice, the four of a site in the order x, y, z, t.
template <class Make>
gauge_configuration links_from_streams(const lattice_geometry& geometry, std::uint64_t seed, const communicator& comm,
                                       Make&& make) {
  gauge_configuration links(geometry);
  for_each_site_stoppably(geometry, [&](const coordinate& x) {
    random_stream random = stream_of_site(geometry, x, seed, random_purpose::gauge_field);
    for (su3<double>& u : links(x)) u = make(random);
  });
  exchange_ghosts(links, comm);
  return links;
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
  return links_from_streams(geometry, seed, comm,
                            [noise](random_stream& random) { return matrix_near_one(noise, random); });
}

gauge_configuration constant_flux_configuration(const lattice_geometry& geometry, const std::array<int, 2>& fluxes,
                                                abelian_embedding embedding, const communicator& comm) {
  const extents& length = geometry.global();
  gauge_configuration links(geometry);
  for_each_site_stoppably(geometry, [&](const coordinate& local) {
    const coordinate x = geometry.to_global(local);
    for (int plane = 0; plane < 2; ++plane) {
      const int mu = 2 * plane, nu = mu + 1;
      const flux_links pair = flux_links_at(x[mu], x[nu], length[mu], length[nu], fluxes[plane], embedding);
      links(local)[mu] = pair.mu;
      links(local)[nu] = pair.nu;
    }
  });
  exchange_ghosts(links, comm);
  return links;
}

gauge_transformation random_gauge_transformation(const lattice_geometry& geometry, std::uint64_t seed,
                                                 const communicator& comm) {
  gauge_transformation g(geometry);
  for_each_site_stoppably(geometry, [&](const coordinate& x) {
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
  for_pieces_of_rows(geometry, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t site = first * geometry.local()[0]; site < end * geometry.local()[0] && worst == worst; ++site)
      for (const su3<double>& u : links.at_site(site)) {
        const double distance = plaquette::distance_from_su3(u);
        keep_largest(worst, distance);
        if (worst != worst) break;
      }
  });
  comm.maximum({&worst, 1});
  return worst;
}

double rms_distance(const gauge_configuration& u, const gauge_configuration& v, const communicator& comm) {
  const auto sums = sum_over_sites<2>(u.geometry(), comm, [&](const coordinate& x) -> std::array<double, 2> {
    double square = 0.0;
    for (std::size_t mu = 0; mu < dimensions; ++mu) {
      const su3<double> d = u(x)[mu] - v(x)[mu];
      square += trace(adjoint(d) * d).re;
    }
    return {square, 1.0 * dimensions};
  });
  return std::sqrt(sums[0] / sums[1]);
}

}  // namespace plaquette::cpu
