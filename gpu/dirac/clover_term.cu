// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/clover_term.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "common/algebra/field_strength.hpp"
#include "common/error.hpp"
#include "common/gauge/field_strength.hpp"
#include "common/lattice/same_lattice.hpp"
#include "gpu/dirac/clover_packing.hpp"
#include "gpu/dirac/invert_hermitian.hpp"
#include "gpu/fields/host_maximum.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/fields/site_numbers.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"
#include "gpu/gauge/tile_launch.hpp"

namespace plaquette::gpu {
namespace {

constexpr int field_strength_chunks = 5;  ///< of the nine numbers of a Hermitian matrix

/// c i Fhat / 2 of a plane and a column of sites along nu, put into the memory of the sites' blocks until they are
/// made.
struct field_strengths_of_column {
  clover_configuration::pointer to;
  ghosted_links links;
  site_order order;
  site_tiles tiles;  ///< of columns
  int mu, nu, plane;
  double half_c;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_coordinate first = tiles.site(n);
    leaves_of_column(links, links.site(first), tiles.column, mu, nu, [&](int step, const su3<double>& leaves) {
      store(moved_by(first, nu, step), half_c * i_field_strength(leaves));
    });
  }

 private:
  PLAQUETTE_HOST_DEVICE void store(const site_coordinate& at, const su3<double>& h) const {
    std::byte* const begin = to.at(parity_of(at), order.index(at), 0) +
                             static_cast<std::int64_t>(plane) * field_strength_chunks * chunk_stride;
    const complex<double> numbers[field_strength_chunks] = {
        {h(0, 0).re, h(1, 1).re}, {h(2, 2).re, 0.0}, h(1, 0), h(2, 0), h(2, 1)};
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < field_strength_chunks; ++k) {
      const complex<double> z[1] = {numbers[k]};
      store_chunk(begin + k * chunk_stride, pack<double>(z, 1.0F));
    }
  }
};

/// The field strengths of a site, as field_strengths_of_column leaves them.
struct field_strengths {
  su3<double> xy, xz, xt, yz, yt, zt;

  PLAQUETTE_HOST_DEVICE explicit field_strengths(const std::byte* from)
      : xy(load(from, 0)),
        xz(load(from, 1)),
        xt(load(from, 2)),
        yz(load(from, 3)),
        yt(load(from, 4)),
        zt(load(from, 5)) {}

  /// Returns a block plus a number, sum_k sigma_k (x) a_k (`clover_block_of` of common/algebra/field_strength.hpp). For
  /// the first chirality a_k is the field strength of the plane of space without direction k minus that of (k, t). For
  /// the second one it is their sum. For k = y difference and sum change places.
  PLAQUETTE_HOST_DEVICE hermitian_6x6 block(int chirality, double shift) const {
    const double sign = chirality == 0 ? -1.0 : 1.0;
    hermitian_6x6 block = pauli_sum(yz + sign * xt, xz - sign * yt, xy + sign * zt);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < chiral_rows; ++k) block.diagonal[k] += shift;
    return block;
  }

 private:
  PLAQUETTE_HOST_DEVICE static su3<double> load(const std::byte* from, int plane) {
    complex<double> z[field_strength_chunks][1];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < field_strength_chunks; ++k)
      unpack<double>(load_chunk(from + (plane * field_strength_chunks + k) * chunk_stride), 1.0F, z[k]);
    su3<double> h;
    h(0, 0).re = z[0][0].re, h(1, 1).re = z[0][0].im, h(2, 2).re = z[1][0].re;
    h(1, 0) = z[2][0], h(2, 0) = z[3][0], h(2, 1) = z[4][0];
    h(0, 1) = conj(h(1, 0)), h(0, 2) = conj(h(2, 0)), h(1, 2) = conj(h(2, 1));
    return h;
  }
};

/// Both blocks of a site, in the place of its field strengths.
struct blocks_of_field_strengths {
  clover_configuration::pointer blocks;
  site_order order;
  double shift;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    const field_strengths f(blocks.at(parity, i, 0));
    PLAQUETTE_ROLLED
    for (int chirality = 0; chirality < 2; ++chirality) blocks.store(parity, i, chirality, f.block(chirality, shift));
  }
};

/// The same, and the other forms of diagonal_of_precisions. Returns 1 if a block to be inverted is not positive.
struct blocks_of_precisions {
  clover_configuration::pointer a, inverse;
  packed_diagonal a_in_single, a_in_half, inverse_in_single, inverse_in_half;
  bool odd_sites_in_single;
  site_order order;
  double shift;

  PLAQUETTE_HOST_DEVICE double operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    const field_strengths f(a.at(parity, i, 0));
    bool positive = true;
    PLAQUETTE_ROLLED
    for (int chirality = 0; chirality < 2; ++chirality) {
      hermitian_6x6 block = f.block(chirality, shift);
      a.store(parity, i, chirality, block);
      if (a_in_single.begin != nullptr && (parity == 0 || odd_sites_in_single))
        pack_clover<float>(a_in_single.of(parity), i, chirality, block);
      if (parity == 0) {
        if (a_in_half.begin != nullptr) pack_clover<half>(a_in_half.of(0), i, chirality, block);
        continue;
      }
      positive = invert_positive(block) && positive;
      inverse.store(1, i, chirality, block);
      if (inverse_in_single.begin != nullptr) pack_clover<float>(inverse_in_single.of(1), i, chirality, block);
      if (inverse_in_half.begin != nullptr) pack_clover<half>(inverse_in_half.of(1), i, chirality, block);
    }
    return positive ? 0.0 : 1.0;
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

/// Inverts the block of one site and chirality. Returns 1 if it is not positive: then `to` is undefined.
struct invert_positive_blocks {
  clover_configuration::pointer to;
  clover_configuration::const_pointer from;
  site_order order;

