// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What half precision inside a double-precision solve gains.
#pragma once

#include <functional>

#include "common/app/report.hpp"
#include "cpu_ref/context.hpp"

namespace plaquette::bench {

/// One right-hand side by BiCGstab on the symmetric Schur system with a clover term, to one tolerance, both ways.
struct precision_gain {
  extents lattice{};
  double tolerance = 0.0;
  double double_seconds = 0.0, mixed_seconds = 0.0;  ///< best of the samples
  int double_iterations = 0, mixed_iterations = 0;
  double gain() const { return double_seconds / mixed_seconds; }
};

/// Times uniform double against double with half inside (reliable updates, delta 1e-2), links of 12 reals in both,
/// alternately.
/// \param checks       gets an entry each: the true residual of the even system, by the double operator
/// \param should_stop  true ends it, in the middle of a solve too; what is returned then means nothing
precision_gain bench_precision(const extents& lattice, int threads, cpu::instruction_set isa, int samples,
                               verification& checks, const std::function<bool()>& should_stop = {});

}  // namespace plaquette::bench
