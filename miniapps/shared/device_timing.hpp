// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How a program times a kernel on its device. Figures of a GPU come twice: cool (after 2 s of idleness) and sustained
/// (after 1.5 s of the same work).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/app/report.hpp"
#include "common/app/timing.hpp"
#include "common/comms/communicator.hpp"
#include "common/solvers/timed.hpp"

namespace plaquette {

class gpu_access;

/// Samples of one protocol.
struct timed_samples {
  sample_statistics seconds;                        ///< of one application
  json_document details = json_document::object();  ///< on a GPU: "protocol", and "gpu": clocks and energy meanwhile
  std::vector<sample_statistics> alongside{};       ///< of the other ways to do the same
  bool holds(const std::string& protocol) const {
    return details.contains("protocol") && details["protocol"] == protocol;
  }
};

/// Does `applications` applications and returns the seconds that they took, until the last one was done.
using timed_work = std::function<double(int applications)>;

/// The protocols of a GPU, and what tells its clocks and energy.
struct gpu_protocols {
  std::vector<timing_protocol> protocols{timing_protocol::cool, timing_protocol::sustained};
  timing_state state{};  ///< without a protocol and without end_watch
  /// Returns what was seen of the GPU since begin_watch; none: nothing is reported.
  std::function<json_document()> end_watch{};
};
/// Returns both protocols with the seconds of --protocol-seconds.
/// \param gpu  outlives the result
gpu_protocols protocols_of(gpu_access& gpu);

/// Times a kernel under each protocol; its output is judged after the last sample of each.
/// \param alongside  other ways to do the same, timed behind the samples of each protocol, as hot as these
/// \return           empty if it was stopped
std::vector<timed_samples> time_on_gpu(const timed_kernel& kernel, const sampling& how, const gpu_protocols& protocols,
                                       const std::vector<timed_work>& alongside = {});

/// On the CPU (`gpu` is null): samples of 30 ms after a warm-up, of 6 in tests. On a GPU: samples of 5 ms after a
/// warm-up, which tunes what is tuned, cool first, then sustained.
/// \param should_stop  asked between samples; true ends the measurement, and nothing is returned
/// \param alongside    on a GPU, see time_on_gpu
std::vector<timed_samples> time_applications(gpu_access* gpu, int samples, const timed_kernel& kernel,
                                             const std::function<bool()>& should_stop = {},
                                             const std::vector<timed_work>& alongside = {});

/// Seconds of an application on several ranks, each way on its own.
struct halo_seconds {
  double with_overlap = 0.0, without_overlap = 0.0;
  double without_communication = 0.0;
};
/// Returns what the halo of an operator costs, as figures report it: bytes, exposed and hidden seconds.
/// \param overlap         how the operator is used
/// \param bytes_of_rank   that this rank sends in an application
/// \param policy          how faces get to each neighbour
json_document halo_costs(const halo_seconds& seconds, bool overlap, double bytes_of_rank, const std::string& policy,
                         bool recorded, const communicator& comm);

}  // namespace plaquette
