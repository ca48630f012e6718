// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Seconds of work of a library, without those in which it tuned its kernels.
#pragma once

#include <chrono>
#include <type_traits>

namespace plaquette {

/// Seconds since it was made, without those that found out how kernels are launched.
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

/// Runs body, adding its seconds. Returns what it returns.
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
