// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a batch of right-hand sides gains in a whole solver.
#pragma once

#include <functional>

#include "common/app/report.hpp"
#include "cpu_ref/context.hpp"

namespace plaquette::bench {

/// Seconds of a fixed number of BiCGstab iterations on the symmetric Schur system.
struct batch_gain {
  extents lattice{};
  bool single_precision = false;
  int rhs = 12, iterations = 0;
  double batch_seconds = 0.0;       ///< all right-hand sides in one call; median
  double one_by_one_seconds = 0.0;  ///< one after the other; median
  double gain() const { return one_by_one_seconds / batch_seconds; }
};

/// Alternates both, `samples` times, on a weak field with a clover term.
/// \param checks       gets one entry: both ways must give the same residuals
/// \param should_stop  true ends it, in the middle of a solve too; what is returned then means nothing
batch_gain bench_batch(const extents& lattice, bool single_precision, int threads, cpu::instruction_set isa,
                       int samples, verification& checks, const std::function<bool()>& should_stop = {});

}  // namespace plaquette::bench
