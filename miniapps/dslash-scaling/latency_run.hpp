// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// --latency: how long messages and launches take, from 8 bytes to 256 MiB: between host and GPU, between GPUs, between
/// ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "common/app/report.hpp"
#include "common/comms/communicator.hpp"
#include "common/error.hpp"
#include "miniapps/dslash-scaling/scaling_options.hpp"

namespace plaquette {
class gpu_access;
}

namespace plaquette::scaling {

/// A line of the table.
struct timed_transfer {
  std::string kind;  ///< "host_to_device pinned sync", "peer_copy 0 to 1", "mpi", ... (report.schema.json)
  std::size_t bytes = 0;
  double seconds = 0.0;
  int times = 0;
  bool right = false;  ///< what arrived is what was sent
};

/// Returns 8 bytes, and four times as many each, up to 128 MiB; 256 MiB at last. Shorter where `largest` is smaller.
std::vector<std::size_t> message_sizes(std::size_t largest);

/// Copies between host and GPU, and from it to the other GPUs of its host that it reaches. `launches` gets the cost of
/// a kernel's launch, as the report has it.
std::vector<timed_transfer> time_gpu_transfers(gpu_access& gpu, const std::vector<std::size_t>& sizes,
                                               double seconds_each, json_document& launches);

/// Returns memory of the GPUs of ranks 0 and 1, exchanged both ways at once by every halo policy that the host drives
/// and that is there: "exchange staged", "exchange mpi", "exchange nccl". Collective.
std::vector<timed_transfer> time_gpu_exchanges(gpu_access& gpu, const std::vector<std::size_t>& sizes,
                                               double seconds_each, const communicator& world);

/// Makes the whole run; `gpu` is null on the CPU. Collective.
exit_status run_latency(const scaling_options& options, report& result, gpu_access* gpu, const communicator& world);

}  // namespace plaquette::scaling
