// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// No figure exceeds the limits of the machine: one that does was not measured.
#pragma once

#include <vector>

#include "common/app/report.hpp"
#include "common/app/verification.hpp"
#include "common/solvers/library.hpp"
#include "cpu_ref/context.hpp"

namespace plaquette {

/// A figure may exceed the measured limit by this: limits are measured too.
inline constexpr double most_of_limit = 1.10;

/// Returns the larger one of a figure's shares of the two limits. These are the peak of fused multiply-adds, and the
/// bandwidth of a copy if an application moves at least ten times the bytes of the caches. NaN if the figure is.
/// \param cache_bytes  of a rank; 0: unknown, and bandwidth is not judged
double share_of_limits(const operator_figure& figure, double cache_bytes);

/// Returns the figures of a CPU, with the larger of two limits. One was measured together with a figure, the other is
/// measured now if the figure exceeds the first. Other work on a host slows the measurement of a limit. Collective.
std::vector<operator_figure> against_limits_measured_again(const cpu::context& ctx,
                                                           std::vector<operator_figure> figures);

/// Adds the check that the best of the figures is possible; none if there is no figure.
void check_figures_are_possible(verification& checks, const std::vector<operator_figure>& figures, double cache_bytes);

/// Returns a figure for a rate of flops that has no limit by bandwidth, as vectors of a solve may be in a cache. That
/// is the figure of a solve, say, or of a whole sweep.
/// \param in_double  all of it: the limit is the peak in double precision
operator_figure rate_of_flops(double gflops, int ranks, int threads, bool in_double = false);

/// Adds the check for all figures of a report, the rates ("gflops") of its solves, and `more` of them. Figures without
/// a relation to the machine yet get one to its speed now. Collective.
/// \param device  that they are of
/// \param isa  that a CPU's figures were measured with
void check_report_is_possible(report& result, const std::vector<operator_figure>& more,
                              const lattice_geometry& geometry, const communicator& world, const library& device,
                              cpu::instruction_set isa);

}  // namespace plaquette
