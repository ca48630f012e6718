// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Times a case and relates its speed to the copy bandwidth and arithmetic peak of the machine.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "common/app/report.hpp"
#include "common/app/run_control.hpp"
#include "common/solvers/timed_operator.hpp"
#include "cpu_ref/context.hpp"
#include "miniapps/shared/gpu_access.hpp"
#include "miniapps/shared/operator_case.hpp"

namespace plaquette::scaling {

/// Times a case whose input is set, in samples of applications between barriers, each as long as the slowest rank
/// needs: GFLOP/s, GB/s of the fewest bytes, their shares of the copy bandwidth for arrays of as many bytes and of the
/// peak of fused multiply-adds. These two are measured after every sample. If faces lie on other ranks, each sample has
/// one without overlap behind it, and the figure has the cost of the halo: medians over samples of means over ranks.
/// None if the run is to stop. Collective.
/// \param seen   is called after each sample with the share that is done
/// \param judge  is called after the last sample, while the operator holds the output of the last timed application
std::optional<operator_figure> measure(timed_operator& op, const operator_case& c, const cpu::context& ctx,
                                       bool overlap, int samples, run_control& control,
                                       const std::function<void(double done)>& seen,
                                       const std::function<void()>& judge);

/// Returns the same on the ranks' GPUs: one figure cool and one sustained (device_timing.hpp), each of them judged.
/// If faces lie on other ranks, samples without overlap and without communication follow, and give the cost of the
/// halo. Empty if the run is to stop. Collective.
std::vector<operator_figure> measure_on_gpu(timed_operator& op, const operator_case& c, gpu_access& gpu,
                                            const lattice_geometry& geometry, const communicator& comm, bool overlap,
                                            int samples, run_control& control, const std::function<void()>& judge);

}  // namespace plaquette::scaling
