// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How an operator is timed on its device. A GPU that was idle runs faster than one at its power limit, so that its
/// figures come twice: cool (after 2 s of idleness) and sustained (after 1.5 s of the same work).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/app/report.hpp"
#include "common/app/timing.hpp"
#include "common/solvers/stretch_length.hpp"

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

/// What keeps a timed stretch honest. A timed stretch is a sample: n applications in a row.
struct stretch_guard {
  /// Before each sample: changes the input and poisons the output. Not timed.
  std::function<void()> refresh{};
  /// After the last sample of each protocol: the output is that of its last application. Not timed.
  std::function<void()> judge{};
};

/// On the CPU (`gpu` is null): samples of 30 ms after a warm-up, of 6 in tests. On a GPU: samples of 5 ms after a
/// warm-up, which tunes what is tuned, cool first, then sustained. On several ranks `work` gives all the same number.
/// \param should_stop  asked between samples; true ends the measurement, and nothing is returned
/// \param alongside       on a GPU: other ways to do the same, timed behind the samples of each protocol, as hot as
/// these
std::vector<timed_samples> time_applications(gpu_access* gpu, int samples, const timed_work& work,
                                             const std::function<bool()>& should_stop = {},
                                             const std::vector<timed_work>& alongside = {},
                                             const stretch_guard& guard = {});

}  // namespace plaquette
