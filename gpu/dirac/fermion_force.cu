// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/fermion_force.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/lattice/same_lattice.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/gauge/passed_forces.hpp"
#include "gpu/gauge/spinors_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

// --- Checks of arguments ---------------------------------------------------------------------------------------------

void require_pair(const field<double>& x, const field<double>& y, const lattice_geometry& geometry) {
  require_same_lattice(geometry, x.get_context().geometry(), "momenta or leaves");
  require_same_lattice(geometry, y.get_context().geometry(), "momenta or leaves");
  require_full_lattice(x, "a fermion force");
  require_full_lattice(y, "a fermion force");
  if (x.columns() != y.columns())
    throw input_error("a fermion force needs as many columns of X as of Y, found " + std::to_string(x.columns()) +
                      " and " + std::to_string(y.columns()));
}

// --- Kernel bodies ---------------------------------------------------------------------------------------------------

/// The four links of a site.
struct add_hops {
  gauge_momenta::pointer momenta;
  gauge_configuration::const_pointer links;
  spinor_reader x, y;
  site_order order;
  box_with_ghosts box;
  global_order whole;
  int columns;
  double inside[dimensions];           ///< half the step times c_mu
  complex<double> across[dimensions];  ///< the same times the boundary phase

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_number own = site_of_loop(order, n);
    const site_coordinate local = order.coordinate_of(own.parity, own.index), global = whole.coordinate_of(local),
                          at = box.coordinate_of(local);
    const box_site here{at, box.parity_of(own.parity), box.order.index(at)};
    add<0>(own, here, global);
    add<1>(own, here, global);
    add<2>(own, here, global);
    add<3>(own, here, global);
  }

 private:
  template <int mu>
  PLAQUETTE_HOST_DEVICE void add(const site_number& own, const box_site& here, const site_coordinate& global) const {
    const site_coordinate to = moved(box.order, here.at, mu, +1);
    const box_site ahead{to, 1 - here.parity, box.order.index(to)};
    const complex<double> factor = global.x[mu] == whole.length[mu] - 1 ? across[mu] : complex<double>{inside[mu], 0.0};
    const su3<double> change = hopping_force(links.load(own.parity, own.index, mu),
                                             hopping_outer_product<mu>(x, y, here, ahead, columns), factor);
    momenta.store(own.parity, own.index, mu, momenta.load(own.parity, own.index, mu) + change);
  }
};

/// Adds to leaves of a site.
struct leaf_adder {
  leaf_field::pointer z;
  int parity;
  std::int32_t index;

  PLAQUETTE_HOST_DEVICE void operator()(int plane, const su3<double>& change) const {
    z.store(parity, index, plane, z.load(parity, index, plane) + change);
  }
};

/// Two of a site's leaves: of the plane of space without direction k, and of (k, t), k from 1. The threads of the three
/// k of 32 sites follow each other, and find in the cache the numbers that the first has read.
struct add_leaves_of_spinors {
  leaf_field::pointer z;
  spinor_reader x, y;
  batch_order work;  ///< its columns are k - 1
  int columns;
  leaf_weights weights;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const batch_site s = work.site(n);
    if (work.is_padding(s)) return;
    const box_site here{{}, s.part, s.index};  // of fields without ghosts
    const leaf_adder add{z, s.part, s.index};
    if (s.column == 0) add_spinor_leaves<1>(x, y, here, columns, weights, add);
    if (s.column == 1) add_spinor_leaves<2>(x, y, here, columns, weights, add);
    if (s.column == 2) add_spinor_leaves<3>(x, y, here, columns, weights, add);
  }
};

/// Does the same for a site of one parity.
struct add_leaves_of_determinant {
  leaf_field::pointer z;
  clover_configuration::const_pointer inverse;
  batch_order work;  ///< its columns are k - 1
  int parity;
  leaf_weights weights;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const batch_site s = work.site(n);
    if (work.is_padding(s)) return;
    const leaf_adder add{z, parity, s.index};
    const auto block = [&](int chirality) { return inverse.load(parity, s.index, chirality); };
    if (s.column == 0) plaquette::add_determinant_leaves<1>(block(0), block(1), weights, add);
    if (s.column == 1) plaquette::add_determinant_leaves<2>(block(0), block(1), weights, add);
    if (s.column == 2) plaquette::add_determinant_leaves<3>(block(0), block(1), weights, add);
  }
};

