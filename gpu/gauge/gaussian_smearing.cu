// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/gaussian_smearing.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "common/error.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/dirac_spinors.hpp"
#include "gpu/fields/lattice_sites.hpp"

namespace plaquette::gpu {
namespace {

constexpr int space_dimensions = 3;

/// One step at one site of one column.
struct smearing_step {
  spinor_pointer<double> to[2];
  spinor_pointer<const double> from[2];
  gauge_configuration::const_pointer links;
  site_order order;
  batch_order batch;
  double stay, hop;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const batch_site s = batch.site(n);
    if (batch.is_padding(s)) return;
    const site_coordinate at = order.coordinate_of(s.part, s.index);
    const int other = 1 - s.part;
    complex<double> sum[spinor_components] = {};
#pragma unroll 1
    for (int i = 0; i < space_dimensions; ++i) {
      const std::int32_t above = order.index(moved(order, at, i, +1)), below = order.index(moved(order, at, i, -1));
      complex<double> forward[spinor_components] = {};
      add_product(forward, links.load(s.part, s.index, i), from_part(other), above, s.column);
      add_product(forward, adjoint(links.load(other, below, i)), from_part(other), below, s.column);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < spinor_components; ++k) sum[k] += forward[k];
    }
    complex<double> numbers[spinor_components];
    load_site<double, spinor_components>(from_part(s.part), s.index, s.column, numbers);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k) numbers[k] = stay * numbers[k] + hop * sum[k];
    store_site<double, spinor_components>(s.part == 0 ? to[0] : to[1], s.index, s.column, numbers);
  }

 private:
  PLAQUETTE_HOST_DEVICE spinor_pointer<const double> from_part(int part) const { return part == 0 ? from[0] : from[1]; }

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

}  // namespace

field<double> gaussian_smeared(const field<double>& psi, const gauge_configuration& links, double radius, int steps) {
  if (!std::isfinite(radius)) throw input_error("smearing radius: expected a finite number, found another");
  if (steps < 1) throw input_error("smearing steps: expected at least 1, found " + std::to_string(steps));
  require_full_lattice(psi, "smearing");
  const context& ctx = psi.get_context();
  const batch_order batch(ctx.order(), psi.parts(), psi.columns());
  const double hop = radius * radius / (4.0 * steps), stay = 1.0 - 2.0 * space_dimensions * hop;
  field<double> now = psi, next = like(psi), spare = steps > 1 ? like(psi) : next;
  for (int step = 0; step < steps; ++step) {
    const field<double>& from = now;
    for_each_index(ctx.queue(), batch.count(),
                   smearing_step{{next.sites(0), next.sites(1)},
                                 {from.sites(0), from.sites(1)},
                                 links.sites(),
                                 ctx.order(),
                                 batch,
                                 stay,
                                 hop},
                   128);
    std::swap(now, next);
    if (step == 0) next = spare;  // psi is not written to
  }
  return now;
}

}  // namespace plaquette::gpu
