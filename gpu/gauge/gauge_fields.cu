// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/gauge_fields.hpp"

#include <string>

#include "common/error.hpp"
#include "common/lattice/constant_flux.hpp"
#include "common/lattice/conversion_counts.hpp"
#include "common/random/random_matrix.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/host_maximum.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/fields/site_numbers.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

// --- To and from the host --------------------------------------------------------------------------------------------

void require_geometry(const context& ctx, const lattice_geometry& found) {
  if (!(found == ctx.geometry()))
    throw input_error("expected matrices on a lattice " + to_string(ctx.geometry().global()) + ", found them on " +
                      to_string(found.global()) + " on ranks " + to_string(found.grid()));
}

constexpr int matrix_numbers = colours * colours;

/// \param matrices_at  matrices_at(x) points to the matrices of the host's site x
template <int matrices, class MatricesAt>
matrix_field<matrices> imported(const context& ctx, const lattice_geometry& geometry, MatricesAt&& matrices_at) {
  require_geometry(ctx, geometry);
  matrix_field<matrices> to(ctx);
  site_numbers(ctx, to.sites().begin, matrices * matrix_numbers).to_device([&](const coordinate& x, int k) {
    const int entry = k % matrix_numbers;
    return matrices_at(x)[k / matrix_numbers](entry / colours, entry % colours);
  });
  return to;
}

template <int matrices, class MatricesAt>
void export_to(const matrix_field<matrices>& from, MatricesAt&& matrices_at) {
  matrix_field<matrices> source = from;  // shares storage
  site_numbers(from.get_context(), source.sites().begin, matrices * matrix_numbers)
      .to_host([&](const coordinate& x, int k, const complex<double>& z) {
        const int entry = k % matrix_numbers;
        matrices_at(x)[k / matrix_numbers](entry / colours, entry % colours) = z;
      });
}

// --- Kernel bodies: one site each ------------------------------------------------------------------------------------

template <int matrices>
using matrices_of = typename matrix_field<matrices>::pointer;
template <int matrices>
using const_matrices_of = typename matrix_field<matrices>::const_pointer;

struct set_to_one {
  matrices_of<dimensions> links;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    for (int mu = 0; mu < dimensions; ++mu) links.store(parity, i, mu, su3<double>::identity());
  }
};

/// The distribution of matrices: the Haar measure, or one near 1.
enum class random_kind { haar, near_one };

/// The matrices of a site are drawn one after the other from the site's stream.
template <int matrices, random_kind kind>
struct draw_matrices {
  matrices_of<matrices> to;
  site_order order;
  global_order whole;
  std::uint64_t seed, stream;
  double noise;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    random_stream random(seed, stream, whole.index(order.coordinate_of(parity, i)));
    for (int which = 0; which < matrices; ++which) {
      if constexpr (kind == random_kind::haar)
        to.store(parity, i, which, haar_matrix(random));
      else
        to.store(parity, i, which, matrix_near_one(noise, random));
    }
  }
};

struct set_constant_flux {
  matrices_of<dimensions> links;
  site_order order;
  global_order whole;
  int fluxes[2];
  abelian_embedding embedding;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    const site_coordinate at = whole.coordinate_of(order.coordinate_of(parity, i));
    PLAQUETTE_GPU_UNROLL
    for (int plane = 0; plane < 2; ++plane) {
      const int mu = 2 * plane, nu = mu + 1;
      const flux_links pair =
          flux_links_at(at.x[mu], at.x[nu], whole.length[mu], whole.length[nu], fluxes[plane], embedding);
      links.store(parity, i, mu, pair.mu);
      links.store(parity, i, nu, pair.nu);
    }
  }
};

struct transform_links {
  matrices_of<dimensions> to;
  const_matrices_of<dimensions> links;
  ghosted_matrices<1, const std::byte> g;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    const site_order& box = g.box.order;
    const site_coordinate at = g.box.coordinate_of(order.coordinate_of(parity, i));
    const int box_parity = g.box.parity_of(parity);
    const su3<double> here = g.at.load(box_parity, box.index(at), 0);
    for (int mu = 0; mu < dimensions; ++mu) {
      const su3<double> ahead = g.at.load(1 - box_parity, box.index(moved(box, at, mu, +1)), 0);
      to.store(parity, i, mu, here * links.load(parity, i, mu) * adjoint(ahead));
    }
  }
};

/// One part of one column.
struct transform_spinors {
  spinor_pointer<double> to;
  spinor_pointer<const double> psi;
  const_matrices_of<1> g;
  int parity, column;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto i = static_cast<std::int32_t>(n);
    const su3<double> here = g.load(parity, i, 0);
    complex<double> numbers[spins * colours];
    load_site<double, spins * colours>(psi, i, column, numbers);
    PLAQUETTE_GPU_UNROLL
    for (int spin = 0; spin < spins; ++spin) {
      const colour_vector<double> rotated =
          here * colour_vector<double>{{numbers[3 * spin], numbers[3 * spin + 1], numbers[3 * spin + 2]}};
      PLAQUETTE_GPU_UNROLL
      for (int c = 0; c < colours; ++c) numbers[colours * spin + c] = rotated[c];
    }
    store_site<double, spins * colours>(to, i, column, numbers);
  }
};

