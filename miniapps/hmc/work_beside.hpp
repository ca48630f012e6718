// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks that the host computes while a device works.
#pragma once

#include <omp.h>

#include <algorithm>
#include <future>
#include <utility>
#include <vector>

#include "common/app/verification.hpp"

namespace plaquette {

/// Checks that another thread with a team of its own computes, or the caller's thread in checks(). The end of its life
/// waits for them.
class work_beside {
 public:
  /// \param starts_now  on all threads of the caller's teams but one, which drives the device
  /// \param work        returns std::vector<check>; what it reads must outlive this object
  template <class Work>
  work_beside(bool starts_now, Work work)
      : checks_(std::async(starts_now ? std::launch::async : std::launch::deferred,
                           [=, threads = std::max(1, omp_get_max_threads() - 1), work = std::move(work)] {
                             if (starts_now) omp_set_num_threads(threads);
                             return work();
                           })) {}

  /// Returns the checks, once. Throws what the work has thrown.
  std::vector<check> checks() { return checks_.get(); }

 private:
  std::future<std::vector<check>> checks_;
};

}  // namespace plaquette