/// The forces of the leaves of a plaquette, as add_forces_of_plaquettes takes them.
struct forces_of_leaves {
  static constexpr int blocks_of_a_multiprocessor = 2;

  ghosted_links links;
  ghosted_matrices<planes, const std::byte> leaves;

  PLAQUETTE_HOST_DEVICE forces_of_plaquette operator()(const box_site& x, int mu, int nu) const {
    return clover_forces_of_plaquette(links, leaves, x, mu, nu);
  }
};

/// ln det of a chirality of the sites of one parity, or the difference of two, and how many are not numbers.
struct sum_log_determinants {
  clover_configuration::const_pointer a, before;  ///< before: none if begin is null
  std::int32_t sites;
  int parity;
  unsigned char* wrong;  ///< [chirality][site]

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int chirality, double (&sums)[2]) const {
    const auto i = static_cast<std::int32_t>(n);
    double value = plaquette::log_determinant(a.load(parity, i, chirality));
    if (before.begin != nullptr) value -= plaquette::log_determinant(before.load(parity, i, chirality));
    const bool is_wrong = value != value;
    wrong[std::int64_t{chirality} * sites + n] = is_wrong ? 1 : 0;
    sums[0] += value;
    sums[1] += is_wrong ? 1.0 : 0.0;
  }
};

// --- Launchers -------------------------------------------------------------------------------------------------------

std::int64_t sites_of(const context& ctx) { return 2 * static_cast<std::int64_t>(ctx.order().sites); }

/// A field where neighbours are read: itself on one rank, else a copy with ghosts.
class readable_spinors {
 public:
  explicit readable_spinors(const field<double>& psi) : field_(psi) {
    const context& ctx = psi.get_context();
    if (volume(ctx.geometry().grid()) == 1) return;
    copy_.emplace(ctx, psi.columns());
    copy_->copy_from(psi);
    copy_->exchange(dimensions);
  }
  spinor_reader sites() const {
    if (copy_) return {{copy_->sites(0), copy_->sites(1)}};
    return {{field_.sites(0), field_.sites(1)}};
  }

 private:
  const field<double> field_;  // shares storage
  std::optional<spinors_with_ghosts> copy_;
};

/// Returns the first flagged site on any rank, in the lexicographic order of the whole lattice. Collective.
coordinate first_wrong_site(const context& ctx, int parity, const unsigned char* device_flags) {
  const std::int64_t sites = ctx.order().sites;
  std::vector<unsigned char> flags(static_cast<std::size_t>(2 * sites));
  copy_to_host(ctx.queue(), flags.data(), device_flags, flags.size());
  double first = static_cast<double>(ctx.geometry().global_volume());
  for (std::int64_t n = 0; n < 2 * sites; ++n)
    if (flags[static_cast<std::size_t>(n)] != 0) {
      const site_coordinate at = ctx.order().coordinate_of(parity, static_cast<std::int32_t>(n % sites));
      first = std::min(first, static_cast<double>(ctx.geometry().global_index({at.x[0], at.x[1], at.x[2], at.x[3]})));
    }
  double behind = -first;  // of numbers below 2^53: doubles hold them
  ctx.comm().maximum({&behind, 1});
  return coordinate_of(static_cast<std::int64_t>(-behind), ctx.geometry().global());
}

/// 288 bytes a site and 1.4 kflops (two eliminations of 6 x 6): once an action.
double sum_of_logarithms(const clover_configuration& a, const clover_configuration* before, int parity) {
  require_parity(parity);
  const context& ctx = a.get_context();
  const std::int32_t sites = ctx.order().sites;
  const auto memory = ctx.workspace().take(static_cast<std::size_t>(2 * std::int64_t{sites}));
  auto* const wrong = reinterpret_cast<unsigned char*>(memory.get());
  const std::vector<double> of_chirality = host_sums<2>(
      ctx, sites, 2,
      sum_log_determinants{a.sites(), before != nullptr ? before->sites() : clover_configuration::const_pointer{},
                           sites, parity, wrong});
  double sums[2] = {of_chirality[0] + of_chirality[2], of_chirality[1] + of_chirality[3]};
  ctx.comm().sum(std::span<double>(sums));
  if (sums[1] > 0.0) {
    const coordinate x = first_wrong_site(ctx, parity, wrong);
    throw input_error("clover term: expected a positive determinant at every site, found another at (x, y, z, t) = (" +
                      std::to_string(x[0]) + ", " + std::to_string(x[1]) + ", " + std::to_string(x[2]) + ", " +
                      std::to_string(x[3]) + ")");
  }
  return sums[0];
}

}  // namespace

