// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// --latency: how long messages and launches take, from 8 bytes to 256 MiB: between host and GPU, between GPUs, between
/// ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "common/app/report.hpp"
#include "common/error.hpp"
#include "common/solvers/library.hpp"
#include "miniapps/dslash-scaling/scaling_options.hpp"

namespace plaquette::scaling {

/// Returns 8 bytes, and four times as many each, up to 128 MiB; 256 MiB at last. Shorter if `largest` is smaller.
std::vector<std::size_t> message_sizes(std::size_t largest);

/// Makes the whole run. Collective.
exit_status run_latency(const scaling_options& options, report& result, const library& device);

}  // namespace plaquette::scaling
