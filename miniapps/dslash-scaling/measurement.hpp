// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How a case is timed, and related to what the machine can do.
#pragma once

#include <optional>

#include "common/app/report.hpp"
#include "common/app/run_control.hpp"
#include "cpu_ref/context.hpp"
#include "miniapps/dslash-scaling/timed_operator.hpp"

namespace plaquette::scaling {

/// Seconds of repeated applications between barriers, those of the slowest rank; and the mean halo cost of a rank and
/// application.
struct timing {
  sample_statistics seconds;
  double of_fma_peak = 0.0;  ///< median over samples of rate / peak, the peak measured right after each sample
  double pack = 0.0, wait = 0.0, unpack = 0.0, bytes = 0.0;
};

/// Times a case whose input is set: GFLOP/s, GB/s of the fewest bytes, their shares of the copy bandwidth for arrays of
/// as many bytes and of the peak of fused multiply-adds; where faces lie on other ranks also what the halo costs with
/// and without overlap. None where the run is to stop. Collective.
std::optional<operator_figure> measure(timed_operator& op, const operator_case& c, const cpu::context& ctx,
                                       bool overlap, int samples, run_control& control);

}  // namespace plaquette::scaling
