// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The even-odd hopping term, timed against what the machine can do in the same run.
#pragma once

#include "common/app/report.hpp"
#include "cpu_ref/context.hpp"

namespace plaquette::bench {

/// One timed configuration.
struct hopping_case {
  extents lattice;
  int rhs = 1;
  bool single_precision = true;
  int threads = 1;
};

/// Times one parity of the hopping term on a weak field and compares the operator with the textbook one first.
/// Fractions are medians over samples of (this rate / the peak measured right after it).
/// \param checks  gets one entry: the worst relative difference at sampled sites
operator_figure bench_hopping(const hopping_case& what, cpu::instruction_set isa, int samples, verification& checks);

/// Fewest bytes an output site of one parity: 8 links shared by the batch, and per right-hand side one spinor read and
/// one written.
double fewest_bytes_per_site(int reconstruct, int rhs, int bytes_per_real);

}  // namespace plaquette::bench
