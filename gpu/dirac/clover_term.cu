// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/clover_term.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "common/algebra/field_strength.hpp"
#include "common/error.hpp"
#include "common/lattice/same_lattice.hpp"
#include "gpu/dirac/invert_hermitian.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/fields/site_numbers.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

/// The block of one site and chirality: sum_k sigma_k (x) a_k (`clover_block_of` of common/algebra/field_strength.hpp),
/// where a_k is made of a plane of space and of one with time.
struct clover_of_site {
  clover_configuration::pointer to;
  ghosted_links links;
  site_order order;
  batch_order blocks;                      ///< its columns are the chiralities
  double half_c_spatial, half_c_temporal;  ///< half of what multiplies the planes

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const batch_site at = blocks.site(n);
    if (blocks.is_padding(at)) return;
    const site_coordinate x = links.box.coordinate_of(order.coordinate_of(at.part, at.index));
    const int parity = links.box.parity_of(at.part);
    const su3<double> a_3 = component<2>(parity, x, at.column), a_1 = component<0>(parity, x, at.column),
                      a_2 = component<1>(parity, x, at.column);
    to.store(at.part, at.index, at.column, pauli_sum(a_1, a_2, a_3));
  }

 private:
  /// a_{k+1} at a site of the box with ghosts: the field strength of the plane of space without direction k, minus
  /// (first chirality) or plus (second) that of (k, t). The latter has the other sign for k = y.
  template <int k>
  PLAQUETTE_HOST_DEVICE su3<double> component(int parity, const site_coordinate& x, int chirality) const {
    su3<double> sum;
    // One copy of the leaves' code, and registers for one field strength at a time.
#pragma unroll 1
    for (int with_time = 0; with_time < 2; ++with_time) {
      const int mu = with_time ? k : (k == 0 ? 1 : 0), nu = with_time ? 3 : (k == 2 ? 1 : 2);
      const double electric_sign = (k == 1) == (chirality == 0) ? 1.0 : -1.0;
      const double factor = with_time ? electric_sign * half_c_temporal : half_c_spatial;
      sum += factor * i_field_strength(sum_of_leaves(
                          [&](int steps_mu, int steps_nu, int direction) {
                            const site_order& box = links.box.order;
                            const site_coordinate y = moved(box, moved(box, x, mu, steps_mu), nu, steps_nu);
                            return links.at.load((parity + steps_mu + steps_nu) & 1, box.index(y), direction);
                          },
                          mu, nu));
    }
    return sum;
  }
};

struct shift_diagonal {
  clover_configuration::pointer term;
  site_order order;
  double shift;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    for (int chirality = 0; chirality < 2; ++chirality) {
      std::byte* const at = term.at(parity, i, chirality);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < chiral_rows / 2; ++k) {
        complex<double> pair[1];
        unpack<double>(load_chunk(at + k * chunk_stride), 1.0F, pair);
        pair[0].re += shift;
        pair[0].im += shift;
        store_chunk(at + k * chunk_stride, pack<double>(pair, 1.0F));
      }
    }
  }
};

/// Inverts the block of one site and chirality, and counts those that have no inverse.
struct invert_blocks {
  clover_configuration::pointer to;
  clover_configuration::const_pointer from;
  site_order order;
  unsigned char* singular;  ///< [chirality][site of the loop]

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int chirality, double (&sums)[1]) const {
    const auto [parity, i] = site_of_loop(order, n);
    gauss_jordan_6x6 elimination(from.load(parity, i, chirality));
    const bool regular = elimination.invert();
    to.store(parity, i, chirality, elimination.result());
    singular[chirality * 2 * static_cast<std::int64_t>(order.sites) + n] = regular ? 0 : 1;
    sums[0] += regular ? 0.0 : 1.0;
  }
};

std::int64_t lattice_sites(const context& ctx) { return 2 * static_cast<std::int64_t>(ctx.order().sites); }

/// The first site of the whole lattice, in lexicographic order, of those that are flagged on any rank. Collective.
coordinate first_singular_site(const context& ctx, const unsigned char* device_flags) {
  const std::int64_t sites = lattice_sites(ctx);
  std::vector<unsigned char> flags(static_cast<std::size_t>(2 * sites));
  copy_to_host(ctx.queue(), flags.data(), device_flags, flags.size());
  const extents& global = ctx.geometry().global();
  double first = static_cast<double>(volume(global));
  for (std::int64_t n = 0; n < 2 * sites; ++n)
    if (flags[static_cast<std::size_t>(n)] != 0) {
      const auto [parity, i] = site_of_loop(ctx.order(), n % sites);
      const site_coordinate at = ctx.order().coordinate_of(parity, i);
      first = std::min(first, static_cast<double>(ctx.geometry().global_index({at.x[0], at.x[1], at.x[2], at.x[3]})));
    }
  double behind = -first;  // of numbers below 2^53: doubles hold them
  ctx.comm().maximum({&behind, 1});
  return coordinate_of(static_cast<std::int64_t>(-behind), global);
}

