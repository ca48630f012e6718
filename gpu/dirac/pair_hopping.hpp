// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The hopping term in double precision by pairs of floats (common/algebra/float_pair.hpp), for devices that have few
/// units for double. The twin of cpu_ref/dirac/pair_hopping.
#pragma once

#include <memory>

#include "common/algebra/float_pair.hpp"
#include "gpu/dirac/hopping_term.hpp"
#include "gpu/dirac/site_diagonal.hpp"

namespace plaquette::gpu {

/// D of hopping_term on fields of pairs, on one rank. An application errs by about 2^-45 of the norms of the spinors
/// that it adds.
class pair_hopping_term {
 public:
  /// \param links   in SU(3); not kept
  /// \param stored  of no effect: 18 reals each are kept
  /// Throws input_error if the lattice is divided among ranks.
  pair_hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                    reconstruct stored = reconstruct::none);

  /// Takes other links of the same lattice, in the memory of the links so far.
  void follow(const gauge_configuration& links);

  /// Computes the same as hopping_term::apply; A of an epilogue by pairs, too. Sums have the bits of dot_norm2.
  void apply(field<float_pair>& out, const field<float_pair>& in, bool daggered = false,
             const hopping_finish<float_pair>& finish = {}) const;

  const context& get_context() const { return context_; }
  const fermion_action& action() const { return action_; }
  reconstruct stored() const { return reconstruct::none; }
  /// Does nothing: on one rank no messages travel.
  void set_overlap(bool) {}

 private:
  context context_;
  fermion_action action_;
  std::shared_ptr<std::byte> links_;  ///< [parity][block][mu][16-byte chunk][32], a complex number of pairs a chunk
  std::int64_t parity_bytes_ = 0;
};

/// Computes out = A in by pairs.
template <>
void site_diagonal<float_pair>::apply(field<float_pair>& out, const field<float_pair>& in) const;

}  // namespace plaquette::gpu
