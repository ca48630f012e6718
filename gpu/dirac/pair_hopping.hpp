// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The hopping term in double precision by pairs of floats (common/algebra/float_pair.hpp), for devices that have few
/// units for double. The twin of cpu_ref/dirac/pair_hopping.
#pragma once

#include <memory>

#include "gpu/dirac/hopping_term.hpp"

namespace plaquette::gpu {

// A field of pairs is a field<double> in whose numbers the lower word is `high` and the upper word is `low`. Nothing
// but the functions below understands it.

/// Makes pairs of the numbers of Dirac spinors, rounded to 48 bits. out may be in.
void to_pairs(field<double>& out, const field<double>& in);
/// Makes numbers of pairs. out may be in.
void to_doubles(field<double>& out, const field<double>& in);

/// D of hopping_term on fields of pairs, on one rank. An application errs by about 2^-45 of the norms of the spinors
/// that it adds.
class pair_hopping_term {
 public:
  /// \param links  in SU(3); not kept; 18 reals each are stored
  /// Throws input_error where the lattice is divided among ranks.
  pair_hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action);

  /// Computes out = scale D in, or D^+ in. out and in are Dirac spinors of pairs on opposite parities with equal
  /// columns.
  /// \param finish  only its scale may differ from what it is by default
  void apply(field<double>& out, const field<double>& in, bool daggered = false,
             const hopping_finish<double>& finish = {}) const;

  /// Computes what hopping_term::apply does, of fields of doubles, but for the sums: D and A by pairs.
  void apply_to_doubles(field<double>& out, const field<double>& in, bool daggered,
                        const hopping_finish<double>& finish) const;

  const context& get_context() const { return context_; }

 private:
  context context_;
  fermion_action action_;
  std::shared_ptr<std::byte> links_;  ///< [parity][block][mu][16-byte chunk][32], a complex number of pairs a chunk
  std::int64_t parity_bytes_ = 0;
};

}  // namespace plaquette::gpu
