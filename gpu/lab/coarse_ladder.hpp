// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ladder of figure 2 of Clark et al. (SC16): the coarse operator for one right-hand side in single precision, from
/// a thread a site to all parallelism that there is. Each rung is a kernel of its own; the last is the library's.
///
///   Rung a: A thread takes a site.
///   Rung b: A thread takes a row of a site.
///   Rung c: The nine matrices of a row go to nine threads as well.
///   Rung d: Four threads share the columns of a matrix as well.
///   Rung e: A load takes 16 bytes as well.
///   Rung f: The library's kernel (coarse_products.cu). Tiles have 16 rows; matrices are loaded before the vectors.
#pragma once

#include <memory>

#include "gpu/coarse/coarse_field.hpp"
#include "gpu/coarse/coarse_matrices.hpp"

namespace plaquette::gpu {

enum class ladder_rung { a, b, c, d, e };

/// The operator in the layout of rungs a to e, where neighbouring threads are neighbouring sites: matrices
/// [matrix][row] [column / w][site][w], vectors [number][site], w = 1, on rung e 2.
class coarse_ladder {
 public:
  coarse_ladder(const coarse_matrices& m, ladder_rung rung);

  /// Computes out = M in; [number][site] both, of the device. Queued. In the host build rungs above b are b.
  void apply(complex<float>* out, const complex<float>* in) const;

  /// To and from the order of fields.
  void load(complex<float>* to, const coarse_field<float>& from) const;
  void store(coarse_field<float>& to, const complex<float>* from) const;

 private:
  execution execution_;
  std::shared_ptr<const coarse_lattice> lattice_;
  int n_;
  ladder_rung rung_;
  std::shared_ptr<complex<float>> numbers_;
};

}  // namespace plaquette::gpu
