// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Seconds of work of a library, without the seconds in which it tuned its kernels.
#pragma once

#include <array>
#include <chrono>
#include <span>
#include <type_traits>

#include "common/comms/communicator.hpp"

namespace plaquette {

/// Seconds since it was made, without the seconds that tuned kernels.
template <class Library>
class work_clock {
 public:
  explicit work_clock(const Library& library)
      : library_(library), tuned_(library.tuning_seconds()), start_(std::chrono::steady_clock::now()) {}
  double tuning_seconds() const { return library_.tuning_seconds() - tuned_; }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() - tuning_seconds();
  }

 private:
  const Library& library_;
  double tuned_;
  std::chrono::steady_clock::time_point start_;
};

/// Ranks work in step, and wait for each other while one tunes. So a stretch that they begin and end together lasts as
/// long as on the rank that tuned most of it, without that. Collective.
/// \param seconds  of stretches, without this rank's tuning; becomes the same on all ranks
inline void take_out_tuning(std::span<double> seconds, const communicator& comm) {
  for (double& s : seconds) s = -s;
  comm.maximum(seconds);
  for (double& s : seconds) s = -s;
}

/// Seconds of a stretch, the same on all ranks.
struct stretch_seconds {
  double work = 0.0;    ///< without tuning
  double tuning = 0.0;  ///< of the rank that tuned most
};

/// Ends a stretch that all ranks began together: waits for the last of them. Collective.
/// \param clock  this rank's, a work_clock
template <class Clock>
stretch_seconds end_together(const Clock& clock, const communicator& comm) {
  comm.barrier();
  std::array<double, 1> work{clock.seconds()}, tuning{clock.tuning_seconds()};
  take_out_tuning(work, comm);
  comm.maximum(tuning);
  return {work[0], tuning[0]};
}

/// Runs body and adds its seconds. Returns its result.
template <class Library, class Body>
auto timed(const Library& library, double& seconds, Body&& body) {
  const work_clock watch(library);
  const auto stop = [&] {
    library.finish();
    seconds += watch.seconds();
  };
  if constexpr (std::is_void_v<decltype(body())>) {
    body();
    stop();
  } else {
    auto made = body();
    stop();
    return made;
  }
}

}  // namespace plaquette