  PLAQUETTE_HOST_DEVICE double operator()(std::int64_t n) const {
    const std::int64_t sites = 2 * static_cast<std::int64_t>(order.sites);
    const int chirality = n >= sites ? 1 : 0;
    const auto [parity, i] = site_of_loop(order, n - chirality * sites);
    hermitian_6x6 block = from.load(parity, i, chirality);
    const bool positive = invert_positive(block);
    to.store(parity, i, chirality, block);
    return positive ? 0.0 : 1.0;
  }
};

/// Inverts the block of one site and chirality if it is not positive, and counts blocks without an inverse. Positive
/// ones stay as invert_positive_blocks left them, so that a block has the same bits on any grid of ranks.
struct invert_blocks {
  clover_configuration::pointer to;
  clover_configuration::const_pointer from;
  site_order order;
  unsigned char* singular;  ///< [chirality][site of the loop]

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int chirality, double (&sums)[1]) const {
    const auto [parity, i] = site_of_loop(order, n);
    unsigned char& flag = singular[chirality * 2 * static_cast<std::int64_t>(order.sites) + n];
    flag = 0;
    hermitian_6x6 block = from.load(parity, i, chirality);
    if (invert_positive(block)) return;
    gauss_jordan_6x6 elimination(from.load(parity, i, chirality));
    const bool regular = elimination.invert();
    to.store(parity, i, chirality, elimination.result());
    flag = regular ? 0 : 1;
    sums[0] += regular ? 0.0 : 1.0;
  }
};

struct multiply_blocks {
  clover_configuration::pointer to;
  clover_configuration::const_pointer a, b;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    for (int chirality = 0; chirality < 2; ++chirality)
      to.store(parity, i, chirality,
               plaquette::commuting_product(a.load(parity, i, chirality), b.load(parity, i, chirality)));
  }
};

std::int64_t lattice_sites(const context& ctx) { return 2 * static_cast<std::int64_t>(ctx.order().sites); }

/// Returns the first flagged site on any rank, in the lexicographic order of the whole lattice. Collective.
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

namespace {

/// Leaves the field strengths of all planes in the memory of the blocks. A plane takes 6.5 products of matrices and
/// some sums a site, in columns of 8: 9 kflops a site in all. Fewest bytes a site: links 576, blocks 576; plane by
/// plane 3.3 kB, as field strengths are written and read. From the L2 cache a plane's tile takes some 2.7 matrices a
/// site, 2.3 kB.
void make_field_strengths(clover_configuration& to, const gauge_configuration& links, const fermion_action& action) {
  const context& ctx = links.get_context();
  require_same_lattice(to.get_context().geometry(), ctx.geometry(), "clover blocks", "links on ");
  const links_with_ghosts around(links);
  for (int mu = 0, plane = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu, ++plane)
      for_each_tiled_site(ctx.queue(), ctx.order(),
                          field_strengths_of_column{to.sites(), around.sites(), ctx.order(),
                                                    site_tiles::of_columns(ctx.order(), mu, nu), mu, nu, plane,
                                                    0.5 * action.clover_coefficient(mu, nu)});
}

/// Makes C plus a number. Fewest bytes a site, when field strengths are there: 1056.
void make_blocks(clover_configuration& to, const gauge_configuration& links, const fermion_action& action,
                 double shift) {
  const context& ctx = links.get_context();
  make_field_strengths(to, links, action);
  for_each_index(ctx.queue(), lattice_sites(ctx), blocks_of_field_strengths{to.sites(), ctx.order(), shift}, 128);
}

}  // namespace

clover_configuration make_clover_term(const gauge_configuration& links, const fermion_action& action) {
  clover_configuration term(links.get_context());
  make_blocks(term, links, action, 0.0);
  return term;
}

void make_site_diagonal(clover_configuration& a, const gauge_configuration& links, const fermion_action& action) {
  make_blocks(a, links, action, action.diagonal());
}

/// Fewest bytes a site in all three precisions, when field strengths are there: 1784.
bool make_diagonal_of_precisions(const diagonal_of_precisions& to, const gauge_configuration& links,
                                 const fermion_action& action) {
  const context& ctx = links.get_context();
  clover_configuration a = to.a, inverse = to.inverse;  // share memory
  require_same_lattice(inverse.get_context().geometry(), ctx.geometry(), "clover blocks", "links on ");
  make_field_strengths(a, links, action);
  return host_maximum(
             ctx, lattice_sites(ctx),
             blocks_of_precisions{a.sites(), inverse.sites(), to.a_in_single, to.a_in_half, to.inverse_in_single,
                                  to.inverse_in_half, to.odd_sites_in_single, ctx.order(), action.diagonal()}) == 0.0;
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
  // At usual masses all blocks are positive.
  if (host_maximum(ctx, 2 * lattice_sites(ctx), invert_positive_blocks{result.sites(), term.sites(), ctx.order()}) ==
      0.0)
    return;
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

clover_configuration commuting_product(const clover_configuration& a, const clover_configuration& b) {
  const context& ctx = a.get_context();
  require_same_lattice(ctx.geometry(), b.get_context().geometry(), "clover blocks");
  clover_configuration result(ctx);
  for_each_index(ctx.queue(), lattice_sites(ctx), multiply_blocks{result.sites(), a.sites(), b.sites(), ctx.order()});
  return result;
}

}  // namespace plaquette::gpu
