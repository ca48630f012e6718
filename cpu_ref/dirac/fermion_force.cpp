// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/fermion_force.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/lattice/same_lattice.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/lane_numbers.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu {
namespace {

void require_pair(const field<double>& x, const field<double>& y, const lattice_geometry& geometry) {
  require_same_lattice(geometry, x.get_context().geometry(), "momenta or leaves");
  require_same_lattice(geometry, y.get_context().geometry(), "momenta or leaves");
  for (const field<double>* f : {&x, &y})
    if (f->shape().spins != spins || f->shape().colours != colours || f->shape().sites != site_subset::full)
      throw input_error("a fermion force needs fields of 4 spins and 3 colours on all sites");
  if (x.columns() != y.columns())
    throw input_error("a fermion force needs as many columns of X as of Y, found " + std::to_string(x.columns()) +
                      " and " + std::to_string(y.columns()));
}

/// The columns of a field, in its own basis, where formulas find a site by its coordinate.
class unpacked_spinors {
 public:
  unpacked_spinors(const field<double>& psi, bool ghosts) {
    const context& ctx = psi.get_context();
    const block_layout& layout = psi.layout();
    for (int column = 0; column < psi.columns(); ++column) {
      spinor_configuration& to = columns_.emplace_back(ctx.geometry());
      for_each_site(ctx.geometry(), [&](const coordinate& x) {
        const block_site at = layout.place(x);
        std::array<complex<double>, spins * colours> numbers;
        read_lane<double>(numbers, psi.block(plaquette::parity(x), at.block, column) + at.lane, layout.width());
        for (int k = 0; k < spins * colours; ++k)
          to(x)(k / colours, k % colours) = numbers[static_cast<std::size_t>(k)];
      });
      if (ghosts) exchange_ghosts(to, ctx.comm());
    }
  }
  const spinor<double>& operator()(const coordinate& x, int column) const {
    return columns_[static_cast<std::size_t>(column)](x);
  }

 private:
  std::vector<spinor_configuration> columns_;
};

/// Adds the hops along mu.
template <int mu>
void add_hops(gauge_momenta& momenta, const gauge_configuration& links, const fermion_action& action,
              const unpacked_spinors& x, const unpacked_spinors& y, int columns, double step) {
  const lattice_geometry& geometry = links.geometry();
  const complex<double> inside{0.5 * step * action.hop_coefficient(mu), 0.0},
      across = inside * action.boundary_phase[mu];
  for_each_site(geometry, [&](const coordinate& site) {
    const bool wraps = geometry.to_global(site)[mu] == geometry.global()[mu] - 1;
    momenta(site)[mu] +=
        hopping_force(links(site)[mu], hopping_outer_product<mu>(x, y, site, shifted(site, mu, +1), columns),
                      wraps ? across : inside);
  });
}

/// Calls add(k) for k = 1, 2, 3, as a constant of the compiler.
template <class Add>
void for_each_leaf_pair(Add&& add) {
  add(std::integral_constant<int, 1>{});
  add(std::integral_constant<int, 2>{});
  add(std::integral_constant<int, 3>{});
}

/// Calls visit(x) for the sites of one parity.
template <class Visit>
void for_each_site_of(const lattice_geometry& geometry, int parity, Visit&& visit) {
  for_each_site(geometry, [&](const coordinate& x) {
    if (plaquette::parity(x) == parity) visit(x);
  });
}

/// Returns the sum of value(x) over the sites of one parity. Throws if one is NaN on any rank.
template <class Value>
double sum_of_logarithms(const lattice_geometry& geometry, int parity, const communicator& comm, Value&& value) {
  std::vector<double> values(static_cast<std::size_t>(geometry.local_volume()));
  const auto of_site = [&](const coordinate& x) -> double& {
    return values[static_cast<std::size_t>(geometry.local_index(x))];
  };
  for_each_site_of(geometry, parity, [&](const coordinate& x) { of_site(x) = value(x); });
  const std::int64_t sites = geometry.global_volume();
  std::int64_t first = sites;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    if (std::isnan(values[static_cast<std::size_t>(site)]))
      first = std::min(first, geometry.global_index(geometry.local_coordinate(site)));
  double behind = -static_cast<double>(first);  // of numbers below 2^53: doubles hold them
  comm.maximum({&behind, 1});
  first = static_cast<std::int64_t>(-behind);
  if (first < sites) {
    const coordinate x = coordinate_of(first, geometry.global());
    throw input_error("clover term: expected a positive determinant at every site, found another at (x, y, z, t) = (" +
                      std::to_string(x[0]) + ", " + std::to_string(x[1]) + ", " + std::to_string(x[2]) + ", " +
                      std::to_string(x[3]) + ")");
  }
  return sum_over_sites<1>(geometry, comm, [&](const coordinate& x) { return std::array{of_site(x)}; })[0];
}

}  // namespace