/// The largest distance of a site's links.
struct largest_distance {
  const_matrices_of<dimensions> links;
  site_order order;

  PLAQUETTE_HOST_DEVICE double operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    double worst = 0.0;
    for (int mu = 0; mu < dimensions; ++mu)
      worst = larger(worst, plaquette::distance_from_su3(links.load(parity, i, mu)));
    return worst;
  }
};

template <class Body>
void for_each_lattice_site(const context& ctx, const Body& body, int threads = 128) {
  for_each_index(ctx.queue(), 2 * static_cast<std::int64_t>(ctx.order().sites), body, threads);
}

}  // namespace

gauge_configuration import_links(const context& ctx, const plaquette::gauge_configuration& from) {
  gauge_configuration to =
      imported<dimensions>(ctx, from.geometry(), [&](const coordinate& x) { return from(x).data(); });
  count_conversions({.from_host_links = 1});
  return to;
}

plaquette::gauge_configuration export_links(const gauge_configuration& from) {
  plaquette::gauge_configuration to(from.get_context().geometry());
  export_to(from, [&](const coordinate& x) { return to(x).data(); });
  exchange_ghosts(to, from.get_context().comm());
  count_conversions({.to_host_links = 1});
  return to;
}

gauge_transformation import_transformation(const context& ctx, const site_field<su3<double>>& from) {
  return imported<1>(ctx, from.geometry(), [&](const coordinate& x) { return &from(x); });
}

site_field<su3<double>> export_transformation(const gauge_transformation& from) {
  site_field<su3<double>> to(from.get_context().geometry());
  export_to(from, [&](const coordinate& x) { return &to(x); });
  exchange_ghosts(to, from.get_context().comm());
  return to;
}

gauge_configuration copy_of(const gauge_configuration& links) {
  gauge_configuration copy(links.get_context());
  copy_on_device(links.get_context().queue(), copy.sites().begin, links.sites().begin,
                 static_cast<std::size_t>(2 * links.parity_bytes()));
  return copy;
}

gauge_configuration unit_configuration(const context& ctx) {
  gauge_configuration links(ctx);
  for_each_lattice_site(ctx, set_to_one{links.sites(), ctx.order()});
  return links;
}

gauge_configuration random_configuration(const context& ctx, std::uint64_t seed) {
  gauge_configuration links(ctx);
  for_each_lattice_site(
      ctx, draw_matrices<dimensions, random_kind::haar>{links.sites(), ctx.order(), global_order(ctx.geometry()), seed,
                                                        random_stream_id(random_purpose::gauge_field), 0.0});
  return links;
}

gauge_configuration weak_field_configuration(const context& ctx, double noise, std::uint64_t seed) {
  gauge_configuration links(ctx);
  for_each_lattice_site(ctx, draw_matrices<dimensions, random_kind::near_one>{
                                 links.sites(), ctx.order(), global_order(ctx.geometry()), seed,
                                 random_stream_id(random_purpose::gauge_field), noise});
  return links;
}

gauge_configuration constant_flux_configuration(const context& ctx, const std::array<int, 2>& fluxes,
                                                abelian_embedding embedding) {
  gauge_configuration links(ctx);
  for_each_lattice_site(
      ctx,
      set_constant_flux{links.sites(), ctx.order(), global_order(ctx.geometry()), {fluxes[0], fluxes[1]}, embedding});
  return links;
}

gauge_transformation random_gauge_transformation(const context& ctx, std::uint64_t seed) {
  gauge_transformation g(ctx);
  for_each_lattice_site(
      ctx, draw_matrices<1, random_kind::haar>{g.sites(), ctx.order(), global_order(ctx.geometry()), seed,
                                               random_stream_id(random_purpose::gauge_transformation), 0.0});
  return g;
}

gauge_configuration transformed(const gauge_configuration& links, const gauge_transformation& g) {
  const context& ctx = links.get_context();
  gauge_configuration result(ctx);
  const transformation_with_ghosts around(g);
  for_each_lattice_site(ctx, transform_links{result.sites(), links.sites(), around.sites(), ctx.order()});
  return result;
}

field<double> transformed(const field<double>& psi, const gauge_transformation& g) {
  if (psi.shape().spins != spins || psi.shape().colours != colours)
    throw input_error("a gauge transformation expects spinors of 4 spins and 3 colours, found " +
                      std::to_string(psi.shape().spins) + " and " + std::to_string(psi.shape().colours));
  field<double> result = like(psi);
  for (int column = 0; column < psi.columns(); ++column)
    for (int part = 0; part < psi.parts(); ++part)
      for_each_index(
          psi.get_context().queue(), psi.order().sites,
          transform_spinors{result.sites(part), psi.sites(part), g.sites(), psi.parity_of_part(part), column});
  return result;
}

double distance_from_su3(const gauge_configuration& links) {
  const context& ctx = links.get_context();
  return host_maximum(ctx, 2 * static_cast<std::int64_t>(ctx.order().sites),
                      largest_distance{links.sites(), ctx.order()});
}

}  // namespace plaquette::gpu
