// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Forces that a plaquette at x passes on to its links that begin at x + mu and x + nu. A thread makes all four forces
/// of a plaquette. It adds the forces of links at x to their momenta, and stores the other two, since another thread
/// adds to those links. A second kernel gathers them. So each order of additions is fixed. For .cu files only.
#pragma once

#include <cstdint>
#include <memory>

#include "common/gauge/force.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"
#include "gpu/gauge/tile_launch.hpp"

namespace plaquette::gpu {

/// Chunks of a traceless anti-Hermitian matrix: eight real numbers.
inline constexpr int traceless_chunks = 4;

/// Traceless anti-Hermitian matrices, `matrices` a site of a box: [parity][block of 32 sites][matrix][4 chunks][32
/// sites].
template <int matrices, class Byte = std::byte>
struct traceless_pointer {
  Byte* begin = nullptr;
  std::int64_t parity_stride = 0;  ///< bytes from the even sites to the odd ones

  PLAQUETTE_HOST_DEVICE Byte* at(int parity, std::int32_t i, int which) const {
    return begin + parity * parity_stride +
           (static_cast<std::int64_t>(i / lanes) * matrices + which) * traceless_chunks * chunk_stride +
           (i % lanes) * chunk_bytes;
  }
  PLAQUETTE_HOST_DEVICE antihermitian load(const box_site& x, int which) const {
    const std::byte* const from = at(x.parity, x.index, which);
    complex<double> z[traceless_chunks][1];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < traceless_chunks; ++k) unpack<double>(load_chunk(from + k * chunk_stride), 1.0F, z[k]);
    return {{z[0][0].re, z[0][0].im, -z[0][0].re - z[0][0].im}, {z[1][0], z[2][0], z[3][0]}};
  }
  /// Stores a without its trace.
  PLAQUETTE_HOST_DEVICE void store(const box_site& x, int which, const antihermitian& a) const {
    std::byte* const to = at(x.parity, x.index, which);
    const antihermitian b = traceless(a);
    const complex<double> z[traceless_chunks][1] = {
        {{b.diagonal[0], b.diagonal[1]}}, {b.lower[0]}, {b.lower[1]}, {b.lower[2]}};
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < traceless_chunks; ++k) store_chunk(to + k * chunk_stride, pack<double>(z[k], 1.0F));
  }
};

/// Memory for `matrices` of them at each site of a box.
template <int matrices>
class traceless_matrices {
 public:
  /// Undefined contents. Throws memory_error.
  traceless_matrices(const context& ctx, const box_with_ghosts& box)
      : parity_bytes_(std::int64_t{matrices} * traceless_chunks * chunk_stride * box.order.blocks()),
        storage_(ctx.workspace().take(static_cast<std::size_t>(2 * parity_bytes_))) {}
  traceless_pointer<matrices> sites() const { return {storage_.get(), parity_bytes_}; }

 private:
  std::int64_t parity_bytes_;
  std::shared_ptr<std::byte> storage_;
};

/// The forces that a plaquette passes on: matrix 2 plane is for U_mu(x + nu), the next one for U_nu(x + mu), mu < nu.
using passed_forces = traceless_pointer<2 * planes>;

/// The forces of a range of planes of one site: adds step times the forces on its own links, and passes on the others.
/// On a process grid it also passes on the forces from the ghosts below a cut, in the same kernel, for the same bits.
/// \tparam Forces  forces(x, mu, nu) are the forces of a plaquette; forces.links reads links; it says how many blocks a
///                 multiprocessor holds
template <class Forces>
struct add_forces_of_plaquettes {
  static constexpr int blocks_of_a_multiprocessor = Forces::blocks_of_a_multiprocessor;