/// Number k of a site: two chiralities of `clover_chunks`.
complex<double> number_of(const clover_block& block, int k) {
  const hermitian_6x6& half = block.chirality[k / clover_chunks];
  const int entry = k % clover_chunks;
  return entry < chiral_rows / 2 ? complex<double>{half.diagonal[2 * entry], half.diagonal[2 * entry + 1]}
                                 : half.lower[entry - chiral_rows / 2];
}
void set_number(clover_block& block, int k, const complex<double>& z) {
  hermitian_6x6& half = block.chirality[k / clover_chunks];
  const int entry = k % clover_chunks;
  if (entry < chiral_rows / 2) {
    half.diagonal[2 * entry] = z.re;
    half.diagonal[2 * entry + 1] = z.im;
  } else {
    half.lower[entry - chiral_rows / 2] = z;
  }
}

}  // namespace

clover_configuration import_clover(const context& ctx, const site_field<clover_block>& from) {
  if (!(from.geometry() == ctx.geometry()))
    throw input_error("expected a clover term on a lattice " + to_string(ctx.geometry().global()) + ", found one on " +
                      to_string(from.geometry().global()));
  clover_configuration to(ctx);
  site_numbers(ctx, to.sites().begin, 2 * clover_chunks).to_device([&](const coordinate& x, int k) {
    return number_of(from(x), k);
  });
  return to;
}

site_field<clover_block> export_clover(const clover_configuration& from) {
  site_field<clover_block> to(from.get_context().geometry());
  clover_configuration source = from;  // shares storage
  site_numbers(from.get_context(), source.sites().begin, 2 * clover_chunks)
      .to_host([&](const coordinate& x, int k, const complex<double>& z) { set_number(to(x), k, z); });
  return to;
}

clover_configuration make_clover_term(const gauge_configuration& links, const fermion_action& action) {
  clover_configuration term(links.get_context());
  make_clover_term(term, links, action);
  return term;
}

void make_clover_term(clover_configuration& term, const gauge_configuration& links, const fermion_action& action) {
  const context& ctx = links.get_context();
  require_same_lattice(term.get_context().geometry(), ctx.geometry(), "clover blocks", "links on ");
  const links_with_ghosts around(links);
  const batch_order blocks(ctx.order(), 2, 2);
  for_each_index(ctx.queue(), blocks.count(),
                 clover_of_site{term.sites(), around.sites(), ctx.order(), blocks,
                                0.5 * action.clover_coefficient(0, 1), 0.5 * action.clover_coefficient(0, 3)},
                 64);
}

void add_to_diagonal(clover_configuration& term, double shift) {
  const context& ctx = term.get_context();
  for_each_index(ctx.queue(), lattice_sites(ctx), shift_diagonal{term.sites(), ctx.order(), shift});
}

clover_configuration inverse(const clover_configuration& term) {
  clover_configuration result(term.get_context());
  invert(result, term);
  return result;
}

void invert(clover_configuration& result, const clover_configuration& term) {
  const context& ctx = term.get_context();
  require_same_lattice(result.get_context().geometry(), ctx.geometry(), "clover blocks");
  const auto memory = ctx.workspace().take(static_cast<std::size_t>(2 * lattice_sites(ctx)));
  auto* const singular = reinterpret_cast<unsigned char*>(memory.get());
  std::vector<double> counts =
      host_sums<1>(ctx, lattice_sites(ctx), 2, invert_blocks{result.sites(), term.sites(), ctx.order(), singular});
  ctx.comm().sum(std::span<double>(counts));
  if (counts[0] + counts[1] > 0.0) {
    const coordinate x = first_singular_site(ctx, singular);
    throw input_error(
        "clover term: expected an invertible matrix at every site, found a singular one at (x, y, z, t) = (" +
        std::to_string(x[0]) + ", " + std::to_string(x[1]) + ", " + std::to_string(x[2]) + ", " + std::to_string(x[3]) +
        ")");
  }
}

}  // namespace plaquette::gpu
