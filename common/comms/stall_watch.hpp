// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ends a run whose ranks wait for one that does not answer: a rank that was stopped, died without a word, or went
/// another way than the others.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/comms/communicator.hpp"

namespace plaquette {

/// Says, while it lives, that the thread which calls MPI waits for other ranks. A wait costs two stores.
class rank_wait {
 public:
  /// \param what  "a sum over all ranks"; must outlive the program's waits
  explicit rank_wait(const char* what) noexcept;
  ~rank_wait();
  rank_wait(const rank_wait&) = delete;
  rank_wait& operator=(const rank_wait&) = delete;
};
/// Says that messages were looked for and have not all arrived.
void note_unanswered_poll() noexcept;

/// Prints "rank 2 on HOST has waited 30 s for WHAT" on stderr and ends all ranks with exit status 70, even where MPI
/// itself hangs.
/// \param timeout  seconds
[[noreturn]] void end_stalled_run(int rank, double timeout, const std::string& what);

/// Checks ten times a second, on a thread of its own, whether this process waits for other ranks. When one wait has
/// lasted longer than the timeout, it prints one line on stderr and ends all ranks with exit status 70. Time in which
/// this process itself was stopped does not count. Higher ranks leave lower ones some seconds, so that one rank speaks.
class stall_watch {
 public:
  /// \param timeout  seconds; 0, or one rank alone: nothing is watched
  /// \param during   returns what the run was doing, "the solve"; called by the thread of the watch
  stall_watch(const communicator& world, double timeout, std::function<std::string()> during);
  ~stall_watch();
  stall_watch(const stall_watch&) = delete;
  stall_watch& operator=(const stall_watch&) = delete;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plaquette
