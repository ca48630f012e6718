// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The clover term on the device, as in cpu_ref/dirac/clover_term.hpp: a Hermitian matrix on spin and colour of a site.
/// It is block diagonal in chirality (DeGrand-Rossi basis). Sheikholeslami and Wohlert, Nucl. Phys. B 259 (1985) 572.
#pragma once

#include <memory>
#include <utility>

#include "common/algebra/hermitian_6x6.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "gpu/context.hpp"
#include "gpu/device/unroll.hpp"
#include "gpu/fields/storage.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Chunks of a block: three pairs of diagonal numbers, then the strict lower triangle by rows.
inline constexpr int clover_chunks = chiral_rows / 2 + hermitian_6x6::lower_size;
inline constexpr std::int32_t clover_bytes = clover_chunks * chunk_stride;  ///< of one chirality at 32 sites

/// Clover blocks as kernels take them: double, [parity][block of 32 sites][chirality][18 chunks][32 sites].
template <class Byte>
struct clover_pointer {
  Byte* begin = nullptr;
  std::int64_t parity_stride = 0;  ///< bytes from the even sites to the odd ones

  PLAQUETTE_HOST_DEVICE Byte* at(int parity, std::int32_t i, int chirality) const {
    return begin + parity * parity_stride + (static_cast<std::int64_t>(i / lanes) * 2 + chirality) * clover_bytes +
           (i % lanes) * chunk_bytes;
  }
  PLAQUETTE_HOST_DEVICE hermitian_6x6 load(int parity, std::int32_t i, int chirality) const {
    const std::byte* const from = at(parity, i, chirality);
    hermitian_6x6 block;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < clover_chunks; ++k) {
      complex<double> z[1];
      unpack<double>(load_chunk(from + k * chunk_stride), 1.0F, z);
      if (k < chiral_rows / 2) {
        block.diagonal[2 * k] = z[0].re;
        block.diagonal[2 * k + 1] = z[0].im;
      } else {
        block.lower[k - chiral_rows / 2] = z[0];
      }
    }
    return block;
  }
  PLAQUETTE_HOST_DEVICE void store(int parity, std::int32_t i, int chirality, const hermitian_6x6& block) const {
    Byte* const to = at(parity, i, chirality);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < clover_chunks; ++k) {
      const complex<double> z[1] = {k < chiral_rows / 2
                                        ? complex<double>{block.diagonal[2 * k], block.diagonal[2 * k + 1]}
                                        : block.lower[k - chiral_rows / 2]};
      store_chunk(to + k * chunk_stride, pack<double>(z, 1.0F));
    }
  }
};

/// One clover_block a site. Copies share storage.
class clover_configuration {
 public:
  using pointer = clover_pointer<std::byte>;
  using const_pointer = clover_pointer<const std::byte>;

  /// Undefined contents. Throws memory_error.
  explicit clover_configuration(const context& ctx)
      : context_(ctx), storage_(ctx.workspace().take(static_cast<std::size_t>(2 * parity_bytes()))) {
    write_padding(ctx, storage_.get(), std::int64_t{2} * clover_bytes);
  }
  /// In memory that is there, of 2 * parity_bytes() bytes.
  clover_configuration(const context& ctx, std::shared_ptr<std::byte> storage)
      : context_(ctx), storage_(std::move(storage)) {}

  const context& get_context() const { return context_; }
  std::int64_t parity_bytes() const { return std::int64_t{2} * clover_bytes * context_.order().blocks(); }

  pointer sites() { return {storage_.get(), parity_bytes()}; }
  const_pointer sites() const { return {storage_.get(), parity_bytes()}; }

 private:
  context context_;
  std::shared_ptr<std::byte> storage_;
};

/// From and to the host, whose ghosts do not matter. Throws input_error if geometries differ.
clover_configuration import_clover(const context& ctx, const site_field<clover_block>& from);
site_field<clover_block> export_clover(const clover_configuration& from);

/// Returns C(x) = -1/2 sum_{mu<nu} c_munu sigma_munu (-i Fhat_munu(x)), Fhat = (Q - Q^+) / 8 with its trace, Q the sum
/// of the four leaves around x, c_munu = action.clover_coefficient(mu, nu). Neither the mass nor the Wilson term's
/// diagonal is in it. The boundary condition of the fermions does not enter: a closed loop crosses a boundary as often
/// forwards as backwards. Collective.
clover_configuration make_clover_term(const gauge_configuration& links, const fermion_action& action);
/// Makes A = 4 + m + C, the whole site-diagonal part, in the memory of blocks that are there. Throws input_error if
/// they are on another lattice.
void make_site_diagonal(clover_configuration& a, const gauge_configuration& links, const fermion_action& action);

/// Adds a shift to A; turns C into A = 4 + m + C for shift = action.diagonal().
void add_to_diagonal(clover_configuration& term, double shift);

/// Memory of blocks packed in another precision (site_diagonal.hpp). Null: none.
struct packed_diagonal {
  std::byte* begin = nullptr;
  std::int64_t parity_bytes = 0;  ///< of the sites of one parity

  PLAQUETTE_HOST_DEVICE std::byte* of(int parity) const { return begin + parity * parity_bytes; }
};
/// The forms of A on other links for the asymmetric even-odd system, in double and packed in single and half precision.
struct diagonal_of_precisions {
  clover_configuration a;                                                              ///< of all sites
  clover_configuration inverse;                                                        ///< A^-1 of odd sites
  packed_diagonal a_in_single{}, a_in_half{}, inverse_in_single{}, inverse_in_half{};  ///< of even sites; of odd ones
  bool odd_sites_in_single = false;  ///< whether A of odd sites is packed in single, too
};
/// Makes all of them, in one pass over the field strengths. Returns false if a block of any rank is not positive: then
/// of all of them only `a` is right. Collective; waits. Throws input_error if they are on another lattice.
bool make_diagonal_of_precisions(const diagonal_of_precisions& to, const gauge_configuration& links,
                                 const fermion_action& action);

/// Inverts site by site. Collective; waits. Throws input_error on every rank, naming the first site by its global
/// coordinate, if a block of any rank has no inverse.
clover_configuration inverse(const clover_configuration& term);
/// Makes the inverse in the memory of blocks that are there. Throws input_error if they are on another lattice, too.
void invert(clover_configuration& to, const clover_configuration& term);

/// Returns A B of blocks that commute with each other, site by site. Throws input_error if lattices differ.
clover_configuration commuting_product(const clover_configuration& a, const clover_configuration& b);

}  // namespace plaquette::gpu
