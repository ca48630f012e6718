// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/gaussian_smearing.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "common/error.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/dirac_spinors.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"
#include "gpu/gauge/spinors_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

constexpr int space_dimensions = 3;

/// One step at one site of one column.
struct smearing_step {
  spinor_pointer<double> to[2];          ///< by parity of this rank's sites
  spinor_pointer<const double> from[2];  ///< by parity in the box with ghosts
  bool to_box;                           ///< sites of `to` are numbered like the sites of that box
  ghosted_links links;
  site_order order;
  batch_order batch;
  double stay, hop;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const batch_site s = batch.site(n);
    if (batch.is_padding(s)) return;
    const site_order& box = links.box.order;
    const site_coordinate at = links.box.coordinate_of(order.coordinate_of(s.part, s.index));
    const int parity = links.box.parity_of(s.part), other = 1 - parity;
    const std::int32_t here = box.index(at);
    complex<double> sum[spinor_components] = {};
#pragma unroll 1
    for (int i = 0; i < space_dimensions; ++i) {
      const std::int32_t above = box.index(moved(box, at, i, +1)), below = box.index(moved(box, at, i, -1));
      complex<double> forward[spinor_components] = {};
      add_product(forward, links.at.load(parity, here, i), from_parity(other), above, s.column);
      add_product(forward, adjoint(links.at.load(other, below, i)), from_parity(other), below, s.column);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < spinor_components; ++k) sum[k] += forward[k];
    }
    complex<double> numbers[spinor_components];
    load_site<double, spinor_components>(from_parity(parity), here, s.column, numbers);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k) numbers[k] = stay * numbers[k] + hop * sum[k];
    store_site<double, spinor_components>(s.part == 0 ? to[0] : to[1], to_box ? here : s.index, s.column, numbers);
  }

 private:
  PLAQUETTE_HOST_DEVICE spinor_pointer<const double> from_parity(int parity) const {
    return parity == 0 ? from[0] : from[1];
  }

  /// sum += u psi, every spin.
  PLAQUETTE_HOST_DEVICE static void add_product(complex<double> (&sum)[spinor_components], const su3<double>& u,
                                                const spinor_pointer<const double>& psi, std::int32_t i, int column) {
    complex<double> numbers[spinor_components];
    load_site<double, spinor_components>(psi, i, column, numbers);
    PLAQUETTE_GPU_UNROLL
    for (int spin = 0; spin < spins; ++spin) {
      const colour_vector<double> product =
          u * colour_vector<double>{{numbers[3 * spin], numbers[3 * spin + 1], numbers[3 * spin + 2]}};
      PLAQUETTE_GPU_UNROLL
      for (int c = 0; c < colours; ++c) sum[colours * spin + c] += product[c];
    }
  }
};

struct smearing_weights {
  double stay, hop;
};

field<double> smeared_on_one_rank(const field<double>& psi, const links_with_ghosts& links, const smearing_weights& w,
                                  int steps) {
  const context& ctx = psi.get_context();
  const batch_order batch(ctx.order(), 2, psi.columns());
  field<double> now = psi, next = like(psi), spare = steps > 1 ? like(psi) : next;
  for (int step = 0; step < steps; ++step) {
    const field<double>& from = now;
    for_each_index(ctx.queue(), batch.count(),
                   smearing_step{{next.sites(0), next.sites(1)},
                                 {from.sites(0), from.sites(1)},
                                 false,
                                 links.sites(),
                                 ctx.order(),
                                 batch,
                                 w.stay,
                                 w.hop},
                   128);
    std::swap(now, next);
    if (step == 0) next = spare;  // psi is not written to
  }
  return now;
}

/// From one box with ghosts to another; the last step leaves it.
field<double> smeared_on_ranks(const field<double>& psi, const links_with_ghosts& links, const smearing_weights& w,
                               int steps) {
  const context& ctx = psi.get_context();
  const batch_order batch(ctx.order(), 2, psi.columns());
  field<double> result = like(psi);
  spinors_with_ghosts now(ctx, psi.columns()), next = steps > 1 ? spinors_with_ghosts(ctx, psi.columns()) : now;
  now.copy_from(psi);
  for (int step = 0; step < steps; ++step) {
    now.exchange(space_dimensions);
    const bool last = step == steps - 1;
    for_each_index(
        ctx.queue(), batch.count(),
        smearing_step{{last ? result.sites(0) : next.own_sites(0), last ? result.sites(1) : next.own_sites(1)},
                      {now.sites(0), now.sites(1)},
                      !last,
                      links.sites(),
                      ctx.order(),
                      batch,
                      w.stay,
                      w.hop},
        128);
    std::swap(now, next);
  }
  return result;
}

}  // namespace

field<double> gaussian_smeared(const field<double>& psi, const gauge_configuration& links, double radius, int steps) {
  if (!std::isfinite(radius)) throw input_error("smearing radius: expected a finite number, found another");
  if (steps < 1) throw input_error("smearing steps: expected at least 1, found " + std::to_string(steps));
  require_full_lattice(psi, "smearing");
  const double hop = radius * radius / (4.0 * steps);
  const smearing_weights weights{1.0 - 2.0 * space_dimensions * hop, hop};
  const links_with_ghosts around(links);
  return around.is_copy() ? smeared_on_ranks(psi, around, weights, steps)
                          : smeared_on_one_rank(psi, around, weights, steps);
}

}  // namespace plaquette::gpu