  gauge_momenta::pointer momenta;
  passed_forces passed;
  Forces forces;
  site_order order;
  site_tiles tiles;
  int first_plane, last_plane;
  double step;
  int cut;  ///< direction of the ghosts; `dimensions`: the sites are this rank's own

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const bool is_own = cut == dimensions;
    const site_coordinate local = is_own ? tiles.site(n) : ghost(static_cast<std::int32_t>(n));
    const box_site x = forces.links.site(local);
    const auto add = [&](int mu, const antihermitian& force) {
      if (!is_own) return;
      const int parity = parity_of(local);
      const std::int32_t i = order.index(local);
      momenta.store(parity, i, mu, momenta.load(parity, i, mu) + full_matrix(step * traceless(force)));
    };
    PLAQUETTE_ROLLED
    for (int plane = first_plane; plane <= last_plane; ++plane) {
      const int mu = first_of_plane(plane), nu = second_of_plane(plane);
      if (!is_own && mu != cut && nu != cut) continue;
      const forces_of_plaquette f = forces(x, mu, nu);
      add(mu, f.first);
      add(nu, f.last);
      passed.store(x, 2 * plane, f.third);
      passed.store(x, 2 * plane + 1, f.second);
    }
  }

 private:
  /// Returns the coordinate of site n of the face below the cut.
  PLAQUETTE_HOST_DEVICE site_coordinate ghost(std::int32_t n) const {
    site_coordinate local;
    PLAQUETTE_GPU_UNROLL
    for (int mu = 0; mu < dimensions; ++mu) {
      const std::int32_t length = mu == cut ? 1 : order.length[mu];
      local.x[mu] = mu == cut ? -1 : n % length;
      n /= length;
    }
    return local;
  }
};

/// Adds step times the forces that three plaquettes have passed on to a link.
struct add_passed_forces {
  gauge_momenta::pointer momenta;
  passed_forces passed;
  box_with_ghosts box;
  site_order order;
  double step;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const std::int64_t sites = 2 * static_cast<std::int64_t>(order.sites);
    const auto mu = static_cast<int>(n / sites);
    const auto [parity, i] = site_of_loop(order, n - mu * sites);
    const site_coordinate x = box.coordinate_of(order.coordinate_of(parity, i));
    su3<double> sum = momenta.load(parity, i, mu);
    PLAQUETTE_ROLLED
    for (int nu = 0; nu < dimensions; ++nu) {
      if (nu == mu) continue;
      const site_coordinate at = moved(box.order, x, nu, -1);
      const box_site below{at, 1 - box.parity_of(parity), box.order.index(at)};
      sum += full_matrix(step * passed.load(below, 2 * plane_number(mu, nu) + (mu < nu ? 0 : 1)));
    }
    momenta.store(parity, i, mu, sum);
  }
};

/// Makes the forces of a range of planes: adds step times the forces of links at their own site, and passes on the
/// others.
template <class Forces>
void add_own_forces(gauge_momenta& momenta, const traceless_matrices<2 * planes>& passed, const Forces& forces,
                    int first_plane, int last_plane, double step) {
  const context& ctx = momenta.get_context();
  const site_order& order = ctx.order();
  add_forces_of_plaquettes<Forces> body{
      momenta.sites(), passed.sites(), forces, order,     site_tiles::of_lattice(order),
      first_plane,     last_plane,     step,   dimensions};
  for_each_tiled_site(ctx.queue(), order, body);
  for (body.cut = 0; body.cut < dimensions; ++body.cut)
    if (ctx.geometry().is_cut(body.cut))
      for_each_index_of_tiles(ctx.queue(), 2 * static_cast<std::int64_t>(order.sites) / order.length[body.cut], body);
}

/// Adds step times the forces that all planes have passed on. Fewest bytes a site: 768 passed on, momenta read and
/// written 1152.
inline void add_forces_passed_on(gauge_momenta& momenta, const traceless_matrices<2 * planes>& passed,
                                 const box_with_ghosts& box, double step) {
  const context& ctx = momenta.get_context();
  for_each_index(ctx.queue(), 2 * dimensions * static_cast<std::int64_t>(ctx.order().sites),
                 add_passed_forces{momenta.sites(), passed.sites(), box, ctx.order(), step}, 128);
}

}  // namespace plaquette::gpu