void clear(leaf_field& z) {
  for_each_site(z.geometry(), [&](const coordinate& x) { z(x) = {}; });
}

void add_hopping_force(gauge_momenta& momenta, const gauge_configuration& links, const fermion_action& action,
                       const field<double>& x, const field<double>& y, double step) {
  require_same_lattice(momenta.geometry(), links.geometry(), "momenta");
  require_pair(x, y, links.geometry());
  stop_point();
  const unpacked_spinors x_around(x, true), y_around(y, true);
  [&]<int... mu>(std::integer_sequence<int, mu...>) {
    (add_hops<mu>(momenta, links, action, x_around, y_around, x.columns(), step), ...);
  }(std::make_integer_sequence<int, dimensions>{});
}

void add_leaves(leaf_field& z, const fermion_action& action, const field<double>& x, const field<double>& y,
                double factor) {
  require_pair(x, y, z.geometry());
  stop_point();
  const unpacked_spinors x_here(x, false), y_here(y, false);
  const leaf_weights weights(action, factor);
  for_each_site(z.geometry(), [&](const coordinate& site) {
    for_each_leaf_pair([&]<int k>(std::integral_constant<int, k>) {
      add_spinor_leaves<k>(x_here, y_here, site, x.columns(), weights, [&](int plane, const su3<double>& change) {
        z(site)[static_cast<std::size_t>(plane)] += change;
      });
    });
  });
}

void add_determinant_leaves(leaf_field& z, const fermion_action& action, const clover_configuration& inverse_of_a,
                            int parity, double factor) {
  require_same_lattice(z.geometry(), inverse_of_a.geometry(), "leaves");
  require_parity(parity);
  stop_point();
  const leaf_weights weights(action, factor);
  for_each_site_of(z.geometry(), parity, [&](const coordinate& site) {
    const clover_block& block = inverse_of_a(site);
    for_each_leaf_pair([&]<int k>(std::integral_constant<int, k>) {
      plaquette::add_determinant_leaves<k>(
          block.chirality[0], block.chirality[1], weights,
          [&](int plane, const su3<double>& change) { z(site)[static_cast<std::size_t>(plane)] += change; });
    });
  });
}

void add_clover_force(gauge_momenta& momenta, const gauge_configuration& links, const leaf_field& z, double step,
                      const communicator& comm) {
  require_same_lattice(momenta.geometry(), links.geometry(), "momenta");
  require_same_lattice(z.geometry(), links.geometry(), "leaves");
  require_current_ghosts(links, comm, "add_clover_force");
  stop_point();
  const auto& leaves = z.with_ghosts(comm);
  for_each_site(links.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu)
      momenta(x)[mu] += clover_force(link_reader{links}, link_reader{leaves}, x, mu, step);
  });
}

double log_determinant(const clover_configuration& a, int parity, const communicator& comm) {
  require_parity(parity);
  stop_point();
  return sum_of_logarithms(a.geometry(), parity, comm,
                           [&](const coordinate& x) { return plaquette::log_determinant(a(x)); });
}

double log_determinant_difference(const clover_configuration& after, const clover_configuration& before, int parity,
                                  const communicator& comm) {
  require_same_lattice(after.geometry(), before.geometry(), "blocks");
  require_parity(parity);
  stop_point();
  return sum_of_logarithms(after.geometry(), parity, comm, [&](const coordinate& x) {
    return plaquette::log_determinant(after(x)) - plaquette::log_determinant(before(x));
  });
}

}  // namespace plaquette::cpu