void clear(leaf_field& z) {
  fill_bytes(z.get_context().queue(), z.sites().begin, 0, static_cast<std::size_t>(2 * z.parity_bytes()));
}

/// A site and column: four outer products of two spins a link, 4 (4 x 72 + 48) = 1.3 kflops; and a site 4 products of
/// matrices and sums, 1.1 kflops. Fewest bytes: X and Y 384 a column; links 576, momenta read and written 1152.
void add_hopping_force(gauge_momenta& momenta, const gauge_configuration& links, const fermion_action& action,
                       const field<double>& x, const field<double>& y, double step) {
  const context& ctx = links.get_context();
  require_same_lattice(momenta.get_context().geometry(), ctx.geometry(), "momenta");
  require_pair(x, y, ctx.geometry());
  const readable_spinors x_around(x), y_around(y);
  add_hops body{momenta.sites(),
                links.sites(),
                x_around.sites(),
                y_around.sites(),
                ctx.order(),
                box_with_ghosts(ctx.geometry()),
                global_order(ctx.geometry()),
                x.columns(),
                {},
                {}};
  for (int mu = 0; mu < dimensions; ++mu) {
    body.inside[mu] = 0.5 * step * action.hop_coefficient(mu);
    body.across[mu] = body.inside[mu] * action.boundary_phase[mu];
  }
  for_each_index(ctx.queue(), sites_of(ctx), body, 128);
}

/// A site and column: 12 outer products and three pairs of rotations, 1.2 kflops; and a site 6 sums of matrices, 0.4.
/// Fewest bytes: X and Y 384 a column; leaves read and written 1728.
void add_leaves(leaf_field& z, const fermion_action& action, const field<double>& x, const field<double>& y,
                double factor) {
  const context& ctx = z.get_context();
  require_pair(x, y, ctx.geometry());
  const batch_order work(ctx.order(), 2, 3);
  for_each_index(ctx.queue(), work.count(),
                 add_leaves_of_spinors{z.sites(),
                                       {{x.sites(0), x.sites(1)}},
                                       {{y.sites(0), y.sites(1)}},
                                       work,
                                       x.columns(),
                                       leaf_weights(action, factor)},
                 192);
}

/// A site of the parity: 0.4 kflops. Fewest bytes: blocks 576; leaves read and written 1728.
void add_determinant_leaves(leaf_field& z, const fermion_action& action, const clover_configuration& inverse_of_a,
                            int parity, double factor) {
  const context& ctx = z.get_context();
  require_same_lattice(ctx.geometry(), inverse_of_a.get_context().geometry(), "leaves");
  require_parity(parity);
  const batch_order work(ctx.order(), 1, 3);
  for_each_index(ctx.queue(), work.count(),
                 add_leaves_of_determinant{z.sites(), inverse_of_a.sites(), work, parity, leaf_weights(action, factor)},
                 192);
}

/// A plaquette: three products of matrices, five leaves and forces carried along links, one product and three
/// commutators: 1.3 kFMA of real numbers, and 16 kflops a site in all. Fewest bytes a site: links 576, triangles of
/// leaves 576, momenta read and written twice 2304, forces passed on 1536.
void add_clover_force(gauge_momenta& momenta, const gauge_configuration& links, const leaf_field& z, double step) {
  const context& ctx = links.get_context();
  require_same_lattice(momenta.get_context().geometry(), ctx.geometry(), "momenta");
  require_same_lattice(z.get_context().geometry(), ctx.geometry(), "leaves");
  const links_with_ghosts around(links);
  const matrices_with_ghosts<planes> leaves(z);
  const box_with_ghosts box(ctx.geometry());
  const traceless_matrices<2 * planes> passed(ctx, box);
  add_own_forces(momenta, passed, forces_of_leaves{around.sites(), leaves.sites()}, 0, planes - 1, 0.5 * step);
  add_forces_passed_on(momenta, passed, box, 0.5 * step);
}

double log_determinant(const clover_configuration& a, int parity) { return sum_of_logarithms(a, nullptr, parity); }

double log_determinant_difference(const clover_configuration& after, const clover_configuration& before, int parity) {
  require_same_lattice(after.get_context().geometry(), before.get_context().geometry(), "blocks");
  return sum_of_logarithms(after, &before, parity);
}

}  // namespace plaquette::gpu
